/* Columns of text that fit the width of a terminal. */
#include "report/text/text_table.h"

#include "base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 8 /* columns of the flexible column, whatever the width is */

void text_table_init(struct text_table *table, const struct terminal *terminal,
		     const struct text_column *columns, size_t n_columns, size_t flexible)
{
	assert(n_columns <= TEXT_COLUMNS && flexible < n_columns);
	*table = (struct text_table){.terminal = terminal,
				     .columns = columns,
				     .n_columns = n_columns,
				     .flexible = flexible};
}

void text_table_deinit(struct text_table *table)
{
	for (size_t i = 0; i < table->n_rows * table->n_columns; i++)
		free(table->cells[i].text);
	for (size_t c = 0; c < table->n_columns; c++)
		free(table->titles[c]);
	free(table->cells);
	*table = (struct text_table){0};
}

void text_table_row(struct text_table *table)
{
	if (table->n_rows == table->cap_rows) {
		const size_t cap = table->cap_rows ? 2 * table->cap_rows : 16;
		struct text_cell *cells =
			reallocarray(table->cells, cap * table->n_columns, sizeof(*cells));
		table->failed |= !cells;
		if (!cells)
			return;
		table->cells = cells;
		table->cap_rows = cap;
	}
	memset(table->cells + table->n_rows++ * table->n_columns, 0,
	       table->n_columns * sizeof(*table->cells));
}

void text_table_put(struct text_table *table, size_t column, enum style style, const char *format,
		    ...)
{
	char *text = NULL;
	va_list arguments;
	assert(column < table->n_columns);
	va_start(arguments, format);
	const bool made = vasprintf(&text, format, arguments) >= 0;
	va_end(arguments);
	char *shown = made ? terminal_text(table->terminal, text) : NULL;
	if (made)
		free(text);
	table->failed |= !shown;
	if (!shown || table->failed || !table->n_rows) {
		free(shown);
		return;
	}
	struct text_cell *cell = &table->cells[(table->n_rows - 1) * table->n_columns + column];
	free(cell->text);
	*cell = (struct text_cell){shown, style};
}

void text_table_put_name(struct text_table *table, size_t column, const char *name)
{
	char *clean = text_clean(name);
	table->failed |= !clean;
	text_table_put(table, column, STYLE_PLAIN, "%s", clean ? clean : "");
	free(clean);
}

static const char *title_of(const struct text_table *table, size_t column)
{
	return table->titles[column] ? table->titles[column] : "";
}

static void make_titles(struct text_table *table)
{
	for (size_t c = 0; c < table->n_columns; c++) {
		free(table->titles[c]);
		table->titles[c] = terminal_text(table->terminal, table->columns[c].title);
		table->failed |= !table->titles[c];
	}
}

static const char *text_at(const struct text_table *table, size_t row, size_t column)
{
	const char *text = table->cells[row * table->n_columns + column].text;
	return text ? text : "";
}

static size_t width_of(const struct text_table *table, size_t column)
{
	size_t widest = text_columns(title_of(table, column));
	for (size_t row = 0; row < table->n_rows; row++) {
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
	return used;
}

static void shorten_cells(struct text_table *table, size_t room)
{
	for (size_t row = 0; row < table->n_rows; row++) {
		struct text_cell *cell = &table->cells[row * table->n_columns + table->flexible];
		char *cut = cell->text ? text_shorten(cell->text, room) : NULL;
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

void text_table_limit(struct text_table *table, size_t most)
{
	shorten_cells(table, most);
}

size_t text_table_fit(struct text_table *table, const size_t *order, size_t n_order, size_t least)
{
	make_titles(table);
	const size_t widest = width_of(table, table->flexible),
		     wanted = widest < least ? widest : least;
	size_t dropped = 0;
	while (dropped < n_order && used_by_others(table) + wanted > table->terminal->columns)
		table->hidden[order[dropped++]] = true;
	const size_t used = used_by_others(table);
	shorten_cells(table, table->terminal->columns > used + LEAST
				     ? table->terminal->columns - used
				     : LEAST);
	return dropped;
}

static void print_cell(const struct text_table *table, size_t column, size_t width,
		       const char *text, enum style style, bool last, FILE *stream)
{
	const size_t own = text_columns(text);
	const int gap = width > own ? (int)(width - own) : 0;
	const bool right = table->columns[column].right;
	fprintf(stream, "%*s%s%s%s%*s", TEXT_INDENT + (right ? gap : 0), "",
		terminal_begin(table->terminal, style), text, terminal_end(table->terminal, style),
		right || last ? 0 : gap, "");
}

/* The last column that has text in this row: nothing is written behind it. */
static size_t last_of(const struct text_table *table, size_t row)
{
	size_t last = 0;
	for (size_t c = 0; c < table->n_columns; c++)
		if (!table->hidden[c] && *text_at(table, row, c))
			last = c;
	return last;
}

struct rf_error *text_table_print(const struct text_table *table, FILE *stream)
{
	size_t width[TEXT_COLUMNS] = {0}, end = 0;
	if (table->failed)
		return rf_error_no_memory();
	for (size_t c = 0; c < table->n_columns; c++) {
		width[c] = width_of(table, c);
		end = table->hidden[c] ? end : c;
	}
	for (size_t c = 0; c <= end; c++)
		if (!table->hidden[c])
			print_cell(table, c, width[c], title_of(table, c), STYLE_HEAD, c == end,
				   stream);
	putc('\n', stream);
	for (size_t row = 0; row < table->n_rows; row++) {
		const size_t last = last_of(table, row);
		for (size_t c = 0; c <= last; c++)
			if (!table->hidden[c])
				print_cell(table, c, width[c], text_at(table, row, c),
					   table->cells[row * table->n_columns + c].style,
					   c == last, stream);
		putc('\n', stream);
	}
	return NULL;
}
