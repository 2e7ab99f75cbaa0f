/* Computes and prints the metrics. */
#include "sweep/metrics_table.h"

#include "base/text.h"
#include "report/rows/view.h"
#include "report/text/text_table.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_WIDTH 13 /* of a column of figures, with its gap */
#define NAME_WIDTH 14
#define MOST_COLUMNS 8

static double of(const struct series_point *point, enum sweep_quantity quantity)
{
	return point->result.of[quantity].n ? point->result.of[quantity].per_call.median : NAN;
}

static double by_call(const struct series_point *point, double metric)
{
	return point->result.calls > 0 ? metric / point->result.calls : NAN;
}

/* NAN where nothing is divided by. */
static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

#define METRIC(name, expression)                                                                   \
	static double name(const struct series_point *p, __attribute__((unused)) double clock_ghz) \
	{                                                                                          \
		return expression;                                                                 \
	}
METRIC(time_s, of(p, SWEEP_TIME))
METRIC(flop, of(p, SWEEP_FLOP))
METRIC(flop_rate, ratio(flop(p, 0), time_s(p, 0)))
METRIC(ipc, ratio(of(p, SWEEP_INSTRUCTIONS), time_s(p, 0) * clock_ghz * 1e9))
METRIC(loaded, of(p, SWEEP_LOADED))
METRIC(stored, of(p, SWEEP_STORED))
METRIC(ls_bytes, loaded(p, 0) + stored(p, 0))
METRIC(l2_bytes, by_call(p, p->metrics.l2_bytes))
METRIC(l3_bytes, by_call(p, p->metrics.l3_bytes))
METRIC(mem_bytes, of(p, SWEEP_MOVED))
METRIC(mem_left, by_call(p, p->metrics.mem_left_bytes))
METRIC(page_accesses, by_call(p, p->metrics.page_accesses))
METRIC(tlb_near_misses, by_call(p, p->metrics.tlb_near_misses))
METRIC(page_walks, by_call(p, p->metrics.page_walks))
METRIC(other_l2, by_call(p, p->metrics.other_l2_bytes))
METRIC(other_read, by_call(p, p->metrics.other_mem_read))
METRIC(other_written, by_call(p, p->metrics.other_mem_written))
METRIC(l1_misses, p->metrics.l1_miss_ratio)
METRIC(l2_misses, p->metrics.l2_miss_ratio)
METRIC(l3_misses, p->metrics.l3_miss_ratio)
METRIC(l2_per_ls, ratio(l2_bytes(p, 0), ls_bytes(p, 0)))
METRIC(l3_per_ls, ratio(l3_bytes(p, 0), ls_bytes(p, 0)))
METRIC(mem_per_ls, ratio(mem_bytes(p, 0), ls_bytes(p, 0)))
METRIC(fp_instructions, by_call(p, p->metrics.fp_instructions))
METRIC(load_instructions, by_call(p, p->metrics.load_instructions))
METRIC(store_instructions, by_call(p, p->metrics.store_instructions))
METRIC(flop_per_fp, ratio(flop(p, 0), fp_instructions(p, 0)))
METRIC(ai, ratio(flop(p, 0), ls_bytes(p, 0)))
METRIC(load_per_store, ratio(load_instructions(p, 0), store_instructions(p, 0)))
METRIC(flop_per_load, ratio(flop(p, 0), load_instructions(p, 0)))
METRIC(flop_per_store, ratio(flop(p, 0), store_instructions(p, 0)))
METRIC(flop_per_loaded, ratio(flop(p, 0), loaded(p, 0)))
METRIC(flop_per_stored, ratio(flop(p, 0), stored(p, 0)))

const struct metrics_row metrics_rows[] = {
	{"Time (s)", "time_s", time_s, false},
	{"flops/s", "flop_per_s", flop_rate, false},
	{"IPC", "ipc", ipc, false},
	{"LS Bytes", "ls_bytes", ls_bytes, true},
	{"L2 Bytes", "l2_bytes", l2_bytes, true},
	{"L3 Bytes", "l3_bytes", l3_bytes, true},
	{"Mem bytes", "mem_bytes", mem_bytes, true},
	{"Mem left", "mem_left_bytes", mem_left, true},
	{"L1 MR", "l1_miss_ratio", l1_misses, false},
	{"L2 MR", "l2_miss_ratio", l2_misses, false},
	{"L3 MR", "l3_miss_ratio", l3_misses, false},
	{"L2 / LS", "l2_per_ls", l2_per_ls, false},
	{"L3 / LS", "l3_per_ls", l3_per_ls, false},
	{"MEM / LS", "mem_per_ls", mem_per_ls, false},
	{"flops", "flop", flop, false},
	{"flops/fpins", "flop_per_fp_instruction", flop_per_fp, false},
	{"AI", "arithmetic_intensity", ai, false},
	{"LD ins/ST ins", "load_per_store_instruction", load_per_store, false},
	{"flops/LD ins", "flop_per_load_instruction", flop_per_load, false},
	{"flops/ST ins", "flop_per_store_instruction", flop_per_store, false},
	{"flops/LD bytes", "flop_per_load_byte", flop_per_loaded, false},
	{"flops/ST bytes", "flop_per_store_byte", flop_per_stored, false},
	{"Page accesses", "page_accesses", page_accesses, false, true},
	{"TLB misses", "tlb_near_misses", tlb_near_misses, false, true},
	{"Page walks", "page_walks", page_walks, false, true},
	{"Other L2", "other_l2_bytes", other_l2, true, true},
	{"Other read", "other_mem_read_bytes", other_read, true, true},
	{"Other written", "other_mem_write_bytes", other_written, true, true},
};
const size_t n_metrics_rows = sizeof(metrics_rows) / sizeof(*metrics_rows);

struct column {
	const struct series_point *point;
	char title[64];
};

static void put_columns(const struct column *columns, size_t n, double clock_ghz,
			struct text_table *table)
{
	for (size_t i = 0; i < n_metrics_rows; i++) {
		const struct metrics_row *row = &metrics_rows[i];
		bool is_known = !row->is_asked_for;
		for (size_t k = 0; k < n; k++)
			is_known |= isfinite(row->value(columns[k].point, clock_ghz));
		if (!is_known)
			continue;
		text_table_row(table);
		text_table_text(table, 0, row->name);
		for (size_t k = 0; k < n; k++) {
			const double value = row->value(columns[k].point, clock_ghz);
			text_table_text(table, k + 1,
					!isfinite(value) ? "–"
					: row->bytes     ? REPORT_BYTES(value)
							 : REPORT_NUMBER(value));
		}
	}
}

static struct rf_error *print_part(const struct column *columns, size_t n, double clock_ghz,
				   const struct terminal *terminal, FILE *stream)
{
	struct text_column titles[MOST_COLUMNS + 1] = {{"metric", false, 0}};
	for (size_t i = 0; i < n; i++)
		titles[i + 1] = (struct text_column){columns[i].title, true, 0};
	struct text_table table = {.terminal = terminal,
				   .columns = titles,
				   .n_columns = n + 1,
				   .flexible = 0,
				   .least = NAME_WIDTH};
	fputc('\n', stream);
	put_columns(columns, n, clock_ghz, &table);
	return text_table_end(&table, stream);
}

static struct rf_error *put_definitions(const struct terminal *terminal, FILE *stream)
{
	static const char *const notes[] = {
		"IPC: cycles are time × measured clock, not counted",
		"LS Bytes and what is divided by them: counted by the width of each access, where "
		"table 9 estimates them from ratios of instructions",
		"L2, L3, Mem bytes: lines that move in simulated caches, in both directions, with "
		"write-backs; table 9 has the misses of the level above alone",
		"Mem left: written, and still in the caches at the end; not in table 9",
		"L1 MR: of load and store instructions; L2 MR, L3 MR: of lines that were asked for",
		"Page accesses, TLB misses (of the nearest level), Page walks: of a simulated TLB "
		"(--tlb); not in table 9",
		"Other L2, read, written: what would move in another machine's caches "
		"(--other-caches), at L2 in both directions, from and to memory; not in table 9",
		"flops/fpins: of instructions that compute; moves, conversions and compares are "
		"not among them",
	};
	struct rf_error *error = NULL;
	fputc('\n', stream);
	for (size_t i = 0; !error && i < sizeof(notes) / sizeof(*notes); i++)
		error = terminal_sentence(terminal, stream, STYLE_DIM, "  · ", notes[i]);
	return error;
}

struct rf_error *metrics_table(const struct gathered *gathered, double clock_ghz,
			       const struct terminal *terminal, FILE *stream)
{
	struct column columns[MOST_COLUMNS];
	size_t n = 0, most = (terminal->columns - NAME_WIDTH) / LEAST_WIDTH;
	struct rf_error *error = NULL;
	most = most < 1 ? 1 : most > MOST_COLUMNS ? MOST_COLUMNS : most;
	for (size_t i = 0; !error && i < gathered->n; i++)
		for (size_t k = 0; !error && k < gathered->series[i].n; k++) {
			const struct series_point *point = &gathered->series[i].points[k];
			if (!point->result.repeats)
				continue;
			struct column *column = &columns[n++];
			column->point = point;
			snprintf(column->title, sizeof(column->title), "%s %s",
				 gathered->series[i].name, point->label);
			if (n < most)
				continue;
			error = print_part(columns, n, clock_ghz, terminal, stream);
			n = 0;
		}
	if (!error && n)
		error = print_part(columns, n, clock_ghz, terminal, stream);
	return error ? error : put_definitions(terminal, stream);
}
