/* The one line of advice: what costs most of a run's wall time, and what one would try. */
#pragma once

#include "report/account/account.h"
#include "report/rows/view.h"

/* *text: to be freed; NULL where nothing stands out; not clean.  *row: the row of the table that it
 * is about, the first is 1, or 0; `row` may be NULL.  Fails only when memory is short. */
struct rf_error *report_advice(const struct report_view *view, char **text, size_t *row);

/* ---- for the files that find candidates ---- */

struct advice {
	const struct report_view *view;
	struct account account;
	double wall_per_ran; /* wall time in which threads ran, over what they ran */
	double best_s;       /* wall time of the candidate so far */
	char *text;          /* what is told of it, heap, or NULL */
	size_t row;          /* of the table, that it is about, from 1; 0: none */
	bool failed;         /* memory was short */
};

/* Takes the candidate where it costs more wall time than the one so far: `text` by printf format.
 */
void advice_offer(struct advice *advice, double cost_s, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "38 %", of the wall time, in memory that lasts as long as the block around it. */
#define ADVICE_SHARE(advice, s) advice_put_share((char[16]){0}, advice, s)
const char *advice_put_share(char *cell, const struct advice *advice, double s);
/* "73,000" */
#define ADVICE_COUNT(n) advice_put_count((char[32]){0}, n)
const char *advice_put_count(char *cell, double n);
