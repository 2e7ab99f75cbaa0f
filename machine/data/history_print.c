/* What `rfprof machine` says of the history of its rows, by libsmartcols. */
#include "machine/data/history_print.h"

#include "base/array.h"
#include "machine/data/roof_history.h"

#include <libsmartcols.h>
#include <stdlib.h>
#include <time.h>

#define TIME_TEXT 24

/* The history of all rows together. */
struct summary {
	int64_t first_s, last_s;
	int fewest, most;          /* measurements of a row */
	size_t n_again, n_stable;  /* rows measured more than once; those that stayed in one mode */
	const struct roof **loose; /* the others */
	size_t n_loose, cap_loose;
	int failed;
};

static const char *time_text(char text[static TIME_TEXT], int64_t when_s)
{
	const time_t when = when_s;
	strftime(text, TIME_TEXT, "%Y-%m-%d %H:%M UTC", gmtime(&when));
	return text;
}

static void add_row(struct summary *all, const struct roof *row)
{
	const bool first = all->most == 0;
	if (!row->n_history)
		return;
	const int64_t from = row->history[0].when_s, to = row->history[row->n_history - 1].when_s;
	all->first_s = first || from < all->first_s ? from : all->first_s;
	all->last_s = first || to > all->last_s ? to : all->last_s;
	all->fewest = first || row->n_measured < all->fewest ? row->n_measured : all->fewest;
	all->most = row->n_measured > all->most ? row->n_measured : all->most;
	if (row->n_measured < 2)
		return;
	all->n_again++;
	if (!roof_history_slow(row))
		all->n_stable++;
	else if (!rf_array_push(all->loose, all->n_loose, all->cap_loose, row))
		all->failed = 1;
}

static int add_line(struct libscols_table *table, const struct roof *row)
{
	char cells[8][48];
	double lowest, highest;
	struct libscols_line *line = scols_table_new_line(table, NULL);
	int failed = !line;
	roof_history_range(row, &lowest, &highest);
	snprintf(cells[0], sizeof(cells[0]), "%s",
		 row->kind == ROOF_COMPUTE ? roof_precision_name(row->precision)
					   : roof_level_name(row->level));
	snprintf(cells[1], sizeof(cells[1]), "%s%s%s%s",
		 row->kind == ROOF_COMPUTE ? roof_isa_name(row->isa) : "",
		 row->kind == ROOF_COMPUTE ? " " : "", roof_op_name(row->op),
		 row->kind == ROOF_ZEROS    ? " of zeros"
		 : row->kind == ROOF_NARROW ? " by 8 bytes"
					    : "");
	snprintf(cells[2], sizeof(cells[2]), "%d", row->threads);
	snprintf(cells[3], sizeof(cells[3]), "%d", row->n_measured);
	snprintf(cells[4], sizeof(cells[4]), "%.1f", lowest);
	snprintf(cells[5], sizeof(cells[5]), "%.1f", row->best);
	snprintf(cells[6], sizeof(cells[6]), "%.1f", row->history[row->n_history - 1].best);
	snprintf(cells[7], sizeof(cells[7]), "%s", row->unit);
	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells) && !failed; i++)
		failed = scols_line_set_data(line, i, cells[i]);
	return failed;
}

static int print_loose(const struct summary *all, FILE *stream)
{
	static const char *const names[] = {"of",     "op",   "threads", "measured",
					    "lowest", "best", "last",    "unit"};
	struct libscols_table *table = scols_new_table();
	int failed = !table || scols_table_set_stream(table, stream);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !failed; i++)
		failed = !scols_table_new_column(table, names[i], 0,
						 i >= 2 && i <= 6 ? SCOLS_FL_RIGHT : 0);
	for (size_t i = 0; i < all->n_loose && !failed; i++)
		failed = add_line(table, all->loose[i]);
	if (!failed)
		failed = scols_print_table(table);
	scols_unref_table(table);
	return failed;
}

static void print_summary(const struct summary *all, FILE *stream)
{
	char first[TIME_TEXT], last[TIME_TEXT];
	fputs("\nHistory\n", stream);
	if (all->most == 1)
		fprintf(stream, "measured once, %s", time_text(first, all->first_s));
	else
		fprintf(stream, "measured %d to %d times from %s to %s, the best counts",
			all->fewest, all->most, time_text(first, all->first_s),
			time_text(last, all->last_s));
	if (!all->n_again)
		fputs("; how stable the roofs are is not known yet: runs measure some again\n",
		      stream);
	else
		fprintf(stream,
			"\n%zu of the %zu that were measured more than once never fell below "
			"%.0f %% of their best%s\n",
			all->n_stable, all->n_again, 100 * ROOF_MODE,
			all->n_loose ? "; the others:" : "");
}

struct rf_error *machine_print_history(const struct machine *machine, FILE *stream)
{
	struct summary all = {0};
	for (size_t i = 0; i < machine->n_roofs; i++)
		add_row(&all, &machine->roofs[i]);
	if (all.most && !all.failed)
		print_summary(&all, stream);
	if (all.n_loose && !all.failed)
		all.failed = print_loose(&all, stream);
	free(all.loose);
	return all.failed ? rf_error_create(RF_EINTERNAL, NULL, "cannot make the table of history")
			  : NULL;
}
