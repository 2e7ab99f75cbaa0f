/* Memory traffic of functions by the PMU, against profiles whose truth is known. */
#include "report/model/model_bandwidths.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

/* Two threads run in triad at once: rates × 1.7. */
static const double read_roof = 1.7 * 14.6, triad_elapsed = 0.5, triad_flop = 8e8;

static struct profile *sample(void)
{
	struct profile *p = report_sample();
	profile_set_fact(p, "traffic_source", "PMU");
	return p;
}

static const struct model_level *dram_of(const struct model_function *f)
{
	const struct model_level *level = f->traffic ? model_level(f->traffic, "DRAM") : NULL;
	cr_assert_not_null(level, "no memory of %s", f->name);
	return level;
}

static void expect_place(const struct model_function *f, double roof)
{
	const double point = triad_flop * 1e-9 / triad_elapsed;
	expect_near(f->place.point, point, "point");
	expect_near(f->place.roof, roof, "roof");
	expect_near(f->place.distance, roof / point, "distance");
	expect_near(f->place.headroom_s, triad_elapsed * (1 - point / roof), "headroom");
	cr_expect_str_eq(f->place.level, "DRAM");
	cr_expect_eq(f->place.bound, BOUND_MEMORY);
	cr_expect(f->place.traced);
}

/* ---- misses ---- */

Test(model_memory, misses_place_a_function_under_what_can_be_read)
{
	struct profile *p = sample();
	sample_split(p, "llc_miss_bytes", 1.5e8, 1500, COUNTER_USED);
	struct model model = build(p);
	const struct model_function *triad = find(&model, "triad");
	const struct model_level *dram = dram_of(triad);
	const double bytes = 64 * 1.2e8;
	cr_expect_eq(model.memory, MEMORY_MISSES);
	cr_expect_not(model.traced);
	cr_expect_eq(triad->traffic->n_levels, 2);
	cr_expect_eq(triad->traffic->samples, 1200);
	expect_near(dram->moved[DIRECTION_BOTH].bytes, bytes, "bytes");
	expect_near(dram->moved[DIRECTION_READ].bytes, bytes, "read");
	cr_expect(isnan(dram->moved[DIRECTION_WRITE].bytes), "what is written is not known");
	cr_expect(dram->at_least);
	expect_near(dram->intensity, triad_flop / bytes, "intensity");
	expect_near(dram->rate, bytes * 1e-9 / triad_elapsed, "rate");
	expect_near(dram->bandwidth, read_roof, "bandwidth");
	expect_place(triad, read_roof * triad_flop / bytes);
	cr_expect(triad->place.at_most);
	expect_near(model.bytes.mem[DIRECTION_BOTH].bytes, 64 * 1.5e8, "of the program");
	expect_near(dram_of(find(&model, "dot"))->moved[DIRECTION_BOTH].bytes, 64 * 0.3e8, "dot");
	model_deinit(&model);
	profile_destroy(p);
}

/* 1.96² = 3.8416; the score interval by hand. */
Test(model_memory, the_interval_is_that_of_a_share)
{
	struct profile *p = sample();
	sample_split(p, "llc_miss_bytes", 1.5e8, 1500, COUNTER_USED);
	struct model model = build(p);
	const double all = 64 * 1.5e8, z2 = 3.8416, n = 1500, q = 0.8;
	const double middle = (q + z2 / 2 / n) / (1 + z2 / n),
		     half = sqrt(z2 * q * (1 - q) / n + z2 * z2 / 4 / n / n) / (1 + z2 / n);
	const struct model_estimate *moved = &dram_of(find(&model, "triad"))->moved[DIRECTION_BOTH];
	expect_near(moved->stderr_bytes, all * sqrt(q * (1 - q) / n), "standard error");
	expect_near(moved->halfwidth, all * (q - middle + half), "95 %: the wider side");
	/* no sample fell on it: the upper end is z² / (n + z²) */
	moved = &dram_of(find(&model, "integer"))->moved[DIRECTION_BOTH];
	cr_expect_eq(moved->bytes, 0);
	expect_near(moved->halfwidth, all * z2 / (n + z2), "95 % of none");
	model_deinit(&model);
	profile_destroy(p);
}

/* Two events of one quantity count as many samples as one with the same spread. */
Test(model_memory, several_events_are_one_sum)
{
	struct profile *p = sample();
	sample_split(p, "llc_miss_bytes", 1e8, 1000, COUNTER_USED);
	sample_split(p, "llc_miss_bytes", 0.5e8, 100, COUNTER_USED);
	struct model model = build(p);
	const struct model_estimate *moved = &dram_of(find(&model, "triad"))->moved[DIRECTION_BOTH];
	const double all = 64 * 1.5e8;
	expect_near(moved->bytes, 0.8 * all, "bytes");
	expect_near(moved->stderr_bytes, 64 * sqrt(0.8 * 0.2 * (1e16 / 1000 + 0.25e16 / 100)),
		    "standard error");
	cr_expect_eq(find(&model, "triad")->traffic->samples, 880);
	model_deinit(&model);
	profile_destroy(p);
}

/* ---- bytes at memory ---- */

/* A quarter of what moves is written: the triad's mix, whose bandwidth is 4/3 of 12 GB/s in LS
 * bytes. */
Test(model_memory, sampled_bytes_are_no_bound)
{
	struct profile *p = sample();
	sample_split(p, "memory_read_bytes", 1.2e8, 1000, COUNTER_USED);
	sample_split(p, "memory_write_bytes", 0.4e8, 500, COUNTER_USED);
	sample_split(p, "llc_miss_bytes", 1, 5, COUNTER_USED);
	struct model model = build(p);
	const struct model_function *triad = find(&model, "triad");
	const struct model_level *dram = dram_of(triad);
	const double bytes = 64 * 0.8 * 1.6e8;
	cr_expect_eq(model.memory, MEMORY_COUNTED);
	cr_expect_not(dram->at_least);
	cr_expect_not(triad->place.at_most);
	expect_near(dram->moved[DIRECTION_READ].bytes, bytes * 3 / 4, "read");
	expect_near(dram->moved[DIRECTION_WRITE].bytes, bytes / 4, "written");
	expect_near(dram->moved[DIRECTION_BOTH].bytes, bytes, "both");
	expect_near(dram->moved[DIRECTION_BOTH].stderr_bytes,
		    hypot(64 * 1.2e8 * sqrt(0.16 / 1000), 64 * 0.4e8 * sqrt(0.16 / 500)),
		    "standard error");
	expect_place(triad, 1.7 * 12 * 4 / 3 * triad_flop / bytes);
	cr_expect_eq(triad->traffic->samples, 800 + 400);
	model_deinit(&model);
	profile_destroy(p);
}

Test(model_memory, reads_alone_are_a_lower_bound)
{
	struct profile *p = sample();
	sample_split(p, "memory_read_bytes", 1e8, 1000, COUNTER_USED);
	struct model model = build(p);
	cr_expect_eq(model.memory, MEMORY_COUNTED);
	cr_expect(dram_of(find(&model, "triad"))->at_least);
	expect_near(dram_of(find(&model, "triad"))->bandwidth, read_roof, "bandwidth");
	model_deinit(&model);
	profile_destroy(p);
}

/* The kernel stopped the counter at times. */
Test(model_memory, a_counter_that_is_too_low_gives_a_lower_bound)
{
	struct profile *p = sample();
	sample_split(p, "memory_read_bytes", 1e8, 1000, COUNTER_USED);
	sample_split(p, "memory_write_bytes", 1e8, 1000, COUNTER_BELOW);
	struct model model = build(p);
	cr_expect(dram_of(find(&model, "triad"))->at_least);
	model_deinit(&model);
	profile_destroy(p);
}

/* ---- sums of the program ---- */

Test(model_memory, the_programs_bytes_are_shared_out_by_misses)
{
	struct profile *p = sample();
	sample_split(p, "llc_miss_bytes", 1.5e8, 1500, COUNTER_USED);
	sample_counter(p, "memory_read_bytes", 1, 12e9, 0, COUNTER_IN_TURNS);
	sample_counter(p, "memory_write_bytes", 1, 4e9, 0, COUNTER_IN_TURNS);
	struct model model = build(p);
	const struct model_function *triad = find(&model, "triad");
	const struct model_level *dram = dram_of(triad);
	cr_expect_eq(model.memory, MEMORY_SHARED);
	cr_expect_not(dram->at_least);
	expect_near(dram->moved[DIRECTION_READ].bytes, 0.8 * 12e9, "read");
	expect_near(dram->moved[DIRECTION_WRITE].bytes, 0.8 * 4e9, "written");
	expect_near(dram->moved[DIRECTION_BOTH].bytes, 0.8 * 16e9, "both");
	/* one share for both directions */
	expect_near(dram->moved[DIRECTION_BOTH].stderr_bytes, 16e9 * sqrt(0.16 / 1500),
		    "standard error");
	/* 25.6 GB/s of 27.2 */
	expect_place(triad, 1.7 * 12 * 4 / 3 * triad_flop / (0.8 * 16e9));
	expect_near(model.bytes.mem[DIRECTION_WRITE].bytes, 4e9, "of the program");
	model_deinit(&model);
	profile_destroy(p);
}

/* Reads and writes in one sum: under the most that any mix of them moves. */
Test(model_memory, a_sum_of_both_directions_is_under_the_fastest_mix)
{
	struct profile *p = sample();
	sample_split(p, "llc_miss_bytes", 1.5e8, 1500, COUNTER_USED);
	sample_counter(p, "memory_bytes", 1, 16e9, 0, COUNTER_USED);
	struct model model = build(p);
	const struct model_function *triad = find(&model, "triad");
	const struct model_level *dram = dram_of(triad);
	cr_expect_eq(model.memory, MEMORY_SHARED);
	cr_expect(isnan(dram->moved[DIRECTION_READ].bytes));
	expect_near(dram->moved[DIRECTION_BOTH].bytes, 0.8 * 16e9, "both");
	expect_near(dram->bandwidth, model_level_most(p, ROOF_LEVEL_DRAM, 2, DIRECTION_BOTH),
		    "bandwidth");
	cr_expect_gt(dram->bandwidth, read_roof);
	model_deinit(&model);
	model = build_as(p, (struct model_choice){.direction = DIRECTION_READ});
	triad = find(&model, "triad");
	cr_expect(isnan(dram_of(triad)->intensity), "what was read is not known");
	cr_expect_not(triad->place.traced);
	model_deinit(&model);
	profile_destroy(p);
}

/* What the program was given is less than what missed: sharing it out among programs has failed. */
Test(model_memory, less_than_what_missed_is_not_shared_out)
{
	struct profile *p = sample();
	sample_split(p, "llc_miss_bytes", 1.5e8, 1500, COUNTER_USED);
	sample_counter(p, "memory_bytes", 1, 1e9, 0, COUNTER_USED);
	struct model model = build(p);
	cr_expect_eq(model.memory, MEMORY_MISSES);
	expect_near(dram_of(find(&model, "triad"))->moved[DIRECTION_BOTH].bytes, 64 * 1.2e8,
		    "bytes");
	model_deinit(&model);
	profile_destroy(p);
}

/* ---- beside the caches ---- */

/* No miss fell on dot: memory does not hold it, and it is placed by its loads among the caches. */
Test(model_memory, what_memory_does_not_hold_is_in_a_cache)
{
	struct profile *p = sample();
	uint32_t counter = sample_counter(p, "llc_miss_bytes", 64, 1.5e8, 1500, COUNTER_USED);
	sample_counter_place(p, counter, 0x1000, 1500, 1.5e8);
	struct model model = build(p);
	const struct model_place *dot = &find(&model, "dot")->place;
	cr_expect_str_eq(dot->level, "L2");
	cr_expect_not(dot->traced);
	expect_near(dot->roof, 102 * 2e8 / 1.6e9, "roof");
	const struct model_place *crunch = &find(&model, "fma_crunch(unsigned long)")->place;
	cr_expect_eq(crunch->bound, BOUND_COMPUTE);
	cr_expect_str_eq(crunch->level, "");
	model_deinit(&model);
	profile_destroy(p);
}

Test(model_memory, without_flop_the_nearest_roof_places)
{
	struct profile *p = sample();
	uint32_t counter = sample_counter(p, "llc_miss_bytes", 64, 1e7, 1000, COUNTER_USED);
	sample_counter_place(p, counter, 0x5000, 1000, 1e7);
	struct model model = build(p);
	const struct model_place *copy = &find(&model, "copy")->place;
	cr_expect_eq(copy->axis, AXIS_BYTES);
	cr_expect_str_eq(copy->level, "DRAM");
	expect_near(copy->point, 64e7 * 1e-9 / 0.05, "GB/s");
	expect_near(copy->roof, 14.6, "roof");
	cr_expect(copy->at_most);
	model_deinit(&model);
	profile_destroy(p);
}

Test(model_memory, a_level_that_is_not_known_is_not_chosen)
{
	struct profile *p = sample();
	sample_split(p, "llc_miss_bytes", 1.5e8, 1500, COUNTER_USED);
	struct model model = build_as(p, (struct model_choice){.level = "L1"});
	cr_expect_str_eq(find(&model, "triad")->place.level, "L1");
	cr_expect_not(find(&model, "triad")->place.at_most);
	model_deinit(&model);
	model = build_as(p, (struct model_choice){.level = "L2"});
	cr_expect_str_eq(find(&model, "triad")->place.level, "DRAM");
	model_deinit(&model);
	profile_destroy(p);
}

/* ---- where it is not asked for, or not there ---- */

Test(model_memory, nothing_changes_where_nothing_tells_functions_apart)
{
	static const struct {
		const char *source, *quantity;
		uint64_t samples;
		enum counter_use use;
	} rows[] = {
		{"none", "llc_miss_bytes", 1500, COUNTER_USED},
		{"PMU", "llc_miss_bytes", 0, COUNTER_USED},
		{"PMU", "llc_miss_bytes", 1500, COUNTER_UNUSED},
		{"PMU", "memory_bytes", 0, COUNTER_USED},
		{"PMU", "loads", 1500, COUNTER_USED},
		{"traced", "llc_miss_bytes", 1500, COUNTER_USED},
	};
	struct profile *plain = report_sample();
	struct model truth = build(plain);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile *p = report_sample();
		profile_set_fact(p, "traffic_source", "%s", rows[i].source);
		uint32_t counter = sample_counter(p, rows[i].quantity, 64, 1.5e8, rows[i].samples,
						  rows[i].use);
		if (rows[i].samples)
			sample_counter_place(p, counter, 0x1000, rows[i].samples, 1.5e8);
		struct model model = build(p);
		cr_expect_eq(model.memory, MEMORY_UNKNOWN, "row %zu", i);
		cr_expect_null(find(&model, "triad")->traffic, "row %zu", i);
		cr_expect_eq(find(&model, "triad")->place.roof, find(&truth, "triad")->place.roof,
			     "row %zu", i);
		model_deinit(&model);
		profile_destroy(p);
	}
	model_deinit(&truth);
	profile_destroy(plain);
}

Test(model_memory, traced_bytes_go_before_the_pmus)
{
	struct profile *p = report_traced_sample();
	sample_split(p, "llc_miss_bytes", 1.5e8, 1500, COUNTER_USED);
	struct model model = build(p);
	cr_expect_eq(model.memory, MEMORY_TRACED);
	cr_expect_eq(find(&model, "triad")->traffic->source, MEMORY_TRACED);
	cr_expect_not(find(&model, "triad")->place.at_most);
	model_deinit(&model);
	profile_destroy(p);
}

/* Work from the PMU as well: no loads and stores are known, so memory and arithmetic place. */
Test(model_memory, work_and_memory_from_the_pmu)
{
	struct profile *p = sample();
	profile_set_fact(p, "work_source", "PMU");
	p->n_counts = 0;
	sample_split(p, "llc_miss_bytes", 1.5e8, 1500, COUNTER_USED);
	uint32_t flop = sample_counter(p, "flop_dp", 8, 1e8, 1000, COUNTER_USED);
	sample_counter_place(p, flop, 0x1005, 1000, 1e8);
	struct model model = build(p);
	const struct model_function *triad = find(&model, "triad");
	cr_expect_eq(triad->tally.flop, 800000000);
	expect_place(triad, read_roof * triad_flop / (64 * 1.2e8));
	cr_expect(isnan(model_level(triad->traffic, "L1")->moved[DIRECTION_BOTH].halfwidth));
	model_deinit(&model);
	profile_destroy(p);
}
