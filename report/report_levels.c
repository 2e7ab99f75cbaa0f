/* What moved at every level of the memory hierarchy, function by function. */
#include "report/report_parts.h"

#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME, LEVEL, INTENSITY, READ, WRITTEN, SPREAD, RATE, BANDWIDTH, MISSES, N_COLUMNS };
#define NAME_COLUMNS 28

/* `name`: instead of text[NAME], which it may be longer than; or NULL. */
struct line { char text[N_COLUMNS][64]; char *name; };

static const struct line head = {{"function", "level", "flop/B", "read", "written", "±", "GB/s", "roof", "misses"}};

/* Of 95 %, in percent of what moved. */
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
		snprintf(cell, 64, misses > 0 && misses < 0.0995 ? "%.2f %%" : "%.0f %%", 100 * misses);
}

static void fill_line(const struct report_view *view, const struct model_function *f, size_t k,
		      struct line *line)
{
	const struct model_level *level = &f->traffic->levels[k];
	char number[TEXT_NUMBER];
	snprintf(line->text[LEVEL], 64, "%s", level->name);
	report_put_intensity(line->text[INTENSITY], f->tally.flop ? level->intensity : NAN);
	report_put_bytes(line->text[READ], level->moved[DIRECTION_READ].bytes);
	report_put_bytes(line->text[WRITTEN], level->moved[DIRECTION_WRITE].bytes);
	put_spread(line->text[SPREAD], report_moved(view, level),
		   k == 0 || view->model->traced_classes == CACHE_CLASSES);
	snprintf(line->text[RATE], 64, "%s", text_number(number, level->rate));
	snprintf(line->text[BANDWIDTH], 64, "%s", text_number(number, level->bandwidth > 0 ? level->bandwidth : NAN));
	put_misses(line->text[MISSES], level->misses);
}

static bool fill_function(const struct report_view *view, const struct model_function *f, struct line *lines)
{
	char *clean = text_clean(f->name), *name = clean ? text_shorten(clean, NAME_COLUMNS) : NULL;
	for (size_t k = 0; name && k < f->traffic->n_levels; k++)
		fill_line(view, f, k, &lines[k]);
	lines->name = name;
	free(clean);
	return name != NULL;
}

static const char *cell_of(const struct line *line, int column)
{
	return column == NAME && line->name ? line->name : line->text[column];
}

static void print_lines(const struct line *lines, size_t n, FILE *stream)
{
	size_t width[N_COLUMNS] = {0};
	for (size_t i = 0; i < n; i++)
		for (int c = 0; c < N_COLUMNS; c++)
			if (text_columns(cell_of(&lines[i], c)) > width[c])
				width[c] = text_columns(cell_of(&lines[i], c));
	for (size_t i = 0; i < n; i++) {
		fputs(" ", stream);
		for (int c = 0; c < N_COLUMNS; c++) {
			const int gap = (int)(width[c] - text_columns(cell_of(&lines[i], c)));
			const bool left = c <= LEVEL;
			fprintf(stream, "%s%*s%s%*s", c ? "  " : " ", left ? 0 : gap, "", cell_of(&lines[i], c),
				left ? gap : 0, "");
		}
		putc('\n', stream);
	}
}

struct rf_error *report_levels(const struct report_view *view, FILE *stream)
{
	struct line *lines = calloc(1 + view->n_shown * MODEL_LEVELS, sizeof(*lines));
	size_t n = 1;
	bool done = lines != NULL;
	if (done)
		lines[0] = head;
	for (size_t i = 0; done && i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (!f->traffic)
			continue;
		done = fill_function(view, f, &lines[n]);
		n += f->traffic->n_levels;
	}
	if (done && n > 1)
		print_lines(lines, n, stream);
	for (size_t i = 0; lines && i < n; i++)
		free(lines[i].name);
	free(lines);
	return done ? NULL : report_no_memory();
}
