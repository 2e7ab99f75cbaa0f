/* The report in a terminal: width, colours, plot, the page of a function, rows by other things than
 * functions.
 *
 * tests/unit/golden/terminal_….txt are the expected texts.  To rewrite them after an intended
 * change: RFPROF_REWRITE_GOLDEN=1 build/tests/unit/report/text/test_terminal --filter
 * 'terminal/?*as_checked_in'
 */
#include "report/rows/call_paths.h"
#include "report/rows/code_names.h"
#include "report/rows/filter.h"
#include "report/rows/grouping.h"
#include "report/rows/ranking.h"

#include "base/text.h"
#include "report/report.h"
#include "report/rows/view.h"
#include "tests/unit/report/report_golden.h"
#include "tests/unit/report/report_sample.h"

#include <locale.h>
#include <stdio.h>
#include <unistd.h>

static const size_t widths[] = {40, 80, 120, 200};
#define N_WIDTHS (sizeof(widths) / sizeof(*widths))

/* Call stacks and source lines for the sample: main calls triad, dot by way of solve, and all else.
 */
static struct profile *sample_with_code(void)
{
	struct profile *p = report_traced_sample();
	const uint32_t m = profile_module(p, "/opt/solver", "");
	static const struct {
		const char *name;
		uint64_t start;
	} callers[] = {{"main", 0x100}, {"solve", 0x200}};
	uint32_t frames[2];
	sample_data(p);
	for (size_t i = 0; i < 2; i++) {
		sample_function(p, m, callers[i].start, callers[i].start + 0x80, callers[i].name,
				"main.c", 1);
		frames[i] = profile_frame(p, i ? frames[0] : PROFILE_NONE, m, callers[i].start + 8);
	}
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_frame leaf = p->frames[p->samples[i].frame];
		if (leaf.parent == PROFILE_NONE)
			p->samples[i].frame =
				profile_frame(p,
					      frames[leaf.offset < 0x4000 && leaf.offset > 0x3000],
					      leaf.module, leaf.offset);
	}
	const struct profile_line lines[] = {
		{m, 0x1000, 0x1014, NULL, 12},
		{m, 0x1014, 0x1019, NULL, 11},
		{m, 0x3000, 0x3017, NULL, 20},
		{m, 0x4000, 0x400b, NULL, 20},
	};
	for (size_t i = 0; i < 4; i++) {
		struct profile_line line = lines[i];
		line.file = strdup("/src/solver.c");
		cr_assert(rf_array_push(p->lines, p->n_lines, p->cap_lines, line));
	}
	/* triad: its loads and the multiplication are a copy of axpy(), the store one of put() in
	 * that; the loop of dot, a copy of sum(); and where triad ends, a copy of dot */
	const uint32_t axpy = profile_inlined_function(p, m, "axpy", "/src/axpy.h", 3);
	const uint32_t put = profile_inlined_function(p, m, "put", "/src/axpy.h", 1);
	const uint32_t sum = profile_inlined_function(p, m, "sum", "", 0),
		       dot = profile_inlined_function(p, m, "dot", "", 0);
	const uint32_t in_triad = profile_inlined_call(p, PROFILE_NONE, axpy, "/src/solver.c", 12);
	const struct profile_inlined_code code[] = {
		{m, 0x1000, 0x100b, in_triad},
		{m, 0x100b, 0x1010, profile_inlined_call(p, in_triad, put, "/src/axpy.h", 5)},
		{m, 0x1014, 0x1017,
		 profile_inlined_call(p, PROFILE_NONE, dot, "/src/solver.c", 13)},
		{m, 0x3000, 0x3017, profile_inlined_call(p, PROFILE_NONE, sum, "", 0)},
	};
	for (size_t i = 0; i < 4; i++)
		cr_assert(rf_array_push(p->inlined_code, p->n_inlined_code, p->cap_inlined_code,
					code[i]));
	return p;
}

Test(terminal, tables_are_as_checked_in)
{
	struct profile *p = sample_with_code();
	for (size_t i = 0; i < N_WIDTHS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "terminal_table_%zu", widths[i]);
		expect_golden(report_text(p, (struct report_options){.width = widths[i]}), name);
	}
	profile_destroy(p);
}

Test(terminal, plots_are_as_checked_in)
{
	struct profile *p = sample_with_code();
	expect_golden(report_text(p,
				  (struct report_options){.width = 90, .plot = true, .utf8 = true}),
		      "terminal_plot_braille");
	expect_golden(
		report_text(p, (struct report_options){.width = 90, .plot = true, .ascii = true}),
		"terminal_plot_ascii");
	expect_golden(report_text(p, (struct report_options){.width = 60,
							     .plot = true,
							     .ascii = true,
							     .level = "DRAM"}),
		      "terminal_plot_dram");
	profile_destroy(p);
}

Test(terminal, pages_are_as_checked_in)
{
	struct profile *p = sample_with_code();
	expect_golden(report_text(p, (struct report_options){.width = 90, .function = "triad"}),
		      "terminal_page_triad");
	expect_golden(report_text(p, (struct report_options){.width = 90, .function = "crunch"}),
		      "terminal_page_crunch");
	expect_golden(report_text(p, (struct report_options){.width = 90, .function = "dot"}),
		      "terminal_page_dot");
	profile_destroy(p);
}

static const char *const by_words[] = {"function", "loop",    "line",      "module",
				       "thread",   "process", "call-path", "inlined"};
#define N_BY (sizeof(by_words) / sizeof(*by_words))

Test(terminal, rows_are_as_checked_in)
{
	struct profile *p = sample_with_code();
	for (int by = 0; by < (int)N_BY; by++) {
		char name[32];
		int parsed;
		cr_assert(rf_word_find(report_by_words, by_words[by], &parsed));
		cr_assert_eq(parsed, by);
		snprintf(name, sizeof(name), "terminal_by_%s", by_words[by]);
		expect_golden(report_text(p, (struct report_options){.width = 100, .by = by}),
			      name);
	}
	profile_destroy(p);
}

/* ---- sums ---- */

struct sums {
	uint64_t time_ns, n_samples, flop, bytes, instructions, left_out_ns;
	double memory;
};

static struct sums sums_of(const struct model *model)
{
	struct sums sums = {0};
	for (size_t i = 0; i < model->n_functions; i++) {
		const struct model_function *f = &model->functions[i];
		sums.time_ns += f->time_ns;
		sums.n_samples += f->n_samples;
		sums.flop += f->tally.flop;
		sums.bytes += f->tally.load_bytes + f->tally.store_bytes;
		sums.instructions += f->tally.instructions;
		sums.memory += f->traffic ? f->traffic->bytes.mem[DIRECTION_BOTH].bytes : 0;
		sums.left_out_ns += f->left_out ? f->time_ns : 0;
	}
	return sums;
}

static struct sums group_sums(const struct profile *p, const struct model *plain,
			      struct report_options options)
{
	const struct report_view view = {.profile = p, .model = plain, .options = &options};
	struct model_groups groups;
	struct model model;
	struct sums sums;
	if (options.by == BY_CALL_PATH) {
		assert_ok(call_paths_create(&view, &model));
		sums = sums_of(&model);
		call_paths_destroy(&model);
		return sums;
	}
	assert_ok(grouping_create(&view, &groups));
	model = build_as(p, (struct model_choice){.groups = &groups});
	sums = sums_of(&model);
	model_deinit(&model);
	grouping_destroy(&groups);
	return sums;
}

static void expect_same_sums(const struct profile *p, struct report_options options)
{
	struct model plain = build_as(p, (struct model_choice){.loops = true});
	const struct sums truth = sums_of(&plain);
	for (int by = 0; by < (int)N_BY; by++) {
		options.by = by;
		const struct sums sums = group_sums(p, &plain, options);
		cr_expect_eq(sums.time_ns, truth.time_ns, "time by %s", by_words[by]);
		cr_expect_eq(sums.n_samples, truth.n_samples, "samples by %s", by_words[by]);
		if (by == BY_CALL_PATH) /* work is not known by path */
			continue;
		cr_expect_eq(sums.flop, truth.flop, "flop by %s: %zu, not %zu", by_words[by],
			     sums.flop, truth.flop);
		cr_expect_eq(sums.bytes, truth.bytes, "bytes by %s", by_words[by]);
		cr_expect_eq(sums.instructions, truth.instructions, "instructions by %s",
			     by_words[by]);
		expect_near(sums.memory, truth.memory, "memory traffic");
	}
	model_deinit(&plain);
}

Test(terminal, rows_add_up_to_all)
{
	struct profile *p = sample_with_code();
	expect_same_sums(p, (struct report_options){0});
	expect_same_sums(p, (struct report_options){.focus = "triad|solver #2"});
	expect_same_sums(p, (struct report_options){.ignore = "dot", .focus = "solver"});
	expect_same_sums(p, (struct report_options){.focus = "nothing is called so"});
	/* lines and functions that overlap, stand out of order or have no end */
	struct profile_line odd[] = {{0, 0x1002, 0x1002, NULL, 1},
				     {0, 0x0ff0, 0x1020, NULL, 2},
				     {0, 0x3010, UINT64_MAX, NULL, 3}};
	for (size_t i = 0; i < 3; i++) {
		odd[i].file = strdup(i ? "" : "\033[31m");
		cr_assert(rf_array_push(p->lines, p->n_lines, p->cap_lines, odd[i]));
	}
	cr_assert(rf_array_push(p->inlined_code, p->n_inlined_code, p->cap_inlined_code,
				((struct profile_inlined_code){p->inlined_code[3].module, 0x3016,
							       UINT64_MAX, 0})));
	p->functions[1].end = UINT64_MAX;
	p->samples[7].frame = PROFILE_NONE;
	p->samples[8].frame = profile_frame(p, PROFILE_NONE, PROFILE_NONE, 77);
	p->samples[9].frame =
		profile_frame(p, PROFILE_NONE, profile_module(p, "/lib/other.so", ""), UINT64_MAX);
	expect_same_sums(p, (struct report_options){0});
	profile_destroy(p);
}

/* 1890 samples of 1 ms: triad 1000, dot 300. */
Test(terminal, focus_and_ignore_leave_out_the_rest)
{
	static const struct {
		enum report_by by;
		const char *focus, *ignore;
		unsigned left_out;
	} rows[] = {
		{BY_FUNCTION, "triad", NULL, 890},      {BY_FUNCTION, NULL, "triad", 1000},
		{BY_FUNCTION, "triad|dot", "dot", 890}, {BY_LOOP, "triad", NULL, 890},
		{BY_MODULE, "triad", NULL, 890},        {BY_MODULE, "^solver$", NULL, 10},
		{BY_THREAD, "triad", NULL, 890},        {BY_THREAD, "#2", NULL, 1390},
		{BY_THREAD, NULL, "#2", 500},           {BY_PROCESS, "dot", NULL, 1590},
		{BY_LINE, "solver.c:20", NULL, 1490},   {BY_LINE, NULL, "solver.c:20", 400},
		{BY_INLINED, "^sum$", NULL, 1590},      {BY_INLINED, "triad", "sum", 890},
		{BY_INLINED, NULL, "^dot$", 300},       {BY_CALL_PATH, "solve", "triad", 1000},
		{BY_CALL_PATH, "main", NULL, 0},        {BY_CALL_PATH, "^solve$", NULL, 1590},
	};
	struct profile *p = sample_with_code();
	struct model plain = build_as(p, (struct model_choice){.loops = true});
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct report_options options = {.by = rows[i].by,
						       .focus = rows[i].focus,
						       .ignore = rows[i].ignore};
		const struct sums sums = group_sums(p, &plain, options);
		cr_expect_eq(sums.left_out_ns, rows[i].left_out * 1000000ull, "row %zu: %zu", i,
			     sums.left_out_ns);
	}
	model_deinit(&plain);
	profile_destroy(p);
}

static uint64_t flop_of(const struct model *model, const char *name)
{
	uint64_t flop = 0;
	for (size_t i = 0; i < model->n_functions; i++)
		flop += strcmp(model->functions[i].name, name) == 0 ? model->functions[i].tally.flop
								    : 0;
	return flop;
}

/* Triad is 10^8 turns of a load, an FMA of 8 flop and a store of 32 bytes; dot 10^8 of 2 flop. */
Test(terminal, inlined_functions_have_the_work_of_their_copies)
{
	struct profile *p = sample_with_code();
	const struct report_options options = {.by = BY_INLINED};
	struct model plain = build_as(p, (struct model_choice){.loops = true});
	const struct report_view view = {.profile = p, .model = &plain, .options = &options};
	struct model_groups groups;
	assert_ok(grouping_create(&view, &groups));
	struct model model = build_as(p, (struct model_choice){.groups = &groups});
	cr_expect_eq(flop_of(&model, "axpy"), 800000000);
	cr_expect_eq(flop_of(&model, "put") + flop_of(&model, "triad") + flop_of(&model, "dot"), 0);
	cr_expect_eq(flop_of(&model, "sum"), 200000000);
	for (size_t i = 0; i < model.n_functions; i++) {
		const struct model_function *f = &model.functions[i];
		if (strcmp(f->name, "put") == 0)
			cr_expect_eq(f->tally.store_bytes, 3200000000);
		if (strcmp(f->name, "dot") ==
		    0) /* the comparison and the addition in triad, nothing of its own */
			cr_expect_eq(f->tally.instructions, 100000000, "%zu",
				     f->tally.instructions);
	}
	model_deinit(&model);
	grouping_destroy(&groups);
	model_deinit(&plain);
	profile_destroy(p);
}

Test(terminal, loops_are_in_the_call_that_holds_all_of_them)
{
	struct profile *p = sample_with_code();
	struct model plain = build_as(p, (struct model_choice){.loops = true});
	const struct report_view view = {.profile = p, .model = &plain};
	size_t seen = 0;
	for (size_t i = 0; i < plain.n_functions; i++) {
		const struct model_function *f = &plain.functions[i];
		uint32_t *calls = report_calls_of_loops(&view, f);
		const bool dot = strcmp(f->name, "dot") == 0, triad = strcmp(f->name, "triad") == 0;
		if ((dot || triad) && f->n_loops) {
			cr_expect_eq(f->n_loops, 1);
			cr_expect_eq(calls[0] != PROFILE_NONE, dot, "%s", f->name);
			cr_expect(triad || strcmp(report_inlined_name(p, calls[0]), "sum") == 0);
			seen++;
		}
		free(calls);
	}
	cr_expect_eq(seen, 2);
	char *chain = report_inlined_chain(p, 1);
	cr_expect_str_eq(chain, "put (axpy.h:5), in axpy (solver.c:12)");
	free(chain);
	cr_expect_eq(report_inlined_at(p, p->inlined_code[0].module, 0x100a), 0);
	cr_expect_eq(report_inlined_at(p, p->inlined_code[0].module, 0x1010), PROFILE_NONE);
	cr_expect_eq(report_inlined_at(p, p->inlined_code[0].module + 1, 0x100a), PROFILE_NONE);
	model_deinit(&plain);
	profile_destroy(p);
}

Test(terminal, what_is_left_out_is_said)
{
	struct profile *p = sample_with_code();
	char *text = report_text(
		p, (struct report_options){.focus = "triad|dot|copy", .min_share = 0.05, .top = 1});
	cr_expect(strstr(text, "  1 more\n"), "%s", text);
	cr_expect(strstr(text, "1 below 5 %"), "%s", text);
	cr_expect(strstr(text, "540 ms   29  left out"), "%s", text);
	cr_expect(strstr(text, "1890 ms  100  all"), "%s", text);
	free(text);
	profile_destroy(p);
}

Test(terminal, words_of_the_options)
{
	static const struct {
		const char *word;
		double share;
	} shares[] = {{"5%", 0.05}, {"5 %", 0.05}, {"0.5", 0.005}, {"0", 0}, {"100%", 1}};
	static const char *const wrong[] = {"", "%", "-1", "101", "5%%", "5x", "nan", "inf"};
	double share = -1;
	int color = COLOR_AUTO;
	for (size_t i = 0; i < 5; i++) {
		cr_expect(report_share_parse(shares[i].word, &share), "%s", shares[i].word);
		cr_expect_eq(share, shares[i].share, "%s", shares[i].word);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		cr_expect_not(report_share_parse(wrong[i], &share), "%s", wrong[i]);
	cr_expect(rf_word_find(report_color_words, "never", &color) && color == COLOR_NEVER);
	cr_expect_not(rf_word_find(report_color_words, "yes", &color));
	assert_ok(report_pattern_check("--focus", "a.*(b|c)$"));
	assert_ok(report_pattern_check("--focus", NULL));
	struct rf_error *error = report_pattern_check("--focus", "a(");
	cr_assert_not_null(error);
	cr_expect(strstr(error->message, "--focus a("), "%s", error->message);
	rf_error_destroy(error);
}

/* ---- width ---- */

static char *repeated(const char *what, size_t bytes)
{
	const size_t n = strlen(what);
	char *text = malloc(bytes + n + 1);
	cr_assert_not_null(text);
	for (size_t at = 0; at <= bytes; at += n)
		memcpy(text + at, what, n + 1);
	return text;
}

static void expect_fits(char *text, size_t width, const char *what)
{
	for (char *next, *line = text; *line; line = next) {
		next = strchrnul(line, '\n');
		next += *next ? (*next = '\0', 1) : 0;
		cr_expect_leq(text_columns(line), width, "%s at %zu: %zu columns\n%.300s", what,
			      width, text_columns(line), line);
		cr_expect_leq(strlen(line), 16 * width, "%s at %zu: %zu bytes", what, width,
			      strlen(line));
		for (const char *c = line; *c; c++)
			cr_expect((unsigned char)*c >= ' ' && *c != 0x7f, "%s: a control character",
				  what);
	}
	free(text);
}

/* Combining marks take no column, CJK two, ill-formed bytes become U+FFFD. */
Test(terminal, no_line_is_wider_than_the_terminal)
{
	static const char *const pieces[] = {
		"漢字",
		"e\xcc\x81\xcc\x82\xcc\x83\xcc\x84",
		"\xcc\x81",
		"\xff\xc0\xaf\xed\xa0\x80",
		"\033[31m\r\n\t\x07\x7f",
		"std::vector<int>::operator[](unsigned long) const ",
		"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac",
		"a",
		"\xe2\x80\xae",
		"%s%n%1000d",
	};
	setlocale(LC_ALL, "C.UTF-8");
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		struct profile *p = sample_with_code();
		const size_t sizes[] = {60, 2000, i ? 5000 : 2 << 20, 200};
		for (size_t k = 0; k < 4; k++) {
			free(p->functions[k].name);
			p->functions[k].name = repeated(pieces[i], sizes[k]);
		}
		free(p->modules[0].name);
		p->modules[0].name = repeated(pieces[i], 300);
		free(p->threads[0].name);
		p->threads[0].name = repeated(pieces[i], 300);
		free(p->lines[0].file);
		p->lines[0].file = repeated(pieces[i], 300);
		profile_set_fact(p, "command", "%.900s", p->functions[1].name);
		for (size_t w = 0; w < N_WIDTHS; w++) {
			const struct report_options base = {
				.width = widths[w], .plot = true, .levels = true, .utf8 = true};
			for (int by = 0; by < (int)N_BY; by++) {
				struct report_options options = base;
				options.by = by;
				expect_fits(report_text(p, options), widths[w], pieces[i]);
			}
			struct report_options accounts = base;
			accounts.ecm = true;
			expect_fits(report_text(p, accounts), widths[w], pieces[i]);
			struct report_options page = base;
			page.function = p->functions[0].name;
			expect_fits(report_text(p, page), widths[w], pieces[i]);
			struct report_options ascii = base;
			ascii.ascii = true;
			char *text = report_text(p, ascii);
			for (const char *c = text; *c; c++)
				cr_assert((unsigned char)*c < 0x80, "not ASCII with --ascii");
			expect_fits(text, widths[w], pieces[i]);
		}
		profile_destroy(p);
	}
}

/* ---- colours ---- */

static bool is_coloured(enum report_color color)
{
	struct profile *p = report_sample();
	char *text = report_text(p, (struct report_options){.color = color});
	const bool coloured = strstr(text, "\033[") != NULL;
	free(text);
	profile_destroy(p);
	return coloured;
}

Test(terminal, colour_follows_the_environment)
{
	static const struct {
		const char *no_color, *force, *wanted;
		enum report_color color;
		bool coloured;
	} rows[] = {
		{NULL, NULL, NULL, COLOR_AUTO, false}, {NULL, "1", NULL, COLOR_AUTO, true},
		{NULL, "0", NULL, COLOR_AUTO, false},  {NULL, "", NULL, COLOR_AUTO, false},
		{"1", "1", NULL, COLOR_AUTO, false},   {"", "1", NULL, COLOR_AUTO, true},
		{NULL, "1", "0", COLOR_AUTO, true},    {"1", NULL, NULL, COLOR_ALWAYS, true},
		{NULL, "1", NULL, COLOR_NEVER, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *const names[] = {"NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"};
		const char *const values[] = {rows[i].no_color, rows[i].force, rows[i].wanted};
		for (size_t k = 0; k < 3; k++)
			values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k]);
		cr_expect_eq(is_coloured(rows[i].color), rows[i].coloured, "row %zu", i);
	}
}

/* ---- the plot ---- */

/* Line `n` (from 0) of the plot, behind its axis; what the text has there. */
static const char *plot_line(const char *text, size_t n)
{
	const char *at = strstr(text, "\n  GFLOP/s\n");
	cr_assert_not_null(at);
	for (at += strlen("\n  GFLOP/s\n"); n--; at++)
		at = strchr(at, '\n');
	return strchr(at, '|') + 1;
}

/* Computed anew from the axes that the plot names: decades of x and y, 60 columns, 15 rows. */
Test(terminal, points_are_where_their_figures_say)
{
	struct profile *p = sample_with_code();
	struct model model = build(p);
	char *text = report_text(p, (struct report_options){.width = 70,
							    .plot = true,
							    .ascii = true,
							    .sort = SORT_TIME,
							    .top = 9,
							    .level = "L1"});
	static const struct {
		char key;
		const char *name, *row;
	} points[] = {{'1', "triad", "\n1    1.00 s  53  triad "},
		      {'3', "dot", "\n3   0.300 s  16  dot "},
		      {'4', "masked_add", "\n4   0.100 s   5  masked_add "}};
	const char *axis = strstr(text, "\n        +");
	cr_assert(axis && strstr(axis, "0.01 ") && strstr(axis, " 1\n"),
		  "the axis is from 0.01 to 10:\n%s", text);
	for (size_t i = 0; i < 3; i++) {
		const struct model_function *f = find(&model, points[i].name);
		cr_expect(strstr(text, points[i].row), "no %s in\n%s", points[i].row, text);
		/* x from 0.01 to 10, y from 0.1 to 1000 */
		const double column = (log10(f->intensity) + 2) / 3 * 60,
			     row = (log10(f->place.point) + 1) / 4 * 15;
		const char *line = plot_line(text, 14 - (size_t)row);
		cr_expect_eq(line[(size_t)column], points[i].key,
			     "%s is not in column %zu, row %zu of\n%s", points[i].name,
			     (size_t)column, (size_t)row, text);
	}
	const struct model_function *crunch = find(&model, "fma_crunch(unsigned long)");
	cr_expect(isinf(crunch->intensity));
	cr_expect_eq(plot_line(text, 14 - (size_t)((log10(80.0) + 1) / 4 * 15))[59], '2', "%s",
		     text);
	cr_expect(strstr(text, "at the right edge, for (almost) no bytes: 2;"), "%s", text);
	free(text);
	model_deinit(&model);
	profile_destroy(p);
}

/* ---- the page ---- */

Test(terminal, names_are_found_or_candidates_named)
{
	static const struct {
		const char *name, *message, *hint;
	} rows[] = {
		{"nobody", "no function is called nobody", "triad"},
		{"i", "i could be several functions", "integer"},
		{"", "could be several functions", "triad"},
	};
	struct profile *p = sample_with_code();
	for (size_t i = 0; i < 3; i++) {
		struct rf_error *error =
			report_write(p, &(struct report_options){.function = rows[i].name}, stdout);
		cr_assert_not_null(error);
		cr_expect_eq(error->code, RF_EINPUT);
		cr_expect(strstr(error->message, rows[i].message), "%s", error->message);
		rf_error_destroy(error);
	}
	char *text = report_text(p, (struct report_options){.function = "crunch"});
	cr_expect_eq(strncmp(text, "fma_crunch(unsigned long)\n", 26), 0, "%s", text);
	free(text);
	profile_destroy(p);
}

Test(terminal, reasons_have_figures)
{
	static const struct {
		const char *function, *reason;
	} rows[] = {
		{"dot", "a chain of additions"},
		{"triad", "what its roof stands on: 25.6 GB/s move of at most 27.2 (94 %)"},
		{"integer", "4.14 instructions per cycle of at most 6"},
		{"jit_code", "only its time is known"},
		{"jit_code", "10 samples only"},
	};
	struct profile *p = sample_with_code();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *text = report_text(p, (struct report_options){.function = rows[i].function,
								    .width = 1000});
		cr_expect(strstr(text, rows[i].reason), "no \"%s\" in\n%s", rows[i].reason, text);
		free(text);
	}
	profile_destroy(p);
}
