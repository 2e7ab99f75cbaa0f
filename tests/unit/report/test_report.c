/* The report in every format, against a profile whose truth is known.
 *
 * tests/unit/golden/report_*.txt are the expected tables.  To rewrite them after an intended
 * change: RFPROF_REWRITE_GOLDEN=1 build/tests/unit/report/test_report --filter
 * 'report/t*as_checked_in'
 */
#include "base/text.h"
#include "report/report.h"
#include "report/rows/report_options.h"
#include "report/svg/svg_labels.h"
#include "tests/unit/report/report_golden.h"
#include "tests/unit/report/report_sample.h"

#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

/* ---- text ---- */

Test(report, table_is_as_checked_in)
{
	struct profile *profile = report_sample();
	expect_golden(report_text(profile, (struct report_options){0}), "report_table");
	profile_destroy(profile);
}

Test(report, traced_tables_are_as_checked_in)
{
	struct profile *profile = report_traced_sample();
	sample_data(profile);
	expect_golden(report_text(profile, (struct report_options){.levels = true}),
		      "report_traced");
	expect_golden(report_text(profile, (struct report_options){.level = "L2",
								   .direction = DIRECTION_READ}),
		      "report_traced_l2_read");
	profile_destroy(profile);
}

static void add_process(struct profile *p, int pid, int parent, const char *command,
			unsigned samples)
{
	uint32_t above = profile_find_process(p, RUN_TIMED, parent);
	profile_process_command(p, profile_process(p, RUN_TIMED, pid, above), command);
	struct profile_sample sample = p->samples[0];
	sample.thread = profile_thread(p, RUN_TIMED, pid, pid, command);
	for (unsigned i = 0; i < samples; i++)
		cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
}

/* make (the sample's own process) with three gcc, each with a cc1 and an as, and many that do
 * nothing. */
static struct profile *sample_with_tree(void)
{
	struct profile *p = report_sample();
	add_process(p, 100, 0, "make", 0);
	for (int i = 0; i < 3; i++) {
		add_process(p, 300 + i, 100, "gcc", 1);
		add_process(p, 310 + i, 300 + i, "as", 10);
		add_process(p, 320 + i, 300 + i, "cc1", 100);
	}
	for (int i = 0; i < 40; i++) {
		char name[16];
		snprintf(name, sizeof(name), "idle%d", i);
		add_process(p, 400 + i, 100, name, 0);
	}
	return p;
}

Test(report, processes_are_a_folded_tree)
{
	struct profile *p = sample_with_tree();
	char *text = report_text(p, (struct report_options){0});
	const char *lines[] = {"  make\n",      "    gcc ×3\n", "      cc1 ×3\n",
			       "      as ×3\n", "    idle0\n",  "  (24 more processes)\n"};
	const char *at = strstr(text, "process, without its children\n");
	cr_assert_not_null(at, "%s", text);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *found = strstr(at, lines[i]);
		cr_assert_not_null(found, "no \"%s\", or too early, in\n%s", lines[i], text);
		at = found;
	}
	free(text);
	text = report_text(p, (struct report_options){.processes = PROCESSES_TREE});
	cr_expect(strstr(text, "\n  make → gcc ×3 → cc1 ×3\n"), "%s", text);
	cr_expect_not(strstr(text, "→ idle"), "%s", text);
	free(text);
	profile_destroy(p);
	p = report_sample();
	add_process(p, 100, 0, "make", 0);
	text = report_text(p, (struct report_options){0});
	cr_expect_not(strstr(text, "without its children"), "a single process is no tree\n%s",
		      text);
	free(text);
	profile_destroy(p);
}

/* The second thread is in the triad for `kept` of the 500 samples of the first; in `dot` as well.
 */
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
		sample.frame = profile_frame(p, PROFILE_NONE, profile_module(p, "/opt/solver", ""),
					     0x3001);
		cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	}
	return p;
}

static void expect_note(const struct profile *profile, const char *text, bool present)
{
	char *table = report_text(profile, (struct report_options){.width = 1000, .verbose = true});
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
	expect_note(p,
		    "roofs at 1.40 threads (1 row) are interpolated between the measured counts 1 "
		    "and 2",
		    true);
	for (size_t i = 0; i < p->n_roofs; i++)
		p->roofs[i].threads *= 2;
	expect_note(
		p,
		"roofs at 1.00 to 1.40 threads (5 rows) are those of the nearest measured counts",
		true);
	profile_destroy(p);
	p = sample_with_concurrency(200, 60);
	expect_note(p,
		    "roofs at 1.20 to 1.40 threads (2 rows) are interpolated between the measured "
		    "counts 1 "
		    "and 2",
		    true);
	profile_destroy(p);
	p = report_sample();
	expect_note(p, "interpolated", false);
	profile_destroy(p);
}

static void make_noisy(struct profile *p, const char *op, const char *level, int threads,
		       double spread)
{
	for (size_t i = 0; i < p->n_roofs; i++) {
		struct roof *roof = &p->roofs[i];
		if (roof->op == roof_op_find(op) && roof->level == roof_level_find(level) &&
		    roof->threads == threads && roof->isa != ROOF_ISA_SCALAR)
			roof->noisy = true, roof->q3 = roof->median,
			roof->q1 = roof->median * (1 - spread);
	}
}

Test(report, noisy_roofs_are_named)
{
	struct profile *p = report_sample();
	make_noisy(p, "triad", "L1", 1, 0.5);   /* nothing is placed there */
	make_noisy(p, "triad", "DRAM", 1, 0.5); /* nor there: the triad runs on 2 threads */
	make_noisy(p, "read", "DRAM", 2, 0.5);  /* nor there: a third of its bytes are stored */
	sample_roof(p, ROOF_BANDWIDTH, "sse2", "", "triad", "DRAM", 2,
		    12); /* slower than the best */
	p->roofs[p->n_roofs - 1].noisy = true;
	expect_note(p, "noisy", false);
	p->n_roofs--;
	make_noisy(p, "triad", "DRAM", 2, 0.07);
	expect_note(p, "the DRAM triad roof at 2 threads is noisy (quartiles 7 % apart)\n", true);
	make_noisy(p, "fma", "", 1, 0.12);
	expect_note(p,
		    "the avx512f double fma roof at 1 thread is noisy (quartiles 12 % apart), and "
		    "1 more\n",
		    true);
	profile_destroy(p);
}

Test(report, order_follows_the_sort)
{
	static const struct {
		enum report_sort sort;
		const char *first;
	} sorts[] = {
		{SORT_TIME, "triad"}, {SORT_FLOPS, "fma_c"},  {SORT_BYTES, "triad"},
		{SORT_NAME, "copy"},  {SORT_HEADROOM, "dot"}, {SORT_DISTANCE, "masked_add"},
	};
	struct profile *profile = report_sample();
	for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++) {
		char *text = report_text(profile,
					 (struct report_options){.top = 1, .sort = sorts[i].sort});
		char *line = strstr(text, "\n1 ");
		cr_assert_not_null(line, "%s", text);
		line++;
		*strchr(line, '\n') = '\0';
		cr_expect(strstr(line, sorts[i].first), "sort %d: %s", sorts[i].sort, line);
		free(text);
	}
	profile_destroy(profile);
}

Test(report, sort_words)
{
	int sort = SORT_NAME;
	cr_expect(rf_word_find(report_sort_words, "headroom", &sort));
	cr_expect_eq(sort, SORT_HEADROOM);
	cr_expect(rf_word_find(report_sort_words, "bytes", &sort));
	cr_expect_eq(sort, SORT_BYTES);
	cr_expect_not(rf_word_find(report_sort_words, "byte", &sort));
	cr_expect_not(rf_word_find(report_sort_words, "", &sort));
	cr_expect_eq(sort, SORT_BYTES);
}

Test(report, numbers_have_three_digits)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
		{8.413, "8.41"},    {0.0123456, "0.0123"},
		{99.96, "100"},     {9.996, "10.0"},
		{1310.4, "1310"},   {0, "0"},
		{1, "1.00"},        {NAN, "–"},
		{INFINITY, "∞"},    {2.5e-7, "2.5e-07"},
		{0.09996, "0.100"},
	};
	char buffer[TEXT_NUMBER];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_str_eq(text_number(buffer, rows[i].value), rows[i].text, "%s", buffer);
}

Test(report, harmful_text_is_made_harmless)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{"plain äöü 漢字", "plain äöü 漢字"},
		{"a\033[31mb", "a\xef\xbf\xbd[31mb"},
		{"a\nb\tc\x7f", "a\xef\xbf\xbd"
				"b\xef\xbf\xbd"
				"c\xef\xbf\xbd"},
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe2\x80\xae"
		 "evil",
		 "\xef\xbf\xbd"
		 "evil"},
		{"cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc2\x9b"
		 "31m",
		 "\xef\xbf\xbd"
		 "31m"},
		{"\xef\xbf\xbf", "\xef\xbf\xbd"},
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
	char *a = text_shorten("abcdefghij", 7), *b = text_shorten("漢字漢字漢字", 7),
	     *c = text_shorten("abc", 3);
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
		"</svg><script>alert(1)</script>",
		"a\033[2Jb\n\"c\" & 'd'",
		"\xff\xfe\x80 ]]>",
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
	static const struct {
		const char *name;
		double intensity, gflops;
	} truths[] = {
		{"triad", 8.0 / 96, 1.6},
		{"dot", 0.125, 0.2 / 0.3},
	};
	for (size_t i = 0; i < 2; i++) {
		char pattern[64];
		snprintf(pattern, sizeof(pattern), "data-name=\"%s\"", truths[i].name);
		const char *circle = strstr(svg, pattern);
		cr_assert_not_null(circle);
		while (*circle != '<')
			circle--;
		double x = left +
			   (right - left) * log(truths[i].intensity / x_min) / log(x_max / x_min);
		double y = bottom -
			   (bottom - top) * log(truths[i].gflops / y_min) / log(y_max / y_min);
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
		labels[i] = (struct label){.x = 250 + i % 3,
					   .y = 250 + i % 2,
					   .radius = 4 + i % 7,
					   .width = 60 + 10 * (i % 12),
					   .height = 15,
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
	json_array_foreach(
		json_object_get(root, "functions"), i,
		function) if (strcmp(json_string_value(json_object_get(function, "name")), name) ==
			      0) return function;
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
		"name",         "module",        "time_s",      "share",        "flop",
		"flop_by_kind", "load_bytes",    "store_bytes", "instructions", "gflops",
		"intensity",    "bound",         "roof_gflops", "distance",     "headroom_s",
		"threads",      "flop_unmasked", "per_thread",  "samples",      "level",
		"why",          "elapsed_s",
	};
	struct profile *profile = report_sample();
	set_executions(profile, 0,
		       0x10000000000000); /* 2⁵² × 2 threads × 8 flop: beyond a double */
	profile->counts[0].n++;
	json_t *root = report_as_json(profile), *function;
	size_t i;
	cr_expect_eq(json_array_size(json_object_get(root, "functions")), N_SAMPLE_KERNELS);
	json_array_foreach(json_object_get(root, "functions"), i,
			   function) for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
		cr_expect_not_null(json_object_get(function, keys[k]), "%s", keys[k]);
	json_t *triad = json_function(root, "triad"), *run = json_object_get(root, "run");
	cr_expect_eq(integer(triad, "flop"), 8 * (0x20000000000000 + 1));
	cr_expect_eq(integer(json_object_get(triad, "flop_by_kind"), "fma_double_256"),
		     8 * (0x20000000000000 + 1));
	cr_expect_eq(json_array_size(json_object_get(triad, "per_thread")), 2);
	cr_expect_eq(integer(json_array_get(json_object_get(triad, "per_thread"), 0), "flop"),
		     8 * (0x10000000000000 + 1));
	cr_expect_str_eq(json_string_value(json_object_get(run, "command")),
			 "./solver 'in put.dat'");
	cr_expect_eq(json_number_value(json_object_get(run, "wall_s")), 1.4);
	cr_expect_eq(integer(run, "threads"), 2);
	cr_expect_str_eq(json_string_value(
				 json_object_get(json_object_get(run, "obtained"), "time")),
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
	json_t *roofs = json_object_get(machine, "roofs"),
	       *stated = json_object_get(machine, "custom_roofs");
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
	cr_expect_str_eq(json_text(json_array_get(stated, 0), "name"),
			 "vendor's \xef\xbf\xbd peak");
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
	char *text = report_text(profile, (struct report_options){0});
	cr_expect_null(strchr(text, '\033'));
	char *lines = strstr(text, "\n→"); /* then come sentences; the table before them fits */
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
	struct rf_error *error =
		report_write(profile, &(struct report_options){.svg_path = "/proc/x.svg"}, NULL);
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
	char *a = report_text(profile, (struct report_options){0});
	char *b = report_text(loaded, (struct report_options){0});
	cr_expect_str_eq(a, b);
	free(a), free(b);
	profile_destroy(loaded);
	profile_destroy(profile);
	remove_directory();
}

Test(report, an_empty_profile_has_a_report)
{
	struct profile *profile = profile_create();
	char *text = report_text(profile, (struct report_options){0});
	cr_expect(strstr(text, "no function took any time"));
	free(text);
	char *svg = picture(profile);
	cr_expect(strstr(svg, "</svg>"));
	free(svg);
	profile_destroy(profile);
	remove_directory();
}

/* ---- traffic ---- */

static char *picture_as(const struct profile *profile, struct report_options options)
{
	options.svg_path = in_directory("t.svg");
	assert_ok(report_write(profile, &options, NULL));
	return read_whole(options.svg_path);
}

static bool is_told(char *page, const char *words)
{
	const bool told = strstr(page, words) != NULL;
	free(page);
	return told;
}

/* Far more work in the same time. */
static void put_above_the_roofs(struct profile *p)
{
	for (size_t i = 0; i < p->n_counts; i++)
		p->counts[i].n *= 100;
}

Test(report, reasons_have_the_same_words_in_json_and_on_the_page, .fini = remove_directory)
{
	static const char chain[] = "needs the result of the one before: a chain of additions";
	static const char above[] = "it is above its roof: the machine was faster";
	struct profile *p = report_sample();
	const struct report_options page = {.function = "dot", .width = 1000};
	json_t *root = report_as_json(p);
	cr_expect(strstr(json_text(json_function(root, "dot"), "why"), chain));
	cr_expect_not(strstr(json_text(json_function(root, "dot"), "why"), above));
	cr_expect(is_told(report_text(p, page), chain));
	json_decref(root);
	put_above_the_roofs(p);
	root = report_as_json(p);
	cr_expect(strstr(json_text(json_function(root, "dot"), "why"), above));
	cr_expect(is_told(report_text(p, page), above));
	json_decref(root);
	profile_destroy(p);
}

static double number_at(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	cr_assert(json_is_number(value), "%s is no number", key);
	return json_number_value(value);
}

Test(report, json_has_the_traffic, .fini = remove_directory)
{
	static const struct {
		const char *key;
		double value;
	} truths[] = {
		{"l2_bytes", 12.8e9},
		{"l3_bytes", 12.8e9},
		{"mem_bytes", 12.8e9},
		{"mem_read_bytes", 6.4e9},
		{"mem_write_allocate_bytes", 3.2e9},
		{"mem_write_bytes", 3.2e9},
		{"mem_left_bytes", 0},
		{"mem_evadable_bytes", 0},
		{"operational_intensity", 0.0625},
		{"useful_share", 72.0 / 128},
	};
	/* 100 million turns of two loads, a store and 8 flop in one instruction, 1 s on one of two
	 * threads */
	static const struct {
		const char *key;
		double value;
	} metrics[] = {
		{"time_s", 0.5},
		{"flop_per_s", 1.6e9},
		{"ipc", 6e8 / (1e9 * 2.9)},
		{"ls_bytes", 9.6e9},
		{"l2_per_ls", 4.0 / 3},
		{"mem_per_ls", 4.0 / 3},
		{"l1_miss_ratio", 0.5},
		{"l2_miss_ratio", 1},
		{"l3_miss_ratio", 1},
		{"flop", 8e8},
		{"flop_per_fp_instruction", 8},
		{"arithmetic_intensity", 1.0 / 12},
		{"load_per_store_instruction", 2},
		{"flop_per_load_instruction", 4},
		{"flop_per_store_instruction", 8},
		{"flop_per_load_byte", 0.125},
		{"flop_per_store_byte", 0.25},
	};
	struct profile *p = report_traced_sample();
	sample_data(p);
	json_t *root = report_as_json(p);
	json_t *triad = json_function(root, "triad"), *copy = json_function(root, "copy");
	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++)
		expect_near(number_at(triad, truths[i].key), truths[i].value, truths[i].key);
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		expect_near(number_at(json_object_get(triad, "metrics"), metrics[i].key),
			    metrics[i].value, metrics[i].key);
	cr_expect_eq(json_array_size(json_object_get(triad, "levels")), 4);
	cr_expect_eq(json_array_size(json_object_get(triad, "objects")), 2);
	cr_expect_eq(json_array_size(json_object_get(triad, "loops")), 1);
	expect_near(number_at(json_array_get(json_object_get(triad, "loops"), 0), "mem_bytes"),
		    12.8e9, "its loop");
	cr_expect(json_is_false(json_object_get(triad, "level_inferred")));
	expect_near(number_at(copy, "mem_left_bytes"), 22070.0 * 4096, "left");
	expect_near(number_at(copy, "mem_evadable_bytes"), 122070.0 * 4096, "evadable");
	expect_near(number_at(json_object_get(copy, "working_set"), "moves_then_bytes"), 32e6,
		    "then");
	cr_expect(json_is_null(json_object_get(json_function(root, "jit_code"), "mem_bytes")));
	cr_expect_eq(number_at(json_object_get(json_object_get(root, "run"), "traffic"), "classes"),
		     4);
	json_decref(root);
	profile_destroy(p);
}

/* What a report without traffic shows is null, never 0. */
Test(report, json_without_traffic_says_so, .fini = remove_directory)
{
	static const char *const keys[] = {"l2_bytes",         "l3_bytes",     "mem_bytes",
					   "mem_stderr_bytes", "levels",       "objects",
					   "strides",          "useful_share", "working_set"};
	struct profile *p = report_sample();
	profile_set_fact(p, "traffic_source", "none");
	profile_set_fact(p, "traffic_why", "--once");
	json_t *root = report_as_json(p);
	json_t *triad = json_function(root, "triad");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		cr_expect(json_is_null(json_object_get(triad, keys[i])), "%s", keys[i]);
	cr_expect(json_is_null(json_object_get(json_object_get(triad, "metrics"), "mem_bytes")));
	expect_near(number_at(json_object_get(triad, "metrics"), "ls_bytes"), 9.6e9, "LS bytes");
	const json_t *traffic = json_object_get(json_object_get(root, "run"), "traffic");
	cr_expect_str_eq(json_string_value(json_object_get(traffic, "why")), "--once");
	json_decref(root);
	expect_note(p, "memory traffic: none (--once)", true);
	profile_destroy(p);
}

Test(report, doubts_about_the_traffic_are_said)
{
	static const struct {
		const char *key, *value, *note;
	} rows[] = {
		{"traffic_geometry_source", "assumed", "ASSUMED"},
		{"traffic_geometry_source", "given",
		 "the roofs are this machine's, the caches are not"},
		{"traffic_halved", "the sample was halved twice", "the sample was halved twice"},
		{"traffic_classes", "64", "all sets"},
		{"traffic_classes", "1", "too few for an error"},
		{"untraced_accesses", "77",
		 "77 accesses to memory (less than 0.01 %) could not be traced"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile *p = report_traced_sample();
		profile_set_fact(p, "untraced_accesses", "0");
		expect_note(p, rows[i].note, false);
		profile_set_fact(p, rows[i].key, "%s", rows[i].value);
		expect_note(p, rows[i].note, true);
		profile_destroy(p);
	}
}

/* By the PMU: the source is named, what is a lower bound is marked, and what is not known is null.
 */
Test(report, traffic_by_the_pmu_names_its_source, .fini = remove_directory)
{
	struct profile *p = report_sample();
	profile_set_fact(p, "traffic_source", "PMU");
	sample_split(p, "llc_miss_bytes", 1.5e8, 1500, COUNTER_USED);
	expect_golden(report_text(p, (struct report_options){.levels = true}), "report_pmu_memory");
	json_t *root = report_as_json(p);
	json_t *triad = json_function(root, "triad");
	expect_near(number_at(triad, "mem_bytes"), 64 * 1.2e8, "bytes");
	cr_expect_eq(number_at(triad, "mem_samples"), 1200);
	expect_near(number_at(triad, "operational_intensity"), 8e8 / (64 * 1.2e8), "intensity");
	cr_expect_str_eq(json_string_value(json_object_get(triad, "mem_source")),
			 "PMU: misses of the last cache, a lower bound");
	cr_expect(json_is_true(json_object_get(triad, "at_most")));
	static const char *const unknown[] = {"l2_bytes",        "l3_bytes", "mem_read_bytes",
					      "mem_write_bytes", "strides",  "objects"};
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		cr_expect(json_is_null(json_object_get(triad, unknown[i])), "%s", unknown[i]);
	const json_t *traffic = json_object_get(json_object_get(root, "run"), "traffic");
	expect_near(number_at(traffic, "mem_bytes"), 64 * 1.5e8, "of the program");
	json_decref(root);
	profile_destroy(p);
}

/* Less than the error says: no figure that looks sure. */
Test(report, unsure_bytes_are_marked)
{
	struct profile *p = report_traced_sample();
	struct profile_traffic row = {.module = profile_module(p, "/opt/solver", ""),
				      .offset = 0x3000,
				      .thread = 2,
				      .class = 1};
	row.lines[TRAFFIC_MEM_READ] = 1000;
	cr_assert(packed_rows_add(&p->traffic, &row, sizeof(row)));
	char *text = report_text(p, (struct report_options){.width = 200, .verbose = true});
	char *dot = strstr(text, "  dot ");
	cr_assert_not_null(dot);
	*strchr(dot, '\n') = '\0';
	/* 1000 lines of one class in four: 1.02 MB ± 3.182 · 4096 · 500 / 2 · √(60/64) bytes */
	cr_expect(strstr(dot, "≈1.02 MB"), "%s", dot);
	cr_expect(strstr(dot, ">47.9"), "%s", dot);
	free(text);
	profile_destroy(p);
}

Test(report, svg_has_the_traced_intensities, .fini = remove_directory)
{
	struct profile *p = report_traced_sample();
	char *svg = picture_as(p, (struct report_options){0});
	const char *triad = strstr(svg, "data-name=\"triad\"");
	cr_assert_not_null(triad);
	expect_near(attribute(triad, "data-intensity"), 0.0625, "at memory");
	cr_expect(strstr(svg, "data-level=\"DRAM\""));
	cr_expect_not(strstr(svg, "data-level=\"L1\""), "a slope of another level");
	cr_expect_not(strstr(svg, "class=\"level\""));
	cr_expect(strstr(svg, "intensity at DRAM"));
	free(svg);
	svg = picture_as(p, (struct report_options){.levels = true});
	const char *ring = strstr(svg, "class=\"level\"");
	cr_assert_not_null(ring);
	cr_expect(strstr(svg, "data-level=\"L1\"") && strstr(svg, "rings: at the other levels"));
	free(svg);
	svg = picture_as(p, (struct report_options){.level = "L2"});
	cr_expect(strstr(svg, "intensity at L2"));
	const char *dot = strstr(svg, "data-name=\"dot\"");
	cr_assert_not_null(dot);
	expect_near(attribute(dot, "data-intensity"), 0.125, "at L2");
	free(svg);
	profile_destroy(p);
}

Test(report, level_and_direction_words)
{
	int direction = DIRECTION_BOTH, level = 0;
	cr_expect(rf_word_find_any_case(report_level_words, "dram", &level) && level == 4);
	cr_expect(rf_word_find_any_case(report_level_words, "L2", &level) && level == 2);
	cr_expect_not(rf_word_find_any_case(report_level_words, "L4", &level));
	cr_expect_not(rf_word_find_any_case(report_level_words, "", &level));
	cr_expect_eq(level, 2);
	cr_expect(rf_word_find(report_direction_words, "write", &direction));
	cr_expect_eq(direction, DIRECTION_WRITE);
	cr_expect_not(rf_word_find(report_direction_words, "writes", &direction));
	cr_expect_eq(direction, DIRECTION_WRITE);
}

/* A thread's part of the traffic goes with its process. */
Test(report, traffic_follows_its_process)
{
	struct profile *p = report_traced_sample();
	add_process(p, 100, 0, "make", 0);
	add_process(p, 300, 100, "gcc", 5);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t row = profile_process(p, RUN_COUNTED, i ? 500 : 200, i ? 2 : PROFILE_NONE);
		profile_process_command(p, row, i ? "gcc" : "make");
	}
	cr_assert_null(profile_match_processes(p));
	char *text = report_text(p, (struct report_options){.processes = PROCESSES_TREE,
							    .width = 200,
							    .verbose = true});
	char *make = strstr(text, "\n  make\n"),
	     *gcc = make ? strstr(make + 1, "\n  make → gcc\n") : NULL;
	cr_assert(make && gcc, "%s", text);
	*gcc = '\0';
	cr_expect(strstr(make, "12.8 GB"), "%s", text);
	cr_expect_not(strstr(gcc + 1, "12.8 GB"), "%s", gcc + 1);
	free(text);
	profile_destroy(p);
}
