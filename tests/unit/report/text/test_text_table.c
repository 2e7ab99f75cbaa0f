/* Tables that a terminal is too narrow for. */
#include "report/text/text_table.h"
#include "tests/unit/report/report_checks.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIME, NAME, SPEED, N };
static const struct text_column columns[N] = {
	[TIME] = {"time", true}, [NAME] = {"function", false}, [SPEED] = {"speed", true}};

/* A row of a function, and one that sums up, in so many columns. */
static char *table_of(size_t width, const char *last_name, const char *last_speed)
{
	const struct terminal terminal = {.columns = width};
	struct text_table table = TEXT_TABLE(&terminal, columns, NAME, 8);
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	text_table_row(&table);
	text_table_text(&table, TIME, "1 s");
	text_table_text(&table, NAME, "sort_all_of_it");
	text_table_text(&table, SPEED, "11.2 GFLOP/s");
	text_table_row(&table);
	text_table_text(&table, TIME, "2 s");
	text_table_text(&table, NAME, last_name);
	text_table_text(&table, SPEED, last_speed);
	assert_ok(text_table_end(&table, stream));
	fclose(stream);
	return text;
}

static void is(char *text, const char *expected)
{
	cr_expect_str_eq(text, expected, "%s\nnot\n%s", text, expected);
	free(text);
}

/* The name of a row that sums up has the rest of its line, and does not make its column wider. */
Test(text_table, a_cell_with_nothing_behind_it_runs_on)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	is(table_of(32, "9 more, start-up", ""), "  time  function           speed\n"
						 "   1 s  sort…of_it  11.2 GFLOP/s\n"
						 "   2 s  9 more, start-up\n");
	is(table_of(32, "9 more, start-up, and others besides", ""),
	   "  time  function           speed\n"
	   "   1 s  sort…of_it  11.2 GFLOP/s\n"
	   "   2 s  9 more, sta…hers besides\n");
	is(table_of(60, "9 more, start-up", ""), "  time  function                 speed\n"
						 "   1 s  sort_all_of_it    11.2 GFLOP/s\n"
						 "   2 s  9 more, start-up\n");
}

/* With something behind it it is cut as the others are. */
Test(text_table, a_cell_with_something_behind_it_is_cut)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	is(table_of(32, "9 more, start-up", "1"), "  time  function           speed\n"
						  "   1 s  sort…of_it  11.2 GFLOP/s\n"
						  "   2 s  9 mo…rt-up             1\n");
}
