/* A profile for others to read: without what tells of the one who recorded it.  What is measured
 * stays as it is. */
#include "base/array.h"
#include "base/text.h"
#include "profile/profile_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each directory has a number in its place, so that two files of one name stay two. */
struct redaction {
	char **directories;
	size_t n_directories, cap_directories;
	size_t last; /* that was found: rows of one file stand together */
	bool failed; /* memory is short */
};

static bool is_directory(const struct redaction *redaction, size_t i, const char *path,
			 size_t length)
{
	const char *directory = redaction->directories[i];
	return strncmp(directory, path, length) == 0 && directory[length] == '\0';
}

static size_t number_of(struct redaction *redaction, const char *path, size_t length)
{
	size_t i = redaction->last;
	if (i < redaction->n_directories && is_directory(redaction, i, path, length))
		return i + 1;
	for (i = 0; i < redaction->n_directories; i++)
		if (is_directory(redaction, i, path, length))
			break;
	if (i == redaction->n_directories) {
		char *copy = strndup(path, length);
		if (!copy || !rf_array_push(redaction->directories, redaction->n_directories,
					    redaction->cap_directories, copy)) {
			free(copy);
			redaction->failed = true;
		}
	}
	redaction->last = i;
	return i + 1;
}

/* A path: what is before its last name becomes "dirN", and an absolute one stays absolute. */
static void put_path(struct redaction *redaction, const char *path, size_t length, FILE *to)
{
	const char *slash = memrchr(path, '/', length), *name = slash ? slash + 1 : path;
	if (slash)
		fprintf(to, "%sdir%zu/", *path == '/' ? "/" : "",
			number_of(redaction, path, (size_t)(slash - path)));
	fwrite(name, 1, length - (size_t)(name - path), to);
}

/* Whether a path begins at `at` of a text: at the beginning of a word, and more than a slash. */
static bool begins_path(const char *text, const char *at)
{
	const bool begins = at == text || strchr(" \t\n\"'`=:,;([{<~@", at[-1]);
	const char *slash = at + strspn(at, ".");
	return begins && slash - at <= 2 && *slash == '/' && slash[1] &&
	       !strchr(" \t\n/=", slash[1]);
}

/* The length of the path there: behind a directory that is known, which may have blanks, or from
 * its beginning, up to a blank or what ends a quotation. */
static size_t path_length(const struct redaction *redaction, const char *at)
{
	size_t known = 0;
	for (size_t i = 0; i < redaction->n_directories; i++) {
		const size_t length = strlen(redaction->directories[i]);
		if (length > known && strncmp(redaction->directories[i], at, length) == 0 &&
		    at[length] == '/')
			known = length;
	}
	return known + strcspn(at + known, " \t\n\"'`,;)]}>:");
}

static void put_text(struct redaction *redaction, const char *text, FILE *to)
{
	for (const char *at = text; *at;) {
		if (begins_path(text, at)) {
			const size_t length = path_length(redaction, at);
			put_path(redaction, at, length, to);
			at += length;
		} else {
			putc(*at++, to);
		}
	}
}

/* The text without directories, to be freed; NULL: memory is short. */
static char *redacted(struct redaction *redaction, const char *text, bool is_path)
{
	char *fresh = NULL;
	size_t size;
	FILE *to = open_memstream(&fresh, &size);
	if (to && is_path)
		put_path(redaction, text, strlen(text), to);
	else if (to)
		put_text(redaction, text, to);
	if (to && fclose(to) == 0)
		return fresh;
	redaction->failed = true;
	return NULL;
}

static void redact_field(struct redaction *redaction, const struct column *column, bool is_path,
			 char *field)
{
	char **text = (char **)field;
	const bool array = column->type == COLUMN_CHARS;
	const char *before = array ? field : *text;
	char *fresh = before && strchr(before, '/') ? redacted(redaction, before, is_path) : NULL;
	if (!fresh)
		return;
	if (array) {
		snprintf(field, column->size, "%s", fresh);
		free(fresh);
	} else {
		free(*text);
		*text = fresh;
	}
}

static bool holds_path(const struct column *column)
{
	return strcmp(column->name, "file") == 0 || strcmp(column->name, "path") == 0;
}

static void redact_tables(struct redaction *redaction, struct profile *profile, bool paths)
{
	for (size_t t = 0; t < N_TABLES; t++) {
		const struct table *table = &profile_tables[t];
		char *row = *profile_table_items(profile, table);
		const size_t n = table->packed ? 0 : *profile_table_count(profile, table);
		for (size_t i = 0; i < n; i++, row += table->element)
			for (size_t c = 0; c < table->n_columns; c++) {
				const struct column *column = &table->columns[c];
				if ((column->type == COLUMN_TEXT || column->type == COLUMN_CHARS) &&
				    holds_path(column) == paths)
					redact_field(redaction, column, paths,
						     row + column->offset);
			}
	}
}

/* The first word of the command line is the program; what follows are its arguments. */
static bool redact_facts(struct profile *profile)
{
	const char *program = profile_get_fact(profile, "program");
	char *command = NULL;
	size_t size;
	FILE *to = open_memstream(&command, &size);
	if (to && program)
		text_write_word(to, program);
	const bool done = to && fclose(to) == 0;
	if (done)
		profile_set_fact(profile, "command", "%s", command);
	free(command);
	profile_remove_fact(profile, "hostname");
	profile_set_fact(profile, "redacted", "1");
	return done && profile_flag_fact(profile, "redacted");
}

static void drop_rows(struct profile *profile, const struct table *table)
{
	char *row = *profile_table_items(profile, table);
	for (size_t *n = profile_table_count(profile, table); *n; --*n, row += table->element)
		profile_free_row(table, row);
}

void profile_drop_sources(struct profile *profile)
{
	drop_rows(profile, &profile_tables[SOURCE_LINES]);
	drop_rows(profile, &profile_tables[SOURCES]);
}

struct rf_error *profile_redact(struct profile *profile)
{
	struct redaction redaction = {0};
	profile_drop_sources(profile);
	redaction.failed = !redact_facts(profile);
	/* first what is a path as a whole: texts may name the same directories */
	redact_tables(&redaction, profile, true);
	redact_tables(&redaction, profile, false);
	for (size_t i = 0; i < redaction.n_directories; i++)
		free(redaction.directories[i]);
	free(redaction.directories);
	return redaction.failed ? rf_error_no_memory() : NULL;
}
