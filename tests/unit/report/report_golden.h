/* Reports as text, and those that are checked in: tests/unit/golden/NAME.txt, written anew with
 * RFPROF_REWRITE_GOLDEN=1. */
#pragma once

#include "report/report.h"
#include "tests/unit/report/report_checks.h"

#include <stdio.h>
#include <stdlib.h>

/* What report_write prints; to be freed.  Not inlined: gcc 12 takes the stream's hold on `text` for
 * a dangling pointer. */
__attribute__((noinline, unused)) static char *report_text(const struct profile *profile,
							   struct report_options options)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_ok(report_write(profile, &options, stream));
	fclose(stream);
	return text;
}

/* The whole file; to be freed. */
static inline char *read_whole(const char *path)
{
	FILE *stream = fopen(path, "r");
	cr_assert_not_null(stream, "%s", path);
	char *text = NULL;
	size_t size = 0;
	cr_assert_geq(getdelim(&text, &size, '\0', stream), 0);
	fclose(stream);
	return text;
}

/* Frees `text`. */
static inline void expect_golden(char *text, const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), TEST_SOURCE_DIR "/golden/%s.txt", name);
	if (getenv("RFPROF_REWRITE_GOLDEN")) {
		FILE *stream = fopen(path, "w");
		cr_assert_not_null(stream, "%s", path);
		fputs(text, stream);
		fclose(stream);
	}
	char *golden = read_whole(path);
	cr_expect_str_eq(text, golden, "%s", name);
	free(golden);
	free(text);
}
