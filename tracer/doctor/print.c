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

/* Breaks lines at blanks so that none is wider than `columns`, but for a word that is. */
static void wrap(char *text, size_t columns)
{
	char *line = text, *blank = NULL;
	for (char *at = text;; at++) {
		if (*at != ' ' && *at != '\0')
			continue;
		const char end = *at;
		*at = '\0';
		const size_t width = text_columns(line);
		*at = end;
		if (width > columns && blank) {
			*blank = '\n';
			line = blank + 1;
		}
		blank = at;
		if (end == '\0')
			return;
	}
}

/* What was found, and where something lacks, its cost and the next step.  NULL: no memory. */
static char *words_of(const struct doctor_line *line, size_t columns)
{
	char *words = NULL, *clean = NULL;
	const bool costs = line->cost[0], step = line->next[0];
	if (asprintf(&words, "%s%s%s%s%s", line->found, costs ? "; costs: " : "", line->cost,
		     step ? "; next: " : "", line->next) >= 0) {
		clean = text_clean(words);
		free(words);
	}
	if (clean)
		wrap(clean, columns);
	return clean;
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
	if (!clean)
		return rf_error_no_memory();
	wrap(clean, columns);
	fprintf(stream, "\n%s\n", clean);
	free(clean);
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
