/* Sums by function, and the index of roofs, against what they stand for: every text is the same,
 * byte for byte. */
#include "profile/roof_index.h"
#include "report/model/model.h"
#include "report/report.h"
#include "tests/unit/report/report_golden.h"
#include "tests/unit/report/report_sample.h"
#include "tests/unit/splitmix.h"

#include <stdio.h>
#include <unistd.h>

#define N_PROFILES 40

/* Every kind of report that is made from sums. */
static const struct report_options reports[] = {
	{.top = 100, .levels = true, .utf8 = true, .width = 200},
	{.top = 100, .sort = SORT_BYTES, .utf8 = true, .width = 200},
	{.top = 100, .sort = SORT_FLOPS, .level = "L2", .plot = true, .utf8 = true},
	{.top = 3, .sort = SORT_NAME, .direction = DIRECTION_READ, .ascii = true},
	{.top = 100,
	 .sort = SORT_TIME,
	 .direction = DIRECTION_WRITE,
	 .level = "DRAM",
	 .utf8 = true},
};

static void compare(const struct profile *a, const struct profile *b, const char *what)
{
	for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++) {
		cr_assert(report_from_sums(&reports[i]));
		char *x = report_text(a, reports[i]), *y = report_text(b, reports[i]);
		cr_expect_str_eq(x, y, "%s, report %zu", what, i);
		free(x);
		free(y);
	}
	char csv[2][48], *x, *y;
	for (int i = 0; i < 2; i++) {
		snprintf(csv[i], sizeof(csv[i]), "/tmp/test_sums-%d-%d.csv", (int)getpid(), i);
		struct report_options options = {.exports.of[EXPORT_csv] = csv[i]};
		assert_ok(report_write(i ? b : a, &options, NULL));
	}
	FILE *first = fopen(csv[0], "r"), *second = fopen(csv[1], "r");
	cr_assert(first && second);
	size_t cap_x = 0, cap_y = 0;
	x = y = NULL;
	cr_assert_gt(getdelim(&x, &cap_x, '\0', first), 0);
	cr_assert_gt(getdelim(&y, &cap_y, '\0', second), 0);
	cr_expect_str_eq(x, y, "%s, CSV", what);
	free(x), free(y);
	fclose(first), fclose(second);
	unlink(csv[0]), unlink(csv[1]);
}

/* From raw rows and from sums, at once and out of a file. */
static void expect_same(struct profile *profile, const char *what)
{
	char path[48];
	snprintf(path, sizeof(path), "/tmp/test_sums-%d.rfp", (int)getpid());
	struct profile *loaded = NULL, *whole = NULL;
	assert_ok(model_summarise(profile));
	cr_assert(profile->has_sums);
	assert_ok(profile_save(profile, path));
	assert_ok(profile_load_parts(path, PROFILE_SUMS, &loaded));
	assert_ok(profile_load(path, &whole));
	unlink(path);
	cr_assert(loaded->has_sums &&
		  loaded->n_blocks + loaded->n_samples + loaded->traffic.n == 0);
	cr_assert(!whole->has_sums && whole->n_samples == profile->n_samples);
	compare(profile, whole, what);
	compare(loaded, whole, what);
	profile_destroy(loaded);
	profile_destroy(whole);
}

/* ---- random profiles ---- */

static uint32_t any(uint64_t *state, size_t n)
{
	return (uint32_t)(random_number(state) % n);
}

/* A place in a function, between two of them, or in a module without any. */
static void any_place(uint64_t *state, struct profile *p, uint32_t *module, uint64_t *offset)
{
	*module = any(state, p->n_modules);
	*offset = 0x1000 * (1 + any(state, N_SAMPLE_KERNELS + 1)) + any(state, 0x18);
}

static void add_samples(uint64_t *state, struct profile *p)
{
	for (int i = 0; i < 200; i++) {
		uint32_t module;
		uint64_t offset;
		any_place(state, p, &module, &offset);
		struct profile_sample sample = {any(state, p->n_threads),
						random_number(state) % 1000000000,
						any(state, 3000000),
						profile_frame(p, PROFILE_NONE, module, offset)};
		if (any(state, 10) == 0)
			sample.frame = PROFILE_NONE;
		cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	}
}

static void add_runs(uint64_t *state, struct profile *p)
{
	const uint32_t n = 2 + any(state, 4), shown = any(state, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct profile_timed_run run = {.shown = i == shown,
						      .wall_s = 1 + any(state, 3),
						      .samples = any(state, 3000),
						      .time_ns = random_number(state) >> 32};
		cr_assert(rf_array_push(p->timed_runs, p->n_timed_runs, p->cap_timed_runs, run));
		for (int k = 0; k < 60; k++) {
			struct profile_run_time time = {.timed_run = i,
							.samples = 1 + any(state, 30),
							.time_ns = any(state, 30000000)};
			any_place(state, p, &time.module, &time.offset);
			if (any(state, 10) == 0)
				time.module = PROFILE_NONE;
			cr_assert(rf_array_push(p->run_times, p->n_run_times, p->cap_run_times,
						time));
		}
	}
}

static void add_traffic(uint64_t *state, struct profile *p)
{
	for (int i = 0; i < 150; i++) {
		struct profile_traffic row = {.thread = any(state, p->n_threads),
					      .class = any(state, 6)};
		any_place(state, p, &row.module, &row.offset);
		for (int e = 0; e < N_TRAFFIC; e++)
			row.lines[e] =
				any(state, 3) ? 0 : random_number(state) >> (24 + any(state, 40));
		cr_assert(packed_rows_add(&p->traffic, &row, sizeof(row)));
		struct profile_stride stride = {.unit = any(state, 100),
						.constant = any(state, 100),
						.random = any(state, 50),
						.step = (int64_t)any(state, 1000) - 500,
						.fetched = any(state, 9999)};
		any_place(state, p, &stride.module, &stride.offset);
		stride.used = stride.fetched / 2;
		cr_assert(rf_array_push(p->strides, p->n_strides, p->cap_strides, stride));
		struct profile_working_set set = {.capacity = (uint64_t)any(state, 9) << 20,
						  .reads = any(state, 1000000)};
		any_place(state, p, &set.module, &set.offset);
		cr_assert(rf_array_push(p->working_sets, p->n_working_sets, p->cap_working_sets,
					set));
		struct profile_object_traffic part = {
			any(state, p->n_objects), 0, 0, any(state, 100000), any(state, 10000), 0};
		any_place(state, p, &part.module, &part.offset);
		cr_assert(rf_array_push(p->object_traffic, p->n_object_traffic,
					p->cap_object_traffic, part));
	}
	profile_set_fact(p, "traffic_classes", "%u", 1 + any(state, 6));
}

static void add_counts(uint64_t *state, struct profile *p)
{
	for (int i = 0; i < 30; i++) {
		const uint32_t thread = any(state, p->n_threads);
		struct profile_count count = {any(state, p->n_blocks), thread,
					      (int64_t)any(state, 1000) - 200};
		if (p->threads[thread].run == RUN_COUNTED)
			cr_assert(rf_array_push(p->counts, p->n_counts, p->cap_counts, count));
	}
	if (any(state, 2)) { /* does not decode */
		struct profile_block block = {0, 0x7000, 1, malloc(1)};
		*block.bytes = 0x06;
		struct profile_count count = {(uint32_t)p->n_blocks, 1, 3};
		cr_assert(rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, block));
		cr_assert(rf_array_push(p->counts, p->n_counts, p->cap_counts, count));
	}
	if (any(state, 2)) {
		struct profile_units stray = {0, 0x9999, 1, 5};
		cr_assert(rf_array_push(p->units, p->n_units, p->cap_units, stray));
	}
}

static void add_processes(uint64_t *state, struct profile *p)
{
	const uint32_t first = profile_process(p, RUN_TIMED, 100, PROFILE_NONE);
	const uint32_t counted = profile_process(p, RUN_COUNTED, 200, PROFILE_NONE);
	profile_process_command(p, first, "solver");
	profile_process_command(p, counted, "solver");
	profile_process_command(p, profile_process(p, RUN_TIMED, 101, first), "child");
	profile_thread(p, RUN_TIMED, 101, 101, "child");
	if (any(state, 2)) {
		profile_process_command(p, profile_process(p, RUN_COUNTED, 201, counted), "child");
		profile_thread(p, RUN_COUNTED, 201, 201, "child");
		profile_native_process(p, 201, "a sandbox");
	}
	cr_assert_null(profile_match_processes(p));
}

static void add_counters(uint64_t *state, struct profile *p)
{
	static const char *const quantities[] = {"flop_dp", "flop_dp", "instructions", "loads"};
	for (size_t i = 0; i < 4; i++) {
		struct profile_counter counter = {.multiplier = (double)(1 + i),
						  .use = COUNTER_USED,
						  .events = 1e9,
						  .share = 1,
						  .samples = 1000};
		cr_assert_null(profile_add_counter(p, quantities[i], "event", &counter, ""));
	}
	for (int i = 0; i < 100; i++) {
		struct profile_counter_place place = {.counter = any(state, 4),
						      .thread = any(state, p->n_threads),
						      .samples = 1 + any(state, 20),
						      .events = 1e5 / (1 + any(state, 7))};
		any_place(state, p, &place.module, &place.offset);
		cr_assert(rf_array_push(p->counter_places, p->n_counter_places,
					p->cap_counter_places, place));
	}
}

static struct profile *random_profile(uint64_t *state)
{
	struct profile *p = report_traced_sample();
	sample_data(p);
	if (any(state, 2))
		add_processes(state, p);
	add_samples(state, p);
	if (any(state, 2))
		add_runs(state, p);
	add_counts(state, p);
	if (any(state, 4))
		add_traffic(state, p);
	if (any(state, 2))
		add_counters(state, p);
	if (any(state, 8) == 0)
		profile_set_fact(p, "work_source", "PMU");
	profile_set_fact(p, "sample_cost_ns", "%u", any(state, 2000));
	return p;
}

Test(sums, of_a_profile_without_traffic)
{
	struct profile *profile = report_sample();
	expect_same(profile, "no traffic");
	profile_destroy(profile);
}

Test(sums, of_random_profiles)
{
	uint64_t state = 7;
	for (int i = 0; i < N_PROFILES; i++) {
		char what[32];
		struct profile *profile = random_profile(&state);
		snprintf(what, sizeof(what), "profile %d", i);
		expect_same(profile, what);
		profile_destroy(profile);
	}
}

/* An error in a sum is seen: the comparison looks at them. */
Test(sums, are_what_is_read)
{
	struct profile *profile = report_traced_sample(), *same = report_traced_sample();
	assert_ok(model_summarise(profile));
	profile->sum_times[0].time_ns *= 2;
	char *x = report_text(profile, reports[0]), *y = report_text(same, reports[0]);
	cr_expect_str_neq(x, y);
	free(x), free(y);
	profile_destroy(profile);
	profile_destroy(same);
}

Test(sums, are_made_anew_where_another_rfprof_made_them)
{
	char path[48];
	snprintf(path, sizeof(path), "/tmp/test_sums-%d.rfp", (int)getpid());
	struct profile *profile = report_traced_sample(), *loaded = NULL;
	assert_ok(model_summarise(profile));
	profile_set_fact(profile, PROFILE_SUMS_FACT, "0");
	assert_ok(profile_save(profile, path));
	assert_ok(profile_load_parts(path, PROFILE_SUMS, &loaded));
	cr_expect(!loaded->has_sums && loaded->n_sums == 0 &&
		  loaded->n_samples == profile->n_samples);
	profile_destroy(loaded);
	/* loaded whole and saved again there is the fact, but no sum */
	profile_set_fact(profile, PROFILE_SUMS_FACT, PROFILE_SUMS_VERSION);
	assert_ok(profile_save(profile, path));
	assert_ok(profile_load(path, &loaded));
	assert_ok(profile_save(loaded, path));
	profile_destroy(loaded);
	assert_ok(profile_load_parts(path, PROFILE_SUMS, &loaded));
	cr_expect(!loaded->has_sums && loaded->n_samples == profile->n_samples);
	unlink(path);
	profile_destroy(loaded);
	profile_destroy(profile);
}

/* ---- the index of roofs ---- */

static struct roof random_roof(uint64_t *state)
{
	static const enum roof_isa isas[] = {ROOF_ISA_SCALAR, ROOF_ISA_AVX2, ROOF_ISA_AVX512F};
	static const enum roof_precision precisions[] = {ROOF_PRECISION_DOUBLE,
							 ROOF_PRECISION_SINGLE,
							 ROOF_PRECISION_UNKNOWN};
	static const enum roof_op ops[] = {ROOF_OP_FMA, ROOF_OP_ADD, ROOF_OP_READ, ROOF_OP_TRIAD,
					   ROOF_OP_UNKNOWN};
	static const enum roof_level levels[] = {ROOF_LEVEL_L1, ROOF_LEVEL_DRAM,
						 ROOF_LEVEL_UNKNOWN};
	struct roof roof = {.isa = isas[any(state, 3)],
			    .op = ops[any(state, 5)],
			    .threads = 1 + (int)any(state, 4),
			    .by_node = any(state, 5) == 0,
			    .best = 1 + any(state, 1000),
			    .noisy = any(state, 3) == 0};
	if (any(state, 2)) {
		roof.kind = ROOF_COMPUTE;
		roof.precision = precisions[any(state, 3)];
	} else {
		roof.kind = any(state, 3) ? ROOF_BANDWIDTH : ROOF_ZEROS;
		roof.level = levels[any(state, 3)];
	}
	return roof;
}

Test(roof_index, finds_what_reading_all_finds)
{
	uint64_t state = 3;
	for (int round = 0; round < 50; round++) {
		const size_t n = any(&state, 200);
		struct roof *roofs = calloc(n + 1, sizeof(*roofs));
		struct roof_index index = {0};
		for (size_t i = 0; i < n; i++)
			roofs[i] = random_roof(&state);
		assert_ok(roof_index_refresh(&index, roofs, n));
		for (int k = 0; k < 100; k++) {
			const struct roof like = random_roof(&state);
			const struct roof_key key = {like.kind, ROOF_ISA_ANY, like.precision,
						     like.op, like.level};
			const struct roof_run run = roof_index_find(&index, roofs, n, key);
			size_t found = 0;
			for (size_t i = 0; i < n; i++) {
				if (!roof_matches(&roofs[i], key))
					continue;
				cr_assert_lt(found, run.n);
				cr_expect_eq(run.rows[found], i);
				cr_expect_eq(run.roofs[found].best, roofs[i].best);
				found++;
			}
			cr_expect_eq(found, run.n);
			cr_expect_eq(machine_roof(run.roofs, run.n, key, 2.5),
				     machine_roof(roofs, n, key, 2.5));
		}
		/* other roofs than those that were indexed: all of them */
		const struct roof_run all =
			roof_index_find(&index, roofs + 1, n,
					roof_bandwidth(ROOF_OP_READ, ROOF_LEVEL_L1));
		cr_expect(all.roofs == roofs + 1 && all.n == n && !all.rows);
		roof_index_deinit(&index);
		free(roofs);
	}
}

/* With an index and without: the same rate, and the same noisy row. */
Test(roof_index, places_functions_the_same)
{
	uint64_t state = 11;
	for (int i = 0; i < 10; i++) {
		struct profile *profile = random_profile(&state);
		for (size_t r = 0; r < profile->n_roofs; r++)
			profile->roofs[r].noisy = any(&state, 3) == 0;
		struct profile plain = *profile;
		plain.roof_index = NULL;
		compare(profile, &plain, "with an index");
		profile_destroy(profile);
	}
}
