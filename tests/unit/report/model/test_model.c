/* The model: counts, time, placement and the roofs that fit, against profiles whose truth is known.
 */
#include "report/model/model_place.h"
#include "report/model/model_roofs.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

static const struct model_choice defaults;

/* ---- counts: tolerance 0 ---- */

struct truth {
	const char *name;
	uint64_t flop, unmasked, loads, stores, instructions;
};

Test(model, work_and_bytes_equal_the_truth)
{
	static const struct truth truths[] = {
		{"triad", 800000000, 800000000, 6400000000, 3200000000, 600000000},
		{"fma_crunch(unsigned long)", 32000000000, 32000000000, 0, 0, 6000000000},
		{"dot", 200000000, 200000000, 1600000000, 0, 600000000},
		{"copy", 0, 0, 500000040, 500000000, 10},
		{"integer", 0, 0, 0, 0, 360000000},
		{"jit_code", 0, 0, 0, 0, 0},
	};
	struct profile *profile = report_sample();
	struct model model = build(profile);
	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++) {
		const struct truth *t = &truths[i];
		const struct tally *tally = &find(&model, t->name)->tally;
		cr_expect_eq(tally->flop, t->flop, "%s flop %lu", t->name, tally->flop);
		cr_expect_eq(tally->flop_unmasked, t->unmasked, "%s", t->name);
		cr_expect_eq(tally->load_bytes, t->loads, "%s loads %lu", t->name,
			     tally->load_bytes);
		cr_expect_eq(tally->store_bytes, t->stores, "%s stores %lu", t->name,
			     tally->store_bytes);
		cr_expect_eq(tally->instructions, t->instructions, "%s", t->name);
	}
	const struct tally *masked = &find(&model, "masked_add")->tally;
	cr_expect_eq(masked->flop, 30000000, "active lanes");
	cr_expect_eq(masked->flop_unmasked, 80000000, "all lanes");
	cr_expect_eq(masked->flop_by_kind[FLOP_ADD][PRECISION_DOUBLE][WIDTH_512], 30000000);
	const struct tally *triad = &find(&model, "triad")->tally;
	cr_expect_eq(triad->flop_by_kind[FLOP_FMA][PRECISION_DOUBLE][WIDTH_256], 800000000);
	const struct tally *dot = &find(&model, "dot")->tally;
	cr_expect_eq(dot->flop_by_kind[FLOP_ADD][PRECISION_DOUBLE][WIDTH_SCALAR], 100000000);
	cr_expect_eq(dot->flop_by_kind[FLOP_MUL][PRECISION_DOUBLE][WIDTH_SCALAR], 100000000);
	cr_expect_eq(model.unmatched_units, 0);
	cr_expect_eq(model.unreadable_blocks, 0);
	model_deinit(&model);
	profile_destroy(profile);
}

Test(model, threads_are_kept_apart)
{
	struct profile *profile = report_sample();
	struct model model = build(profile);
	const struct model_function *triad = find(&model, "triad");
	cr_assert_eq(triad->n_threads, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct profile_sum_thread *t = &triad->threads[i];
		uint64_t n = profile->threads[t->thread].tid == 200 ? 60000000 : 40000000;
		cr_expect_eq(t->flop, 8 * n);
		cr_expect_eq(t->load_bytes, 64 * n);
		cr_expect_eq(t->store_bytes, 32 * n);
		cr_expect_eq(t->instructions, 6 * n);
	}
	model_deinit(&model);
	profile_destroy(profile);
}

/* One block that runs on from one function into the next, and one that overlaps it. */
Test(model, a_block_is_split_where_the_next_function_starts)
{
	struct profile *p = profile_create();
	uint32_t m = profile_module(p, "/x", ""), t = profile_thread(p, RUN_COUNTED, 1, 1, "");
	sample_function(p, m, 0x10, 0x17, "first", "", 0);
	sample_function(p, m, 0x17, 0x40, "second", "", 0);
	/* "integer" of the sample: add, imul (7 bytes), dec, jnz */
	const char *code = sample_kernels[5].code;
	sample_block(p, m, 0x100, code, 3, t, 1000);
	sample_block(p, m, 0x10, code, 12, t, 10);
	sample_block(p, m, 0x13, code + 3, 9, t, 100);
	struct model model = build(p);
	cr_expect_eq(find(&model, "first")->tally.instructions, 2 * 10 + 100);
	cr_expect_eq(find(&model, "second")->tally.instructions, 2 * 10 + 2 * 100);
	cr_expect_eq(find(&model, "[unknown in x]")->tally.instructions, 1000);
	model_deinit(&model);
	profile_destroy(p);
}

/* The same instruction in two overlapping blocks: its run-time units count once. */
Test(model, units_count_once)
{
	struct profile *p = report_sample();
	uint32_t m = profile_module(p, "/opt/solver", "");
	const struct sample_kernel *copy = &sample_kernels[4];
	struct profile_block again = {m, 0x5000, 2, memcpy(malloc(2), copy->code, 2)};
	cr_assert(rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, again));
	struct profile_count count = {(uint32_t)p->n_blocks - 1, 1, 7};
	cr_assert(rf_array_push(p->counts, p->n_counts, p->cap_counts, count));
	struct profile_units stray = {m, 0x123456, 1, 5};
	cr_assert(rf_array_push(p->units, p->n_units, p->cap_units, stray));
	struct model model = build(p);
	const struct tally *tally = &find(&model, "copy")->tally;
	cr_expect_eq(tally->store_bytes, 500000000);
	cr_expect_eq(tally->load_bytes, 500000000 + 5 * 8);
	cr_expect_eq(tally->instructions, 5 * 2 + 7);
	cr_expect_eq(model.unmatched_units, 1);
	model_deinit(&model);
	profile_destroy(p);
}

/* Three of ten executions of a block were cut in two behind its first instruction: the rest of the
 * block stands there for the whole block, for itself, and less once more.  The rows come in any
 * order. */
Test(model, executions_cut_in_two_count_once)
{
	struct profile *p = profile_create();
	uint32_t m = profile_module(p, "/x", ""), t = profile_thread(p, RUN_COUNTED, 1, 1, "");
	const char *code = sample_kernels[5].code; /* add (3 bytes), imul (4), dec (3), jnz (2) */
	sample_function(p, m, 0x10, 0x40, "f", "", 0);
	sample_block(p, m, 0x13, code + 3, 9, t, -3);
	sample_block(p, m, 0x10, code, 12, t, 10);
	sample_block(p, m, 0x13, code + 3, 9, t, 3);
	struct model model = build(p);
	const struct model_function *function = find(&model, "f");
	cr_expect_eq(function->tally.instructions, 40, "%lu", function->tally.instructions);
	cr_assert_eq(function->n_threads, 1);
	cr_expect_eq(function->threads[0].instructions, 40);
	model_deinit(&model);
	profile_destroy(p);
}

Test(model, absurd_counts_saturate)
{
	struct profile *p = report_sample();
	for (size_t i = 0; i < p->n_counts; i++)
		p->counts[i].n = INT64_MAX;
	for (size_t i = 0; i < p->n_units; i++)
		p->units[i].n = UINT64_MAX;
	struct model model = build(p);
	cr_expect_eq(find(&model, "triad")->tally.flop, INT64_MAX);
	cr_expect_eq(find(&model, "copy")->tally.store_bytes, INT64_MAX);
	model_deinit(&model);
	profile_destroy(p);
}

/* ---- time and concurrency ---- */

Test(model, time_and_concurrency)
{
	struct profile *profile = report_sample();
	struct model model = build(profile);
	const struct model_function *triad = find(&model, "triad"), *dot = find(&model, "dot");
	cr_expect_eq(triad->time_ns, 1000000000);
	expect_near(triad->concurrency, 2, "both threads all the time");
	expect_near(triad->elapsed_s, 0.5, "elapsed");
	expect_near(triad->halfwidth_s, 1.96 * sqrt(1000) * 1e-3, "half-width");
	expect_near(dot->concurrency, 1, "one thread");
	expect_near(dot->elapsed_s, 0.3, "elapsed");
	expect_near(dot->share, 300.0 / 1890, "share");
	cr_expect_eq(model.uncounted_ns, 10000000);
	model_deinit(&model);
	profile_destroy(profile);
}

/* ---- processes, and what of them was not counted ---- */

static void add_sample(struct profile *p, int pid, int tid, uint64_t offset)
{
	struct profile_sample sample = {
		profile_thread(p, RUN_TIMED, pid, tid, ""), 0, SAMPLE_PERIOD_NS,
		profile_frame(p, PROFILE_NONE, profile_module(p, "/opt/solver", ""), offset)};
	cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
}

/* The process of report_sample() in both runs, matched. */
static struct profile *sample_with_processes(void)
{
	struct profile *p = report_sample();
	profile_process(p, RUN_TIMED, 100, PROFILE_NONE);
	profile_process(p, RUN_COUNTED, 200, PROFILE_NONE);
	return p;
}

static const struct model_function *find_uncounted(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->n_functions; i++)
		if (strcmp(model->functions[i].name, name) == 0 &&
		    model->functions[i].place.bound == BOUND_UNCOUNTED)
			return &model->functions[i];
	return NULL;
}

/* The second thread runs "fma_crunch", which only the first has counts of. */
Test(model, time_of_a_native_thread_is_apart)
{
	struct profile *p = sample_with_processes();
	for (int i = 0; i < 40; i++)
		add_sample(p, 100, 101, 0x2001);
	cr_assert_null(profile_match_processes(p));
	struct model model = build(p);
	cr_expect_null(find_uncounted(&model, "fma_crunch(unsigned long)"),
		       "threads share work as they like");
	cr_expect_eq(model.processes[0].uncounted_ns, 10000000, "the JIT code");
	model_deinit(&model);
	profile_native_thread(p, profile_thread(p, RUN_COUNTED, 200, 201, ""), "a reason");
	model = build(p);
	const struct model_function *native = find_uncounted(&model, "fma_crunch(unsigned long)");
	cr_assert_not_null(native);
	cr_expect_eq(native->time_ns, 40000000);
	cr_expect_eq(native->tally.instructions, 0);
	cr_expect_eq(find(&model, "fma_crunch(unsigned long)")->time_ns, 400000000);
	cr_expect_eq(find(&model, "triad")->time_ns, 1000000000, "that thread has counts of it");
	cr_assert_eq(model.n_uncounted, 2);
	cr_expect_str_eq(model.uncounted[0].kind, "thread");
	cr_expect_str_eq(model.uncounted[0].name, "solver");
	cr_expect_str_eq(model.uncounted[0].reason, "a reason");
	cr_expect_eq(model.uncounted[0].time_ns, 40000000);
	cr_expect_str_eq(model.uncounted[1].kind, "module");
	cr_expect_eq(model.uncounted_ns, 50000000);
	cr_expect_eq(model.processes[0].uncounted_ns, 50000000);
	model_deinit(&model);
	profile_destroy(p);
}

Test(model, time_of_a_native_or_missing_process_is_apart)
{
	for (int missing = 0; missing < 2; missing++) {
		struct profile *p = sample_with_processes();
		uint32_t child =
			profile_process(p, RUN_TIMED, 110, profile_find_process(p, RUN_TIMED, 100));
		profile_process_command(p, child, "child");
		if (!missing) {
			uint32_t twin = profile_process(p, RUN_COUNTED, 210,
							profile_find_process(p, RUN_COUNTED, 200));
			profile_process_command(p, twin, "child");
			profile_native_process(p, 210, "a reason");
		}
		for (int i = 0; i < 25; i++)
			add_sample(p, 110, 110, 0x1001);
		cr_assert_null(profile_match_processes(p));
		struct model model = build(p);
		cr_assert_not_null(find_uncounted(&model, "triad"));
		cr_expect_eq(find_uncounted(&model, "triad")->time_ns, 25000000);
		cr_assert_eq(model.n_processes, 2);
		cr_expect_eq(model.processes[1].parent, 0);
		cr_expect_eq(model.processes[1].time_ns, 25000000);
		cr_expect_eq(model.processes[1].uncounted_ns, 25000000);
		cr_expect_str_eq(model.uncounted[0].kind, "process");
		cr_expect_str_eq(model.uncounted[0].name, "child");
		cr_expect_str_eq(model.uncounted[0].reason,
				 missing ? "the counted run had no such process" : "a reason");
		model_deinit(&model);
		profile_destroy(p);
	}
}

Test(model, a_process_has_its_work)
{
	struct profile *p = sample_with_processes();
	cr_assert_null(profile_match_processes(p));
	struct model model = build(p);
	uint64_t flop = 0, instructions = 0;
	for (size_t i = 0; i < model.n_functions; i++) {
		flop += model.functions[i].tally.flop;
		instructions += model.functions[i].tally.instructions;
	}
	cr_assert_eq(model.n_processes, 1);
	cr_expect_eq(model.processes[0].flop, flop);
	cr_expect_eq(model.processes[0].instructions, instructions);
	cr_expect_eq(model.processes[0].time_ns, model.time_ns);
	model_deinit(&model);
	profile_destroy(p);
}

/* What a sample costs is no time of the program; how long threads are inside does not change by it.
 */
Test(model, samples_do_not_count_themselves)
{
	struct profile *p = report_sample();
	profile_set_fact(p, "sample_cost_ns", "%u", SAMPLE_PERIOD_NS / 5);
	struct model model = build(p);
	const struct model_function *triad = find(&model, "triad");
	cr_expect_eq(triad->time_ns, 800000000);
	expect_near(triad->concurrency, 2, "both threads all the time");
	expect_near(triad->elapsed_s, 0.4, "elapsed");
	expect_near(find(&model, "dot")->share, 300.0 / 1890, "share");
	model_deinit(&model);
	profile_set_fact(p, "sample_cost_ns", "%u", 2 * SAMPLE_PERIOD_NS);
	model = build(p);
	cr_expect_eq(find(&model, "triad")->time_ns, 500000000, "something is left");
	model_deinit(&model);
	profile_destroy(p);
}

/* Samples that stand for different times say less than as many equal ones. */
Test(model, unequal_samples_widen_intervals)
{
	struct profile *p = report_sample();
	profile_set_fact(p, "sample_spread", "1.25");
	struct model model = build(p);
	expect_near(find(&model, "triad")->halfwidth_s, 1.25 * 1.96 * sqrt(1000) * 1e-3, "row");
	expect_near(model.halfwidth_s, 1.25 * 1.96 * sqrt(1890) * 1e-3, "all");
	model_deinit(&model);
	profile_set_fact(p, "sample_spread", "0.5");
	model = build(p);
	expect_near(find(&model, "triad")->halfwidth_s, 1.96 * sqrt(1000) * 1e-3, "never narrower");
	model_deinit(&model);
	profile_destroy(p);
}

Test(model, threads_in_turn_are_not_concurrent)
{
	struct profile *p = report_sample();
	for (size_t i = 0; i < p->n_samples; i++)
		if (p->threads[p->samples[i].thread].tid ==
		    101) /* thread 2 runs after all others */
			p->samples[i].time_ns += 10000000000u;
	struct model model = build(p);
	expect_near(find(&model, "triad")->concurrency, 1, "in turn");
	profile_set_fact(p, "usable_threads", "1");
	for (size_t i = 0; i < p->n_samples; i++)
		p->samples[i].time_ns %= 10000000000u;
	model_deinit(&model);
	model = build(p);
	expect_near(find(&model, "triad")->concurrency, 1, "two threads on one hardware thread");
	model_deinit(&model);
	profile_destroy(p);
}

/* ---- placement ---- */

Test(model, points_lie_under_the_right_roof)
{
	struct profile *profile = report_sample();
	struct model model = build(profile);
	/* a third of the bytes are stores: the triad's bandwidth, at 2 threads */
	const struct model_place *triad = &find(&model, "triad")->place;
	expect_near(triad->point, 1.6, "triad P");
	expect_near(triad->roof, 12 * 1.7 * 8 / 96, "triad roof");
	cr_expect_eq(triad->bound, BOUND_MEMORY);
	cr_expect_str_eq(triad->level, "DRAM");
	expect_near(triad->distance, 1.7 / 1.6, "triad distance");
	expect_near(triad->headroom_s, 0.5 * (1 - 1.6 / 1.7), "triad headroom");
	/* registers only: the peak, without a level */
	const struct model_place *crunch = &find(&model, "fma_crunch(unsigned long)")->place;
	expect_near(crunch->point, 80, "crunch P");
	expect_near(crunch->roof, 99.4, "crunch roof");
	cr_expect_eq(crunch->bound, BOUND_COMPUTE);
	cr_expect_str_eq(crunch->level, "");
	cr_expect(isinf(find(&model, "fma_crunch(unsigned long)")->intensity));
	/* pure reading: the read bandwidth; less than half of it: latency, with a hint */
	const struct model_place *dot = &find(&model, "dot")->place;
	expect_near(dot->roof, 14.6 * 2 / 16, "dot roof");
	expect_near(dot->roof_l1, 311 * 2.0 / 16, "dot roof from L1");
	cr_expect_eq(dot->bound, BOUND_LATENCY);
	/* 20 GB/s, half stored: above DRAM's 12, so from L2 (L3 cannot be told from DRAM) */
	const struct model_place *copy = &find(&model, "copy")->place;
	cr_expect_eq(copy->axis, AXIS_BYTES);
	expect_near(copy->roof, 80, "copy roof");
	cr_expect_str_eq(copy->level, "L2");
	/* neither flop nor bytes: clock × 6 */
	const struct model_place *integer = &find(&model, "integer")->place;
	cr_expect_eq(integer->axis, AXIS_INSTRUCTIONS);
	expect_near(integer->point, 12, "integer P");
	expect_near(integer->roof, 2.9 * 6, "integer roof");
	cr_expect_eq(integer->bound, BOUND_ISSUE);
	const struct model_function *jit = find(&model, "jit_code");
	cr_expect_eq(jit->place.bound, BOUND_UNCOUNTED);
	cr_expect(isnan(jit->place.distance));
	model_deinit(&model);
	/* a wider core, and a width that none has */
	profile_set_fact(profile, "issue_width", "8");
	model = build(profile);
	expect_near(find(&model, "integer")->place.roof, 2.9 * 8, "integer roof of a wider core");
	model_deinit(&model);
	profile_set_fact(profile, "issue_width", "1e9");
	model = build(profile);
	expect_near(find(&model, "integer")->place.roof, 2.9 * 6, "integer roof of an absurd core");
	model_deinit(&model);
	profile_destroy(profile);
}

Test(model, a_point_above_its_roof_stays_above_it)
{
	struct profile *p = report_sample();
	set_executions(p, 1, 1600000000); /* 128 GFLOP/s, peak 99.4 */
	struct model model = build(p);
	const struct model_place *place = &find(&model, "fma_crunch(unsigned long)")->place;
	cr_expect(place->above);
	cr_expect_eq(place->headroom_s, 0);
	expect_near(place->distance, 99.4 / 128, "distance");
	model_deinit(&model);
	set_executions(p, 1, 1360000000); /* 108.8: 400 samples, 10.3 % more time would be on it */
	model = build(p);
	place = &find(&model, "fma_crunch(unsigned long)")->place;
	cr_expect(!place->above);
	cr_expect_eq(place->headroom_s, 0);
	cr_expect_eq(place->distance, 1);
	model_deinit(&model);
	set_executions(p, 1, 1380000000); /* 110.4 */
	model = build(p);
	cr_expect(find(&model, "fma_crunch(unsigned long)")->place.above);
	model_deinit(&model);
	profile_destroy(p);
}

/* The faster it runs, the faster the level that its data must come from. */
Test(model, the_level_follows_the_point)
{
	static const struct {
		int64_t n;
		const char *level;
	} steps[] = {
		{100000000, "DRAM"}, {280000000, "DRAM"}, {300000000, "L2"},
		{1900000000, "L2"},  {2100000000, "L1"},
	};
	struct profile *p = report_sample();
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		set_executions(p, 2, steps[i].n);
		struct model model = build(p);
		const struct model_place *place = &find(&model, "dot")->place;
		cr_expect_str_eq(place->level, steps[i].level, "%ld: %s", steps[i].n, place->level);
		cr_expect(!place->above);
		model_deinit(&model);
	}
	profile_destroy(p);
}

Test(model, without_roofs_or_counts_nothing_is_invented)
{
	struct profile *p = report_sample();
	p->n_roofs = 0;
	profile_set_fact(p, "clock_ghz", "0");
	struct model model = build(p);
	for (size_t i = 0; i < model.n_functions; i++) {
		cr_expect(isnan(model.functions[i].place.distance), "%s", model.functions[i].name);
		cr_expect(isnan(model.functions[i].place.headroom_s));
	}
	model_deinit(&model);
	p->n_counts = p->n_units = 0;
	profile_set_fact(p, "work_source", "none");
	model = build(p);
	cr_expect_eq(model.uncounted_ns, 0, "nothing was to be counted");
	cr_expect_eq(find(&model, "dot")->place.bound, BOUND_UNKNOWN);
	model_deinit(&model);
	profile_destroy(p);
}

/* ---- the roofs that fit ---- */

/* One thread; each figure other than the next, so that a wrong row shows. */
static const struct {
	const char *op;
	double dram, l3, l2, l1;
} bandwidth_rows[] = {
	{"read", 20, 60, 200, 400},  {"triad", 15, 48, 160, 500},  {"copy", 12, 40, 140, 380},
	{"write", 9, 30, 120, 200},  {"daxpy", 19, 58, 210, 520},  {"update", 18, 57, 170, 510},
	{"triad_nt", 17, 0, 0, 0},   {"copy_nt", 16, 0, 0, 0},     {"write_nt", 14, 0, 0, 0},
	{"copy_rep", 13, 0, 0, 250}, {"write_rep", 11, 0, 0, 180}, {"random", 900, 900, 900, 900},
};

static const struct {
	const char *isa, *precision, *op;
	double rate;
} compute_rows[] = {
	{"avx512f", "double", "fma", 130},
	{"avx512f", "double", "add", 65},
	{"avx512f", "double", "mul", 66},
	{"avx512f", "double", "fma1_add1", 195},
	{"avx512f", "double", "fma2_add1", 163},
	{"avx512f", "double", "fma1_add2", 132},
	{"avx512f", "double", "div", 20},
	{"avx512f", "single", "fma", 260},
	{"scalar", "double", "fma", 16},
	{"scalar", "double", "add", 8},
	{"scalar", "double", "mul", 8},
	{"scalar", "double", "div", 5},
	{"scalar", "double", "sqrt", 3},
	{"scalar", "double", "fma1_add1", 24},
	{"avx512f", "half", "fma", 510},
	{"avx512f", "bfloat16", "dot", 550},
	{"amx", "bfloat16", "dot", 2000},
	{"x87", "x87", "add", 4},
	{"x87", "x87", "mul", 4.5},
};

static void add_roof(struct profile *p, enum roof_kind kind, const char *isa, const char *precision,
		     const char *op, const char *level, double rate)
{
	sample_roof(p, kind, isa, precision, op, level, 1, rate);
	p->roofs[p->n_roofs - 1].distinguishable = true;
}

/* What must never be taken: integer rows, and rows of NUMA nodes. */
static void add_traps(struct profile *p)
{
	static const char *const ops[] = {"add", "mul", "fma", "dot", "logic"};
	static const char *const precisions[] = {"int8", "int32", "int64"};
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 3; k++) {
			add_roof(p, ROOF_COMPUTE, "avx512f", precisions[k], ops[i], "", 99999);
			strcpy(p->roofs[p->n_roofs - 1].unit, "GOP/s");
		}
	add_roof(p, ROOF_COMPUTE, "avx512f", "double", "fma", "", 77777);
	p->roofs[p->n_roofs - 1].by_node = true;
	for (size_t i = 0; i < sizeof(bandwidth_rows) / sizeof(*bandwidth_rows); i++) {
		add_roof(p, ROOF_BANDWIDTH, "avx2", "", bandwidth_rows[i].op, "DRAM", 88888);
		p->roofs[p->n_roofs - 1].by_node = true;
	}
}

static bool is_left_out(const char *op, const char *out)
{
	char word[32];
	snprintf(word, sizeof(word), " %s ", op);
	return strstr(out, word) != NULL;
}

/* All rows but those of the operations in `out`, " op op ". */
static struct profile *fit_profile(const char *out)
{
	struct profile *p = profile_create();
	for (size_t i = 0; i < sizeof(bandwidth_rows) / sizeof(*bandwidth_rows); i++) {
		const double rates[] = {bandwidth_rows[i].dram, bandwidth_rows[i].l3,
					bandwidth_rows[i].l2, bandwidth_rows[i].l1};
		static const char *const levels[] = {"DRAM", "L3", "L2", "L1"};
		for (size_t l = 0; l < 4 && !is_left_out(bandwidth_rows[i].op, out); l++)
			if (rates[l] > 0)
				add_roof(p, ROOF_BANDWIDTH, "avx2", "", bandwidth_rows[i].op,
					 levels[l], rates[l]);
	}
	for (size_t i = 0; i < sizeof(compute_rows) / sizeof(*compute_rows); i++)
		if (!is_left_out(compute_rows[i].op, out))
			add_roof(p, ROOF_COMPUTE, compute_rows[i].isa, compute_rows[i].precision,
				 compute_rows[i].op, "", compute_rows[i].rate);
	add_traps(p);
	return p;
}

#define WITHOUT_IN_PLACE " daxpy update "
#define WITHOUT_NT " triad_nt copy_nt write_nt "
#define WITHOUT_REP " copy_rep write_rep "
#define OLD_SET " daxpy update triad_nt copy_nt write_nt copy_rep write_rep copy write "
#define WITHOUT_MIXES " fma2_add1 fma1_add1 fma1_add2 "

static struct model_function in_one_second(void)
{
	return (struct model_function){.concurrency = 1,
				       .elapsed_s = 1,
				       .time_ns = 1000000000,
				       .n_samples = 1000000,
				       .tally.instructions = 1000};
}

struct fit_case {
	const char *left_out;
	uint64_t load, store, streamed, strings; /* shares of `point` */
	double point;                            /* GB/s */
	double roof;
	const char *level, *stores;
};

static void check_bandwidth(const struct fit_case *c, size_t index)
{
	struct profile *p = fit_profile(c->left_out);
	struct model_function f = in_one_second();
	double unit = c->point * 1e9 / (double)(c->load + c->store);
	f.tally.load_bytes = (uint64_t)llround((double)c->load * unit);
	f.tally.store_bytes = (uint64_t)llround((double)c->store * unit);
	f.tally.nt_store_bytes = (uint64_t)llround((double)c->streamed * unit);
	f.tally.string_bytes = (uint64_t)llround((double)c->strings * unit);
	model_place(p, &defaults, &f, true);
	cr_expect_eq(f.place.axis, AXIS_BYTES);
	cr_expect(fabs(f.place.roof - c->roof) <= 1e-8 * c->roof, "case %zu: roof %.12g, not %.12g",
		  index, f.place.roof, c->roof);
	cr_expect_str_eq(f.place.level, c->level, "case %zu: %s", index, f.place.level);
	cr_expect_str_eq(f.place.stores, c->stores, "case %zu: %s", index, f.place.stores);
	cr_expect(!f.place.above);
	cr_expect(!f.place.interpolated);
	profile_destroy(p);
}

Test(model, bandwidths_fit_the_stores)
{
	static const struct fit_case fit_cases[] = {
		/* along the share of stores */
		{"", 12, 0, 0, 0, 1, 20, "DRAM", "apart"},
		{"", 10, 2, 0, 0, 1, 17.5, "DRAM", "apart"},
		{"", 8, 4, 0, 0, 1, 15, "DRAM", "apart"},
		{"", 7, 5, 0, 0, 1, 13.5, "DRAM", "apart"},
		{"", 6, 6, 0, 0, 1, 12, "DRAM", "apart"},
		{"", 3, 9, 0, 0, 1, 10.5, "DRAM", "apart"},
		{"", 0, 12, 0, 0, 1, 9, "DRAM", "apart"},
		/* faster than that from memory: the stores go to lines that were loaded */
		{"", 8, 4, 0, 0, 15.7, 15, "DRAM", "apart"},
		{"", 8, 4, 0, 0, 15.8, 19, "DRAM", "in place"},
		{"", 6, 6, 0, 0, 15, 18, "DRAM", "in place"},
		{"", 3, 9, 0, 0, 12, 13.5, "DRAM", "in place"},
		/* pure stores load nothing: from there upward the caches */
		{"", 0, 12, 0, 0, 10, 30, "L3", "apart"},
		{"", 8, 4, 0, 0, 30, 48, "L3", "apart"},
		{"", 8, 4, 0, 0, 55, 58, "L3", "in place"},
		{"", 8, 4, 0, 0, 100, 160, "L2", "apart"},
		{"", 8, 4, 0, 0, 200, 210, "L2", "in place"},
		{"", 8, 4, 0, 0, 300, 500, "L1", "apart"},
		{"", 6, 6, 0, 0, 450, 510, "L1", "in place"},
		/* rows that were not measured */
		{OLD_SET, 9, 3, 0, 0, 1, 16.25, "DRAM", "apart"},
		{OLD_SET, 6, 6, 6, 12, 1, 15, "DRAM", "apart"},
		{OLD_SET, 0, 12, 12, 12, 1, 15, "DRAM", "apart"},
		{OLD_SET " triad ", 6, 6, 0, 0, 1, 20, "DRAM", "apart"},
		{WITHOUT_IN_PLACE, 8, 4, 0, 0, 15.8, 48, "L3", "apart"},
		{" daxpy ", 8, 4, 0, 0, 17, 56.0 / 3, "DRAM", "in place"},
		{" copy ", 6, 6, 0, 0, 1, 13.5, "DRAM", "apart"},
		/* most stores bypass the caches */
		{"", 8, 4, 4, 0, 1, 17, "DRAM", "non-temporal"},
		{"", 6, 6, 6, 0, 1, 16, "DRAM", "non-temporal"},
		{"", 6, 6, 4, 0, 1, 16, "DRAM", "non-temporal"},
		{"", 3, 9, 9, 0, 1, 15, "DRAM", "non-temporal"},
		{"", 0, 12, 12, 0, 1, 14, "DRAM", "non-temporal"},
		{"", 6, 6, 3, 0, 1, 12, "DRAM", "apart"},
		{WITHOUT_NT, 6, 6, 6, 0, 1, 12, "DRAM", "apart"},
		{" copy_nt write_nt ", 6, 6, 6, 0, 1, 17, "DRAM", "non-temporal"},
		/* what they read comes from a cache; at last the stores alone limit them */
		{"", 8, 4, 4, 0, 25, 42, "DRAM", "non-temporal"},
		{"", 10, 2, 2, 0, 50, 54, "L3", "non-temporal"},
		{"", 10, 2, 2, 0, 58, 59, "L3", "non-temporal"},
		{"", 10, 2, 2, 0, 70, 84, "DRAM", "non-temporal"},
		/* most bytes by repeated string instructions */
		{"", 6, 6, 0, 12, 1, 13, "DRAM", "string"},
		{"", 0, 12, 0, 12, 1, 11, "DRAM", "string"},
		{"", 3, 9, 0, 12, 1, 12, "DRAM", "string"},
		{"", 6, 6, 0, 9, 1, 1 / (0.75 / 13 + 0.25 / 12), "DRAM", "string"},
		{"", 6, 6, 0, 12, 200, 250, "L1", "string"},
		{"", 6, 6, 0, 6, 1, 12, "DRAM", "apart"},
		{WITHOUT_REP, 6, 6, 0, 12, 1, 12, "DRAM", "apart"},
	};
	for (size_t i = 0; i < sizeof(fit_cases) / sizeof(*fit_cases); i++)
		check_bandwidth(&fit_cases[i], i);
}

/* A cache that measured below the next one has met noise: it is not slower. */
Test(model, a_faster_level_is_never_slower)
{
	struct profile *p = fit_profile(OLD_SET);
	for (size_t i = 0; i < p->n_roofs; i++)
		if (p->roofs[i].level == ROOF_LEVEL_L2)
			p->roofs[i].best = 50; /* L3: 60 read, 48 triad */
	struct model_function f = in_one_second();
	f.tally.load_bytes = 45000000000;
	model_place(p, &defaults, &f, true);
	expect_near(f.place.roof, 60, "reading at 45 GB/s");
	cr_expect_str_eq(f.place.level, "L3");
	f.tally.load_bytes = 66000000000;
	model_place(p, &defaults, &f, true);
	cr_expect_str_eq(f.place.level, "L1");
	profile_destroy(p);
}

struct flop_part {
	int kind, precision, width;
	uint64_t flop;
};

struct flop_case {
	const char *left_out;
	struct flop_part parts[3]; /* flop in GFLOP, 0 ends them */
	double roof, ceiling;
	const char *borrowed;
};

static void set_flop(struct model_function *f, const struct flop_part *parts)
{
	uint64_t most = 0;
	for (size_t i = 0; i < 3 && parts[i].flop; i++) {
		uint64_t flop = parts[i].flop * 1000000;
		f->tally.flop_by_kind[parts[i].kind][parts[i].precision][parts[i].width] += flop;
		f->tally.flop += flop;
		f->tally.flop_unmasked += flop;
		if (flop > most)
			most = flop, f->precision = (enum flop_precision)parts[i].precision;
	}
	f->intensity = INFINITY;
}

static void check_flop(const struct flop_case *c, size_t index)
{
	struct profile *p = fit_profile(c->left_out);
	struct model_function f = in_one_second();
	set_flop(&f, c->parts);
	model_place(p, &defaults, &f, true);
	cr_expect_eq(f.place.axis, AXIS_FLOP);
	cr_expect(fabs(f.place.roof - c->roof) <= 1e-12 * c->roof,
		  "case %zu: roof %.15g, not %.15g", index, f.place.roof, c->roof);
	cr_expect(fabs(f.place.ceiling - c->ceiling) <= 1e-12 * c->ceiling,
		  "case %zu: ceiling %.15g, not %.15g", index, f.place.ceiling, c->ceiling);
	cr_expect_str_eq(f.place.level, "");
	cr_expect_null(f.place.stores);
	cr_expect(c->borrowed ? f.place.borrowed && strcmp(f.place.borrowed, c->borrowed) == 0
			      : !f.place.borrowed,
		  "case %zu: borrowed %s", index, f.place.borrowed);
	profile_destroy(p);
}

#define PART(kind, width, flop)                                    \
	{                                                          \
		FLOP_##kind, PRECISION_DOUBLE, WIDTH_##width, flop \
	}
#define PART_OF(precision, kind, width, flop)                           \
	{                                                               \
		FLOP_##kind, PRECISION_##precision, WIDTH_##width, flop \
	}

/* e: the surplus of additions over multiplications, an FMA being one of each. */
Test(model, the_top_fits_the_additions)
{
	static const struct flop_case flop_cases[] = {
		{"", {PART(FMA, 512, 9)}, 130, 130, NULL}, /* e = 0 */
		{"", {PART(MUL, 512, 9)}, 66, 66, NULL},   /* -1 */
		{"",
		 {PART(MUL, 512, 3), PART(FMA, 512, 6)},
		 9 / (3 / 66. + 6 / 130.),
		 9 / (3 / 66. + 6 / 130.),
		 NULL},
		{"", {PART(ADD, 512, 1), PART(FMA, 512, 4)}, 162.5, 162.5, NULL},       /* 1/5 */
		{"", {PART(ADD, 512, 1), PART(FMA, 512, 3)}, 520 / 3., 520 / 3., NULL}, /* 1/4 */
		{"", {PART(ADD, 512, 1), PART(FMA, 512, 2)}, 195, 195, NULL},           /* 1/3 */
		{"", {PART(OTHER, 512, 1), PART(FMA, 512, 2)}, 195, 195, NULL}, /* min, max */
		{"", {PART(ADD, 512, 2), PART(MUL, 512, 1)}, 195, 97.5, NULL},  /* not fused */
		{"", {PART(ADD, 512, 1), PART(FMA, 512, 1)}, 130, 130, NULL},   /* 1/2 */
		{"", {PART(ADD, 512, 3), PART(FMA, 512, 1)}, 4 / (3 / 65.), 4 / (3 / 65.), NULL},
		{"", {PART(ADD, 512, 1)}, 65, 65, NULL}, /* 1 */
		{"",
		 {PART(ADD, 512, 1), PART(DIV, 512, 9)},
		 10 / (9 / 20.),
		 10 / (9 / 20.),
		 NULL}, /* div apart */
		/* only some mixes were measured, or none, or there is no FMA */
		{" fma2_add1 fma1_add2 ", {PART(ADD, 512, 1), PART(FMA, 512, 5)}, 156, 156, NULL},
		{" fma2_add1 fma1_add2 ", {PART(ADD, 512, 2), PART(FMA, 512, 4)}, 195, 195, NULL},
		{" fma2_add1 fma1_add2 ", {PART(ADD, 512, 2), PART(FMA, 512, 1)}, 97.5, 97.5, NULL},
		{WITHOUT_MIXES, {PART(ADD, 512, 1), PART(FMA, 512, 2)}, 130, 130, NULL},
		{WITHOUT_MIXES " fma ", {PART(ADD, 512, 1), PART(MUL, 512, 1)}, 66, 66, NULL},
		{WITHOUT_MIXES " fma ", {PART(ADD, 512, 1)}, 65, 65, NULL},
	};
	for (size_t i = 0; i < sizeof(flop_cases) / sizeof(*flop_cases); i++)
		check_flop(&flop_cases[i], i);
}

Test(model, the_ceiling_lets_units_overlap)
{
	static const struct flop_case flop_cases[] = {
		/* adders beside the multipliers: 24 GFLOP/s of 1 FMA : 1 add, where FMA alone makes
		   16 */
		{"", {PART(ADD, SCALAR, 1), PART(MUL, SCALAR, 1)}, 130, 16, NULL},
		/* without the mix nobody knows: no sum, the longer one */
		{WITHOUT_MIXES, {PART(ADD, SCALAR, 1), PART(MUL, SCALAR, 1)}, 130, 16, NULL},
		/* the divider beside both; alone; without a row of its own */
		{"", {PART(DIV, SCALAR, 1), PART(FMA, SCALAR, 1)}, 40, 10, NULL},
		{"",
		 {PART(DIV, SCALAR, 1), PART(FMA, SCALAR, 7)},
		 8 / (7 / 130.),
		 8 / (7 / 16.),
		 NULL},
		{"", {PART(DIV, SCALAR, 1)}, 20, 5, NULL},
		/* no root was measured in wide vectors: it is not faster than a division */
		{"", {PART(SQRT, SCALAR, 1)}, 20, 3, NULL},
		{"",
		 {PART(DIV, SCALAR, 1), PART(SQRT, SCALAR, 1)},
		 20,
		 2 / (1 / 5. + 1 / 3.),
		 NULL},
		{" div sqrt ", {PART(DIV, SCALAR, 1)}, 65, 8, NULL},
		{" div sqrt ", {PART(SQRT, SCALAR, 1)}, 65, 8, NULL},
		/* widths share their units */
		{"",
		 {PART(FMA, SCALAR, 1), PART(FMA, 512, 1)},
		 130,
		 2 / (1 / 16. + 1 / 130.),
		 NULL},
		/* not measured at this width: the top */
		{"", {PART(FMA, 256, 1)}, 130, 130, NULL},
	};
	for (size_t i = 0; i < sizeof(flop_cases) / sizeof(*flop_cases); i++)
		check_flop(&flop_cases[i], i);
}

/* Where additions run in the FMA units, as the measured mix shows, they do not overlap.  A mix that
 * measured slower than its parts one after the other has met noise. */
Test(model, the_ceiling_knows_shared_units)
{
	static const double mixes[] = {12, 9};
	for (size_t i = 0; i < 2; i++) {
		struct profile *p = fit_profile(WITHOUT_MIXES);
		add_roof(p, ROOF_COMPUTE, "scalar", "double", "fma1_add1", "", mixes[i]);
		struct model_function f = in_one_second();
		struct flop_part parts[3] = {PART(ADD, SCALAR, 1), PART(MUL, SCALAR, 1)};
		set_flop(&f, parts);
		model_place(p, &defaults, &f, true);
		expect_near(f.place.ceiling, 8, "two operations a cycle, not four");
		profile_destroy(p);
	}
}

/* 2 flop a byte, a third of the bytes stored: 30 GFLOP/s from memory, 38 in place, then the work.
 */
Test(model, code_above_memory_is_bound_by_its_work)
{
	static const struct {
		uint64_t gflops;
		double roof;
		const char *level;
	} rows[] = {
		{29, 30, "DRAM"},
		{35, 38, "DRAM"},
		{45, 130, ""},
	};
	struct profile *p = fit_profile("");
	for (size_t i = 0; i < 3; i++) {
		struct model_function f = in_one_second();
		struct flop_part parts[3] = {PART(FMA, 512, rows[i].gflops * 1000)};
		set_flop(&f, parts);
		f.intensity = 2;
		f.tally.load_bytes = f.tally.flop / 3;
		f.tally.store_bytes = f.tally.flop / 6;
		model_place(p, &defaults, &f, true);
		cr_expect(fabs(f.place.roof - rows[i].roof) < 1e-6, "%lu GFLOP/s: roof %g",
			  rows[i].gflops, f.place.roof);
		cr_expect_str_eq(f.place.level, rows[i].level);
	}
	profile_destroy(p);
}

Test(model, precisions_have_their_own_roofs)
{
	static const struct flop_case flop_cases[] = {
		{"", {PART_OF(HALF, FMA, 512, 1)}, 510, 510, NULL},
		{"", {PART_OF(BFLOAT16, FMA, 512, 1)}, 2000, 550, NULL},
		{"", {PART_OF(BFLOAT16, FMA, TILE, 1)}, 2000, 2000, NULL},
		{"", {PART_OF(X87, ADD, SCALAR, 1)}, 4, 4, NULL},
		{" dot ", {PART_OF(BFLOAT16, FMA, 512, 1)}, 260, 260, "single"},
		{" dot ", {PART_OF(BFLOAT16, FMA, TILE, 1)}, 260, 260, "single"},
		/* a mix of precisions takes its parts one after the other */
		{"",
		 {PART(FMA, 512, 3), PART_OF(SINGLE, FMA, 512, 2)},
		 5 / (3 / 130. + 2 / 260.),
		 5 / (3 / 130. + 2 / 260.),
		 NULL},
		/* x87 beside vectors: the longer of both */
		{"", {PART(FMA, 512, 9), PART_OF(X87, MUL, SCALAR, 1)}, 45, 45, NULL},
	};
	for (size_t i = 0; i < sizeof(flop_cases) / sizeof(*flop_cases); i++)
		check_flop(&flop_cases[i], i);
	struct profile *p = fit_profile(" add mul ");
	struct model_function f = in_one_second();
	struct flop_part parts[3] = {PART_OF(X87, MUL, SCALAR, 1)};
	set_flop(&f, parts);
	model_place(p, &defaults, &f, true);
	cr_expect_str_eq(f.place.borrowed, "double");
	expect_near(f.place.roof, 130, "x87 without rows");
	cr_expect_eq(model_peak(p, ROOF_PRECISION_DOUBLE, 1), 130);
	cr_expect_eq(model_peak(p, ROOF_PRECISION_X87, 1), 0);
	cr_expect_eq(model_peak_row(p, ROOF_PRECISION_DOUBLE, 1)->best, 130);
	cr_expect_eq(model_peak_row(p, ROOF_PRECISION_DOUBLE, 1)->op, ROOF_OP_FMA);
	cr_expect_null(model_peak_row(p, ROOF_PRECISION_DOUBLE, 2));
	cr_expect_null(model_peak_row(p, ROOF_PRECISION_X87, 1));
	profile_destroy(p);
}

/* Below half of what its own mix can do it waits; a divider that is busy does not. */
Test(model, bounds_follow_the_ceiling)
{
	static const struct {
		double gflops;
		enum model_bound bound;
	} rows[] = {
		{4.9, BOUND_COMPUTE},
		{2.6, BOUND_COMPUTE},
		{2.4, BOUND_LATENCY},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile *p = fit_profile("");
		struct model_function f = in_one_second();
		struct flop_part parts[3] = {
			PART(DIV, SCALAR, (uint64_t)llround(rows[i].gflops * 1000))};
		set_flop(&f, parts);
		model_place(p, &defaults, &f, true);
		cr_expect_eq(f.place.bound, rows[i].bound, "%g GFLOP/s: bound %d", rows[i].gflops,
			     (int)f.place.bound);
		profile_destroy(p);
	}
}

/* A code of as many additions as FMAs above the FMA peak is no fault. */
Test(model, additions_may_pass_the_fma_peak)
{
	struct profile *p = fit_profile("");
	struct model_function f = in_one_second();
	struct flop_part parts[3] = {PART(ADD, 512, 63000), PART(FMA, 512, 126000)};
	set_flop(&f, parts);
	model_place(p, &defaults, &f, true);
	expect_near(f.place.point, 189, "point");
	cr_expect(!f.place.above);
	expect_near(f.place.distance, 195 / 189., "distance");
	profile_destroy(p);
}

/* Bytes by stores that bypass the caches, and by repeated string instructions, from code to tally.
 */
Test(model, streamed_and_string_bytes_are_counted)
{
	/* vmovntpd [rdi],ymm0; movnti [rdi],rax; vmovupd [rdi],ymm0; maskmovdqu xmm3,xmm5 */
	static const char code[] =
		"\xc5\xfd\x2b\x07\x48\x0f\xc3\x07\xc5\xfd\x11\x07\x66\x0f\xf7\xdd";
	struct profile *p = report_sample();
	uint32_t m = profile_module(p, "/opt/solver", "");
	sample_function(p, m, 0x9000, 0x9010, "fill", "", 0);
	sample_block(p, m, 0x9000, code, 16, 1, 10);
	struct profile_units units = {m, 0x900c, 1, 45};
	cr_assert(rf_array_push(p->units, p->n_units, p->cap_units, units));
	struct model model = build(p);
	const struct tally *fill = &find(&model, "fill")->tally,
			   *copy = &find(&model, "copy")->tally;
	cr_expect_eq(fill->store_bytes, 10 * (32 + 8 + 32) + 45, "%lu", fill->store_bytes);
	cr_expect_eq(fill->nt_store_bytes, 10 * (32 + 8) + 45, "%lu", fill->nt_store_bytes);
	cr_expect_eq(fill->string_bytes, 0);
	cr_expect_eq(copy->string_bytes, 1000000000, "without what ret loads");
	cr_expect_eq(copy->nt_store_bytes, 0);
	model_deinit(&model);
	profile_destroy(p);
}
