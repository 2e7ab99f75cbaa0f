/* The table of Python functions. */
#include "report/text/python_table.h"

#include "report/rows/python_rows.h"
#include "report/text/cells.h"
#include "report/text/text_table.h"

#include <string.h>

enum { TIME, PERCENT, TOTAL, TOTAL_PERCENT, SAMPLES, NAME, PLACE, N_COLUMNS };
/* Rows of the table where nobody asks for another number. */
#define DEFAULT_TOP 20

static double share_of(const struct report_view *view, uint64_t ns)
{
	return view->model->time_ns ? (double)ns / (double)view->model->time_ns : 0;
}

/* The file with the folder that it is in, which tells one __init__.py from another. */
static const char *short_path(const char *path)
{
	const char *name = strrchr(path, '/');
	const char *folder = name && name > path ? memrchr(path, '/', (size_t)(name - path)) : NULL;
	return folder ? folder + 1 : path;
}

static void put_row(const struct report_view *view, const struct python_row *row, double longest,
		    struct text_table *table)
{
	const struct profile_python_function *function =
		&view->profile->python_functions[row->function];
	char cell[64];
	text_table_row(table);
	text_table_text(table, TIME, report_put_time(cell, (double)row->time_ns * 1e-9, longest));
	text_table_text(table, PERCENT, report_put_share(cell, share_of(view, row->time_ns)));
	text_table_text(table, TOTAL, report_put_time(cell, (double)row->total_ns * 1e-9, longest));
	text_table_text(table, TOTAL_PERCENT,
			report_put_share(cell, share_of(view, row->total_ns)));
	text_table_put(table, SAMPLES, STYLE_PLAIN, "%zu", row->samples);
	text_table_text(table, NAME, function->name);
	text_table_put(table, PLACE, STYLE_DIM, "%s:%u", short_path(function->file),
		       function->line);
}

static struct rf_error *print_rows(const struct report_view *view, const struct python_rows *rows,
				   FILE *stream)
{
	static const struct text_column columns[N_COLUMNS] = {
		[TIME] = {"time", true},           [PERCENT] = {"%", true},
		[TOTAL] = {"with callees", true},  [TOTAL_PERCENT] = {"%", true, 2},
		[SAMPLES] = {"samples", true, 1},  [NAME] = {"Python function", false},
		[PLACE] = {"defined at", false, 3}};
	struct text_table table = TEXT_TABLE(view->terminal, columns, NAME, 16);
	const size_t most = view->options->top ? view->options->top : DEFAULT_TOP;
	const size_t n = rows->n_rows < most ? rows->n_rows : most;
	uint64_t longest = 0;
	for (size_t i = 0; i < n; i++)
		longest = rows->rows[i].total_ns > longest ? rows->rows[i].total_ns : longest;
	for (size_t i = 0; i < n; i++)
		put_row(view, &rows->rows[i], (double)longest * 1e-9, &table);
	struct rf_error *error = text_table_end(&table, stream);
	if (!error && n < rows->n_rows)
		fprintf(stream, "  (%zu more function%s)\n", rows->n_rows - n,
			rows->n_rows - n == 1 ? "" : "s");
	return error;
}

/* What the rows leave out. */
static struct rf_error *print_rest(const struct report_view *view, const struct python_rows *rows,
				   FILE *stream)
{
	const uint64_t all = view->model->time_ns;
	const uint64_t rest = all > rows->time_ns ? all - rows->time_ns : 0;
	char words[256], time[64], share[64];
	if (!rest)
		return NULL;
	report_put_time(time, (double)rest * 1e-9, (double)rest * 1e-9);
	report_put_share(share, share_of(view, rest));
	snprintf(words, sizeof(words),
		 "the other %s (%s) had no Python running, or it could not be read at the time",
		 time, share);
	return terminal_sentence(view->terminal, stream, STYLE_DIM, "  · ", words);
}

struct rf_error *report_python(const struct report_view *view, FILE *stream)
{
	static const char none[] = "no Python was seen: no sample has frames of CPython 3.11, 3.12 "
				   "or 3.13";
	struct python_rows rows;
	struct rf_error *error = python_rows_init(view, &rows);
	if (!error && !rows.n_rows)
		error = terminal_sentence(view->terminal, stream, STYLE_PLAIN, "  ", none);
	else if (!error)
		error = print_rows(view, &rows, stream) ?: print_rest(view, &rows, stream);
	python_rows_deinit(&rows);
	return error;
}
