/* By number, by name, by part of a name, by what was inlined. */
#include "report/text/find_function.h"

#include "base/text.h"
#include "profile/function_index.h"
#include "report/rows/code_names.h"
#include "report/rows/short_names.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CANDIDATES 20

/* How a name fits a function, the best last. */
enum fit { FIT_NOT, FIT_INLINED, FIT_PART, FIT_SHORT, FIT_WHOLE };

/* The row of the table with that number, or NULL. */
static const struct model_function *row_of_number(const struct report_view *view, const char *word)
{
	char *end;
	const unsigned long row = strtoul(word, &end, 10);
	return word[0] >= '1' && word[0] <= '9' && !*end && row <= view->n_rank
		       ? &view->model->functions[view->rank[row - 1]]
		       : NULL;
}

static enum fit fit_of(const char *whole, const char *name)
{
	if (strcmp(whole, name) == 0)
		return FIT_WHOLE;
	for (int form = SHORT_NOTHING; form < SHORT_FORMS; form++) {
		char *short_form = short_name(whole, (enum short_form)form);
		const bool same = short_form && strcmp(short_form, name) == 0;
		free(short_form);
		if (same)
			return FIT_SHORT;
	}
	return strstr(whole, name) ? FIT_PART : FIT_NOT;
}

/* Whether code of that call is of a function whose name has that part, inlined in the function that
 * ran or in another that was. */
static bool is_inlined(const struct profile *profile, uint32_t call, const char *name)
{
	for (; call != PROFILE_NONE; call = profile->inlined_calls[call].parent)
		if (strstr(report_inlined_name(profile, call), name))
			return true;
	return false;
}

/* Marks the functions into which one of such a name was inlined. */
static struct rf_error *mark_inlined(const struct profile *profile, const char *name, bool *marks)
{
	struct rf_error *error = profile_index_functions(profile);
	for (size_t i = 0; !error && i < profile->n_inlined_code; i++) {
		const struct profile_inlined_code *code = &profile->inlined_code[i];
		if (!is_inlined(profile, code->call, name))
			continue;
		const uint32_t function =
			profile_function_at(profile, code->module, code->start, NULL);
		if (function != PROFILE_NONE)
			marks[function] = true;
	}
	return error;
}

/* Fills fits[0 … n_rank); *best: the best of them. */
static struct rf_error *find_fits(const struct report_view *view, const char *name, enum fit *fits,
				  enum fit *best)
{
	*best = FIT_NOT;
	for (size_t i = 0; i < view->n_rank; i++) {
		fits[i] = fit_of(view->model->functions[view->rank[i]].name, name);
		*best = fits[i] > *best ? fits[i] : *best;
	}
	if (*best != FIT_NOT)
		return NULL;
	bool *marks = calloc(view->profile->n_functions + 1, sizeof(*marks));
	struct rf_error *error =
		marks ? mark_inlined(view->profile, name, marks) : rf_error_no_memory();
	for (size_t i = 0; !error && i < view->n_rank; i++) {
		const uint32_t function = view->model->functions[view->rank[i]].function;
		if (function == PROFILE_NONE || !marks[function])
			continue;
		fits[i] = *best = FIT_INLINED;
	}
	free(marks);
	return error;
}

/* The first of those that fit best, timed or all, unless there is another one with another name. */
static const struct model_function *only_one(const struct report_view *view, const enum fit *fits,
					     enum fit best, bool timed)
{
	const struct model_function *found = NULL;
	for (size_t i = 0; best != FIT_NOT && i < view->n_rank; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (fits[i] != best || (timed && !f->n_samples))
			continue;
		if (found && strcmp(found->name, f->name) != 0)
			return NULL;
		found = found ? found : f;
	}
	return found;
}

/* Those that fit best, or all that took time where none does; of many those that took time. */
static struct rf_error *refuse(const struct report_view *view, const char *name,
			       const enum fit *fits, enum fit best)
{
	char *list = NULL, *next = NULL;
	size_t size, n = 0;
	FILE *text = open_memstream(&list, &size);
	for (size_t i = 0; text && i < view->n_rank; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const bool first = best != FIT_NOT && n == 0;
		if (fits[i] != best || (f->time_ns == 0 && !first) || n++ >= MAX_CANDIDATES)
			continue;
		char *cut = text_shorten(f->name, 100);
		fprintf(text, "%s%s", n > 1 ? ", " : "", cut ? cut : "");
		free(cut);
	}
	if (text && n > MAX_CANDIDATES)
		fprintf(text, " and %zu more", n - MAX_CANDIDATES);
	if (!text || fclose(text) != 0 || !list)
		return rf_error_no_memory();
	char *clean = text_clean(name);
	if (asprintf(&next, "%s: %s", best == FIT_NOT ? "those with time are" : "name one of",
		     list) < 0)
		next = NULL;
	struct rf_error *error = rf_error_create(RF_EINPUT, next,
						 best == FIT_NOT ? "no function is called %s"
								 : "%s could be several functions",
						 clean ? clean : "?");
	free(clean);
	free(list);
	free(next);
	return error;
}

struct rf_error *find_function(const struct report_view *view, const char *name,
			       const struct model_function **found)
{
	enum fit best, *fits;
	*found = row_of_number(view, name);
	if (*found)
		return NULL;
	fits = calloc(view->n_rank + 1, sizeof(*fits));
	struct rf_error *error = fits ? find_fits(view, name, fits, &best) : rf_error_no_memory();
	if (!error) {
		*found = only_one(view, fits, best, false);
		*found = *found ? *found : only_one(view, fits, best, true);
		if (!*found)
			error = refuse(view, name, fits, best);
	}
	free(fits);
	return error;
}
