/* The doctor's report as a table for a terminal, and as JSON. */
#include "tracer/doctor/print.h"

#include "base/text.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS = 19, STATE_COLUMNS = 7, BETWEEN = 2, MIN_COLUMNS = 60 };

/* ---- text ---- */

/* How many bytes of a word that is wider than `columns` stand on this line: up to the last colon
 * that fits, as in names of events with all their units, or as much as fits. */
static size_t part_of(const char *word, size_t size, size_t columns)
{
	size_t width = 0, colon = 0, at = 0;
	while (at < size) {
		size_t length;
		width += text_character(word + at, &length);
		if (width > columns && at > 0)
			break;
		at += length;
		if (word[at - 1] == ':')
			colon = at;
	}
	return at < size && colon ? colon : at;
}

static size_t width_of(const char *word, size_t size)
{
	size_t width = 0, length;
	for (size_t at = 0; at < size; at += length)
		width += text_character(word + at, &length);
	return width;
}

/* A copy whose lines are broken, at blanks where they have some, so that none is wider than
 * `columns`.  NULL: no memory. */
static char *wrapped(const char *text, size_t columns)
{
	char *copy = malloc(2 * strlen(text) + 1), *to = copy;
	size_t used = 0;
	while (copy && *text) {
		size_t size = strcspn(text, " ");
		const size_t width = width_of(text, size);
		if (used && used + 1 + width > columns) {
			*to++ = '\n';
			used = 0;
		}
		if (used) {
			*to++ = ' ';
			used++;
		}
		if (width > columns)
			size = part_of(text, size, columns);
		memcpy(to, text, size);
		to += size;
		used += width_of(text, size);
		text += size;
		text += *text == ' ';
	}
	if (copy)
		*to = '\0';
	return copy;
}

/* What was found, and where something lacks, its cost and the next step.  NULL: no memory. */
static char *words_of(const struct doctor_line *line, size_t columns)
{
	char *words = NULL, *clean = NULL, *broken;
	const bool costs = line->cost[0], step = line->next[0];
	if (asprintf(&words, "%s%s%s%s%s", line->found, costs ? "; costs: " : "", line->cost,
		     step ? "; next: " : "", line->next) >= 0) {
		clean = text_clean(words);
		free(words);
	}
	broken = clean ? wrapped(clean, columns) : NULL;
	free(clean);
	return broken;
}

static int add_line(struct libscols_table *table, const struct doctor_line *line, size_t columns)
{
	struct libscols_line *row = scols_table_new_line(table, NULL);
	char *words = words_of(line, columns);
	int failed = !row || !words || scols_line_set_data(row, 0, line->name) ||
		     scols_line_set_data(row, 1, doctor_state_name(line->state)) ||
		     scols_line_set_data(row, 2, words);
	free(words);
	return failed;
}

static int fill(struct libscols_table *table, const struct doctor_report *report, size_t columns)
{
	struct libscols_column *last = NULL;
	int failed = !scols_table_new_column(table, "check", NAME_COLUMNS, 0) ||
		     !scols_table_new_column(table, "state", STATE_COLUMNS, 0) ||
		     !(last = scols_table_new_column(table, "what was found", 0, SCOLS_FL_WRAP)) ||
		     scols_column_set_safechars(last, "\n") ||
		     scols_column_set_wrapfunc(last, scols_wrapnl_chunksize, scols_wrapnl_nextchunk,
					       NULL) ||
		     scols_table_set_column_separator(table, "  ");
	for (size_t i = 0; i < report->n && !failed; i++)
		failed = add_line(table, &report->lines[i], columns);
	return failed;
}

static struct rf_error *print_sentence(const struct doctor_report *report, size_t columns,
				       FILE *stream)
{
	char *clean = text_clean(report->sentence);
	char *broken = clean ? wrapped(clean, columns) : NULL;
	free(clean);
	if (!broken)
		return rf_error_no_memory();
	fprintf(stream, "\n%s\n", broken);
	free(broken);
	return NULL;
}

static struct rf_error *print_all(const struct doctor_report *report, size_t columns, FILE *stream)
{
	struct libscols_table *table = scols_new_table();
	int failed = !table || scols_table_set_stream(table, stream) ||
		     scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS) ||
		     scols_table_set_termwidth(table, columns) ||
		     fill(table, report, columns - NAME_COLUMNS - STATE_COLUMNS - 2 * BETWEEN) ||
		     scols_print_table(table);
	scols_unref_table(table);
	if (failed)
		return rf_error_create(RF_EINTERNAL, NULL, "cannot make the table of checks");
	return print_sentence(report, columns, stream);
}

struct rf_error *doctor_print(const struct doctor_report *report, size_t columns, FILE *stream)
{
	const struct utf8_locale locale = utf8_locale_begin();
	struct rf_error *error =
		print_all(report, columns < MIN_COLUMNS ? MIN_COLUMNS : columns, stream);
	utf8_locale_end(locale);
	return error;
}

/* ---- JSON ---- */

/* The reference to a string, with what is not UTF-8 replaced; NULL: no memory. */
static json_t *string(const char *text)
{
	char *clean = text_clean(text);
	json_t *json = clean ? json_string(clean) : NULL;
	free(clean);
	return json;
}

static json_t *line_json(const struct doctor_line *line)
{
	static const char *const needs[] = {[NEED_NOTHING] = "",
					    [NEED_TIMES] = "times",
					    [NEED_COUNTS] = "counts",
					    [NEED_TRAFFIC] = "traffic"};
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", line->name, "state",
			 doctor_state_name(line->state), "needed_for", needs[line->need], "found",
			 string(line->found), "cost", string(line->cost), "next",
			 string(line->next));
}

static json_t *report_json(const struct doctor_report *report)
{
	json_t *lines = json_array();
	for (size_t i = 0; i < report->n; i++)
		if (json_array_append_new(lines, line_json(&report->lines[i])) != 0) {
			json_decref(lines);
			return NULL;
		}
	return json_pack("{s:b, s:s, s:o, s:o}", "full_profile", report->possible, "missing",
			 report->missing, "sentence", string(report->sentence), "checks", lines);
}

struct rf_error *doctor_write_json(const struct doctor_report *report, FILE *stream)
{
	struct rf_error *error = NULL;
	json_t *json = report_json(report);
	if (!json)
		return rf_error_no_memory();
	if (json_dumpf(json, stream, JSON_INDENT(2)) || putc('\n', stream) == EOF || fflush(stream))
		error = rf_error_errno(RF_EACCESS, errno, "make room there",
				       "cannot write the JSON");
	json_decref(json);
	return error;
}
