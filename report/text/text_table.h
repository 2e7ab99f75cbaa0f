/* Columns of text that fit the width of a terminal: one of them is shortened, others can be left
 * out.
 *
 * Beside libsmartcols, which prints the tables that have their own width (machine, doctor), it is
 * there for three things that libsmartcols does not do, and that the reports are known by: names
 * are cut in their middle, where those of loops and templates tell least; columns go in a given
 * order, and the caller learns which; what the terminal cannot show is replaced before widths are
 * taken.  What would be left to libsmartcols is the padding. */
#pragma once

#include "report/text/terminal.h"

#define TEXT_COLUMNS 16 /* at most, in one table */
#define TEXT_INDENT 2   /* before each line; as many between columns */

struct text_column {
	const char *title;
	bool right;
};

struct text_cell {
	char *text;
	enum style style;
};

struct text_table {
	const struct terminal *terminal;
	const struct text_column *columns;
	size_t n_columns;
	size_t flexible; /* the column that is shortened in the middle */
	bool hidden[TEXT_COLUMNS];
	char *titles[TEXT_COLUMNS]; /* as the terminal can show them */
	struct text_cell *cells;    /* rows × n_columns */
	size_t n_rows, cap_rows;
	bool failed; /* memory was short for a cell: text_table_print says so, once for all */
};

void text_table_init(struct text_table *table, const struct terminal *terminal,
		     const struct text_column *columns, size_t n_columns, size_t flexible);
void text_table_deinit(struct text_table *table);
/* Begins a row of empty cells. */
void text_table_row(struct text_table *table);
/* Fills a cell of the last row. */
void text_table_put(struct text_table *table, size_t column, enum style style, const char *format,
		    ...) __attribute__((format(printf, 4, 5)));
/* The same with a name that need not be clean. */
void text_table_put_name(struct text_table *table, size_t column, const char *name);
/* Shortens the cells of the flexible column to `most` columns, whatever the width is. */
void text_table_limit(struct text_table *table, size_t most);
/* To be called once, before text_table_print.  Leaves out the columns in `order`, the first first,
 * until the flexible one has `least` columns; then shortens that to what there is (at least 8).
 * Returns how many of `order` were left out. */
size_t text_table_fit(struct text_table *table, const size_t *order, size_t n_order, size_t least);
/* Fails, and prints nothing, when memory was short for any of the cells. */
struct rf_error *text_table_print(const struct text_table *table, FILE *stream);
