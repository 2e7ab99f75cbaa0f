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

/* What is open at a border widens the figures of what crosses it, also where nothing was seen. */
Test(model_traffic, what_is_open_is_in_the_interval)
{
	struct traffic_lines lines = {0};
	for (int k = 0; k < 4; k++)
		lines.by_class[k][TRAFFIC_L3_READ] = 100;
	lines.by_class[0][TRAFFIC_L3_READ_OPEN] = 3;
	lines.by_class[2][TRAFFIC_L3_WRITE_OPEN] = 1;
	const unsigned read = 1u << TRAFFIC_L3_READ, write = 1u << TRAFFIC_L3_WRITE_BACK;
	const double line = 64 * 64 / 4.0; /* of one in four classes */
	const struct model_estimate reads = model_estimate(&lines, 4, read),
				    writes = model_estimate(&lines, 4, write),
				    both = model_estimate(&lines, 4, read | write);
	expect_near(reads.bytes, 400 * line, "bytes");
	expect_near(reads.halfwidth, hypot(3 * line, MODEL_RESOLUTION * reads.bytes), "read");
	cr_expect_eq(writes.bytes, 0);
	expect_near(writes.halfwidth, line, "written");
	expect_near(both.halfwidth, hypot(4 * line, MODEL_RESOLUTION * both.bytes), "both");
	cr_expect_eq(model_estimate(&lines, 4, 1u << TRAFFIC_L2_READ).halfwidth, 0);
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

/* Above is above; what is written back later is a reason, what is read is none. */
Test(model_traffic, late_writes_are_told_above_a_roof)
{
	for (int late = 0; late <= 1; late++) {
		struct profile *p = report_traced_sample();
		sample_lines(p, late ? 0x100b : 0x1000,
			     late ? TRAFFIC_MEM_WRITE_BACK : TRAFFIC_MEM_READ, 10 * 781250, 0);
		struct model model = build(p);
		const struct model_place *place = &find(&model, "triad")->place;
		cr_expect(place->point > 1.5 * place->roof);
		cr_expect(place->above);
		cr_expect_eq(place->headroom_s, 0);
		cr_expect_lt(place->distance, 1 / 1.5);
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

/* An object has its share of the instruction's traffic, however few of its lines are known; what no
 * object is known of has none. */
Test(model_traffic, objects_share_what_their_instruction_moves)
{
	struct profile *p = report_traced_sample();
	const uint32_t one = sample_object(p, OBJECT_HEAP, "main", "mesh.c", 88, 6400000000);
	const uint32_t other = sample_object(p, OBJECT_STATIC, "a", "", 0, 3200000000);
	sample_object_lines(p, one, 0x1000, 30, 0, 7);
	sample_object_lines(p, other, 0x1000, 5, 5, 0);
	sample_object_lines(p, other, 0x100b, 0, 900000000, 1);
	sample_object_lines(p, other, 0x9999, 8, 8, 8);
	struct model model = build(p);
	const struct model_traffic *triad = find(&model, "triad")->traffic;
	cr_assert_eq(triad->n_objects, 2);
	/* 0x1000 reads an array and writes nothing; 0x1005 reads one, and nobody knows which */
	expect_near(triad->objects[0].read, 0.25 * array + array, "one of four, and the other");
	expect_near(triad->objects[0].write, array, "all that is written");
	expect_near(triad->objects[1].read, 0.75 * array, "three of four");
	cr_expect_eq(triad->objects[1].write, 0, "that instruction writes nothing");
	model_deinit(&model);
	profile_destroy(p);
}

/* Of loads and stores the share that missed is told where the sample tells it. */
Test(model_traffic, misses_that_are_not_known_are_not_told)
{
	static const struct {
		uint64_t lines, step; /* of L2 for dot, which has 200 million loads, in a class */
		double misses;
	} cases[] = {
		{781250, 0, 0.25},      /* × 64 = 50 million */
		{3125000, 0, 1},        /* each load a line */
		{3127000, 0, 1},        /* within the half-width of that */
		{6250000, 0, NAN},      /* two lines a load: who missed is not known */
		{100000, 3000000, NAN}, /* classes so far apart leave it open */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p = report_traced_sample();
		const uint64_t has = 390625;
		sample_lines(p, 0x3000, TRAFFIC_L2_READ, cases[i].lines - has, cases[i].step);
		struct model model = build(p);
		const struct model_level *l1 = level_of(find(&model, "dot"), "L1");
		if (isnan(cases[i].misses))
			cr_expect(isnan(l1->misses), "case %zu: %g", i, l1->misses);
		else
			expect_near(l1->misses, cases[i].misses, "misses");
		model_deinit(&model);
		profile_destroy(p);
	}
}

Test(model_traffic, more_cache_never_moves_more)
{
	struct profile *p = report_traced_sample();
	sample_data(p);
	for (int megabytes = 1; megabytes <= 1024; megabytes *= 2) {
		profile_set_fact(p, "traffic_geometry", "L1=48K:12,L2=2M:16,L3=%dM:16", megabytes);
		struct model model = build(p);
		for (size_t i = 0; i < model.n_functions; i++) {
			const struct model_traffic *traffic = model.functions[i].traffic;
			cr_expect(!traffic || traffic->moves_then <= traffic->moves_now, "%d MB",
				  megabytes);
		}
		model_deinit(&model);
	}
	profile_destroy(p);
}

Test(model_traffic, conflicts_are_open_by_what_is_unknown)
{
	struct traffic_lines lines = {0};
	for (int k = 0; k < CACHE_CLASSES; k++) {
		lines.by_class[k][TRAFFIC_MEM_READ] = 10;
		lines.by_class[k][TRAFFIC_MEM_CONFLICT] = 4;
	}
	struct model_share share = model_conflicts(&lines, CACHE_CLASSES);
	expect_near(share.share, 0.4, "all known");
	expect_near(share.halfwidth, 0, "of all classes");
	for (int k = 0; k < CACHE_CLASSES; k++)
		lines.by_class[k][TRAFFIC_MEM_CONFLICT_UNKNOWN] = 2;
	share = model_conflicts(&lines, CACHE_CLASSES);
	expect_near(share.share, 0.5, "4 of 8");
	expect_near(share.halfwidth, 0.2, "0.4 to 0.6 of all");
	for (int k = 0; k < CACHE_CLASSES; k++)
		lines.by_class[k][TRAFFIC_MEM_CONFLICT_UNKNOWN] = 6;
	cr_expect(isnan(model_conflicts(&lines, CACHE_CLASSES).share));
}

Test(model_traffic, a_share_is_a_ratio_of_sums)
{
	struct traffic_lines lines = {0};
	static const double part[] = {5, 6, 4, 5}, whole[] = {10, 12, 8, 10};
	for (int k = 0; k < 4; k++) {
		lines.by_class[k][TRAFFIC_MEM_CONFLICT] = part[k];
		lines.by_class[k][TRAFFIC_MEM_READ] = whole[k];
	}
	const unsigned conflict = 1u << TRAFFIC_MEM_CONFLICT, read = 1u << TRAFFIC_MEM_READ;
	struct model_share share = model_share(&lines, 4, conflict, read);
	expect_near(share.share, 0.5, "share");
	expect_near(share.halfwidth, MODEL_RESOLUTION * 0.5, "half of every class");
	lines.by_class[0][TRAFFIC_MEM_CONFLICT] = 9;
	share = model_share(&lines, 4, conflict, read);
	expect_near(share.share, 0.6, "share");
	/* what is above 0.6: 3, -1.2, -0.8, -1 */
	const double spread = sqrt((9 + 1.44 + 0.64 + 1) / 3 / 4 * 60 / 64) / 10;
	expect_near(share.halfwidth, hypot(3.182 * spread, MODEL_RESOLUTION * 0.6), "95 %");
	cr_expect(isnan(model_share(&lines, 1, conflict, read).halfwidth));
	cr_expect(isnan(model_share(&lines, 4, conflict, 1u << TRAFFIC_L2_READ).share));
	struct profile *p = report_traced_sample();
	struct model model = build(p);
	cr_expect(isnan(find(&model, "triad")->traffic->conflicts.share), "an older profile");
	model_deinit(&model);
	profile_destroy(p);
}
