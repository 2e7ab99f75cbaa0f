/* The page about one function while it is written: its lines, titles and tables. */
#include "report/text/page.h"

#include "base/text.h"
#include "report/text/cells.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

void page_fail(struct page *page, struct rf_error *error)
{
	if (page->error)
		rf_error_destroy(error);
	else
		page->error = error;
}

void page_line(struct page *page, enum style style, const char *lead, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	assert(page->view->terminal);
	if (page->error)
		return;
	va_start(arguments, format);
	const bool made = vasprintf(&text, format, arguments) >= 0;
	va_end(arguments);
	char *clean = made ? text_clean(text) : NULL;
	page_fail(page,
		  clean ? terminal_sentence(page->view->terminal, page->stream, style, lead, clean)
			: rf_error_no_memory());
	free(clean);
	if (made)
		free(text);
}

void page_title(struct page *page, const char *text)
{
	putc('\n', page->stream);
	page_line(page, STYLE_HEAD, "", "%s", text);
}

void page_row(const struct page *page, struct text_table *table, uint64_t time_ns,
	      uint64_t longest_ns)
{
	char cell[64];
	text_table_row(table);
	text_table_text(table, 0,
			report_put_time(cell, (double)time_ns * 1e-9, (double)longest_ns * 1e-9));
	text_table_put(table, 1, STYLE_PLAIN, "%.0f %%",
		       page_percent((double)time_ns, (double)page->f->time_ns));
}
