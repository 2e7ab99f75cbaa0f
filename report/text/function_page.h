/* The page about one function while it is written: shared by function_page.c and function_people.c.
 */
#pragma once

#include "report/model/model_evidence.h"
#include "report/rows/ranking.h"
#include "report/rows/view.h"
#include "report/text/text_table.h"

struct page {
	const struct report_view *view;
	const struct model_function *f;
	struct model_evidence evidence;
	FILE *stream;
	bool failed; /* memory was short */
};

static inline double page_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* A sentence behind `lead`; the text need not be clean. */
void page_line(struct page *page, enum style style, const char *lead, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void page_title(struct page *page, const char *text);
/* Fits, prints and frees a table. */
void page_table(struct page *page, struct text_table *table, const size_t *order, size_t n);

/* function_inlined.c: what was inlined in it. */
void page_inlined(struct page *page);
/* function_people.c */
void page_objects(struct page *page);
void page_people(struct page *page);

/* function_page.c: everything about one function (--function). */
struct rf_error *report_function_page(const struct report_view *plain, FILE *stream);
