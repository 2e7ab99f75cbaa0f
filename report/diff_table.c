/* The comparison for a terminal. */
#include "report/diff.h"
#include "report/report_parts.h"
#include "report/text.h"

#include <libsmartcols.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TOP 20
#define NAME_COLUMNS 40

enum { TIME_A, TIME_B, CHANGE, SPREAD, VERDICT, NAME, FLOP, BYTES, BELOW_A, BELOW_B, N_COLUMNS };

static const struct { const char *title; int flags; } columns[N_COLUMNS] = {
	[TIME_A] = {"time A", SCOLS_FL_RIGHT}, [TIME_B] = {"time B", SCOLS_FL_RIGHT},
	[CHANGE] = {"change", SCOLS_FL_RIGHT}, [SPREAD] = {"±", SCOLS_FL_RIGHT}, [VERDICT] = {"", 0},
	[NAME] = {"function", 0}, [FLOP] = {"flop", SCOLS_FL_RIGHT}, [BYTES] = {"bytes", SCOLS_FL_RIGHT},
	[BELOW_A] = {"below A", SCOLS_FL_RIGHT}, [BELOW_B] = {"below B", SCOLS_FL_RIGHT},
};

struct line { char text[N_COLUMNS][64]; char *name; };

/* "+12.3 %" of A; "=" where nothing changed, or no more than the noise. */
static void put_change(char *cell, const struct diff_value *value, bool noise)
{
	const double percent = 100 * (value->b - value->a) / value->a;
	if (isnan(value->a) || isnan(value->b))
		snprintf(cell, 64, "–");
	else if (value->a == value->b)
		snprintf(cell, 64, "=");
	else if (noise && value->same)
		snprintf(cell, 64, "≈");
	else if (!(value->a > 0))
		snprintf(cell, 64, "new");
	else if (percent > 9999.5)
		snprintf(cell, 64, "×%.0f", value->b / value->a);
	else
		snprintf(cell, 64, fabs(percent) < 9.95 ? "%+.1f %%" : "%+.0f %%", percent);
}

static void put_below(char *cell, double distance)
{
	if (isnan(distance))
		snprintf(cell, 64, "–");
	else
		snprintf(cell, 64, distance >= 9999.5 ? ">9999×" : distance < 9.95 ? "%.1f×" : "%.0f×", distance);
}

/* function NULL: the sums. */
static void fill_line(const struct diff *diff, const struct diff_function *function, double longest, struct line *line)
{
	const struct diff_value time = diff_value(diff, function, DIFF_TIME);
	const struct diff_value flop = diff_value(diff, function, DIFF_FLOP);
	const struct diff_value bytes = diff_value(diff, function, DIFF_BYTES);
	const struct diff_value distance = diff_value(diff, function, DIFF_DISTANCE);
	report_put_time(line->text[TIME_A], function && !function->a ? NAN : time.a, longest);
	report_put_time(line->text[TIME_B], function && !function->b ? NAN : time.b, longest);
	put_change(line->text[CHANGE], &time, false);
	if (time.a > 0)
		snprintf(line->text[SPREAD], 64, "%.1f %%", fmin(999, 100 * time.halfwidth / time.a));
	snprintf(line->text[VERDICT], 64, "%s", diff_verdict(diff, function));
	put_change(line->text[FLOP], &flop, true);
	put_change(line->text[BYTES], &bytes, true);
	put_below(line->text[BELOW_A], distance.a);
	put_below(line->text[BELOW_B], distance.b);
	char *clean = text_clean(function ? diff_name(function) : "all");
	line->name = clean ? text_shorten(clean, NAME_COLUMNS) : NULL;
	free(clean);
}

static bool add_line(struct libscols_table *table, const struct line *line)
{
	struct libscols_line *row = line->name ? scols_table_new_line(table, NULL) : NULL;
	for (int c = 0; row && c < N_COLUMNS; c++)
		if (scols_line_set_data(row, (size_t)c, c == NAME ? line->name : line->text[c]) != 0)
			return false;
	return row != NULL;
}

static bool add_lines(const struct diff *diff, size_t top, struct libscols_table *table)
{
	double longest = 0;
	bool done = true;
	for (size_t i = 0; i < diff->n_functions && i < top; i++) {
		const struct diff_value time = diff_value(diff, &diff->functions[i], DIFF_TIME);
		longest = fmax(longest, fmax(time.a, time.b));
	}
	for (size_t i = 0; done && i <= diff->n_functions && i <= top; i++) {
		const bool last = i == diff->n_functions || i == top;
		struct line line = {0};
		fill_line(diff, last ? NULL : &diff->functions[i], longest, &line);
		done = add_line(table, &line);
		free(line.name);
	}
	return done;
}

static void print_trimmed(const char *text, FILE *stream)
{
	while (*text) {
		size_t length = strcspn(text, "\n"), kept = length;
		while (kept && text[kept - 1] == ' ')
			kept--;
		fprintf(stream, "  %.*s\n", (int)kept, text);
		text += length + (text[length] == '\n');
	}
}

static bool print_rows(const struct diff *diff, size_t top, FILE *stream)
{
	struct libscols_table *table = scols_new_table();
	char *text = NULL;
	bool done = table != NULL;
	for (int c = 0; done && c < N_COLUMNS; c++)
		done = scols_table_new_column(table, columns[c].title, 0, columns[c].flags) != NULL;
	done = done && add_lines(diff, top, table) && scols_table_set_column_separator(table, "  ") == 0 &&
	       scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER) == 0 &&
	       scols_print_table_to_string(table, &text) == 0 && text;
	if (done)
		print_trimmed(text, stream);
	free(text);
	scols_unref_table(table);
	return done;
}

static bool print_head(const struct diff *diff, const char *const names[2], FILE *stream)
{
	const struct diff_value wall = diff_value(diff, NULL, DIFF_WALL);
	char a[TEXT_NUMBER], b[TEXT_NUMBER], change[64];
	char *clean[2] = {text_clean(names[0]), text_clean(names[1])};
	put_change(change, &wall, false);
	if (clean[0] && clean[1])
		fprintf(stream, "rfprof diff: A %s · B %s · wall %s s → %s s (%s)\n", clean[0], clean[1],
			text_number(a, wall.a), text_number(b, wall.b), change);
	const bool done = clean[0] && clean[1];
	free(clean[0]);
	free(clean[1]);
	return done;
}

static bool print_all(const struct diff *diff, const char *const names[2], size_t top, FILE *stream)
{
	size_t n_notes = 0;
	char **notes = diff_notes(diff, &n_notes);
	bool done = notes && print_head(diff, names, stream) && print_rows(diff, top, stream);
	if (done && diff->n_functions > top)
		fprintf(stream, "  (%zu more functions)\n", diff->n_functions - top);
	for (size_t i = 0; i < n_notes; i++) {
		if (done)
			fprintf(stream, "  · %s\n", notes[i]);
		free(notes[i]);
	}
	free(notes);
	return done;
}

struct rf_error *diff_table(const struct diff *diff, const char *const names[2], size_t top, FILE *stream)
{
	/* Widths, and the points of numbers, are the same whatever the user's locale is. */
	locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	const bool done = print_all(diff, names, top ? top : DEFAULT_TOP, stream);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	return done ? NULL : report_no_memory();
}
