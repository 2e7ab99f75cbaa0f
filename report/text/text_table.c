/* Columns of text that fit the width of a terminal. */
#include "report/text/text_table.h"

#include "base/array.h"
#include "base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#define LEAST 8 /* columns of the flexible column, whatever the width is */

static struct text_cell *cell_at(const struct text_table *table, size_t row, size_t column)
{
	return &table->cells[row * table->n_columns + column];
}

static void add_row(struct text_table *table)
{
	const size_t size = table->n_columns * sizeof(*table->cells);
	if (rf_array_reserve((void **)&table->cells, table->n_rows, &table->cap_rows, size))
		memset(cell_at(table, table->n_rows++, 0), 0, size);
	else
		table->failed = true;
}

/* The first row. */
static void add_titles(struct text_table *table)
{
	assert(table->n_columns <= TEXT_COLUMNS && table->flexible < table->n_columns);
	if (table->n_rows)
		return;
	add_row(table);
	for (size_t c = 0; c < table->n_columns; c++)
		text_table_put(table, c, STYLE_HEAD, "%s", table->columns[c].title);
}

void text_table_row(struct text_table *table)
{
	add_titles(table);
	add_row(table);
}

void text_table_put(struct text_table *table, size_t column, enum style style, const char *format,
		    ...)
{
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	char *clean = text ? text_clean(text) : NULL;
	char *shown = clean ? terminal_text(table->terminal, clean) : NULL;
	free(text);
	free(clean);
	table->failed |= !shown;
	if (table->failed) {
		free(shown);
		return;
	}
	struct text_cell *cell = cell_at(table, table->n_rows - 1, column);
	free(cell->text);
	*cell = (struct text_cell){shown, style};
}

void text_table_text(struct text_table *table, size_t column, const char *text)
{
	text_table_put(table, column, STYLE_PLAIN, "%s", text);
}

static const char *text_at(const struct text_table *table, size_t row, size_t column)
{
	const char *text = cell_at(table, row, column)->text;
	return text ? text : "";
}

/* Where the second line of a title begins, if titles are broken; NULL: it has none. */
static const char *second_line(const struct text_table *table, size_t column)
{
	const char *blank = table->broken ? strchr(text_at(table, 0, column), ' ') : NULL;
	return blank ? blank + 1 : NULL;
}

static size_t title_width(const struct text_table *table, size_t column)
{
	const char *title = text_at(table, 0, column), *second = second_line(table, column);
	const size_t all = text_columns(title), below = second ? text_columns(second) : all,
		     above = all - below - 1;
	return !second || below > above ? below : above;
}

static size_t width_of(const struct text_table *table, size_t column)
{
	size_t widest = title_width(table, column);
	for (size_t row = 1; row < table->n_rows; row++) {
		const size_t own = text_columns(text_at(table, row, column));
		widest = own > widest ? own : widest;
	}
	return widest;
}

/* Columns of the terminal that all but the flexible column take. */
static size_t used_by_others(const struct text_table *table)
{
	size_t used = 0;
	for (size_t c = 0; c < table->n_columns; c++)
		if (!table->hidden[c])
			used += TEXT_INDENT + (c == table->flexible ? 0 : width_of(table, c));
	return used - (table->flush ? TEXT_INDENT : 0);
}

/* Whether nothing stands behind the flexible column: its cell may reach as far as the line does. */
static bool runs_on(const struct text_table *table, size_t row)
{
	for (size_t c = table->flexible + 1; c < table->n_columns; c++)
		if (!table->hidden[c] && *text_at(table, row, c))
			return false;
	return !table->columns[table->flexible].right;
}

/* Columns of the terminal behind the flexible one. */
static size_t behind_it(const struct text_table *table)
{
	size_t width = 0;
	for (size_t c = table->flexible + 1; c < table->n_columns; c++)
		width += table->hidden[c] ? 0 : TEXT_INDENT + width_of(table, c);
	return width;
}

/* To `room`; cells with nothing behind them to so many columns more. */
static void shorten_cells(struct text_table *table, size_t room, size_t behind)
{
	for (size_t row = 1; row < table->n_rows; row++) {
		struct text_cell *cell = cell_at(table, row, table->flexible);
		const size_t own = room + (runs_on(table, row) ? behind : 0);
		char *cut = cell->text ? text_shorten(cell->text, own) : NULL;
		char *shown =
			cut ? terminal_text(table->terminal, cut) : NULL; /* the ellipsis, too */
		free(cut);
		table->failed |= cell->text && !shown;
		if (!shown)
			continue;
		free(cell->text);
		cell->text = shown;
	}
}

static void leave_out(struct text_table *table, unsigned turn)
{
	char *words = table->left_out;
	for (size_t c = 0; c < table->n_columns; c++) {
		if (table->columns[c].spared != turn || table->hidden[c])
			continue;
		table->hidden[c] = true;
		if (!*table->columns[c].title)
			continue;
		snprintf(words + strlen(words), sizeof(table->left_out) - strlen(words), "%s%s",
			 *words ? ", " : "", table->columns[c].title);
	}
}

/* Returns what the flexible column may have. */
static size_t fit(struct text_table *table)
{
	const size_t room = table->terminal->columns;
	if (table->most)
		shorten_cells(table, table->most, 0);
	const size_t widest = width_of(table, table->flexible),
		     wanted = widest < table->least ? widest : table->least;
	table->broken = used_by_others(table) + wanted > room;
	for (unsigned turn = 1; turn <= TEXT_COLUMNS && used_by_others(table) + wanted > room;
	     turn++)
		leave_out(table, turn);
	const size_t used = used_by_others(table), own = room > used + LEAST ? room - used : LEAST;
	shorten_cells(table, own, behind_it(table));
	return own;
}

/* Nothing is written behind the last column that has text in this line. */
static void print_line(const struct text_table *table, const char *const *texts, size_t row,
		       const size_t *width, FILE *stream)
{
	size_t last = 0;
	int indent = table->flush ? 0 : TEXT_INDENT;
	for (size_t c = 0; c < table->n_columns; c++)
		if (!table->hidden[c] && *texts[c])
			last = c;
	for (size_t c = 0; c <= last; c++) {
		const enum style style = cell_at(table, row, c)->style;
		const char *text = texts[c];
		const int gap = (int)(width[c] - text_columns(text));
		const bool right = table->columns[c].right;
		if (table->hidden[c])
			continue;
		fprintf(stream, "%*s%s%s%s%*s", indent + (right ? gap : 0), "",
			terminal_begin(table->terminal, style), text,
			terminal_end(table->terminal, style), right || c == last ? 0 : gap, "");
		indent = TEXT_INDENT;
	}
	putc('\n', stream);
}

static void print_row(const struct text_table *table, size_t row, const size_t *width, FILE *stream)
{
	const char *texts[TEXT_COLUMNS];
	for (size_t c = 0; c < table->n_columns; c++)
		texts[c] = text_at(table, row, c);
	print_line(table, texts, row, width, stream);
}

/* In two lines where they are broken: the first has what stands before the blank. */
static void print_titles(const struct text_table *table, const size_t *width, FILE *stream)
{
	char above[TEXT_COLUMNS][32];
	const char *first[TEXT_COLUMNS], *second[TEXT_COLUMNS];
	bool any = false;
	for (size_t c = 0; c < table->n_columns; c++) {
		const char *title = text_at(table, 0, c), *rest = second_line(table, c);
		any |= rest && !table->hidden[c];
		second[c] = rest ? rest : title;
		first[c] = above[c];
		snprintf(above[c], sizeof(above[c]), "%.*s", rest ? (int)(rest - 1 - title) : 0,
			 title);
	}
	if (any)
		print_line(table, first, 0, width, stream);
	print_line(table, second, 0, width, stream);
}

void text_table_deinit(struct text_table *table)
{
	for (size_t i = 0; i < table->n_rows * table->n_columns; i++)
		free(table->cells[i].text);
	free(table->cells);
	table->cells = NULL;
	table->n_rows = 0;
}

struct rf_error *text_table_end(struct text_table *table, FILE *stream)
{
	size_t width[TEXT_COLUMNS] = {0};
	add_titles(table);
	const size_t own = fit(table);
	for (size_t c = 0; c < table->n_columns; c++)
		width[c] = width_of(table, c);
	if (width[table->flexible] > own)
		width[table->flexible] = own;
	if (!table->failed)
		print_titles(table, width, stream);
	for (size_t row = 1; row < table->n_rows && !table->failed; row++)
		print_row(table, row, width, stream);
	text_table_deinit(table);
	return table->failed ? rf_error_no_memory() : NULL;
}
