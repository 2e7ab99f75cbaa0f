/* The report: counts, time, placement and every format, against a profile whose truth is known.
 *
 * tests/unit/golden/report_table.txt is the expected table.  To rewrite it after an intended change:
 *   RFPROF_REWRITE_GOLDEN=1 build/tests/unit/test_report --filter 'report/table_is_as_checked_in'
 */
#include "report/model.h"
#include "report/model_parts.h"
#include "report/report.h"
#include "report/svg_labels.h"
#include "report/text.h"
#include "report_sample.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define GOLDEN TEST_SOURCE_DIR "/golden/report_table.txt"

static void assert_ok(struct rf_error *error)
{
	cr_assert_null(error, "%s", error ? error->message : "");
}

static struct model build(const struct profile *profile)
{
	struct model model;
	assert_ok(model_build(profile, &model));
	return model;
}

static const struct model_function *find(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->n_functions; i++)
		if (strcmp(model->functions[i].name, name) == 0)
			return &model->functions[i];
	cr_assert(false, "no function %s", name);
	return NULL;
}

static void expect_near(double value, double truth, const char *what)
{
	cr_expect(fabs(value - truth) <= 1e-9 * fabs(truth), "%s: %.12g, not %.12g", what, value, truth);
}

/* ---- counts: tolerance 0 ---- */

struct truth { const char *name; uint64_t flop, unmasked, loads, stores, instructions; };

Test(report, work_and_bytes_equal_the_truth)
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
		cr_expect_eq(tally->load_bytes, t->loads, "%s loads %lu", t->name, tally->load_bytes);
		cr_expect_eq(tally->store_bytes, t->stores, "%s stores %lu", t->name, tally->store_bytes);
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

Test(report, threads_are_kept_apart)
{
	struct profile *profile = report_sample();
	struct model model = build(profile);
	const struct model_function *triad = find(&model, "triad");
	cr_assert_eq(triad->n_threads, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct model_thread *t = &triad->threads[i];
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
Test(report, a_block_is_split_where_the_next_function_starts)
{
	struct profile *p = profile_create();
	uint32_t m = profile_module(p, "/x", ""), t = profile_thread(p, RUN_COUNTED, 1, 1, "");
	struct profile_function f[] = {{m, 0x10, 0x17, strdup("first"), strdup(""), 0},
				       {m, 0x17, 0x40, strdup("second"), strdup(""), 0}};
	for (int i = 0; i < 2; i++)
		cr_assert(rf_array_push(p->functions, p->n_functions, p->cap_functions, f[i]));
	/* "integer" of the sample: add, imul (7 bytes), dec, jnz */
	const char *code = sample_kernels[5].code;
	struct profile_block whole = {m, 0x10, 12, memcpy(malloc(12), code, 12)};
	struct profile_block part = {m, 0x13, 9, memcpy(malloc(9), code + 3, 9)};
	struct profile_block outside = {m, 0x100, 3, memcpy(malloc(3), code, 3)};
	cr_assert(rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, whole));
	cr_assert(rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, part));
	cr_assert(rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, outside));
	struct profile_count counts[] = {{2, t, 1000}, {0, t, 10}, {1, t, 100}};
	for (int i = 0; i < 3; i++)
		cr_assert(rf_array_push(p->counts, p->n_counts, p->cap_counts, counts[i]));
	struct model model = build(p);
	cr_expect_eq(find(&model, "first")->tally.instructions, 2 * 10 + 100);
	cr_expect_eq(find(&model, "second")->tally.instructions, 2 * 10 + 2 * 100);
	cr_expect_eq(find(&model, "[unknown in x]")->tally.instructions, 1000);
	model_deinit(&model);
	profile_destroy(p);
}

/* The same instruction in two overlapping blocks: its run-time units count once. */
Test(report, units_count_once)
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

Test(report, absurd_counts_saturate)
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

Test(report, time_and_concurrency)
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

/* What a sample costs is no time of the program; how long threads are inside does not change by it. */
Test(report, samples_do_not_count_themselves)
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

Test(report, threads_in_turn_are_not_concurrent)
{
	struct profile *p = report_sample();
	for (size_t i = 0; i < p->n_samples; i++)
		if (p->threads[p->samples[i].thread].tid == 101) /* thread 2 runs after all others */
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

Test(report, points_lie_under_the_right_roof)
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
	cr_expect(strstr(dot->why, "100 % of the flop are scalar"), "%s", dot->why);
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

static void set_executions(struct profile *p, size_t kernel, int64_t n)
{
	for (size_t i = 0; i < p->n_counts; i++)
		if (p->counts[i].block == kernel)
			p->counts[i].n = n;
}

Test(report, a_point_above_its_roof_is_a_fault)
{
	struct profile *p = report_sample();
	set_executions(p, 1, 1600000000); /* 128 GFLOP/s, peak 99.4 */
	struct model model = build(p);
	const struct model_place *place = &find(&model, "fma_crunch(unsigned long)")->place;
	cr_expect(place->above);
	cr_expect_eq(place->headroom_s, 0);
	cr_expect(strstr(place->why, "above its roof"));
	model_deinit(&model);
	set_executions(p, 1, 1420000000); /* 113.6: 5 % for the roof, 9.8 % for 400 samples */
	model = build(p);
	cr_expect(!find(&model, "fma_crunch(unsigned long)")->place.above);
	model_deinit(&model);
	profile_destroy(p);
}

/* The faster it runs, the faster the level that its data must come from. */
Test(report, the_level_follows_the_point)
{
	static const struct { int64_t n; const char *level; } steps[] = {
		{100000000, "DRAM"}, {280000000, "DRAM"}, {300000000, "L2"}, {1900000000, "L2"},
		{2100000000, "L1"},
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

Test(report, without_roofs_or_counts_nothing_is_invented)
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
static const struct { const char *op; double dram, l3, l2, l1; } bandwidth_rows[] = {
	{"read", 20, 60, 200, 400}, {"triad", 15, 48, 160, 500}, {"copy", 12, 40, 140, 380},
	{"write", 9, 30, 120, 200}, {"daxpy", 19, 58, 210, 520}, {"update", 18, 57, 170, 510},
	{"triad_nt", 17, 0, 0, 0}, {"copy_nt", 16, 0, 0, 0}, {"write_nt", 14, 0, 0, 0},
	{"copy_rep", 13, 0, 0, 250}, {"write_rep", 11, 0, 0, 180}, {"random", 900, 900, 900, 900},
};

static const struct { const char *isa, *precision, *op; double rate; } compute_rows[] = {
	{"avx512f", "double", "fma", 130}, {"avx512f", "double", "add", 65},
	{"avx512f", "double", "mul", 66}, {"avx512f", "double", "fma1_add1", 195},
	{"avx512f", "double", "fma2_add1", 163}, {"avx512f", "double", "fma1_add2", 132},
	{"avx512f", "double", "div", 20}, {"avx512f", "single", "fma", 260},
	{"scalar", "double", "fma", 16}, {"scalar", "double", "add", 8}, {"scalar", "double", "mul", 8},
	{"scalar", "double", "div", 5}, {"scalar", "double", "sqrt", 3},
	{"scalar", "double", "fma1_add1", 24}, {"avx512f", "half", "fma", 510},
	{"avx512f", "bfloat16", "dot", 550}, {"amx", "bfloat16", "dot", 2000}, {"x87", "x87", "add", 4},
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
		const double rates[] = {bandwidth_rows[i].dram, bandwidth_rows[i].l3, bandwidth_rows[i].l2,
					bandwidth_rows[i].l1};
		static const char *const levels[] = {"DRAM", "L3", "L2", "L1"};
		for (size_t l = 0; l < 4 && !is_left_out(bandwidth_rows[i].op, out); l++)
			if (rates[l] > 0)
				add_roof(p, ROOF_BANDWIDTH, "avx2", "", bandwidth_rows[i].op, levels[l],
					 rates[l]);
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
	return (struct model_function){.concurrency = 1, .elapsed_s = 1, .time_ns = 1000000000,
				       .n_samples = 1000000, .tally.instructions = 1000};
}

struct fit_case {
	const char *left_out;
	uint64_t load, store, streamed, strings; /* shares of `point` */
	double point;				 /* GB/s */
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
	cr_assert(model_place(p, &f, true));
	cr_expect_eq(f.place.axis, AXIS_BYTES);
	cr_expect(fabs(f.place.roof - c->roof) <= 1e-8 * c->roof, "case %zu: roof %.12g, not %.12g", index,
		  f.place.roof, c->roof);
	cr_expect_str_eq(f.place.level, c->level, "case %zu: %s", index, f.place.level);
	cr_expect_str_eq(f.place.stores, c->stores, "case %zu: %s", index, f.place.stores);
	cr_expect(!f.place.above);
	cr_expect(!f.place.interpolated);
	free(f.place.why);
	profile_destroy(p);
}

Test(report, bandwidths_fit_the_stores)
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
Test(report, a_faster_level_is_never_slower)
{
	struct profile *p = fit_profile(OLD_SET);
	for (size_t i = 0; i < p->n_roofs; i++)
		if (strcmp(p->roofs[i].level, "L2") == 0)
			p->roofs[i].best = 50; /* L3: 60 read, 48 triad */
	struct model_function f = in_one_second();
	f.tally.load_bytes = 45000000000;
	cr_assert(model_place(p, &f, true));
	expect_near(f.place.roof, 60, "reading at 45 GB/s");
	cr_expect_str_eq(f.place.level, "L3");
	free(f.place.why);
	f.tally.load_bytes = 66000000000;
	cr_assert(model_place(p, &f, true));
	cr_expect_str_eq(f.place.level, "L1");
	free(f.place.why);
	profile_destroy(p);
}

struct flop_part { int kind, precision, width; uint64_t flop; };

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
	cr_assert(model_place(p, &f, true));
	cr_expect_eq(f.place.axis, AXIS_FLOP);
	cr_expect(fabs(f.place.roof - c->roof) <= 1e-12 * c->roof, "case %zu: roof %.15g, not %.15g", index,
		  f.place.roof, c->roof);
	cr_expect(fabs(f.place.ceiling - c->ceiling) <= 1e-12 * c->ceiling,
		  "case %zu: ceiling %.15g, not %.15g", index, f.place.ceiling, c->ceiling);
	cr_expect_str_eq(f.place.level, "");
	cr_expect_null(f.place.stores);
	cr_expect(c->borrowed ? f.place.borrowed && strcmp(f.place.borrowed, c->borrowed) == 0
			      : !f.place.borrowed, "case %zu: borrowed %s", index, f.place.borrowed);
	free(f.place.why);
	profile_destroy(p);
}

#define PART(kind, width, flop) {FLOP_##kind, PRECISION_DOUBLE, WIDTH_##width, flop}
#define PART_OF(precision, kind, width, flop) {FLOP_##kind, PRECISION_##precision, WIDTH_##width, flop}

/* e: the surplus of additions over multiplications, an FMA being one of each. */
Test(report, the_top_fits_the_additions)
{
	static const struct flop_case flop_cases[] = {
		{"", {PART(FMA, 512, 9)}, 130, 130, NULL},				/* e = 0 */
		{"", {PART(MUL, 512, 9)}, 130, 66, NULL},				/* -1 */
		{"", {PART(MUL, 512, 3), PART(FMA, 512, 6)}, 130, 9 / (3 / 66. + 6 / 130.), NULL},
		{"", {PART(ADD, 512, 1), PART(FMA, 512, 4)}, 163, 162.5, NULL},	/* 1/5 */
		{"", {PART(ADD, 512, 1), PART(FMA, 512, 3)}, 175, 520 / 3., NULL},	/* 1/4 */
		{"", {PART(ADD, 512, 1), PART(FMA, 512, 2)}, 195, 195, NULL},		/* 1/3 */
		{"", {PART(OTHER, 512, 1), PART(FMA, 512, 2)}, 195, 195, NULL},		/* min, max */
		{"", {PART(ADD, 512, 2), PART(MUL, 512, 1)}, 195, 97.5, NULL},		/* not fused */
		{"", {PART(ADD, 512, 1), PART(FMA, 512, 1)}, 132, 130, NULL},		/* 1/2 */
		{"", {PART(ADD, 512, 3), PART(FMA, 512, 1)}, 130, 4 / (3 / 65.), NULL}, /* 3/4 */
		{"", {PART(ADD, 512, 1)}, 130, 65, NULL},				/* 1 */
		{"", {PART(ADD, 512, 1), PART(DIV, 512, 9)}, 130, 10 / (9 / 20.), NULL}, /* div apart */
		/* only some mixes were measured, or none, or there is no FMA */
		{" fma2_add1 fma1_add2 ", {PART(ADD, 512, 1), PART(FMA, 512, 5)}, 162.5, 156, NULL},
		{" fma2_add1 fma1_add2 ", {PART(ADD, 512, 2), PART(FMA, 512, 4)}, 195, 195, NULL},
		{" fma2_add1 fma1_add2 ", {PART(ADD, 512, 2), PART(FMA, 512, 1)}, 130, 97.5, NULL},
		{WITHOUT_MIXES, {PART(ADD, 512, 1), PART(FMA, 512, 2)}, 130, 130, NULL},
		{WITHOUT_MIXES " fma ", {PART(ADD, 512, 1), PART(MUL, 512, 1)}, 66, 66, NULL},
		{WITHOUT_MIXES " fma ", {PART(ADD, 512, 1)}, 66, 65, NULL},
	};
	for (size_t i = 0; i < sizeof(flop_cases) / sizeof(*flop_cases); i++)
		check_flop(&flop_cases[i], i);
}

Test(report, the_ceiling_lets_units_overlap)
{
	static const struct flop_case flop_cases[] = {
		/* adders beside the multipliers: 24 GFLOP/s of 1 FMA : 1 add, where FMA alone makes 16 */
		{"", {PART(ADD, SCALAR, 1), PART(MUL, SCALAR, 1)}, 130, 16, NULL},
		/* without the mix nobody knows: no sum, the longer one */
		{WITHOUT_MIXES, {PART(ADD, SCALAR, 1), PART(MUL, SCALAR, 1)}, 130, 16, NULL},
		/* the divider beside both; alone; without a row of its own */
		{"", {PART(DIV, SCALAR, 1), PART(FMA, SCALAR, 1)}, 130, 10, NULL},
		{"", {PART(DIV, SCALAR, 1), PART(FMA, SCALAR, 7)}, 130, 8 / (7 / 16.), NULL},
		{"", {PART(DIV, SCALAR, 1)}, 130, 5, NULL},
		{"", {PART(SQRT, SCALAR, 1)}, 130, 3, NULL},
		{"", {PART(DIV, SCALAR, 1), PART(SQRT, SCALAR, 1)}, 130, 2 / (1 / 5. + 1 / 3.), NULL},
		{" div sqrt ", {PART(DIV, SCALAR, 1)}, 130, 8, NULL},
		{" div sqrt ", {PART(SQRT, SCALAR, 1)}, 130, 8, NULL},
		/* widths share their units */
		{"", {PART(FMA, SCALAR, 1), PART(FMA, 512, 1)}, 130, 2 / (1 / 16. + 1 / 130.), NULL},
		/* not measured at this width: the top */
		{"", {PART(FMA, 256, 1)}, 130, 130, NULL},
	};
	for (size_t i = 0; i < sizeof(flop_cases) / sizeof(*flop_cases); i++)
		check_flop(&flop_cases[i], i);
}

/* Where additions run in the FMA units, as the measured mix shows, they do not overlap.  A mix that
 * measured slower than its parts one after the other has met noise. */
Test(report, the_ceiling_knows_shared_units)
{
	static const double mixes[] = {12, 9};
	for (size_t i = 0; i < 2; i++) {
		struct profile *p = fit_profile(WITHOUT_MIXES);
		add_roof(p, ROOF_COMPUTE, "scalar", "double", "fma1_add1", "", mixes[i]);
		struct model_function f = in_one_second();
		struct flop_part parts[3] = {PART(ADD, SCALAR, 1), PART(MUL, SCALAR, 1)};
		set_flop(&f, parts);
		cr_assert(model_place(p, &f, true));
		expect_near(f.place.ceiling, 8, "two operations a cycle, not four");
		free(f.place.why);
		profile_destroy(p);
	}
}

/* 2 flop a byte, a third of the bytes stored: 30 GFLOP/s from memory, 38 in place, then the work. */
Test(report, code_above_memory_is_bound_by_its_work)
{
	static const struct { uint64_t gflops; double roof; const char *level; } rows[] = {
		{29, 30, "DRAM"}, {35, 38, "DRAM"}, {45, 130, ""},
	};
	struct profile *p = fit_profile("");
	for (size_t i = 0; i < 3; i++) {
		struct model_function f = in_one_second();
		struct flop_part parts[3] = {PART(FMA, 512, rows[i].gflops * 1000)};
		set_flop(&f, parts);
		f.intensity = 2;
		f.tally.load_bytes = f.tally.flop / 3;
		f.tally.store_bytes = f.tally.flop / 6;
		cr_assert(model_place(p, &f, true));
		cr_expect(fabs(f.place.roof - rows[i].roof) < 1e-6, "%lu GFLOP/s: roof %g",
			  rows[i].gflops, f.place.roof);
		cr_expect_str_eq(f.place.level, rows[i].level);
		free(f.place.why);
	}
	profile_destroy(p);
}

Test(report, precisions_have_their_own_roofs)
{
	static const struct flop_case flop_cases[] = {
		{"", {PART_OF(HALF, FMA, 512, 1)}, 510, 510, NULL},
		{"", {PART_OF(BFLOAT16, FMA, 512, 1)}, 2000, 550, NULL},
		{"", {PART_OF(BFLOAT16, FMA, TILE, 1)}, 2000, 2000, NULL},
		{"", {PART_OF(X87, ADD, SCALAR, 1)}, 4.5, 4, NULL},
		{" dot ", {PART_OF(BFLOAT16, FMA, 512, 1)}, 260, 260, "single"},
		{" dot ", {PART_OF(BFLOAT16, FMA, TILE, 1)}, 260, 260, "single"},
		/* a mix of precisions takes its parts one after the other */
		{"", {PART(FMA, 512, 3), PART_OF(SINGLE, FMA, 512, 2)}, 5 / (3 / 130. + 2 / 260.),
		 5 / (3 / 130. + 2 / 260.), NULL},
		/* the slower ones never lower the top of the main one */
		{"", {PART(FMA, 512, 9), PART_OF(X87, MUL, SCALAR, 1)}, 130, 45, NULL},
	};
	for (size_t i = 0; i < sizeof(flop_cases) / sizeof(*flop_cases); i++)
		check_flop(&flop_cases[i], i);
	struct profile *p = fit_profile(" add mul ");
	struct model_function f = in_one_second();
	struct flop_part parts[3] = {PART_OF(X87, MUL, SCALAR, 1)};
	set_flop(&f, parts);
	cr_assert(model_place(p, &f, true));
	cr_expect_str_eq(f.place.borrowed, "double");
	expect_near(f.place.roof, 130, "x87 without rows");
	free(f.place.why);
	cr_expect_eq(model_peak(p, "double", 1), 130);
	cr_expect_eq(model_peak(p, "x87", 1), 0);
	cr_expect_eq(model_peak_row(p, "double", 1)->best, 130);
	cr_expect_str_eq(model_peak_row(p, "double", 1)->op, "fma");
	cr_expect_null(model_peak_row(p, "double", 2));
	cr_expect_null(model_peak_row(p, "x87", 1));
	profile_destroy(p);
}

/* Below half of what its own mix can do it waits; a divider that is busy does not. */
Test(report, bounds_follow_the_ceiling)
{
	static const struct { double gflops; enum model_bound bound; } rows[] = {
		{4.9, BOUND_COMPUTE}, {2.6, BOUND_COMPUTE}, {2.4, BOUND_LATENCY},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile *p = fit_profile("");
		struct model_function f = in_one_second();
		struct flop_part parts[3] = {PART(DIV, SCALAR, (uint64_t)llround(rows[i].gflops * 1000))};
		set_flop(&f, parts);
		cr_assert(model_place(p, &f, true));
		cr_expect_eq(f.place.bound, rows[i].bound, "%g GFLOP/s: %s", rows[i].gflops,
			     model_bound_name(f.place.bound));
		free(f.place.why);
		profile_destroy(p);
	}
}

/* A code of as many additions as FMAs above the FMA peak is no fault. */
Test(report, additions_may_pass_the_fma_peak)
{
	struct profile *p = fit_profile("");
	struct model_function f = in_one_second();
	struct flop_part parts[3] = {PART(ADD, 512, 63000), PART(FMA, 512, 126000)};
	set_flop(&f, parts);
	cr_assert(model_place(p, &f, true));
	expect_near(f.place.point, 189, "point");
	cr_expect(!f.place.above);
	expect_near(f.place.distance, 195 / 189., "distance");
	free(f.place.why);
	profile_destroy(p);
}

/* Bytes by stores that bypass the caches, and by repeated string instructions, from code to tally. */
Test(report, streamed_and_string_bytes_are_counted)
{
	/* vmovntpd [rdi],ymm0; movnti [rdi],rax; vmovupd [rdi],ymm0; maskmovdqu xmm3,xmm5 */
	static const char code[] = "\xc5\xfd\x2b\x07\x48\x0f\xc3\x07\xc5\xfd\x11\x07\x66\x0f\xf7\xdd";
	struct profile *p = report_sample();
	uint32_t m = profile_module(p, "/opt/solver", "");
	struct profile_function function = {m, 0x9000, 0x9010, strdup("fill"), strdup(""), 0};
	cr_assert(rf_array_push(p->functions, p->n_functions, p->cap_functions, function));
	struct profile_block block = {m, 0x9000, 16, memcpy(malloc(16), code, 16)};
	cr_assert(rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, block));
	struct profile_count count = {(uint32_t)p->n_blocks - 1, 1, 10};
	cr_assert(rf_array_push(p->counts, p->n_counts, p->cap_counts, count));
	struct profile_units units = {m, 0x900c, 1, 45};
	cr_assert(rf_array_push(p->units, p->n_units, p->cap_units, units));
	struct model model = build(p);
	const struct tally *fill = &find(&model, "fill")->tally, *copy = &find(&model, "copy")->tally;
	cr_expect_eq(fill->store_bytes, 10 * (32 + 8 + 32) + 45, "%lu", fill->store_bytes);
	cr_expect_eq(fill->nt_store_bytes, 10 * (32 + 8) + 45, "%lu", fill->nt_store_bytes);
	cr_expect_eq(fill->string_bytes, 0);
	cr_expect_eq(copy->string_bytes, 1000000000, "without what ret loads");
	cr_expect_eq(copy->nt_store_bytes, 0);
	model_deinit(&model);
	profile_destroy(p);
}

/* ---- text ---- */

/* Not inlined: gcc 12 takes the stream's hold on `text` for a dangling pointer. */
__attribute__((noinline)) static char *table_text(const struct profile *profile, struct report_options options)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_ok(report_write(profile, &options, stream));
	fclose(stream);
	return text;
}

static char *read_whole(const char *path)
{
	FILE *stream = fopen(path, "r");
	cr_assert_not_null(stream, "%s", path);
	char *text = NULL;
	size_t size = 0;
	ssize_t n = getdelim(&text, &size, '\0', stream);
	cr_assert_geq(n, 0);
	fclose(stream);
	return text;
}

Test(report, table_is_as_checked_in)
{
	struct profile *profile = report_sample();
	char *text = table_text(profile, (struct report_options){0});
	if (getenv("RFPROF_REWRITE_GOLDEN")) {
		FILE *stream = fopen(GOLDEN, "w");
		cr_assert_not_null(stream);
		fputs(text, stream);
		fclose(stream);
	}
	char *golden = read_whole(GOLDEN);
	cr_expect_str_eq(text, golden);
	free(golden);
	free(text);
	profile_destroy(profile);
}

/* The second thread is in the triad for `kept` of the 500 samples of the first; in `dot` as well. */
static struct profile *sample_with_concurrency(unsigned kept, unsigned kept_in_dot)
{
	struct profile *p = report_sample();
	size_t n = p->n_samples;
	unsigned seen = 0;
	for (size_t i = 0; i < n; i++) {
		struct profile_sample *sample = &p->samples[i];
		if (p->threads[sample->thread].tid == 101 && seen++ >= kept)
			sample->weight_ns = 0;
	}
	for (unsigned i = 0; i < kept_in_dot; i++) {
		struct profile_sample sample = p->samples[500]; /* of the second thread */
		sample.time_ns = 900000000u + i * SAMPLE_PERIOD_NS;
		sample.weight_ns = SAMPLE_PERIOD_NS;
		sample.frame = profile_frame(p, PROFILE_NONE, profile_module(p, "/opt/solver", ""), 0x3001);
		cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	}
	return p;
}

static void expect_note(const struct profile *profile, const char *text, bool present)
{
	char *table = table_text(profile, (struct report_options){0});
	cr_expect_eq(strstr(table, text) != NULL, present, "\"%s\" in\n%s", text, table);
	free(table);
}

Test(report, interpolated_roofs_are_marked)
{
	struct profile *p = sample_with_concurrency(200, 0);
	struct model model = build(p);
	const struct model_function *triad = find(&model, "triad");
	expect_near(triad->concurrency, 1.4, "concurrency");
	cr_expect(triad->place.interpolated);
	expect_near(triad->place.roof, 80 * (1 + 0.4 * 0.7) * 8 / 96, "roof");
	cr_expect_not(find(&model, "dot")->place.interpolated);
	cr_expect_not(find(&model, "jit_code")->place.interpolated);
	model_deinit(&model);
	expect_note(p, "roofs at 1.40 threads (1 row) are interpolated between the measured counts 1 and 2", true);
	for (size_t i = 0; i < p->n_roofs; i++)
		p->roofs[i].threads *= 2;
	expect_note(p, "roofs at 1.00 to 1.40 threads (5 rows) are those of the nearest measured counts", true);
	profile_destroy(p);
	p = sample_with_concurrency(200, 60);
	expect_note(p, "roofs at 1.20 to 1.40 threads (2 rows) are interpolated between the measured counts 1 "
		       "and 2", true);
	profile_destroy(p);
	p = report_sample();
	expect_note(p, "interpolated", false);
	profile_destroy(p);
}

static void make_noisy(struct profile *p, const char *op, const char *level, int threads, double spread)
{
	for (size_t i = 0; i < p->n_roofs; i++) {
		struct roof *roof = &p->roofs[i];
		if (strcmp(roof->op, op) == 0 && strcmp(roof->level, level) == 0 &&
		    roof->threads == threads && strcmp(roof->isa, "scalar") != 0)
			roof->noisy = true, roof->q3 = roof->median, roof->q1 = roof->median * (1 - spread);
	}
}

Test(report, noisy_roofs_are_named)
{
	struct profile *p = report_sample();
	make_noisy(p, "triad", "L1", 1, 0.5);  /* nothing is placed there */
	make_noisy(p, "triad", "DRAM", 1, 0.5); /* nor there: the triad runs on 2 threads */
	make_noisy(p, "read", "DRAM", 2, 0.5); /* nor there: a third of its bytes are stored */
	sample_roof(p, ROOF_BANDWIDTH, "sse2", "", "triad", "DRAM", 2, 12); /* slower than the best */
	p->roofs[p->n_roofs - 1].noisy = true;
	expect_note(p, "noisy", false);
	p->n_roofs--;
	make_noisy(p, "triad", "DRAM", 2, 0.07);
	expect_note(p, "the DRAM triad roof at 2 threads is noisy (quartiles 7 % apart)\n", true);
	make_noisy(p, "fma", "", 1, 0.12);
	expect_note(p, "the avx512f double fma roof at 1 thread is noisy (quartiles 12 % apart), and 1 more\n",
		    true);
	profile_destroy(p);
}

Test(report, order_follows_the_sort)
{
	static const struct { enum report_sort sort; const char *first; } sorts[] = {
		{SORT_TIME, "triad"}, {SORT_FLOPS, "fma_c"}, {SORT_BYTES, "triad"},
		{SORT_NAME, "copy"}, {SORT_HEADROOM, "dot"}, {SORT_DISTANCE, "masked_add"},
	};
	struct profile *profile = report_sample();
	for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++) {
		char *text = table_text(profile, (struct report_options){.top = 1, .sort = sorts[i].sort});
		char *line = strchr(strchr(text, '\n') + 1, '\n') + 1;
		*strchr(line, '\n') = '\0';
		cr_expect(strstr(line, sorts[i].first), "sort %d: %s", sorts[i].sort, line);
		free(text);
	}
	profile_destroy(profile);
}

Test(report, sort_words)
{
	enum report_sort sort = SORT_NAME;
	cr_expect(report_sort_parse("headroom", &sort));
	cr_expect_eq(sort, SORT_HEADROOM);
	cr_expect(report_sort_parse("bytes", &sort));
	cr_expect_eq(sort, SORT_BYTES);
	cr_expect_not(report_sort_parse("byte", &sort));
	cr_expect_not(report_sort_parse("", &sort));
	cr_expect_eq(sort, SORT_BYTES);
}

Test(report, numbers_have_three_digits)
{
	static const struct { double value; const char *text; } rows[] = {
		{8.413, "8.41"}, {0.0123456, "0.0123"}, {99.96, "100"}, {9.996, "10.0"}, {1310.4, "1310"},
		{0, "0"}, {1, "1.00"}, {NAN, "–"}, {INFINITY, "∞"}, {2.5e-7, "2.5e-07"}, {0.09996, "0.100"},
	};
	char buffer[TEXT_NUMBER];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_str_eq(text_number(buffer, rows[i].value), rows[i].text, "%s",
				 buffer);
}

Test(report, harmful_text_is_made_harmless)
{
	static const struct { const char *from, *to; } rows[] = {
		{"plain äöü 漢字", "plain äöü 漢字"}, {"a\033[31mb", "a\xef\xbf\xbd[31mb"},
		{"a\nb\tc\x7f", "a\xef\xbf\xbd" "b\xef\xbf\xbd" "c\xef\xbf\xbd"},
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"}, {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe2\x80\xae" "evil", "\xef\xbf\xbd" "evil"}, {"cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc2\x9b" "31m", "\xef\xbf\xbd" "31m"}, {"\xef\xbf\xbf", "\xef\xbf\xbd"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *clean = text_clean(rows[i].from);
		cr_expect_str_eq(clean, rows[i].to, "row %zu", i);
		free(clean);
	}
}

Test(report, long_names_lose_their_middle)
{
	setlocale(LC_ALL, "C.UTF-8");
	char *a = text_shorten("abcdefghij", 7), *b = text_shorten("漢字漢字漢字", 7), *c = text_shorten("abc", 3);
	cr_expect_str_eq(a, "abc…hij");
	cr_expect_leq(text_columns(b), 7);
	cr_expect_str_eq(c, "abc");
	free(a), free(b), free(c);
}

/* ---- SVG and JSON ---- */

static char directory[] = "/tmp/rfprof-test-report-XXXXXX";

static char *in_directory(const char *name)
{
	static char paths[4][96];
	static int next;
	char *path = paths[next++ % 4];
	static bool made; /* the random part may have an X, too */
	if (!made)
		cr_assert_not_null(mkdtemp(directory));
	made = true;
	snprintf(path, 96, "%s/%s", directory, name);
	return path;
}

static void remove_directory(void)
{
	char command[96];
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	cr_assert_eq(system(command), 0);
}

static void hostile_names(struct profile *p)
{
	static const char *const names[] = {
		"</svg><script>alert(1)</script>", "a\033[2Jb\n\"c\" & 'd'", "\xff\xfe\x80 ]]>",
	};
	for (size_t i = 0; i < 3; i++) {
		free(p->functions[i].name);
		p->functions[i].name = strdup(names[i]);
	}
	char *huge = malloc(2000001);
	memset(huge, 'x', 2000000);
	huge[2000000] = '\0';
	free(p->functions[3].name);
	p->functions[3].name = huge;
	profile_set_fact(p, "command", "'./so\033lver <&>' x");
}

static double attribute(const char *element, const char *name)
{
	char pattern[64];
	snprintf(pattern, sizeof(pattern), " %s=\"", name);
	const char *at = strstr(element, pattern);
	cr_assert_not_null(at, "no %s", name);
	return atof(at + strlen(pattern));
}

static char *picture(const struct profile *profile)
{
	char *path = in_directory("a.svg");
	assert_ok(report_write(profile, &(struct report_options){.svg_path = path}, NULL));
	return read_whole(path);
}

Test(report, svg_points_lie_where_the_data_say, .fini = remove_directory)
{
	struct profile *profile = report_sample();
	char *svg = picture(profile);
	double x_min = attribute(svg, "data-x-min"), x_max = attribute(svg, "data-x-max");
	double y_min = attribute(svg, "data-y-min"), y_max = attribute(svg, "data-y-max");
	double left = attribute(svg, "data-left"), right = attribute(svg, "data-right");
	double top = attribute(svg, "data-top"), bottom = attribute(svg, "data-bottom");
	static const struct { const char *name; double intensity, gflops; } truths[] = {
		{"triad", 8.0 / 96, 1.6}, {"dot", 0.125, 0.2 / 0.3},
	};
	for (size_t i = 0; i < 2; i++) {
		char pattern[64];
		snprintf(pattern, sizeof(pattern), "data-name=\"%s\"", truths[i].name);
		const char *circle = strstr(svg, pattern);
		cr_assert_not_null(circle);
		while (*circle != '<')
			circle--;
		double x = left + (right - left) * log(truths[i].intensity / x_min) / log(x_max / x_min);
		double y = bottom - (bottom - top) * log(truths[i].gflops / y_min) / log(y_max / y_min);
		cr_expect_float_eq(attribute(circle, "cx"), x, 0.01, "%s", truths[i].name);
		cr_expect_float_eq(attribute(circle, "cy"), y, 0.01, "%s", truths[i].name);
	}
	/* registers only: at the right edge; integer code: in the strip */
	const char *crunch = strstr(svg, "data-name=\"fma_crunch");
	while (*crunch != '<')
		crunch--;
	cr_expect_float_eq(attribute(crunch, "cx"), right, 0.01);
	cr_expect(strstr(svg, "class=\"point control\""));
	free(svg);
	profile_destroy(profile);
}

Test(report, svg_is_well_formed_with_hostile_names, .fini = remove_directory)
{
	char command[160];
	struct profile *profile = report_sample();
	hostile_names(profile);
	char *svg = picture(profile);
	cr_expect_null(strstr(svg, "<script"));
	cr_expect_null(strchr(svg, '\033'));
	if (system("command -v xmllint >/dev/null") != 0)
		cr_skip_test("xmllint is not there");
	snprintf(command, sizeof(command), "xmllint --huge --noout %s/a.svg", directory);
	cr_expect_eq(system(command), 0);
	free(svg);
	profile_destroy(profile);
}

Test(report, labels_keep_clear_of_each_other)
{
	struct label labels[20];
	struct box obstacle = {300, 100, 420, 300};
	for (int i = 0; i < 20; i++)
		labels[i] = (struct label){.x = 250 + i % 3, .y = 250 + i % 2, .radius = 4 + i % 7,
					   .width = 60 + 10 * (i % 12), .height = 15,
					   .frame = {0, 0, 700, 500}};
	labels_place(labels, 20, &obstacle, 1);
	for (int i = 0; i < 20; i++) {
		const struct box *a = &labels[i].box;
		cr_assert(labels[i].placed, "label %d", i);
		cr_expect(a->left >= 0 && a->top >= 0 && a->right <= 700 && a->bottom <= 500);
		cr_expect(!box_overlaps(a, &obstacle));
		for (int k = 0; k < i; k++)
			cr_expect(!box_overlaps(a, &labels[k].box), "%d over %d", i, k);
	}
}

static json_t *report_as_json(const struct profile *profile)
{
	char *path = in_directory("a.json");
	json_error_t error;
	assert_ok(report_write(profile, &(struct report_options){.json_path = path}, NULL));
	json_t *root = json_load_file(path, 0, &error);
	cr_assert_not_null(root, "%s", error.text);
	return root;
}

static json_t *json_function(json_t *root, const char *name)
{
	size_t i;
	json_t *function;
	json_array_foreach(json_object_get(root, "functions"), i, function)
		if (strcmp(json_string_value(json_object_get(function, "name")), name) == 0)
			return function;
	cr_assert(false, "no %s", name);
	return NULL;
}

static json_int_t integer(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	cr_assert(json_is_integer(value), "%s is an integer", key);
	return json_integer_value(value);
}

Test(report, json_has_every_key_and_exact_integers, .fini = remove_directory)
{
	static const char *const keys[] = {
		"name", "module", "time_s", "share", "flop", "flop_by_kind", "load_bytes", "store_bytes",
		"instructions", "gflops", "intensity", "bound", "roof_gflops", "distance", "headroom_s",
		"threads", "flop_unmasked", "per_thread", "samples", "level", "why", "elapsed_s",
	};
	struct profile *profile = report_sample();
	set_executions(profile, 0, 0x10000000000000); /* 2⁵² × 2 threads × 8 flop: beyond a double */
	profile->counts[0].n++;
	json_t *root = report_as_json(profile), *function;
	size_t i;
	cr_expect_eq(json_array_size(json_object_get(root, "functions")), N_SAMPLE_KERNELS);
	json_array_foreach(json_object_get(root, "functions"), i, function)
		for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
			cr_expect_not_null(json_object_get(function, keys[k]), "%s", keys[k]);
	json_t *triad = json_function(root, "triad"), *run = json_object_get(root, "run");
	cr_expect_eq(integer(triad, "flop"), 8 * (0x20000000000000 + 1));
	cr_expect_eq(integer(json_object_get(triad, "flop_by_kind"), "fma_double_256"),
		     8 * (0x20000000000000 + 1));
	cr_expect_eq(json_array_size(json_object_get(triad, "per_thread")), 2);
	cr_expect_eq(integer(json_array_get(json_object_get(triad, "per_thread"), 0), "flop"),
		     8 * (0x10000000000000 + 1));
	cr_expect_str_eq(json_string_value(json_object_get(run, "command")), "./solver 'in put.dat'");
	cr_expect_eq(json_number_value(json_object_get(run, "wall_s")), 1.4);
	cr_expect_eq(integer(run, "threads"), 2);
	cr_expect_str_eq(json_string_value(json_object_get(json_object_get(run, "obtained"), "time")),
			 "perf cpu-clock");
	cr_expect_eq(json_array_size(json_object_get(json_object_get(root, "machine"), "roofs")),
		     profile->n_roofs);
	cr_expect(json_is_null(json_object_get(json_function(root, "jit_code"), "distance")));
	json_decref(root);
	profile_destroy(profile);
}

static const char *json_text(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	cr_assert_not_null(text, "%s is a text", key);
	return text;
}

Test(report, json_describes_the_machine, .fini = remove_directory)
{
	struct profile *p = report_sample();
	profile_set_fact(p, "microarchitecture", "Zen 5");
	profile_set_fact(p, "clock_fp_ghz", "3.5");
	p->roofs[0].theory = 101.5;
	p->roofs[1].noisy = true;
	p->roofs[2].by_node = true;
	p->roofs[2].memory_node = 1;
	struct custom_roof custom = {"vendor's \033 peak", 2000, "GFLOP/s", "data sheet"};
	cr_assert(rf_array_push(p->custom_roofs, p->n_custom_roofs, p->cap_custom_roofs, custom));
	json_t *root = report_as_json(p), *machine = json_object_get(root, "machine");
	json_t *roofs = json_object_get(machine, "roofs"), *stated = json_object_get(machine, "custom_roofs");
	cr_expect_str_eq(json_text(machine, "microarchitecture"), "Zen 5");
	cr_expect_eq(json_real_value(json_object_get(machine, "clock_fp_ghz")), 3.5);
	cr_expect_eq(json_real_value(json_object_get(json_array_get(roofs, 0), "theory")), 101.5);
	cr_expect(json_is_null(json_object_get(json_array_get(roofs, 1), "theory")));
	cr_expect(json_is_false(json_object_get(json_array_get(roofs, 0), "noisy")));
	cr_expect(json_is_true(json_object_get(json_array_get(roofs, 1), "noisy")));
	cr_expect(json_is_null(json_object_get(json_array_get(roofs, 1), "cpu_node")));
	cr_expect(json_is_null(json_object_get(json_array_get(roofs, 1), "memory_node")));
	cr_expect_eq(integer(json_array_get(roofs, 2), "cpu_node"), 0);
	cr_expect_eq(integer(json_array_get(roofs, 2), "memory_node"), 1);
	cr_expect_eq(json_array_size(stated), 1);
	cr_expect_str_eq(json_text(json_array_get(stated, 0), "name"), "vendor's \xef\xbf\xbd peak");
	cr_expect_eq(json_real_value(json_object_get(json_array_get(stated, 0), "value")), 2000);
	cr_expect_str_eq(json_text(json_array_get(stated, 0), "unit"), "GFLOP/s");
	cr_expect_str_eq(json_text(json_array_get(stated, 0), "source"), "data sheet");
	json_decref(root);
	profile_destroy(p);
	p = sample_with_concurrency(200, 0);
	root = report_as_json(p);
	machine = json_object_get(root, "machine");
	cr_expect(json_is_null(json_object_get(machine, "microarchitecture")));
	cr_expect(json_is_null(json_object_get(machine, "clock_fp_ghz")));
	cr_expect_eq(json_array_size(json_object_get(machine, "custom_roofs")), 0);
	json_t *triad = json_function(root, "triad"), *copy = json_function(root, "copy");
	json_t *crunch = json_function(root, "fma_crunch(unsigned long)");
	cr_expect(json_is_true(json_object_get(triad, "roof_interpolated")));
	cr_expect(json_is_false(json_object_get(copy, "roof_interpolated")));
	cr_expect_str_eq(json_text(triad, "roof_stores"), "apart");
	cr_expect(json_is_null(json_object_get(crunch, "roof_stores")));
	cr_expect_eq(integer(triad, "nt_store_bytes"), 0);
	cr_expect_eq(integer(copy, "string_bytes"), 1000000000);
	json_decref(root);
	profile_destroy(p);
}

Test(report, json_takes_hostile_names, .fini = remove_directory)
{
	struct profile *profile = report_sample();
	hostile_names(profile);
	json_t *root = report_as_json(profile);
	cr_expect_eq(json_array_size(json_object_get(root, "functions")), N_SAMPLE_KERNELS);
	json_function(root, "</svg><script>alert(1)</script>");
	json_decref(root);
	char *text = table_text(profile, (struct report_options){0});
	cr_expect_null(strchr(text, '\033'));
	char *lines = strstr(text, "\n  ·"); /* the notes are sentences; the table before them fits */
	cr_assert_not_null(lines);
	*lines = '\0';
	setlocale(LC_ALL, "C.UTF-8");
	for (char *line = strtok(strchr(text, '\n'), "\n"); line; line = strtok(NULL, "\n"))
		cr_expect_leq(text_columns(line), 132, "%s", line);
	free(text);
	profile_destroy(profile);
}

Test(report, unwritable_files_are_said)
{
	struct profile *profile = report_sample();
	struct rf_error *error = report_write(profile, &(struct report_options){.svg_path = "/proc/x.svg"}, NULL);
	cr_assert_not_null(error);
	cr_expect_eq(error->code, RF_EACCESS);
	cr_expect(strstr(error->message, "/proc/x.svg"));
	rf_error_destroy(error);
	error = report_write(profile, &(struct report_options){.json_path = "/dev/full"}, NULL);
	cr_assert_not_null(error);
	cr_expect(strstr(error->message, "No space left"), "%s", error->message);
	rf_error_destroy(error);
	profile_destroy(profile);
}

Test(report, a_report_from_the_file_is_the_same)
{
	struct profile *profile = report_sample(), *loaded = NULL;
	char *path = in_directory("a.rfp");
	assert_ok(profile_save(profile, path));
	assert_ok(profile_load(path, &loaded));
	char *a = table_text(profile, (struct report_options){0});
	char *b = table_text(loaded, (struct report_options){0});
	cr_expect_str_eq(a, b);
	free(a), free(b);
	profile_destroy(loaded);
	profile_destroy(profile);
	remove_directory();
}

Test(report, an_empty_profile_has_a_report)
{
	struct profile *profile = profile_create();
	char *text = table_text(profile, (struct report_options){0});
	cr_expect(strstr(text, "no function took any time"));
	free(text);
	char *svg = picture(profile);
	cr_expect(strstr(svg, "</svg>"));
	free(svg);
	profile_destroy(profile);
	remove_directory();
}
