#include "cli/command_line.h"
#include "report/rows/report_options.h"
#include "tracer/pmu/choice.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

Test(options, names_are_told_apart_in_each_command)
{
	for (enum option_id a = 0; a < N_OPTIONS; a++)
		for (enum option_id b = 0; b < a; b++) {
			const struct option *one = &option_rows[a], *other = &option_rows[b];
			if (!(one->commands & other->commands & ((1u << N_COMMANDS) - 1)))
				continue;
			cr_expect_str_neq(one->name, other->name);
			cr_expect(!one->letter || one->letter != other->letter, "-%c", one->letter);
		}
}

Test(options, values_have_places_of_their_own)
{
	for (enum option_id a = 0; a < N_OPTIONS; a++)
		for (enum option_id b = 0; b < a; b++)
			cr_expect_neq(option_rows[a].value, option_rows[b].value, "%s and %s",
				      option_rows[a].name, option_rows[b].name);
}

/* A sentence of the man page, with fonts that are ended. */
Test(options, all_are_explained)
{
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		const struct option *option = &option_rows[id];
		size_t bold = 0, italic = 0;
		cr_expect(option->help && *option->help, "%s", option->name);
		cr_expect_neq(option->commands, 0, "%s", option->name);
		for (const char *c = option->man ? option->man : ""; *c; c++) {
			bold += *c == '`';
			italic += *c == '|';
		}
		cr_expect(bold % 2 == 0 && italic % 2 == 0, "%s: fonts", option->name);
		if (option->man)
			cr_expect_eq(option->man[strlen(option->man) - 1], '.', "%s", option->name);
	}
}

Test(options, all_words_are_explained)
{
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		const struct option *option = &option_rows[id];
		for (const struct rf_word *row = option->words; row && row->word; row++) {
			char bold[64];
			snprintf(bold, sizeof(bold), "`%s`", row->word);
			cr_expect_not_null(strstr(option->man, bold), "--%s: %s", option->name,
					   bold);
			cr_expect(strstr(option->help, row->word) || strcmp(row->word, "auto") == 0,
				  "--%s: no %s in --help", option->name, row->word);
		}
	}
}

/* ---- reading ---- */

struct reading {
	struct command_line line;
	struct rf_error *error;
};

#define READ(command, ...) read_words(command, (const char *[]){"rfprof", ##__VA_ARGS__, NULL})

static struct reading *read_words(enum command_id command, const char **words)
{
	struct reading *reading = calloc(1, sizeof(*reading)); /* popt keeps addresses */
	int n = 0;
	while (words[n])
		n++;
	reading->error = command_line_read(&reading->line, command, n, words);
	return reading;
}

static void end_reading(struct reading *reading)
{
	command_line_deinit(&reading->line);
	rf_error_destroy(reading->error);
	free(reading);
}

Test(command_line, nothing_given_is_nothing_set)
{
	static const struct options none;
	struct reading *reading = READ(COMMAND_run);
	cr_assert_null(reading->error);
	cr_expect_eq(memcmp(&reading->line.options, &none, sizeof(none)), 0);
	cr_assert_not_null(reading->line.words);
	cr_expect_null(reading->line.words[0]);
	end_reading(reading);
}

Test(command_line, all_kinds_are_read)
{
	struct reading *reading =
		READ(COMMAND_run, "--once", "-q", "--save", "a.rfp", "--log=b", "--counter", "x",
		     "--counter=y", "--cache-sample=64", "--work", "both", "--level=dram", "./app");
	cr_assert_null(reading->error);
	const struct options *options = &reading->line.options;
	cr_expect(options->once && options->quiet && !options->no_save);
	cr_expect_str_eq(options->save, "a.rfp");
	cr_expect_str_eq(options->log, "b");
	cr_expect_str_eq(options->counter[0], "x");
	cr_expect_str_eq(options->counter[1], "y");
	cr_expect_null(options->counter[2]);
	cr_expect_eq(options->cache_sample, 64);
	cr_expect_eq(options->work, WORK_BOTH);
	cr_expect_eq(options->level, 4);
	cr_expect_str_eq(reading->line.words[0], "./app");
	end_reading(reading);
}

Test(command_line, what_follows_the_program_is_its_own)
{
	struct reading *reading = READ(COMMAND_run, "--top=3", "./app", "--top=4", "--nonsense");
	cr_assert_null(reading->error);
	cr_expect_eq(reading->line.options.top, 3);
	cr_expect_str_eq(reading->line.words[1], "--top=4");
	cr_expect_str_eq(reading->line.words[2], "--nonsense");
	end_reading(reading);
}

Test(command_line, options_of_a_report_may_follow_its_file)
{
	struct reading *reading = READ(COMMAND_report, "a.rfp", "--by", "loop");
	cr_assert_null(reading->error);
	cr_expect_eq(reading->line.options.by, BY_LOOP);
	cr_expect_str_eq(reading->line.words[0], "a.rfp");
	cr_expect_null(reading->line.words[1]);
	end_reading(reading);
}

Test(command_line, an_option_has_the_meaning_of_its_command)
{
	struct reading *reading = READ(COMMAND_diff, "--json=x", "--top=7", "a", "b");
	cr_assert_null(reading->error);
	cr_expect_str_eq(reading->line.options.diff_json, "x");
	cr_expect_eq(reading->line.options.diff_top, 7);
	cr_expect_null(reading->line.options.json);
	end_reading(reading);
	reading = READ(COMMAND_doctor, "--json");
	cr_assert_null(reading->error);
	cr_expect_eq(reading->line.options.doctor_json, 1);
	end_reading(reading);
}

#define REFUSED(text, command, ...)                                   \
	do {                                                          \
		struct reading *reading = READ(command, __VA_ARGS__); \
		cr_assert_not_null(reading->error, "%s", text);       \
		cr_expect_str_eq(reading->error->message, text);      \
		end_reading(reading);                                 \
	} while (0)

Test(command_line, what_is_wrong_is_named)
{
	REFUSED("--once: unknown option", COMMAND_report, "--once");
	REFUSED("--top: missing argument", COMMAND_report, "--top");
	REFUSED("--top: a number from 1 on is wanted", COMMAND_report, "--top=0");
	REFUSED("--width: a number from 40 to 10000 is wanted", COMMAND_report, "--width=39");
	REFUSED("--width: a number from 40 to 10000 is wanted", COMMAND_report, "--width=10001");
	REFUSED("--cache-sample: a number from 1 to 64 is wanted", COMMAND_run,
		"--cache-sample=65");
	REFUSED("x: --color takes auto, always or never", COMMAND_report, "--color=x");
	REFUSED("Tree: --processes takes merge or tree", COMMAND_report, "--processes=Tree");
	REFUSED("L4: --level takes L1, L2, L3 or DRAM", COMMAND_report, "--level=L4");
}
