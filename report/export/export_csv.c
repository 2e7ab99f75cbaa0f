/* Functions as comma-separated values (RFC 4180), in the order of the table.  A cell without a
 * value is empty. */
#include "report/export/export.h"

#include "base/text.h"
#include "report/reasons/reasons.h"
#include "report/reasons/words.h"
#include "report/rows/ranking.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const struct model_function *f;
	const struct profile_function *source; /* or NULL */
	char *why;
};

static void put_text(FILE *stream, const char *text)
{
	char *clean = text_clean(text);
	const bool quoted = clean && strpbrk(clean, ",\"\r\n");
	if (quoted)
		putc('"', stream);
	for (const char *at = clean ? clean : ""; *at; at++) {
		if (*at == '"')
			putc('"', stream);
		putc(*at, stream);
	}
	if (quoted)
		putc('"', stream);
	free(clean);
}

static void put_count(FILE *stream, uint64_t value)
{
	fprintf(stream, "%" PRIu64, value);
}

static void put_real(FILE *stream, double value)
{
	if (isfinite(value))
		fprintf(stream, "%.12g", value);
}

static void put_seconds(FILE *stream, uint64_t ns)
{
	fprintf(stream, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static bool counted(const struct row *row)
{
	return row->f->tally.instructions > 0;
}
static double bytes_of(const struct row *row)
{
	return (double)row->f->tally.load_bytes + (double)row->f->tally.store_bytes;
}
static double moved(const struct row *row, enum traffic_direction direction)
{
	return row->f->traffic ? row->f->traffic->bytes.mem[direction].bytes : NAN;
}
static double rate(const struct row *row, double amount)
{
	return counted(row) && row->f->elapsed_s > 0 ? amount * 1e-9 / row->f->elapsed_s : NAN;
}
static double placed(const struct row *row, double value)
{
	return row->f->place.axis == AXIS_NONE || !(row->f->place.roof > 0) ? NAN : value;
}

/* The most that moves at its level by its own mix of reads and writes. */
static double level_bandwidth(const struct model_function *f)
{
	const struct model_level *level =
		f->traffic ? model_level(f->traffic, f->place.level) : NULL;
	return level && level->bandwidth > 0 ? level->bandwidth : NAN;
}

/* Where there were several timed runs. */
static double of_runs(const struct row *row, double value)
{
	return row->f->runs.n ? value : NAN;
}

/* COLUMN(name, what writes the cell of `row` to `out`); docs/exports.md says what they are. */
#define COLUMNS(COLUMN)                                                                           \
	COLUMN(function, put_text(out, row->f->name))                                             \
	COLUMN(module, put_text(out, row->f->module))                                             \
	COLUMN(file, put_text(out, row->source && row->source->file ? row->source->file : ""))    \
	COLUMN(line, if (row->source && row->source->line) put_count(out, row->source->line))     \
	COLUMN(time_s, put_seconds(out, row->f->time_ns))                                         \
	COLUMN(time_halfwidth_s, put_real(out, row->f->n_samples ? row->f->halfwidth_s : NAN))    \
	COLUMN(elapsed_s, put_real(out, row->f->elapsed_s))                                       \
	COLUMN(samples, put_count(out, row->f->n_samples))                                        \
	COLUMN(time_share, put_real(out, row->f->share))                                          \
	COLUMN(threads, put_real(out, row->f->concurrency))                                       \
	COLUMN(flop, put_count(out, row->f->tally.flop))                                          \
	COLUMN(flop_unmasked, put_count(out, row->f->tally.flop_unmasked))                        \
	COLUMN(precision,                                                                         \
	       put_text(out, row->f->tally.flop ? model_precision_name(row->f->precision) : ""))  \
	COLUMN(instructions, put_count(out, row->f->tally.instructions))                          \
	COLUMN(load_instructions, put_count(out, row->f->tally.loads))                            \
	COLUMN(store_instructions, put_count(out, row->f->tally.stores))                          \
	COLUMN(load_bytes, put_count(out, row->f->tally.load_bytes))                              \
	COLUMN(store_bytes, put_count(out, row->f->tally.store_bytes))                            \
	COLUMN(mem_bytes, put_real(out, moved(row, DIRECTION_BOTH)))                              \
	COLUMN(mem_read_bytes, put_real(out, moved(row, DIRECTION_READ)))                         \
	COLUMN(mem_write_bytes, put_real(out, moved(row, DIRECTION_WRITE)))                       \
	COLUMN(mem_halfwidth_bytes,                                                               \
	       put_real(out, row->f->traffic                                                      \
				     ? row->f->traffic->bytes.mem[DIRECTION_BOTH].halfwidth       \
				     : NAN))                                                      \
	COLUMN(gflop_per_s, put_real(out, rate(row, (double)row->f->tally.flop)))                 \
	COLUMN(gbytes_per_s, put_real(out, rate(row, bytes_of(row))))                             \
	COLUMN(arithmetic_intensity_flop_per_byte,                                                \
	       put_real(out, counted(row) ? row->f->intensity : NAN))                             \
	COLUMN(operational_intensity_flop_per_byte,                                               \
	       put_real(out, moved(row, DIRECTION_BOTH) > 0                                       \
				     ? (double)row->f->tally.flop / moved(row, DIRECTION_BOTH)    \
				     : NAN))                                                      \
	COLUMN(bound, put_text(out, report_bound_name(row->f->place.bound)))                      \
	COLUMN(level, put_text(out, row->f->place.level))                                         \
	COLUMN(point, put_real(out, row->f->place.axis == AXIS_NONE ? NAN : row->f->place.point)) \
	COLUMN(roof, put_real(out, placed(row, row->f->place.roof)))                              \
	COLUMN(point_unit, put_text(out, report_point_unit(row->f->place.axis)))                  \
	COLUMN(distance, put_real(out, row->f->place.distance))                                   \
	COLUMN(headroom_s, put_real(out, row->f->place.headroom_s))                               \
	COLUMN(above_roof, put_count(out, row->f->place.above))                                   \
	COLUMN(level_gbytes_per_s, put_real(out, level_bandwidth(row->f)))                        \
	COLUMN(bound_or,                                                                          \
	       put_text(out,                                                                      \
			row->f->place.bound_or ? report_bound_name(row->f->place.bound_or) : "")) \
	COLUMN(time_least_s, put_real(out, of_runs(row, row->f->runs.s.least)))                   \
	COLUMN(time_q1_s, put_real(out, of_runs(row, row->f->runs.s.q1)))                         \
	COLUMN(time_median_s, put_real(out, of_runs(row, row->f->runs.s.median)))                 \
	COLUMN(time_q3_s, put_real(out, of_runs(row, row->f->runs.s.q3)))                         \
	COLUMN(time_most_s, put_real(out, of_runs(row, row->f->runs.s.most)))                     \
	COLUMN(why, put_text(out, row->why))

#define FUNCTION(name, write)                                    \
	static void put_##name(FILE *out, const struct row *row) \
	{                                                        \
		write;                                           \
	}
COLUMNS(FUNCTION)
#define ENTRY(name, write) {#name, put_##name},
static const struct {
	const char *name;
	void (*put)(FILE *out, const struct row *row);
} columns[] = {COLUMNS(ENTRY)};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

static const char *line_end(size_t column)
{
	return column + 1 < N_COLUMNS ? "," : "\r\n";
}

static struct rf_error *write_row(const struct report_view *view, const struct model_function *f,
				  FILE *stream)
{
	struct row row = {.f = f,
			  .source = f->function == PROFILE_NONE
					    ? NULL
					    : &view->profile->functions[f->function]};
	struct rf_error *error = report_reasons_text(view, f, &row.why, NULL);
	for (size_t c = 0; !error && c < N_COLUMNS; c++) {
		columns[c].put(stream, &row);
		fputs(line_end(c), stream);
	}
	free(row.why);
	return error;
}

struct rf_error *export_csv(const struct report_view *view, FILE *stream)
{
	struct rf_error *error = NULL;
	for (size_t c = 0; c < N_COLUMNS; c++)
		fprintf(stream, "%s%s", columns[c].name, line_end(c));
	for (size_t i = 0; !error && i < view->n_rank; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (!report_is_small(view, f))
			error = write_row(view, f, stream);
	}
	return error;
}
