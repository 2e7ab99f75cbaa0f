/* What moved at every level of the memory hierarchy, function by function. */
#include "report/text/report_levels.h"

#include "base/text.h"
#include "report/text/text_table.h"

#include <math.h>

enum { NAME, LEVEL, INTENSITY, READ, WRITTEN, SPREAD, RATE, BANDWIDTH, MISSES, N_COLUMNS };

static const struct text_column columns[N_COLUMNS] = {
	[NAME] = {"function", false},     [LEVEL] = {"level", false},
	[INTENSITY] = {"flop/B", true},   [READ] = {"read", true, 4},
	[WRITTEN] = {"written", true, 3}, [SPREAD] = {"±", true, 1},
	[RATE] = {"GB/s", true, 5},       [BANDWIDTH] = {"roof", true, 2},
	[MISSES] = {"misses", true},
};
#define LEAST_NAME 10
#define NAME_COLUMNS 28 /* at most, whatever the width is */

/* Half-width of the 95 % interval, in percent of what moved. */
static const char *put_spread(char *cell, const struct model_estimate *moved, bool exact)
{
	if (moved->bytes <= 0 || exact)
		return moved->bytes > 0 ? "exact" : "";
	if (isnan(moved->halfwidth))
		return "?";
	snprintf(cell, 64, "%.1f %%", fmin(999, 100 * moved->halfwidth / moved->bytes));
	return cell;
}

static const char *put_misses(char *cell, double misses)
{
	if (isnan(misses))
		return "–";
	snprintf(cell, 64, misses > 0 && misses < 0.0995 ? "%.2f %%" : "%.0f %%", 100 * misses);
	return cell;
}

static void put_level(const struct report_view *view, const struct model_function *f, size_t k,
		      struct text_table *table)
{
	const struct model_level *level = &f->traffic->levels[k];
	const bool exact = k == 0 ? !model_from_counters(view->profile)
				  : view->model->traced_classes == CACHE_CLASSES;
	char cell[64];
	text_table_row(table);
	text_table_text(table, NAME, k == 0 ? f->name : "");
	text_table_text(table, LEVEL, level->name);
	text_table_text(table, INTENSITY,
			report_put_intensity(cell, f->tally.flop ? level->intensity : NAN));
	text_table_text(table, READ, report_put_bytes(cell, level->moved[DIRECTION_READ].bytes));
	text_table_text(table, WRITTEN,
			report_put_bytes(cell, level->moved[DIRECTION_WRITE].bytes));
	text_table_text(table, SPREAD, put_spread(cell, report_moved(view, level), exact));
	text_table_text(table, RATE, text_number(cell, level->rate));
	text_table_text(table, BANDWIDTH,
			text_number(cell, level->bandwidth > 0 ? level->bandwidth : NAN));
	text_table_text(table, MISSES, put_misses(cell, level->misses));
}

struct rf_error *report_levels(const struct report_view *view, FILE *stream)
{
	struct text_table table =
		TEXT_TABLE(view->terminal, columns, NAME, LEAST_NAME, .most = NAME_COLUMNS);
	table.hidden[NAME] = view->options->function != NULL;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		for (size_t k = 0; f->traffic && k < f->traffic->n_levels; k++)
			put_level(view, f, k, &table);
	}
	return table.n_rows ? text_table_end(&table, stream) : NULL;
}
