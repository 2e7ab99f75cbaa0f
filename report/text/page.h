/* The page about one function while it is written: its lines, titles and tables. */
#pragma once

#include "report/reasons/evidence.h"
#include "report/rows/view.h"
#include "report/text/text_table.h"

struct page {
	const struct report_view *view;
	const struct model_function *f;
	struct model_evidence evidence;
	FILE *stream;
	struct rf_error *error; /* the first one: nothing is written after it */
};

static inline double page_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* Takes an error, or NULL. */
void page_fail(struct page *page, struct rf_error *error);
/* A sentence behind `lead`; the text need not be clean. */
void page_line(struct page *page, enum style style, const char *lead, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void page_title(struct page *page, const char *text);
/* A table of the page; name: the column that is shortened. */
#define page_table(page, titles, name) TEXT_TABLE((page)->view->terminal, titles, name, 16)
/* Begins a row whose first two columns are its time, in a unit that fits the longest, and its share
 * of the function's. */
void page_row(const struct page *page, struct text_table *table, uint64_t time_ns,
	      uint64_t longest_ns);
