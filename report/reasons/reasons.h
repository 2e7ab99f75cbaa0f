/* Why a function is below its roof, in plain words with the figures that say so, and what one would
 * try.  All views take these words from here; reasons.def is the list of them. */
#pragma once

#include "report/rows/view.h"

/* Names come from the profile as they are: the words are to be cleaned before they are shown. */
struct reason {
	char *name; /* for a column of a table, such as "divisions, roots" */
	char *what, *try;
	double saved_s; /* elapsed time that it could save at most; 0: it is no cause */
};
struct reasons {
	struct reason *items;
	size_t n_items, cap_items;
	size_t n_holding; /* of them, the first, hold the function; those behind limit the answer */
};

/* What is known of it at all comes first, then its causes, those that could save most before the
 * others, then what limits the answer.  *reasons is to be freed by reasons_deinit, also after an
 * error; that is one only when memory is short. */
struct rf_error *report_reasons(const struct report_view *view, const struct model_function *f,
				struct reasons *reasons);
/* The name of the first reason that holds it; "at its roof", or NULL, where there is none.  It
 * lasts as long as the reasons. */
const char *report_held_by(const struct model_function *f, const struct reasons *reasons);
/* What is said where there is no reason. */
const char *report_no_reason(const struct model_function *f);
/* What holds it alone, "; " between the reasons; "" for a function without time.  *held_by: a copy
 * of report_held_by(), or NULL; `held_by` may be NULL.  Both are to be freed; an error only when
 * memory is short. */
struct rf_error *report_reasons_text(const struct report_view *view, const struct model_function *f,
				     char **text, char **held_by);
void reasons_deinit(struct reasons *reasons);
