/* What moved at every level of the memory hierarchy, function by function. */
#include "report/text/report_levels.h"

#include "base/text.h"
#include "report/text/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME, LEVEL, INTENSITY, READ, WRITTEN, SPREAD, RATE, BANDWIDTH, MISSES, N_COLUMNS };

static const struct text_column columns[N_COLUMNS] = {
	{"function", false}, {"level", false},  {"flop/B", true},
	{"read", true},      {"written", true}, {"±", true},
	{"GB/s", true},      {"roof", true},    {"misses", true},
};
/* What a narrow terminal does without, the first first. */
static const size_t spared[] = {SPREAD, BANDWIDTH, WRITTEN, READ, RATE};
#define N_SPARED (sizeof(spared) / sizeof(*spared))
#define LEAST_NAME 10
#define NAME_COLUMNS 28 /* at most, whatever the width is */

/* Half-width of the 95 % interval, in percent of what moved. */
static void put_spread(char *cell, const struct model_estimate *moved, bool exact)
{
	if (moved->bytes <= 0 || exact)
		snprintf(cell, 64, "%s", moved->bytes > 0 ? "exact" : "");
	else if (isnan(moved->halfwidth))
		snprintf(cell, 64, "?");
	else
		snprintf(cell, 64, "%.1f %%", fmin(999, 100 * moved->halfwidth / moved->bytes));
}

static void put_misses(char *cell, double misses)
{
	if (isnan(misses))
		snprintf(cell, 64, "–");
	else
		snprintf(cell, 64, misses > 0 && misses < 0.0995 ? "%.2f %%" : "%.0f %%",
			 100 * misses);
}

static void put_level(const struct report_view *view, const struct model_function *f, size_t k,
		      struct text_table *table)
{
	const struct model_level *level = &f->traffic->levels[k];
	char cell[64];
	text_table_row(table);
	text_table_put(table, LEVEL, STYLE_PLAIN, "%s", level->name);
	report_put_intensity(cell, f->tally.flop ? level->intensity : NAN);
	text_table_put(table, INTENSITY, STYLE_PLAIN, "%s", cell);
	report_put_bytes(cell, level->moved[DIRECTION_READ].bytes);
	text_table_put(table, READ, STYLE_PLAIN, "%s", cell);
	report_put_bytes(cell, level->moved[DIRECTION_WRITE].bytes);
	text_table_put(table, WRITTEN, STYLE_PLAIN, "%s", cell);
	const bool exact = k == 0 ? !model_from_counters(view->profile)
				  : view->model->traced_classes == CACHE_CLASSES;
	put_spread(cell, report_moved(view, level), exact);
	text_table_put(table, SPREAD, STYLE_PLAIN, "%s", cell);
	text_table_put(table, RATE, STYLE_PLAIN, "%s", text_number(cell, level->rate));
	text_table_put(table, BANDWIDTH, STYLE_PLAIN, "%s",
		       text_number(cell, level->bandwidth > 0 ? level->bandwidth : NAN));
	put_misses(cell, level->misses);
	text_table_put(table, MISSES, STYLE_PLAIN, "%s", cell);
}

static void put_levels(const struct report_view *view, const struct model_function *f,
		       struct text_table *table)
{
	for (size_t k = 0; k < f->traffic->n_levels; k++) {
		put_level(view, f, k, table);
		if (k == 0)
			text_table_put_name(table, NAME, f->name);
	}
}

struct rf_error *report_levels(const struct report_view *view, FILE *stream)
{
	const struct terminal own =
		view->terminal ? *view->terminal : terminal_of(stream, view->options);
	struct text_table table;
	text_table_init(&table, &own, columns, N_COLUMNS, NAME);
	table.hidden[NAME] = view->options->function != NULL;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (f->traffic)
			put_levels(view, f, &table);
	}
	text_table_limit(&table, NAME_COLUMNS);
	(void)text_table_fit(&table, spared, N_SPARED, LEAST_NAME);
	struct rf_error *error = table.n_rows ? text_table_print(&table, stream) : NULL;
	text_table_deinit(&table);
	return error;
}
