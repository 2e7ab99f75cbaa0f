#include "machine/machine_print.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

enum column { COLUMN_LEVEL, COLUMN_OP, COLUMN_PRECISION, COLUMN_ISA, COLUMN_THREADS, COLUMN_BEST,
	      COLUMN_MEDIAN, COLUMN_Q1, COLUMN_Q3, COLUMN_UNIT, COLUMN_REMARK, COLUMNS };

static const struct { const char *name; int flags; } columns[COLUMNS] = {
	[COLUMN_LEVEL] = { "level", 0 },
	[COLUMN_OP] = { "op", 0 },
	[COLUMN_PRECISION] = { "precision", 0 },
	[COLUMN_ISA] = { "isa", 0 },
	[COLUMN_THREADS] = { "threads", SCOLS_FL_RIGHT },
	[COLUMN_BEST] = { "best", SCOLS_FL_RIGHT },
	[COLUMN_MEDIAN] = { "median", SCOLS_FL_RIGHT },
	[COLUMN_Q1] = { "q1", SCOLS_FL_RIGHT },
	[COLUMN_Q3] = { "q3", SCOLS_FL_RIGHT },
	[COLUMN_UNIT] = { "unit", 0 },
	[COLUMN_REMARK] = { "remark", 0 },
};

static int set_text(struct libscols_line *line, enum column column, const char *text)
{
	return scols_line_set_data(line, column, text);
}

static int set_rate(struct libscols_line *line, enum column column, double rate)
{
	char text[32];
	snprintf(text, sizeof(text), "%.2f", rate);
	return scols_line_set_data(line, column, text);
}

static const char *remark(const struct roof *roof)
{
	return roof->distinguishable ? roof->bytes_convention : "not above the next level";
}

static int add_line(struct libscols_table *table, const struct roof *roof)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	if (!line)
		return -ENOMEM;
	char threads[16];
	snprintf(threads, sizeof(threads), "%d", roof->threads);
	int failed = set_text(line, COLUMN_LEVEL, roof->kind == ROOF_COMPUTE ? "core" : roof->level);
	failed |= set_text(line, COLUMN_OP, roof->op);
	failed |= set_text(line, COLUMN_PRECISION, roof->precision);
	failed |= set_text(line, COLUMN_ISA, roof->isa);
	failed |= set_text(line, COLUMN_THREADS, threads);
	failed |= set_rate(line, COLUMN_BEST, roof->best);
	failed |= set_rate(line, COLUMN_MEDIAN, roof->median);
	failed |= set_rate(line, COLUMN_Q1, roof->q1);
	failed |= set_rate(line, COLUMN_Q3, roof->q3);
	failed |= set_text(line, COLUMN_UNIT, roof->unit);
	failed |= set_text(line, COLUMN_REMARK, remark(roof));
	return failed;
}

static int fill_table(struct libscols_table *table, const struct machine *machine)
{
	for (int i = 0; i < COLUMNS; i++)
		if (!scols_table_new_column(table, columns[i].name, 0, columns[i].flags))
			return -ENOMEM;
	for (size_t i = 0; i < machine->n_roofs; i++) {
		int failed = add_line(table, &machine->roofs[i]);
		if (failed)
			return failed;
	}
	return 0;
}

static void print_head(const struct machine *machine, FILE *stream)
{
	fprintf(stream, "%s, %d usable hardware thread%s, %.2f GHz\n", machine->cpu_model,
		machine->usable_threads, machine->usable_threads == 1 ? "" : "s",
		machine->clock_ghz);
	for (size_t i = 0; i < machine->n_caches; i++) {
		const struct machine_cache *cache = &machine->caches[i];
		fprintf(stream, "L%d %llu KiB, lines of %llu B, shared by %d\n", cache->level,
			(unsigned long long)cache->size_bytes >> 10,
			(unsigned long long)cache->line_bytes, cache->shared_by);
	}
}

struct rf_error *machine_print(const struct machine *machine, FILE *stream)
{
	struct libscols_table *table = scols_new_table();
	int failed = !table ? -ENOMEM : 0;
	if (!failed)
		failed = scols_table_set_stream(table, stream);
	if (!failed)
		failed = fill_table(table, machine);
	if (!failed) {
		print_head(machine, stream);
		failed = scols_print_table(table);
	}
	scols_unref_table(table);
	if (failed)
		return rf_error_create(RF_EINTERNAL, NULL, "cannot make the table of roofs");
	for (size_t i = 0; i < machine->n_notes; i++)
		fprintf(stream, "note: %s\n", machine->notes[i]);
	return NULL;
}
