/* Chooses among what costs wall time. */
#include "report/reasons/advice.h"

#include "base/text.h"
#include "report/reasons/advise_groups.h"
#include "report/reasons/advise_kernel.h"
#include "report/reasons/advise_threads.h"
#include "report/reasons/reasons.h"
#include "report/rows/short_names.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What takes less of the wall time is not worth a line. */
#define LEAST_SHARE 0.05

/* A function often costs as much as what is the matter with it, such as a lock that it holds or a
 * wait for another thread beside it: then that is told. */
#define FUNCTION_FACTOR 0.7

void advice_offer(struct advice *advice, double cost_s, const char *format, ...)
{
	va_list arguments;
	char *text;
	if (!(cost_s > advice->best_s))
		return;
	va_start(arguments, format);
	const bool made = vasprintf(&text, format, arguments) >= 0;
	va_end(arguments);
	advice->failed |= !made;
	if (!made)
		return;
	free(advice->text);
	advice->text = text;
	advice->best_s = cost_s;
	advice->row = 0;
}

const char *advice_put_share(char *cell, const struct advice *advice, double s)
{
	snprintf(cell, 16, "%.0f %%", fmin(100, 100 * s / advice->account.wall_s));
	return cell;
}

const char *advice_put_count(char *cell, double n)
{
	char digits[32];
	size_t used = 0;
	const int length = snprintf(digits, sizeof(digits), "%.0f", n);
	for (int i = 0; i < length && used < 28; i++) {
		if (i && (length - i) % 3 == 0)
			cell[used++] = ',';
		cell[used++] = digits[i];
	}
	cell[used] = '\0';
	return cell;
}

static void offer_function(struct advice *advice, const struct model_function *f, size_t row,
			   const struct reasons *reasons, const char *name)
{
	const double best = advice->best_s;
	const bool known = reasons->n_holding > 0;
	/* of a short run, too, whose wall time is all start-up */
	advice_offer(advice, fmax(FUNCTION_FACTOR * f->elapsed_s, 1e-9),
		     "%s could save most, %s of its %s s: %s. What to try: %s", name,
		     REPORT_NUMBER(f->place.headroom_s), REPORT_NUMBER(f->elapsed_s),
		     known ? reasons->items[0].name : report_no_reason(f),
		     known ? reasons->items[0].try : "look at its page");
	if (advice->best_s > best)
		advice->row = row + 1;
}

/* The first row, and its first reason. */
static struct rf_error *advise_function(struct advice *advice)
{
	const struct report_view *view = advice->view;
	const struct model_function *f = NULL;
	struct reasons reasons;
	size_t row = 0;
	for (; row < view->n_rank; row++) {
		f = &view->model->functions[view->rank[row]];
		if (f->place.bound != BOUND_KERNEL)
			break;
	}
	if (row == view->n_rank || !(f->place.headroom_s > 0) || view->sort != SORT_HEADROOM)
		return NULL;
	struct rf_error *error = report_reasons(view, f, &reasons);
	char *name = short_name(f->name, SHORT_ARGUMENTS),
	     *cut = name ? text_shorten(name, 60) : NULL;
	if (!error && !cut)
		error = rf_error_no_memory();
	if (!error)
		offer_function(advice, f, row, &reasons, cut);
	reasons_deinit(&reasons);
	free(cut);
	free(name);
	return error;
}

struct rf_error *report_advice(const struct report_view *view, char **text, size_t *row)
{
	struct advice advice = {.view = view, .account = *view->account};
	const double ran_s = advice.account.user_s + advice.account.kernel_s;
	struct rf_error *error = advise_function(&advice);
	const double least = LEAST_SHARE * advice.account.wall_s;
	*text = NULL;
	if (!error && advice.account.known && ran_s > 0) {
		advice.wall_per_ran = advice.account.wall_running_s / ran_s;
		advice.best_s = fmax(advice.best_s, advice.text ? 0 : least);
		advise_kernel(&advice);
		advise_threads(&advice);
		advise_groups(&advice);
	}
	if (!error && advice.failed)
		error = rf_error_no_memory();
	if (error)
		free(advice.text);
	else
		*text = advice.text;
	if (row)
		*row = advice.row;
	return error;
}
