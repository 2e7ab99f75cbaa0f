#include "sweep/plan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct rf_error *read_plan(const char *text, struct sweep_plan *plan)
{
	char path[] = "/tmp/rfprof-test-plan-XXXXXX";
	const int file = mkstemp(path);
	cr_assert(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
	close(file);
	struct rf_error *error = sweep_plan_read(path, plan);
	unlink(path);
	return error;
}

Test(plan, words_and_options)
{
	static const char text[] = "# a comment\n"
				   "kernel = 'main'  # of the program\r\n"
				   "command = [\"./a b\", \"{n}\",\n  \"{bytes}\", 7]\n"
				   "repeats=3\n\n"
				   "tlb = true\nquiet = false\n"
				   "with = [\"x.rfp\", # one, and\n  'y\\\".rfp' , ]\n"
				   "[parameters]\n"
				   "n = \"1:9:4\"\n lib = [\"x y\", 2, 0.1]\n"
				   "[constants] # one value\nsize = 8\n"
				   "[derived]\nbytes = \"size*n^2\"";
	static const char *const words[] = {"n=1:9:4", "lib=x y,2,0.1",
					    "size=8",  "bytes:=size*n^2",
					    "./a b",   "{n}",
					    "{bytes}", "7"};
	static const struct sweep_plan_option options[] = {
		{"kernel", "main", 2}, {"repeats", "3", 5},   {"tlb", "yes", 7},
		{"quiet", "no", 8},    {"with", "x.rfp", 10}, {"with", "y\\\".rfp", 10}};
	struct sweep_plan plan;
	struct rf_error *error = read_plan(text, &plan);
	cr_assert_null(error, "%s", error ? error->message : "");
	cr_assert_eq(plan.n_words, 9);
	for (size_t i = 0; i < 8; i++)
		cr_expect_str_eq(plan.words[i], words[i]);
	cr_expect_null(plan.words[8]);
	cr_assert_eq(plan.n_options, 6);
	for (size_t i = 0; i < 6; i++) {
		cr_expect_str_eq(plan.options[i].key, options[i].key);
		cr_expect_str_eq(plan.options[i].value, options[i].value);
		cr_expect_eq(plan.options[i].line, options[i].line, "%s", options[i].key);
	}
	sweep_plan_deinit(&plan);
}

/* Each is refused, with the number of its line. */
Test(plan, what_makes_no_sense)
{
	static const struct {
		const char *text;
		unsigned line;
	} cases[] = {
		{"", 1},
		{"# nothing\n\n", 3},
		{"kernel = \"main\"\n", 2},
		{"command = \"./a\"\n", 1},
		{"command = []\n", 1},
		{"command = [\"./a\"]\ncommand = [\"./b\"]\n", 2},
		{"command = [\"./a\"]\nkernel\n", 2},
		{"command = [\"./a\"]\nkernel = main\n", 2},
		{"command = [\"./a\"]\nkernel = 'main\n", 2},
		{"command = [\"./a\"]\nrepeats = 3 4\n", 2},
		{"command = [\"./a\"]\nrepeats = 3,\n", 2},
		{"command = [\"./a\"]\nrepeats =\n", 2},
		{"command = [\"./a\",, \"b\"]\n", 1},
		{"command = [,]\n", 1},
		{"command = [\"./a\" \"b\"]\n", 1},
		{"command = [\"./a\"]\nrepeats = 3\nrepeats = 4\n", 3},
		{"command = [\"./a\",\n\"b\"]\n[params]\n", 3},
		{"command = [\"./a\"]\n[parameters\n", 2},
		{"command = [\"./a\"]\n[parameters]\nn = [1, [2]]\n", 3},
		{"command = [\"./a\"]\n[parameters]\nn = [\"1,2\"]\n", 3},
		{"command = [\"./a\"]\n[parameters]\nn = []\n", 3},
		{"command = [\"./a\"]\n[parameters]\nn-m = 1\n", 3},
		{"command = [\"./a\"]\n[constants]\nn = [1]\n", 3},
		{"command = [\"./a\"]\n[constants]\nn = \"1:3\"\n", 3},
		{"command = [\"./a\"]\n[derived]\nn = 1\n", 3},
		{"command = [\"./a\"]\n[derived]\nn = {}\n", 3},
		{"command = [\"./a\", [1]]\n", 2},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sweep_plan plan;
		char line[16];
		struct rf_error *error = read_plan(cases[i].text, &plan);
		snprintf(line, sizeof(line), ":%u: ", cases[i].line);
		cr_assert_not_null(error, "case %zu", i);
		cr_expect_eq(error->code, RF_EINPUT);
		cr_expect(strstr(error->message, line), "case %zu: %s", i, error->message);
		rf_error_destroy(error);
		sweep_plan_deinit(&plan);
	}
}

Test(plan, no_file)
{
	struct sweep_plan plan;
	struct rf_error *error = sweep_plan_read("/nowhere/plan.toml", &plan);
	cr_assert_not_null(error);
	cr_expect_eq(error->code, RF_EACCESS);
	rf_error_destroy(error);
	sweep_plan_deinit(&plan);
}
