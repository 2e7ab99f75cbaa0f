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
	unsigned spared; /* what a narrow terminal does without, 1 first; 0: it stays */
};

struct text_cell {
	char *text;
	enum style style;
};

struct text_table {
	const struct terminal *terminal;
	const struct text_column *columns;
	size_t n_columns;
	size_t flexible;           /* the column that is shortened in the middle */
	size_t least;              /* others are left out before it has fewer columns */
	size_t most;               /* that it has, whatever the width is; 0: no limit */
	bool flush;                /* lines begin without the indent */
	bool hidden[TEXT_COLUMNS]; /* by text_table_end, too */
	char left_out[160];        /* by text_table_end: "roof, %" */
	bool broken;               /* by text_table_end: titles are two lines */
	/* memory */
	struct text_cell *cells; /* rows × n_columns; the titles are the first row */
	size_t n_rows, cap_rows;
	bool failed; /* memory was short for a cell: text_table_end says so, once for all */
};

/* An empty table for a terminal, to be ended by text_table_end: an array of columns, the one that
 * is shortened, and how far. */
#define TEXT_TABLE(on, titles, name, least_name, ...)                         \
	((struct text_table){.terminal = (on),                                \
			     .columns = (titles),                             \
			     .n_columns = sizeof(titles) / sizeof(*(titles)), \
			     .flexible = (name),                              \
			     .least = (least_name),                           \
			     __VA_ARGS__})

/* Begins a row of empty cells. */
void text_table_row(struct text_table *table);
/* Fills a cell of the last row; the text need not be clean. */
void text_table_put(struct text_table *table, size_t column, enum style style, const char *format,
		    ...) __attribute__((format(printf, 4, 5)));
void text_table_text(struct text_table *table, size_t column, const char *text);
/* What a table that is not ended has. */
void text_table_deinit(struct text_table *table);
/* Breaks titles at their blanks, and then leaves out columns, until the flexible one has `least`,
 * shortens that to what there is (at least 8; a cell with nothing behind it may have the rest of
 * the line), prints the table and frees it.  Fails, and prints
 * nothing, when memory was short for any of the cells. */
struct rf_error *text_table_end(struct text_table *table, FILE *stream);
