/* Python functions as JSON. */
#include "report/json/json_python.h"

#include "report/rows/python_rows.h"

static void put_row(struct json_writer *out, const struct report_view *view,
		    const struct python_row *row)
{
	const struct profile_python_function *function =
		&view->profile->python_functions[row->function];
	put_object(out, NULL);
	put_text(out, "name", function->name);
	put_text(out, "file", function->file);
	put_known(out, "line", function->line != 0, function->line);
	put_real(out, "time_s", (double)row->time_ns * 1e-9);
	put_real(out, "total_s", (double)row->total_ns * 1e-9);
	put_count(out, "samples", row->samples);
	put_array(out, "lines");
	for (size_t i = 0; i < row->n_lines; i++) {
		put_object(out, NULL);
		put_known(out, "line", row->lines[i].line != 0, row->lines[i].line);
		put_real(out, "time_s", (double)row->lines[i].time_ns * 1e-9);
		put_end(out);
	}
	put_end(out);
	put_end(out);
}

struct rf_error *report_json_python(struct json_writer *out, const char *key,
				    const struct report_view *view)
{
	struct python_rows rows;
	struct rf_error *error = python_rows_init(view, &rows);
	put_array(out, key);
	for (size_t i = 0; !error && i < rows.n_rows; i++)
		put_row(out, view, &rows.rows[i]);
	put_end(out);
	python_rows_deinit(&rows);
	return error;
}
