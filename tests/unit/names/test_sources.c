/* Source text that is kept is what the program was made from, and no more than is wanted. */
#include "base/array.h"
#include "names/sources.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/directory.h"

#define LINES 200

static char program[64], source[64];

/* A file of that age in seconds. */
static void write_file(const char *path, const char *text, size_t n, int age)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
	FILE *file = fopen(path, "w");
	cr_assert_not_null(file);
	for (size_t i = 0; i < n; i++)
		fprintf(file, "%s %zu\n", text, i + 1);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void set_up(void)
{
	directory_make();
	snprintf(program, sizeof(program), "%s/program", directory);
	snprintf(source, sizeof(source), "%s/source.c", directory);
	write_file(program, "binary", 1, 50);
	write_file(source, "\tline", LINES, 100);
}

/* Two functions, the first with 99.5 % of the time at line 100, the other with the rest at line 10.
 */
static struct profile *timed_profile(void)
{
	struct profile *profile = profile_create();
	const uint32_t module = profile_module(profile, program, "");
	const uint32_t thread = profile_thread(profile, RUN_TIMED, 1, 1, "");
	for (uint32_t i = 0; i < 2; i++) {
		const uint64_t at = 0x1000 * (i + 1);
		const struct profile_function function = {module,      at,         at + 16,
							  strdup("f"), strdup(""), 0};
		const struct profile_line line = {module, at, at + 4, strdup(source), i ? 10 : 100};
		const struct profile_sample sample = {
			thread, 0, i ? 1 : 199, profile_frame(profile, PROFILE_NONE, module, at)};
		cr_assert(rf_array_push(profile->functions, profile->n_functions,
					profile->cap_functions, function));
		cr_assert(
			rf_array_push(profile->lines, profile->n_lines, profile->cap_lines, line));
		cr_assert(rf_array_push(profile->samples, profile->n_samples, profile->cap_samples,
					sample));
	}
	return profile;
}

static void expect_state(enum source_state state, size_t n_lines)
{
	struct profile *profile = timed_profile();
	cr_assert_null(name_sources(profile));
	cr_assert_eq(profile->n_sources, 1);
	cr_expect_eq(profile->sources[0].state, state);
	cr_expect_str_eq(profile->sources[0].file, source);
	cr_expect_eq(profile->n_source_lines, n_lines, "%zu lines", profile->n_source_lines);
	profile_destroy(profile);
}

TestSuite(sources, .init = set_up, .fini = directory_remove);

Test(sources, lines_around_the_code_of_hot_functions_are_kept)
{
	struct profile *profile = timed_profile();
	cr_assert_null(name_sources(profile));
	cr_assert_eq(profile->n_sources, 1);
	cr_assert_eq(profile->n_source_lines, 41);
	for (size_t i = 0; i < 41; i++) {
		char text[64];
		snprintf(text, sizeof(text), "        line %zu", 80 + i);
		cr_expect_eq(profile->source_lines[i].line, 80 + i);
		cr_expect_str_eq(profile->source_lines[i].text, text);
	}
	cr_assert(profile_is_sound(profile));
	profile_drop_sources(profile);
	cr_assert_eq(profile->n_sources + profile->n_source_lines, 0);
	profile_destroy(profile);
}

Test(sources, what_may_be_another_text_is_not_kept)
{
	write_file(source, "line", LINES, 10);
	expect_state(SOURCE_NEWER, 0);
	write_file(source, "line", 99, 100); /* line 100 is not there */
	expect_state(SOURCE_OTHER, 0);
	write_file(source, "line", LINES, 100);
	cr_assert_eq(unlink(program), 0);
	expect_state(SOURCE_UNSURE, 0);
	cr_assert_eq(unlink(source), 0);
	expect_state(SOURCE_MISSING, 0);
}

Test(sources, nothing_but_a_file_is_read)
{
	cr_assert_eq(unlink(source), 0);
	cr_assert_eq(mkfifo(source, 0600), 0); /* would be waited for */
	expect_state(SOURCE_MISSING, 0);
	cr_assert_eq(unlink(source), 0);
	cr_assert_eq(mkdir(source, 0700), 0);
	expect_state(SOURCE_MISSING, 0);
	cr_assert_eq(rmdir(source), 0);
	FILE *file = fopen(source, "w");
	cr_assert_not_null(file);
	for (int i = 0; i < LINES; i++)
		fwrite("a\0b\n", 1, 4, file);
	fclose(file);
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	cr_assert_eq(utimensat(AT_FDCWD, source, old, 0), 0);
	expect_state(SOURCE_OTHER, 0);
}
