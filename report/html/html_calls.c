/* The call paths of a page: the tree of functions that samples were taken in. */
#include "report/html/html_calls.h"

#include "base/search.h"
#include "profile/function_index.h"
#include "report/json/json_writer.h"
#include "report/rows/call_tree.h"
#include "report/rows/code_names.h"

#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 10000 /* in a page: those with most time */
#define NO_NUMBER UINT32_MAX

struct calls {
	const struct report_view *view;
	struct call_tree tree;
	uint64_t *all_ns;   /* per step: with all that it calls */
	uint32_t *number;   /* per step: its place in the page, or NO_NUMBER */
	uint32_t *function; /* per row of the plain model: its place in the page's list, or
			       NO_NUMBER */
	uint64_t least_ns;  /* steps with less are left out */
};

static uint64_t own_ns(const struct call_step *step)
{
	return step->time_ns[0] + step->time_ns[1];
}

static int most_first(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return rf_compare(*y, *x);
}

/* Steps stand behind their parents; where there are too many those with least time go, and never
 * one whose callee stays. */
static struct rf_error *sum_up(struct calls *calls)
{
	const size_t n = calls->tree.n_steps;
	for (size_t i = n; i-- > 0;) {
		const struct call_step *step = &calls->tree.steps[i];
		calls->all_ns[i] += own_ns(step);
		if (step->parent != PROFILE_NONE)
			calls->all_ns[step->parent] += calls->all_ns[i];
	}
	calls->least_ns = 1;
	if (n <= MOST_STEPS)
		return NULL;
	uint64_t *ranked = malloc(n * sizeof(*ranked));
	if (!ranked)
		return rf_error_no_memory();
	memcpy(ranked, calls->all_ns, n * sizeof(*ranked));
	qsort(ranked, n, sizeof(*ranked), most_first);
	calls->least_ns = ranked[MOST_STEPS] + 1;
	free(ranked);
	return NULL;
}

/* The first function of a row in the list is the counted one, where there are two. */
static void number_functions(struct calls *calls)
{
	const struct report_view *view = calls->view;
	for (size_t i = 0; i < profile_n_places(view->profile); i++)
		calls->function[i] = NO_NUMBER;
	for (size_t i = view->n_rank; i-- > 0;) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (calls->function[f->row] == NO_NUMBER || !f->uncounted_part)
			calls->function[f->row] = (uint32_t)i;
	}
}

/* Caller or null, function in the list or its name, ns with all that it calls, ns of its own.  The
 * page's scripts know the order. */
static void put_step(struct json_writer *out, const struct calls *calls, uint32_t i)
{
	const struct call_step *step = &calls->tree.steps[i];
	const uint32_t caller = call_tree_caller(&calls->tree, i);
	const uint32_t function = calls->function[step->row];
	put_array(out, NULL);
	put_known(out, NULL, caller != PROFILE_NONE,
		  caller == PROFILE_NONE ? 0 : calls->number[caller]);
	if (function == NO_NUMBER)
		put_text(out, NULL, report_row_name(calls->view->profile, step->row));
	else
		put_count(out, NULL, function);
	put_count(out, NULL, step->dull ? own_ns(step) : calls->all_ns[i]);
	put_count(out, NULL, own_ns(step));
	put_end(out);
}

/* Start-up code has a step only for time of its own. */
static void put_steps(struct json_writer *out, struct calls *calls)
{
	uint32_t n = 0;
	put_object(out, NULL);
	put_array(out, "steps");
	for (uint32_t i = 0; i < calls->tree.n_steps; i++) {
		const struct call_step *step = &calls->tree.steps[i];
		calls->number[i] = NO_NUMBER;
		if (calls->all_ns[i] < calls->least_ns || (step->dull && !own_ns(step)))
			continue;
		calls->number[i] = n++;
		put_step(out, calls, i);
	}
	put_end(out);
	put_count(out, "least_ns", calls->least_ns);
	put_end(out);
}

static struct rf_error *calls_init(struct calls *calls)
{
	struct rf_error *error = call_tree_init(&calls->tree, calls->view);
	const size_t n = calls->tree.n_steps + 1;
	calls->all_ns = calloc(n, sizeof(*calls->all_ns));
	calls->number = calloc(n, sizeof(*calls->number));
	calls->function = calloc(profile_n_places(calls->view->profile), sizeof(*calls->function));
	if (!error && (!calls->all_ns || !calls->number || !calls->function))
		error = rf_error_no_memory();
	if (error)
		return error;
	number_functions(calls);
	return sum_up(calls);
}

struct rf_error *html_write_calls(const struct report_view *view, FILE *stream)
{
	struct calls calls = {.view = view};
	if (!view->profile->n_samples)
		return NULL;
	struct rf_error *error = calls_init(&calls);
	struct json_writer *out = error ? NULL : json_writer_create(stream, JSON_PAGE);
	if (!error && !out)
		error = rf_error_no_memory();
	if (!error) {
		fputs("<script type=\"application/json\" id=\"calls\">", stream);
		put_steps(out, &calls);
	}
	const bool done = json_writer_destroy(out);
	if (!error)
		fputs("</script>\n", stream);
	call_tree_deinit(&calls.tree);
	free(calls.all_ns);
	free(calls.number);
	free(calls.function);
	return done || error ? error : rf_error_no_memory();
}
