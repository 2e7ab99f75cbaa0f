/* The report: counts, time, placement and every format, against a profile whose truth is known.
 *
 * tests/unit/golden/report_table.txt is the expected table.  To rewrite it after an intended change:
 *   RFPROF_REWRITE_GOLDEN=1 build/tests/unit/test_report --filter 'report/table_is_as_checked_in'
 */
#include "report/model.h"
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
	if (strchr(directory, 'X'))
		cr_assert_not_null(mkdtemp(directory));
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
