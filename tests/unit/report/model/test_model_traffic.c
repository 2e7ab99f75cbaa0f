/* Traffic in the model, against profiles whose truth is known. */
#include "report/model/model_bandwidths.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

/* ---- estimates ---- */

Test(model_traffic, an_estimate_is_the_sum_with_its_error)
{
	struct traffic_lines lines = {0};
	const double read[] = {10, 12, 14, 16}, allocated[] = {1, 0, 0, 1};
	for (int k = 0; k < 4; k++) {
		lines.by_class[k][TRAFFIC_MEM_READ] = read[k];
		lines.by_class[k][TRAFFIC_MEM_WRITE_ALLOCATE] = allocated[k];
	}
	struct model_estimate estimate = model_estimate(&lines, 4, 1u << TRAFFIC_MEM_READ);
	expect_near(estimate.bytes, 52 * 16 * 64, "bytes");
	/* sd² = (9 + 1 + 1 + 9) / 3 */
	expect_near(estimate.stderr_bytes, 64 * 64 * sqrt(20.0 / 3 / 4 * 60 / 64),
		    "standard error");
	expect_near(estimate.halfwidth,
		    hypot(3.182 * estimate.stderr_bytes, MODEL_RESOLUTION * estimate.bytes),
		    "95 %");
	/* sums of events: 11, 12, 14, 17; not the root of the sum of squares */
	estimate = model_estimate(&lines, 4,
				  1u << TRAFFIC_MEM_READ | 1u << TRAFFIC_MEM_WRITE_ALLOCATE);
	expect_near(estimate.bytes, 54 * 16 * 64, "bytes of both");
	expect_near(estimate.stderr_bytes, 64 * 64 * sqrt(21.0 / 3 / 4 * 60 / 64),
		    "standard error of both");
}

Test(model_traffic, all_classes_are_no_estimate_and_one_has_no_error)
{
	struct traffic_lines lines = {0};
	double sum = 0;
	for (int k = 0; k < CACHE_CLASSES; k++)
		sum += lines.by_class[k][TRAFFIC_MEM_READ] = k * k % 17;
	struct model_estimate all = model_estimate(&lines, CACHE_CLASSES, 1u << TRAFFIC_MEM_READ);
	cr_expect_eq(all.bytes, sum * 64);
	cr_expect_eq(all.stderr_bytes, 0);
	cr_expect_eq(all.halfwidth, 0);
	lines.by_class[0][TRAFFIC_MEM_READ] = 5;
	struct model_estimate one = model_estimate(&lines, 1, 1u << TRAFFIC_MEM_READ);
	cr_expect_eq(one.bytes, 5 * 64 * 64);
	cr_expect(isnan(one.stderr_bytes) && isnan(one.halfwidth));
}

Test(model_traffic, equal_classes_are_not_told_finer_than_the_resolution)
{
	struct traffic_lines lines = {0};
	for (int k = 0; k < 4; k++)
		lines.by_class[k][TRAFFIC_MEM_READ] = 1000;
	struct model_estimate equal = model_estimate(&lines, 4, 1u << TRAFFIC_MEM_READ);
	cr_expect_eq(equal.stderr_bytes, 0);
	expect_near(equal.halfwidth, 0.005 * 1000 * 64 * 64, "95 %");
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Of 64 classes with known lines 4 or 8 are drawn again and again, always the same ones in a run of
 * this test: the interval holds the truth in nearly 95 of 100 draws, and the mean estimate is the
 * truth. */
Test(model_traffic, intervals_hold_the_truth)
{
	static const unsigned sizes[] = {4, 8, 32};
	enum { DRAWS = 4000 };
	double population[CACHE_CLASSES], truth = 0;
	uint64_t state = 20261122;
	for (int k = 0; k < CACHE_CLASSES; k++) {
		population[k] = 1000 + (double)(next_random(&state) % 200) +
				(double)(next_random(&state) % 200);
		truth += population[k] * CACHE_LINE;
	}
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		unsigned held = 0;
		double mean = 0;
		for (int draw = 0; draw < DRAWS; draw++) {
			struct traffic_lines lines = {0};
			for (unsigned k = 0; k < sizes[s]; k++) { /* a shuffle's first steps */
				unsigned other =
					k + (unsigned)(next_random(&state) % (CACHE_CLASSES - k));
				double swap = population[k];
				population[k] = population[other];
				population[other] = swap;
				lines.by_class[k][TRAFFIC_MEM_READ] = population[k];
			}
			struct model_estimate e =
				model_estimate(&lines, sizes[s], 1u << TRAFFIC_MEM_READ);
			held += fabs(e.bytes - truth) <= e.halfwidth;
			mean += e.bytes / DRAWS;
		}
		cr_expect(held > 0.93 * DRAWS && held < 0.98 * DRAWS, "%u of %d at %u classes",
			  held, DRAWS, sizes[s]);
		/* a little more than 95 of 100: MODEL_RESOLUTION adds to it */
		cr_expect(fabs(mean - truth) < 0.002 * truth, "mean %g, not %g", mean, truth);
	}
}

/* ---- levels ---- */

static const double array = 781250.0 * 64 * 64; /* 3.2e9 bytes */

static const struct model_level *level_of(const struct model_function *f, const char *name)
{
	const struct model_level *level = f->traffic ? model_level(f->traffic, name) : NULL;
	cr_assert_not_null(level, "no %s of %s", name, f->name);
	return level;
}

Test(model_traffic, bytes_at_every_level_are_the_sums)
{
	struct profile *p = report_traced_sample();
	struct model model = build(p);
	cr_expect(model.traced);
	const struct model_function *triad = find(&model, "triad");
	cr_assert_eq(triad->traffic->n_levels, 4);
	const struct model_level *l1 = level_of(triad, "L1"), *dram = level_of(triad, "DRAM");
	cr_expect_eq(l1->moved[DIRECTION_READ].bytes, 6400000000);
	cr_expect_eq(l1->moved[DIRECTION_WRITE].bytes, 3200000000);
	const char *const below[] = {"L2", "L3", "DRAM"};
	for (int i = 0; i < 3; i++) {
		const struct model_level *level = level_of(triad, below[i]);
		expect_near(level->moved[DIRECTION_READ].bytes, 3 * array, below[i]);
		expect_near(level->moved[DIRECTION_WRITE].bytes, array, below[i]);
		expect_near(level->moved[DIRECTION_BOTH].bytes, 4 * array, below[i]);
		expect_near(level->write_allocate, array, below[i]);
		expect_near(level->intensity, 8e8 / (4 * array), below[i]);
		expect_near(level->rate, 4 * array * 1e-9 / triad->elapsed_s, below[i]);
	}
	/* only the second array's lines differ: by −1500, −500, 500, 1500 */
	expect_near(dram->moved[DIRECTION_BOTH].stderr_bytes, 4096 * sqrt(5e6 / 3 / 4 * 60 / 64),
		    "standard error");
	expect_near(dram->moved[DIRECTION_WRITE].stderr_bytes, 0, "of what is written");
	/* 2 loads and a store an iteration, 100 million of them */
	expect_near(l1->misses, 3 * array / 64 / 3e8, "misses of L1");
	expect_near(level_of(triad, "L2")->misses, 1, "misses of L2");
	cr_expect(isnan(dram->misses));
	const struct model_function *dot = find(&model, "dot");
	expect_near(level_of(dot, "L2")->moved[DIRECTION_BOTH].bytes, 1.6e9, "dot");
	cr_expect_eq(level_of(dot, "DRAM")->moved[DIRECTION_BOTH].bytes, 0);
	cr_expect(isinf(level_of(dot, "DRAM")->intensity));
	cr_expect_eq(level_of(dot, "L2")->misses, 0);
	cr_expect_null(find(&model, "jit_code")->traffic);
	const struct model_bytes *copied = &find(&model, "copy")->traffic->bytes;
	expect_near(copied->mem[DIRECTION_WRITE].bytes, 100000.0 * 4096, "written back");
	expect_near(copied->events[TRAFFIC_MEM_LEFT].bytes, 22070.0 * 4096, "left");
	expect_near(copied->mem[DIRECTION_READ].bytes, 2 * 122070.0 * 4096,
		    "read, with what is overwritten");
	expect_near(model.bytes.mem[DIRECTION_READ].bytes, 3 * array + 2 * 122070.0 * 4096,
		    "of the program");
	model_deinit(&model);
	profile_destroy(p);
}

Test(model_traffic, two_levels_of_cache_and_one)
{
	struct profile *p = report_traced_sample();
	profile_set_fact(p, "traffic_geometry", "L1=48K:12,L2=2M:16");
	struct model model = build(p);
	const struct model_function *triad = find(&model, "triad");
	cr_assert_eq(triad->traffic->n_levels, 3);
	cr_expect_null(model_level(triad->traffic, "L3"));
	expect_near(level_of(triad, "L2")->misses, 1, "misses of L2");
	model_deinit(&model);
	profile_set_fact(p, "traffic_geometry", "L1=48K:12");
	model = build(p);
	triad = find(&model, "triad");
	cr_assert_eq(triad->traffic->n_levels, 2);
	expect_near(level_of(triad, "L1")->misses, 3 * array / 64 / 3e8, "misses of L1");
	model_deinit(&model);
	profile_destroy(p);
}

/* Any text, as a file may have it. */
static void set_text(struct profile *p, const char *key, const char *text)
{
	for (size_t i = 0; i < p->n_facts; i++)
		if (strcmp(p->facts[i].key, key) == 0) {
			free(p->facts[i].value);
			p->facts[i].value = strdup(text);
		}
}

Test(model_traffic, without_it_all_is_as_before)
{
	static const char *const facts[][2] = {
		{"traffic_source", "none"}, {"traffic_classes", "0"}, {"traffic_classes", "65"},
		{"traffic_classes", "x"},   {"work_source", "none"},
	};
	struct profile *plain = report_sample();
	struct model truth = build(plain);
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		struct profile *p = report_traced_sample();
		set_text(p, facts[i][0], facts[i][1]);
		if (strcmp(facts[i][0], "work_source") == 0)
			p->n_counts = 0;
		struct model model = build(p);
		cr_expect_not(model.traced, "%s=%s", facts[i][0], facts[i][1]);
		cr_expect_null(find(&model, "triad")->traffic);
		if (p->n_counts)
			expect_near(find(&model, "triad")->place.roof,
				    find(&truth, "triad")->place.roof, "roof");
		model_deinit(&model);
		profile_destroy(p);
	}
	model_deinit(&truth);
	profile_destroy(plain);
}

/* ---- roofs ---- */

/* Two threads: rates × 1.7.  A triad moves 4/3 of its LS bytes, a quarter of it written. */
Test(model_traffic, the_lowest_roof_binds)
{
	struct profile *p = report_traced_sample();
	struct model model = build(p);
	const struct model_function *triad = find(&model, "triad"), *dot = find(&model, "dot");
	cr_expect_str_eq(triad->place.level, "DRAM");
	cr_expect(triad->place.traced);
	expect_near(level_of(triad, "DRAM")->bandwidth, 1.7 * 12 * 4 / 3, "bandwidth");
	expect_near(level_of(triad, "L2")->bandwidth, 1.7 * 80 * 4 / 3, "bandwidth of L2");
	expect_near(level_of(triad, "L1")->bandwidth, 1.7 * 250, "bandwidth of L1: LS bytes");
	cr_expect_eq(level_of(triad, "L3")->bandwidth, 0, "cannot be told from DRAM");
	expect_near(triad->place.roof, 1.7 * 12 * 4 / 3 * 8e8 / (4 * array), "roof");
	cr_expect_eq(triad->place.bound, BOUND_MEMORY);
	/* from L2, though DRAM moves nothing: read at 102 GB/s; 1.6e9 bytes for 2e8 flop */
	cr_expect_str_eq(dot->place.level, "L2");
	expect_near(dot->place.roof, 102 * 2e8 / 1.6e9, "roof of dot");
	expect_near(dot->place.roof_l1, 311 * 2e8 / 1.6e9, "from L1");
	expect_near(dot->place.distance, dot->place.roof / dot->place.point, "distance");
	cr_expect_eq(dot->place.bound, BOUND_LATENCY);
	/* nothing moves: compute */
	cr_expect_str_eq(find(&model, "fma_crunch(unsigned long)")->place.level, "");
	cr_expect_eq(find(&model, "fma_crunch(unsigned long)")->place.bound, BOUND_COMPUTE);
	model_deinit(&model);
	profile_destroy(p);
}

/* The same function gets the same roof in time, whether its triad is counted in LS bytes or in what
 * moves: the conversion of roofs cancels. */
Test(model_traffic, a_kernel_stands_under_its_own_roof_in_either_unit)
{
	struct profile *plain = report_sample(), *traced = report_traced_sample();
	struct model a = build(plain), b = build(traced);
	cr_expect_str_eq(find(&a, "triad")->place.level, "DRAM");
	expect_near(find(&b, "triad")->place.roof, find(&a, "triad")->place.roof, "roof");
	model_deinit(&a);
	model_deinit(&b);
	profile_destroy(plain);
	profile_destroy(traced);
}

Test(model_traffic, without_flop_the_busiest_level_places)
{
	struct profile *p = report_traced_sample();
	struct model model = build(p);
	const struct model_function *copy = find(&model, "copy");
	const double moved = (2 * 122070.0 + 100000) * 4096;
	cr_expect_eq(copy->place.axis, AXIS_BYTES);
	cr_expect_str_eq(copy->place.level, "DRAM");
	expect_near(copy->place.point, moved * 1e-9 / 0.05, "GB/s");
	/* 29 % of it written; beyond the triad's quarter, its rate holds */
	expect_near(copy->place.roof, 12 * 4.0 / 3, "roof");
	model_deinit(&model);
	profile_destroy(p);
}

Test(model_traffic, a_level_and_a_direction_can_be_chosen)
{
	struct profile *p = report_traced_sample();
	struct model model = build_as(p, (struct model_choice){.level = "L2"});
	const struct model_function *triad = find(&model, "triad");
	cr_expect_str_eq(triad->place.level, "L2");
	expect_near(triad->place.roof, 1.7 * 80 * 4 / 3 * 8e8 / (4 * array), "roof at L2");
	model_deinit(&model);
	model = build_as(p, (struct model_choice){.direction = DIRECTION_READ});
	triad = find(&model, "triad");
	expect_near(level_of(triad, "DRAM")->intensity, 8e8 / (3 * array), "read intensity");
	expect_near(triad->place.roof, 1.7 * 14.6 * 8e8 / (3 * array), "read roof");
	model_deinit(&model);
	for (int threads = 1; threads <= 2; threads++)
		sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "write", "DRAM", threads, 9 * threads);
	model = build_as(p, (struct model_choice){.level = "DRAM", .direction = DIRECTION_WRITE});
	triad = find(&model, "triad");
	expect_near(level_of(triad, "DRAM")->intensity, 8e8 / array, "write intensity");
	expect_near(triad->place.roof, 18 * 8e8 / array, "write roof");
	model_deinit(&model);
	profile_destroy(p);
}

/* No function's bandwidth is above what a picture draws. */
Test(model_traffic, the_most_of_a_level_is_above_all_mixes)
{
	struct profile *p = report_traced_sample();
	sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "copy", "DRAM", 1, 10);
	expect_near(model_level_most(p, ROOF_LEVEL_DRAM, 1, DIRECTION_BOTH), 16,
		    "triad: 4/3 of 12");
	expect_near(model_level_most(p, ROOF_LEVEL_L1, 1, DIRECTION_BOTH), 311, "L1: LS bytes");
	expect_near(model_level_most(p, ROOF_LEVEL_DRAM, 1, DIRECTION_READ), 14.6, "read");
	const struct tally tally = {.load_bytes = 1};
	for (double written = 0; written <= 1; written += 0.03125) {
		const struct model_moves moves = {.written = written};
		cr_expect_leq(model_level_rate(p, ROOF_LEVEL_DRAM, &tally, 1, &moves).value,
			      16 + 1e-9, "%g", written);
	}
	profile_destroy(p);
}

/* What is written back later is no fault; what is read is. */
Test(model_traffic, late_writes_are_no_fault)
{
	for (int late = 0; late <= 1; late++) {
		struct profile *p = report_traced_sample();
		sample_lines(p, late ? 0x100b : 0x1000,
			     late ? TRAFFIC_MEM_WRITE_BACK : TRAFFIC_MEM_READ, 10 * 781250, 0);
		struct model model = build(p);
		const struct model_place *place = &find(&model, "triad")->place;
		cr_expect(place->point > 1.5 * place->roof);
		cr_expect_eq(place->above, !late);
		cr_expect_eq(place->late_writes, late);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* ---- data ---- */

Test(model_traffic, objects_strides_and_working_sets_are_the_sums)
{
	struct profile *p = report_traced_sample();
	sample_data(p);
	struct model model = build(p);
	const struct model_traffic *triad = find(&model, "triad")->traffic;
	cr_assert_eq(triad->n_objects, 2);
	cr_expect_eq(triad->objects[0].object, 0);
	expect_near(triad->objects[0].read, 2 * array, "the heap");
	expect_near(triad->objects[1].read, array, "the variable");
	expect_near(triad->objects[1].write, array, "the variable");
	expect_near(triad->strides.unit, 900, "unit steps");
	expect_near(triad->strides.constant, 990, "constant steps");
	expect_near(triad->strides.random, 110, "random steps");
	cr_expect_eq(triad->strides.step, 4096);
	expect_near(triad->strides.used, 72000, "used");
	const struct model_traffic *copy = find(&model, "copy")->traffic;
	cr_assert_eq(copy->n_capacities, 3);
	expect_near(model_moves_at(copy, 0), 10700000 * 64.0, "without a cache");
	expect_near(model_moves_at(copy, 1 << 20), 10500000 * 64.0, "at 1 MB");
	expect_near(model_moves_at(copy, 48 << 20), 500000 * 64.0, "at 48 MB");
	expect_near(copy->moves_now, 10500000 * 64.0, "at 32 MB");
	expect_near(copy->fits_in, 48 << 20, "fits in");
	expect_near(copy->moves_then, 500000 * 64.0, "then");
	model_deinit(&model);
	profile_set_fact(p, "traffic_geometry", "L1=48K:12,L2=2M:16,L3=1G:16");
	model = build(p);
	copy = find(&model, "copy")->traffic;
	expect_near(copy->moves_now, 500000 * 64.0, "at 1 GB");
	expect_near(copy->fits_in, 48 << 20, "the same in a cache that is large enough");
	model_deinit(&model);
	profile_destroy(p);
}
