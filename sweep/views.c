/* Writes a sweep as a table and as JSON. */
#include "sweep/views.h"

#include "base/text.h"
#include "report/json/json_writer.h"
#include "report/rows/view.h"
#include "report/text/text_table.h"
#include "sweep/metrics_table.h"
#include "sweep/results.h"

#include <math.h>
#include <stdlib.h>

/* ---- the table ---- */

enum {
	POINT,
	KERNEL,
	REPEATS,
	CALLS,
	TIME,
	SPREAD,
	SPEED,
	FLOP,
	READ,
	WRITTEN,
	INTENSITY,
	WALKS,
	OTHER_READ,
	OTHER_WRITTEN,
	N_COLUMNS
};

static void put_point(const struct sweep *sweep, size_t point, struct text_table *table)
{
	char text[256] = "";
	size_t at = 0;
	for (size_t i = 0; i < sweep->space.n_parameters && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s=%s", i ? " " : "",
				       sweep->space.parameters[i].name,
				       space_value(&sweep->space, point, i));
	text_table_text(table, POINT, text);
}

static void put_moved(const struct sweep_result *result, struct text_table *table)
{
	const double read = result->of[SWEEP_READ].per_call.median,
		     written = result->of[SWEEP_WRITTEN].per_call.median,
		     flop = result->of[SWEEP_FLOP].per_call.median;
	if (!result->of[SWEEP_READ].n || !result->of[SWEEP_WRITTEN].n)
		return;
	text_table_text(table, READ, REPORT_BYTES(read));
	text_table_text(table, WRITTEN, REPORT_BYTES(written));
	if (read + written > 0)
		text_table_text(table, INTENSITY, REPORT_NUMBER(flop / (read + written)));
}

/* What is simulated where an option asks for it. */
static void put_simulated(const struct sweep_metrics *metrics, double calls,
			  struct text_table *table)
{
	if (isfinite(metrics->page_walks))
		text_table_text(table, WALKS, REPORT_NUMBER(metrics->page_walks / calls));
	table->hidden[WALKS] &= !isfinite(metrics->page_walks);
	table->hidden[OTHER_READ] &= !isfinite(metrics->other_mem_read);
	table->hidden[OTHER_WRITTEN] &= !isfinite(metrics->other_mem_written);
	if (!isfinite(metrics->other_mem_read))
		return;
	text_table_text(table, OTHER_READ, REPORT_BYTES(metrics->other_mem_read / calls));
	text_table_text(table, OTHER_WRITTEN, REPORT_BYTES(metrics->other_mem_written / calls));
}

static void put_row(const struct sweep *sweep, size_t point, const char *kernel,
		    const struct series_point *of, struct text_table *table)
{
	const struct sweep_result *result = &of->result;
	const struct summary *time = &result->of[SWEEP_TIME].per_call;
	const double flop = result->of[SWEEP_FLOP].per_call.median;
	text_table_row(table);
	put_point(sweep, point, table);
	text_table_text(table, KERNEL, kernel);
	text_table_put(table, REPEATS, STYLE_PLAIN, "%zu", result->repeats);
	if (!result->repeats)
		return;
	text_table_text(table, CALLS, REPORT_NUMBER(result->calls));
	if (!(result->calls > 0)) {
		text_table_text(table, TIME, "not called");
		return;
	}
	if (result->of[SWEEP_TIME].n) {
		text_table_put(table, TIME, STYLE_PLAIN, "%s s", REPORT_NUMBER(time->median));
		text_table_put(table, SPREAD, STYLE_PLAIN, "%.1f %%",
			       time->median > 0 ? 100 * (time->q3 - time->q1) / time->median : 0);
		if (time->median > 0)
			text_table_text(table, SPEED, REPORT_NUMBER(flop / time->median * 1e-9));
	}
	if (result->of[SWEEP_FLOP].n)
		text_table_text(table, FLOP, REPORT_NUMBER(flop));
	put_moved(result, table);
	put_simulated(&of->metrics, result->calls, table);
}

struct rf_error *sweep_table(const struct sweep *sweep, struct store *store, FILE *stream)
{
	static const struct text_column columns[N_COLUMNS] = {
		[POINT] = {"point", false},
		[KERNEL] = {"kernel", false, 4},
		[REPEATS] = {"repeats", true, 2},
		[CALLS] = {"calls", true, 1},
		[TIME] = {"a call", true},
		[SPREAD] = {"quartiles", true, 3},
		[SPEED] = {"Gflop/s", true},
		[FLOP] = {"flop/call", true},
		[READ] = {"read/call", true},
		[WRITTEN] = {"written", true, 5},
		[INTENSITY] = {"flop/B", true},
		[WALKS] = {"TLB misses", true},
		[OTHER_READ] = {"other: read/call", true},
		[OTHER_WRITTEN] = {"other: written", true}};
	const struct report_options plain = {0};
	const struct terminal terminal = terminal_of(stream, &plain);
	struct text_table table = TEXT_TABLE(&terminal, columns, POINT, 16);
	struct rf_error *error = NULL;
	table.hidden[WALKS] = table.hidden[OTHER_READ] = table.hidden[OTHER_WRITTEN] = true;
	for (size_t i = 0; i < sweep->space.n_points; i++)
		for (char **kernel = sweep->kernels; !error && *kernel; kernel++) {
			struct series_point point = {0};
			error = sweep_result(sweep, store, i, *kernel, &point.result)
					?: sweep_metrics(sweep, store, i, *kernel, &point.metrics);
			if (!error)
				put_row(sweep, i, *kernel, &point, &table);
		}
	struct rf_error *end = text_table_end(&table, stream);
	if (error)
		rf_error_destroy(end);
	return error ? error : end;
}

/* ---- JSON ---- */

static void put_quantity(struct json_writer *out, const char *key,
			 const struct sweep_result *result, enum sweep_quantity quantity)
{
	const struct summary *of = &result->of[quantity].per_call;
	if (!result->of[quantity].n) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_real(out, "min", of->least);
	put_real(out, "q1", of->q1);
	put_real(out, "median", of->median);
	put_real(out, "q3", of->q3);
	put_real(out, "max", of->most);
	put_end(out);
}

static void put_metrics(struct json_writer *out, const struct series_point *point, double clock_ghz)
{
	put_object(out, "metrics");
	for (size_t i = 0; i < n_metrics_rows; i++)
		put_real(out, metrics_rows[i].key, metrics_rows[i].value(point, clock_ghz));
	put_end(out);
}

static void put_json_point(struct json_writer *out, const struct sweep *sweep, size_t point,
			   const char *kernel, const struct series_point *of, double clock_ghz)
{
	const struct sweep_result *result = &of->result;
	static const char *const keys[N_SWEEP_QUANTITIES] = {
		[SWEEP_TIME] = "time_s",         [SWEEP_FLOP] = "flop",
		[SWEEP_LOADED] = "load_bytes",   [SWEEP_STORED] = "store_bytes",
		[SWEEP_READ] = "mem_read_bytes", [SWEEP_WRITTEN] = "mem_write_bytes",
		[SWEEP_MOVED] = "mem_bytes",     [SWEEP_INSTRUCTIONS] = "instructions"};
	put_object(out, NULL);
	put_object(out, "parameters");
	for (size_t i = 0; i < sweep->space.n_parameters; i++)
		put_text(out, sweep->space.parameters[i].name,
			 space_value(&sweep->space, point, i));
	put_end(out);
	put_array(out, "command");
	for (char **word = sweep->points[point].command; *word; word++)
		put_text(out, NULL, *word);
	put_end(out);
	put_text(out, "kernel", kernel);
	put_count(out, "repeats", result->repeats);
	put_count(out, "times_calls", result->times_calls);
	put_real(out, "calls", result->repeats ? result->calls : NAN);
	for (int q = 0; q < N_SWEEP_QUANTITIES; q++)
		put_quantity(out, keys[q], result, (enum sweep_quantity)q);
	put_metrics(out, of, clock_ghz);
	put_end(out);
}

struct rf_error *sweep_json(const struct sweep *sweep, struct store *store, double clock_ghz,
			    FILE *stream)
{
	struct json_writer *out = json_writer_create(stream, JSON_LINES);
	struct rf_error *error = out ? NULL : rf_error_no_memory();
	if (error)
		return error;
	put_object(out, NULL);
	put_integer(out, "schema", 1);
	put_array(out, "points");
	for (size_t i = 0; i < sweep->space.n_points; i++)
		for (char **kernel = sweep->kernels; !error && *kernel; kernel++) {
			struct series_point point = {0};
			error = sweep_result(sweep, store, i, *kernel, &point.result)
					?: sweep_metrics(sweep, store, i, *kernel, &point.metrics);
			if (!error)
				put_json_point(out, sweep, i, *kernel, &point, clock_ghz);
		}
	put_end(out);
	put_end(out);
	if (!json_writer_destroy(out) && !error)
		error = rf_error_no_memory();
	return error;
}

/* ---- what would be run ---- */

void sweep_dry(const struct sweep *sweep, FILE *stream)
{
	size_t runs = 0;
	for (size_t i = 0; i < sweep->space.n_points; i++) {
		const struct sweep_point *point = &sweep->points[i];
		const size_t wanted = sweep->options->repeats;
		const size_t missing = point->n_kept < wanted ? wanted - point->n_kept : 0;
		fprintf(stream, "%zu kept, %zu to run:", point->n_kept, missing);
		for (char **word = point->command; *word; word++) {
			char *clean = text_clean(*word);
			fprintf(stream, " %s", clean ? clean : "?");
			free(clean);
		}
		fputc('\n', stream);
		runs += missing;
	}
	fprintf(stream, "%zu point%s, %zu run%s\n", sweep->space.n_points,
		sweep->space.n_points == 1 ? "" : "s", runs, runs == 1 ? "" : "s");
}
