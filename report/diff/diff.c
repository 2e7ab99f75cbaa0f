/* Which function is which, and what has changed. */
#include "report/diff/diff.h"

#include "base/array.h"
#include "base/search.h"
#include "report/rows/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Upper end of the 95 % interval of a Poisson process of which no event was seen (Garwood 1936). */
#define NONE_SEEN 3.689

/* ---- pairs ---- */

/* A function of one side, with what it is paired by. */
struct entry {
	const struct model_function *f;
	const char *module; /* "" for the program itself */
	const char *file;
	uint64_t start;
	bool taken;
};

static const char *key_module(const struct profile *profile, const struct model_function *f)
{
	const char *program = profile_get_fact(profile, "program");
	return program && strcmp(f->module, program) == 0 ? "" : f->module;
}

static int compare_names(const struct entry *x, const struct entry *y)
{
	return strcmp(x->f->name, y->f->name) ?: strcmp(x->module, y->module);
}

static bool is_uncounted(const struct entry *entry)
{
	return entry->f->place.bound == BOUND_UNCOUNTED;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return compare_names(x, y) ?: is_uncounted(x) - is_uncounted(y)
		?: strcmp(x->file, y->file) ?: rf_compare(x->start, y->start);
}

static struct entry *list_side(const struct diff_side *side)
{
	const struct profile *profile = side->profile;
	struct entry *entries = calloc(side->model.n_functions + 1, sizeof(*entries));
	for (size_t i = 0; entries && i < side->model.n_functions; i++) {
		const struct model_function *f = &side->model.functions[i];
		const struct profile_function *source =
			f->function == PROFILE_NONE ? NULL : &profile->functions[f->function];
		entries[i] = (struct entry){f, key_module(profile, f),
					    source && source->file ? source->file : "",
					    source ? source->start : 0, false};
	}
	if (entries && side->model.n_functions)
		qsort(entries, side->model.n_functions, sizeof(*entries), compare_entries);
	return entries;
}

static bool likeness(const struct entry *x, const struct entry *y, int strictness)
{
	if (strictness > 0 && is_uncounted(x) != is_uncounted(y))
		return false;
	return strictness < 2 || strcmp(x->file, y->file) == 0;
}

static void take_pair(struct diff *diff, struct entry *a, struct entry *b)
{
	diff->functions[diff->n_functions++] =
		(struct diff_function){a ? a->f : NULL, b ? b->f : NULL};
	if (a)
		a->taken = true;
	if (b)
		b->taken = true;
}

/* Pairs functions of one name: the most alike first, and among those in their order. */
static void pair_equal_names(struct diff *diff, struct entry *a, size_t n_a, struct entry *b,
			     size_t n_b)
{
	for (int strictness = 2; strictness >= 0; strictness--)
		for (size_t i = 0; i < n_a; i++)
			for (size_t k = 0; k < n_b && !a[i].taken; k++)
				if (!b[k].taken && likeness(&a[i], &b[k], strictness))
					take_pair(diff, &a[i], &b[k]);
	for (size_t i = 0; i < n_a; i++)
		if (!a[i].taken)
			take_pair(diff, &a[i], NULL);
	for (size_t k = 0; k < n_b; k++)
		if (!b[k].taken)
			take_pair(diff, NULL, &b[k]);
}

static size_t equal_names(const struct entry *entries, size_t n)
{
	size_t equal = n > 0;
	while (equal < n && compare_names(&entries[0], &entries[equal]) == 0)
		equal++;
	return equal;
}

static struct rf_error *pair_functions(struct diff *diff)
{
	const size_t n_a = diff->a.model.n_functions, n_b = diff->b.model.n_functions;
	struct entry *a = list_side(&diff->a), *b = list_side(&diff->b);
	diff->functions = malloc((n_a + n_b + 1) * sizeof(*diff->functions));
	const bool done = a && b && diff->functions;
	for (size_t i = 0, k = 0; done && (i < n_a || k < n_b);) {
		size_t of_a = equal_names(a + i, n_a - i), of_b = equal_names(b + k, n_b - k);
		const int order = !of_a ? 1 : !of_b ? -1 : compare_names(&a[i], &b[k]);
		of_a = order <= 0 ? of_a : 0;
		of_b = order >= 0 ? of_b : 0;
		pair_equal_names(diff, a + i, of_a, b + k, of_b);
		i += of_a;
		k += of_b;
	}
	free(a);
	free(b);
	return done ? NULL : rf_error_no_memory();
}

/* ---- figures ---- */

/* A figure of one side with its 95 % half-width. */
struct figure {
	double value, halfwidth;
};

static const struct figure unknown = {NAN, 0};

/* 0 where it is not known. */
static struct figure estimate(const struct model_estimate *moved)
{
	return (struct figure){moved->bytes, isnan(moved->halfwidth) ? 0 : moved->halfwidth};
}

static double loaded_and_stored(const struct model_function *f)
{
	return (double)f->tally.load_bytes + (double)f->tally.store_bytes;
}

/* Of a function that is there. */
static struct figure figure_of(const struct diff *diff, const struct model_function *f,
			       enum diff_metric metric)
{
	const bool counted = f->tally.instructions > 0;
	const double seconds = (double)f->time_ns * 1e-9;
	switch (metric) {
	case DIFF_TIME:
		return (struct figure){seconds, f->halfwidth_s};
	case DIFF_HEADROOM:
		return (struct figure){f->place.headroom_s, f->halfwidth_s / f->concurrency};
	case DIFF_DISTANCE:
		if (!f->time_ns)
			return unknown;
		return (struct figure){f->place.distance,
				       f->place.distance * f->halfwidth_s / seconds};
	case DIFF_FLOP:
		return (struct figure){counted ? (double)f->tally.flop : NAN, 0};
	case DIFF_BYTES:
		if (!counted || (diff->memory && !f->traffic))
			return unknown;
		return diff->memory ? estimate(&f->traffic->bytes.mem[DIRECTION_BOTH])
				    : (struct figure){loaded_and_stored(f), 0};
	default: /* a function has no wall time */
		return unknown;
	}
}

/* The same where it may have no samples, or not be there at all. */
static struct figure figure_on(const struct diff *diff, const struct diff_side *side,
			       const struct model_function *f, enum diff_metric metric)
{
	if (metric == DIFF_TIME && (!f || !f->n_samples))
		return (struct figure){0, NONE_SEEN * 1e-9 *
						  profile_number_fact(side->profile,
								      "sample_period_ns", 0)};
	if (!f)
		return metric == DIFF_DISTANCE || metric == DIFF_WALL ? unknown
								      : (struct figure){0, 0};
	return figure_of(diff, f, metric);
}

/* Sums over functions that have a roof: their time, and what reaching the roof would save of it. */
static void sum_placed(const struct diff_side *side, double *elapsed, double *headroom,
		       double *variance)
{
	*elapsed = *headroom = *variance = 0;
	for (size_t i = 0; i < side->model.n_functions; i++) {
		const struct model_function *f = &side->model.functions[i];
		if (isnan(f->place.headroom_s))
			continue;
		*elapsed += f->elapsed_s;
		*headroom += f->place.headroom_s;
		*variance += pow(f->halfwidth_s / f->concurrency, 2);
	}
	/* all functions of a run may be slower than those of another */
	if (side->model.runs.n && side->model.time_ns)
		*variance = fmax(*variance, pow(*elapsed * side->model.halfwidth_s * 1e9 /
							(double)side->model.time_ns,
						2));
}

static struct figure total_bytes(const struct diff *diff, const struct diff_side *side)
{
	double sum = 0;
	if (diff->memory)
		return estimate(&side->model.bytes.mem[DIRECTION_BOTH]);
	for (size_t i = 0; i < side->model.n_functions; i++)
		sum += loaded_and_stored(&side->model.functions[i]);
	return (struct figure){side->model.counted ? sum : NAN, 0};
}

/* From one run it is not known how far another is from it. */
static struct figure wall_of(const struct diff_side *side)
{
	const struct model_runs *wall = &side->model.wall;
	return wall->n ? (struct figure){wall->s.median, side->model.wall_halfwidth_s}
		       : (struct figure){profile_number_fact(side->profile, "wall_s", NAN), 0};
}

static struct figure total_of(const struct diff *diff, const struct diff_side *side,
			      enum diff_metric metric)
{
	const struct model *model = &side->model;
	double elapsed, headroom, variance, flop = 0;
	sum_placed(side, &elapsed, &headroom, &variance);
	switch (metric) {
	case DIFF_TIME:
		return (struct figure){(double)model->time_ns * 1e-9, model->halfwidth_s};
	case DIFF_HEADROOM:
		return (struct figure){elapsed > 0 ? headroom : NAN, sqrt(variance)};
	case DIFF_DISTANCE:
		if (!(elapsed > headroom))
			return unknown;
		return (struct figure){elapsed / (elapsed - headroom),
				       sqrt(variance) / (elapsed - headroom)};
	case DIFF_FLOP:
		for (size_t i = 0; i < model->n_functions; i++)
			flop += (double)model->functions[i].tally.flop;
		return (struct figure){model->counted ? flop : NAN, 0};
	case DIFF_BYTES:
		return total_bytes(diff, side);
	default:
		return wall_of(side);
	}
}

struct diff_value diff_value(const struct diff *diff, const struct diff_function *function,
			     enum diff_metric metric)
{
	const struct figure a = function ? figure_on(diff, &diff->a, function->a, metric)
					 : total_of(diff, &diff->a, metric);
	const struct figure b = function ? figure_on(diff, &diff->b, function->b, metric)
					 : total_of(diff, &diff->b, metric);
	const double halfwidth = hypot(a.halfwidth, b.halfwidth);
	return (struct diff_value){a.value, b.value, halfwidth,
				   fabs(b.value - a.value) <= halfwidth};
}

const char *diff_verdict(const struct diff *diff, const struct diff_function *function)
{
	const struct diff_value time = diff_value(diff, function, DIFF_TIME);
	if (function && !function->a)
		return "added";
	if (function && !function->b)
		return "gone";
	return time.same ? "same within noise" : time.b < time.a ? "faster" : "slower";
}

const char *diff_name(const struct diff_function *function)
{
	return function->b ? function->b->name : function->a->name;
}

const char *diff_module(const struct diff_function *function)
{
	return function->b ? function->b->module : function->a->module;
}

/* ---- order ---- */

/* Changes beyond the noise, by their size; then the rest, by its time. */
static int compare_changes(const void *a, const void *b, void *context)
{
	const struct diff_value x = diff_value(context, a, DIFF_TIME),
				y = diff_value(context, b, DIFF_TIME);
	const double change_x = x.same ? 0 : fabs(x.b - x.a),
		     change_y = y.same ? 0 : fabs(y.b - y.a);
	const double most_x = fmax(x.a, x.b), most_y = fmax(y.a, y.b);
	if (change_x != change_y)
		return change_x > change_y ? -1 : 1;
	if (most_x != most_y)
		return most_x > most_y ? -1 : 1;
	return strcmp(diff_name(a), diff_name(b)) ?: strcmp(diff_module(a), diff_module(b));
}

struct rf_error *diff_init(struct diff *diff, const struct profile *a, const struct profile *b)
{
	*diff = (struct diff){.a = {.profile = a}, .b = {.profile = b}};
	struct rf_error *error = model_build(a, &diff->a.model);
	if (!error)
		error = model_build(b, &diff->b.model);
	diff->memory = diff->a.model.traced && diff->b.model.traced;
	if (!error)
		error = pair_functions(diff);
	if (!error && diff->n_functions)
		qsort_r(diff->functions, diff->n_functions, sizeof(*diff->functions),
			compare_changes, diff);
	return error;
}

void diff_deinit(struct diff *diff)
{
	model_deinit(&diff->a.model);
	model_deinit(&diff->b.model);
	free(diff->functions);
}
