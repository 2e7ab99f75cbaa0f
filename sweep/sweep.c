/* Chooses what is measured next, and sums up what was measured. */
#include "sweep/sweep.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/progress.h"
#include "sweep/identity.h"
#include "sweep/metrics.h"
#include "sweep/results.h"
#include "sweep/store_sweeps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- the points ---- */

/* As --kernel reads them: a comma within brackets is a name's own. */
static char **split_kernels(const char *list)
{
	char **names = calloc(strlen(list) + 2, sizeof(*names));
	size_t n = 0;
	int depth = 0;
	for (const char *from = list, *c = list; names; c++) {
		depth += (*c == '(' || *c == '<') - (*c == ')' || *c == '>');
		if (*c && (*c != ',' || depth > 0))
			continue;
		names[n++] = strndup(from, (size_t)(c - from));
		from = c + 1;
		if (!*c)
			break;
	}
	return names;
}

static struct rf_error *init_point(struct sweep *sweep, size_t i)
{
	const struct measure_options *measure = &sweep->options->measure;
	const char *const options[] = {measure->kernels,
				       measure->cache ? measure->cache : "",
				       measure->cache_sample ? measure->cache_sample : "",
				       measure->slowdown ? measure->slowdown : "",
				       measure->caches ? measure->caches : "",
				       measure->tlb_pages ? measure->tlb_pages : "no TLB",
				       measure->other_caches ? measure->other_caches : "",
				       NULL};
	struct sweep_point *point = &sweep->points[i];
	point->command = space_command(&sweep->space, i);
	if (point->command)
		point->identity = identity_of(point->command, sweep->options->environment, options);
	return point->identity ? NULL : rf_error_no_memory();
}

struct rf_error *sweep_init(struct sweep *sweep, const struct sweep_options *options,
			    const char **words)
{
	*sweep = (struct sweep){.options = options};
	struct rf_error *error = space_init(&sweep->space, words);
	if (error)
		return error;
	sweep->kernels = split_kernels(options->measure.kernels);
	sweep->points = calloc(sweep->space.n_points, sizeof(*sweep->points));
	if (!sweep->kernels || !sweep->points)
		return rf_error_no_memory();
	for (size_t i = 0; !error && i < sweep->space.n_points; i++)
		error = init_point(sweep, i);
	return error;
}

void sweep_deinit(struct sweep *sweep)
{
	for (size_t i = 0; sweep->points && i < sweep->space.n_points; i++) {
		space_free_command(sweep->points[i].command);
		free(sweep->points[i].identity);
	}
	free(sweep->points);
	space_free_command(sweep->kernels);
	space_deinit(&sweep->space);
	free(sweep->words);
	free(sweep->text);
}

/* ---- a sweep that a file has ---- */

/* Words that stand one after the other. */
static const char **split_words(const char *text, size_t size)
{
	const char **words = calloc(size + 1, sizeof(*words));
	size_t n = 0;
	for (size_t at = 0; words && at < size; at += strlen(&text[at]) + 1)
		words[n++] = &text[at];
	return words;
}

/* What kept->points says of the points of the space. */
static struct rf_error *take_points(struct sweep *sweep, const struct kept_sweep *kept)
{
	sweep->kernels = split_kernels(kept->kernels);
	sweep->points = calloc(sweep->space.n_points, sizeof(*sweep->points));
	if (!sweep->kernels || !sweep->points)
		return rf_error_no_memory();
	for (size_t i = 0; i < sweep->space.n_points; i++) {
		sweep->points[i].id = i < kept->n_points ? kept->points[i] : 0;
		sweep->points[i].command = space_command(&sweep->space, i);
		if (!sweep->points[i].command)
			return rf_error_no_memory();
	}
	return NULL;
}

struct rf_error *sweep_open(struct sweep *sweep, const struct sweep_options *options,
			    struct store *store, char **machine)
{
	struct kept_sweep kept;
	*sweep = (struct sweep){.options = options};
	*machine = NULL;
	struct rf_error *error = store_last_sweep(store, &kept);
	if (error)
		return error;
	sweep->text = kept.words;
	sweep->words = split_words(kept.words, kept.words_size);
	*machine = kept.machine;
	kept.words = kept.machine = NULL;
	error = sweep->words ? space_init(&sweep->space, sweep->words) : rf_error_no_memory();
	error = error ?: take_points(sweep, &kept);
	kept_sweep_deinit(&kept);
	return error;
}

struct rf_error *sweep_keep(const struct sweep *sweep, struct store *store, const char **words,
			    const char *machine)
{
	struct kept_sweep kept = {.kernels = (char *)sweep->options->measure.kernels,
				  .machine = (char *)machine,
				  .n_points = sweep->space.n_points};
	FILE *out = open_memstream(&kept.words, &kept.words_size);
	for (const char **word = words; out && *word; word++)
		fwrite(*word, 1, strlen(*word) + 1, out);
	kept.points = calloc(sweep->space.n_points, sizeof(*kept.points));
	struct rf_error *error =
		out && fclose(out) == 0 && kept.points ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < sweep->space.n_points; i++) {
		int64_t id = -1;
		error = store_find(store, sweep->points[i].identity, &id);
		kept.points[i] = id > 0 ? id : 0;
	}
	error = error ?: store_keep_sweep(store, &kept);
	free(kept.words);
	free(kept.points);
	return error;
}

/* ---- what is kept ---- */

static void compare_file(void *context, const struct used_file *file)
{
	bool *same = context;
	char *now = identity_file_state(file->path);
	*same &= now && strcmp(now, file->state) == 0;
	free(now);
}

struct rf_error *sweep_look(struct sweep *sweep, struct store *store, bool forgets)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; store && !error && i < sweep->space.n_points; i++) {
		struct sweep_point *point = &sweep->points[i];
		int64_t id;
		bool same = true;
		error = store_find(store, point->identity, &id);
		if (error || id < 0)
			continue;
		error = store_files(store, id, compare_file, &same)
				?: store_count(store, id, &point->n_kept);
		if (!error && !same) {
			point->n_kept = 0;
			error = forgets ? store_forget(store, id) : NULL;
		}
	}
	return error;
}

/* ---- one repeat ---- */

static struct repeat row_of(const struct profile *profile, const struct profile_kernel_sum *sum)
{
	const struct profile_kernel *kernel = &profile->kernels[sum->kernel];
	return (struct repeat){
		.kernel = kernel->name,
		.calls = kernel->calls,
		.flop = sum->flop,
		.load_bytes = sum->load_bytes,
		.store_bytes = sum->store_bytes,
		.instructions = sum->instructions,
		.mem_read = sum->traced ? sum->mem_read : NAN,
		.mem_write = sum->traced ? sum->mem_write : NAN,
		.time_s = sum->samples || sum->by_call ? (double)sum->calls_ns * 1e-9 : NAN,
	};
}

/* The calls of kernels whose time comes from them; NULL: no memory. */
static struct call_time *calls_of(const struct profile *profile, size_t *n)
{
	struct call_time *calls = calloc(profile->n_kernel_call_times + 1, sizeof(*calls));
	*n = 0;
	for (size_t i = 0; calls && i < profile->n_kernel_call_times; i++) {
		const struct profile_kernel_call_time *call = &profile->kernel_call_times[i];
		for (size_t k = 0; k < profile->n_kernel_sums; k++)
			if (profile->kernel_sums[k].kernel == call->kernel &&
			    profile->kernel_sums[k].by_call)
				calls[(*n)++] =
					(struct call_time){profile->kernels[call->kernel].name,
							   (double)call->time_ns * 1e-9};
	}
	return calls;
}

struct comparison {
	const struct used_files *now;
	bool differ;
};

static void compare_used(void *context, const struct used_file *kept)
{
	struct comparison *comparison = context;
	for (size_t i = 0; i < comparison->now->n; i++)
		if (strcmp(comparison->now->items[i].path, kept->path) == 0)
			comparison->differ |=
				strcmp(comparison->now->items[i].state, kept->state) != 0;
}

/* Repeats of a program that was built anew meanwhile are those of another one. */
static struct rf_error *forget_others(struct sweep_point *point, struct store *store,
				      const struct used_files *files)
{
	struct comparison comparison = {files, false};
	int64_t id;
	struct rf_error *error = store_find(store, point->identity, &id);
	if (error || id < 0)
		return error;
	error = store_files(store, id, compare_used, &comparison);
	if (error || !comparison.differ)
		return error;
	point->n_kept = point->n_new = 0;
	return store_forget(store, id);
}

static struct rf_error *keep(struct sweep_point *point, struct store *store,
			     const struct profile *profile, const struct used_files *before,
			     bool traced)
{
	struct used_files files = {0};
	struct metric *metrics = NULL;
	size_t n_metrics = 0, n_calls, n = profile->n_kernel_sums;
	struct repeat *rows = calloc(n + 1, sizeof(*rows));
	struct call_time *calls = calls_of(profile, &n_calls);
	struct rf_error *error =
		rows && calls ? identity_files(profile, before, &files) : rf_error_no_memory();
	for (size_t i = 0; !error && i < n; i++)
		rows[i] = row_of(profile, &profile->kernel_sums[i]);
	if (!error && traced)
		error = metrics_of(profile, &metrics, &n_metrics);
	const struct addition add = {rows,    n,         calls,       n_calls,
				     metrics, n_metrics, files.items, files.n};
	error = error ?: forget_others(point, store, &files)
			?: store_add(store, point->identity, &add);
	identity_free_files(&files);
	free(metrics);
	free(calls);
	free(rows);
	return error;
}

static void say_command(const struct sweep_point *point)
{
	fprintf(stderr, "rfprof: ");
	for (char **word = point->command; *word; word++)
		fprintf(stderr, "%s ", *word);
}

/* A name may be misspelt. */
static void note_kernels(const struct sweep_point *point, const struct profile *profile)
{
	for (size_t k = 0; k < profile->n_kernels; k++) {
		const struct profile_kernel *kernel = &profile->kernels[k];
		if (kernel->calls)
			continue;
		say_command(point);
		fprintf(stderr, "never called %s\n", kernel->name);
	}
}

static void say_failed(const struct sweep_point *point, const struct one_run_end *end,
		       double limit_s)
{
	const int status = end->status;
	say_command(point);
	if (end->is_late)
		fprintf(stderr,
			"was ended after %.3g s, which is what the budget had for it: this point "
			"is left out\n",
			limit_s);
	else if (WIFSIGNALED(status))
		fprintf(stderr, "was ended by signal %d: this point is left out\n",
			WTERMSIG(status));
	else
		fprintf(stderr, "ended with status %d: this point is left out\n",
			WEXITSTATUS(status));
}

/* Repeats that another sweep has put into the same file since this one has looked, or this one for
 * the same command at another point, are not made again.  *more: there are such. */
static struct rf_error *look_again(struct sweep_point *point, struct store *store, bool *more)
{
	int64_t id;
	size_t n = 0;
	struct rf_error *error = store_find(store, point->identity, &id);
	if (!error && id > 0)
		error = store_count(store, id, &n);
	*more = !error && n > point->n_kept + point->n_new;
	if (*more)
		point->n_kept = n - point->n_new;
	return error;
}

/* A run while the program was built anew is a repeat of neither the old nor the new one, and is
 * made again; but not for ever, since a program may write to itself. */
#define MOST_REPLACED 8

static bool was_replaced(struct sweep_point *point, const struct used_files *before)
{
	bool replaced = false;
	char *state = identity_file_state(point->command[0]);
	for (size_t i = 0; state && i < before->n; i++)
		if (strcmp(before->items[i].path, point->command[0]) == 0)
			replaced = strcmp(before->items[i].state, state) != 0;
	free(state);
	return replaced && point->n_replaced++ < MOST_REPLACED;
}

/* Its first repeats have the memory traffic; the others are there for their times. */
static struct rf_error *measure_point(struct sweep *sweep, struct store *store, size_t i,
				      double limit_s, int *interrupted)
{
	struct sweep_point *point = &sweep->points[i];
	const uint64_t begin_ns = clock_now_ns();
	struct profile *profile = NULL;
	struct used_files before;
	struct one_run_end end = {0};
	const bool traced = point->n_kept + point->n_new < sweep->options->traced;
	struct rf_error *error = identity_named_files(point->command, &before)
					 ?: measure(&sweep->options->measure, point->command,
						    traced, limit_s, &end, &profile);
	const double took_s = (double)(clock_now_ns() - begin_ns) * 1e-9;
	const bool kept = !error && profile && !was_replaced(point, &before);
	if (kept)
		error = keep(point, store, profile, &before, traced);
	else if (!error && !profile)
		point->failed = true;
	*interrupted = end.interrupted;
	if (point->failed && !*interrupted)
		say_failed(point, &end, limit_s);
	if (!error && profile && !point->n_new)
		note_kernels(point, profile);
	identity_free_files(&before);
	point->n_new += !error && kept;
	point->longest_s = took_s > point->longest_s ? took_s : point->longest_s;
	profile_destroy(profile);
	return error;
}

/* ---- which is next ---- */

/* How unsure the median time of a point is, relative: the distance of its runs' quartiles over the
 * root of the number of runs. */
static double unsureness(const struct sweep *sweep, struct store *store, size_t i)
{
	double *times, unsure = 0;
	size_t n;
	struct rf_error *error = sweep_times(sweep, store, i, sweep->kernels[0], &times, &n);
	if (!error && n) {
		const struct summary time = rf_summary(times, n);
		if (time.median > 0)
			unsure = (time.q3 - time.q1) / time.median / sqrt((double)n);
	}
	free(times);
	rf_error_destroy(error);
	return unsure;
}

#define NO_POINT SIZE_MAX

/* Points in turn, so that what the machine does meanwhile meets all of them alike. */
static size_t least_measured(const struct sweep *sweep)
{
	size_t best = NO_POINT, least = sweep->options->repeats;
	for (size_t i = 0; i < sweep->space.n_points; i++) {
		const struct sweep_point *point = &sweep->points[i];
		if (!point->failed && point->n_kept + point->n_new < least) {
			least = point->n_kept + point->n_new;
			best = i;
		}
	}
	return best;
}

static size_t most_unsure(const struct sweep *sweep, struct store *store)
{
	size_t best = NO_POINT;
	double most = 0;
	for (size_t i = 0; i < sweep->space.n_points; i++) {
		const double unsure = sweep->points[i].failed ? 0 : unsureness(sweep, store, i);
		if (unsure > most) {
			most = unsure;
			best = i;
		}
	}
	return best;
}

/* What all that is missing is of all that was wanted. */
static double part_done(const struct sweep *sweep, double spent_s)
{
	size_t missing = 0, made = 0;
	for (size_t i = 0; i < sweep->space.n_points; i++) {
		const size_t n = sweep->points[i].n_kept + sweep->points[i].n_new;
		made += sweep->points[i].n_new;
		missing += !sweep->points[i].failed && n < sweep->options->repeats
				   ? sweep->options->repeats - n
				   : 0;
	}
	if (!missing && sweep->options->budget_s > 0)
		return fmin(spent_s / sweep->options->budget_s, 1);
	return made + missing ? (double)made / (double)(made + missing) : 1;
}

/* What the next run may take of what is left: where others have not run at all yet one half, so
 * that a program that does not end leaves them something.  0: all that it wants. */
static double limit_of(const struct sweep *sweep, size_t next, double spent_s)
{
	const double left_s = sweep->options->budget_s - spent_s;
	bool others = false;
	for (size_t i = 0; i < sweep->space.n_points; i++) {
		const struct sweep_point *point = &sweep->points[i];
		others |= i != next && !point->failed && !(point->n_kept + point->n_new);
	}
	return sweep->options->budget_s > 0 ? fmax(others ? left_s / 2 : left_s, 0.1) : 0;
}

struct rf_error *sweep_run(struct sweep *sweep, struct store *store, int *interrupted)
{
	const uint64_t begin_ns = clock_now_ns();
	const double budget_s = sweep->options->budget_s;
	struct progress progress = progress_begin(sweep->options->quiet ? NULL : stderr);
	struct rf_error *error = NULL;
	*interrupted = 0;
	while (!error && !*interrupted) {
		const double spent_s = (double)(clock_now_ns() - begin_ns) * 1e-9;
		size_t next = least_measured(sweep);
		if (next == NO_POINT && budget_s > 0)
			next = most_unsure(sweep, store);
		if (next == NO_POINT ||
		    (budget_s > 0 &&
		     (spent_s >= budget_s || spent_s + sweep->points[next].longest_s > budget_s)))
			break;
		bool more;
		error = look_again(&sweep->points[next], store, &more);
		if (error || more)
			continue;
		progress_show(&progress, part_done(sweep, spent_s), "sweep");
		error = measure_point(sweep, store, next, limit_of(sweep, next, spent_s),
				      interrupted);
	}
	progress_end(&progress);
	return error;
}
