/* Sums up waits, and what else there was meanwhile. */
#include "report/account/wait_sums.h"

#include "base/array.h"
#include "base/search.h"
#include "profile/function_index.h"
#include "report/account/own_function.h"

#include <stdlib.h>

/* So many functions are told of those that ran during a wait, and of those that waited; and no
 * smaller shares. */
enum { MOST_RUNNERS = 3 };
#define LEAST_SHARE 0.01

/* Of a row of sum_waits: as those of profile->waits; running time of those that let the waiting
 * threads go on, and of those that held the lock. */
struct watched {
	uint64_t watched_ns, seen_ns, quiet_ns, waker_ns, holder_ns;
};

struct waits {
	struct profile *profile;
	const uint32_t *places, *own;
	struct watched *watched; /* of each row of sum_waits */
};

/* ---- waits ---- */

/* `threads` is a thread's row until rows are merged. */
static int compare_kinds(const struct profile_sum_wait *x, const struct profile_sum_wait *y)
{
	return rf_compare(x->function, y->function) ?: rf_compare(x->module, y->module)
	       ?: rf_compare(x->kind, y->kind) ?: rf_compare(x->call, y->call);
}

static int compare_waits(const void *a, const void *b)
{
	const struct profile_sum_wait *x = a, *y = b;
	return compare_kinds(x, y) ?: rf_compare(x->threads, y->threads);
}

/* What a wait with that stack is summed up as: its function and what it is for. */
static struct profile_sum_wait kind_of(const struct waits *waits, uint32_t frame,
				       enum wait_cause cause)
{
	const struct profile *profile = waits->profile;
	const struct profile_wait wait = {.frame = frame, .cause = cause};
	struct profile_sum_wait row = {
		.function = PROFILE_NONE,
		.module = PROFILE_NONE,
		.kind = wait_kind_of(profile, waits->places, &wait),
	};
	if (frame == PROFILE_NONE)
		return row;
	row.call = (uint32_t)profile->frames[frame].offset;
	profile_split_place(profile, waits->own[frame], &row.function, &row.module);
	return row;
}

static struct rf_error *add_waits(const struct waits *waits)
{
	struct profile *profile = waits->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_waits; i++) {
		const struct profile_wait *wait = &profile->waits[i];
		struct profile_sum_wait row = kind_of(waits, wait->frame, wait->cause);
		row.threads = wait->thread;
		row.n = wait->n;
		row.time_ns = wait->time_ns;
		row.alone_ns = wait->alone_ns;
		row.others_ns = wait->others_ns;
		error = rf_array_add(profile->sum_waits, profile->n_sum_waits,
				     profile->cap_sum_waits, row);
	}
	return error;
}

static void merge_waits(struct profile *profile)
{
	struct profile_sum_wait *rows = profile->sum_waits;
	size_t n = 0;
	uint32_t last = PROFILE_NONE;
	if (!profile->n_sum_waits)
		return;
	qsort(rows, profile->n_sum_waits, sizeof(*rows), compare_waits);
	for (size_t i = 0; i < profile->n_sum_waits; i++) {
		const struct profile_sum_wait row = rows[i];
		if (!n || compare_kinds(&rows[n - 1], &row) != 0) {
			last = row.threads;
			rows[n] = row;
			rows[n++].threads = 1;
			continue;
		}
		struct profile_sum_wait *to = &rows[n - 1];
		to->threads += row.threads != last;
		last = row.threads;
		to->n += row.n;
		to->time_ns += row.time_ns;
		to->alone_ns += row.alone_ns;
		to->others_ns += row.others_ns;
	}
	profile->n_sum_waits = n;
}

/* ---- what there was meanwhile ---- */

/* The row of sum_waits of a wait with that stack. */
static uint32_t sum_of(const struct waits *waits, uint32_t frame, enum wait_cause cause)
{
	const struct profile *profile = waits->profile;
	const struct profile_sum_wait want = kind_of(waits, frame, cause);
	return (uint32_t)rf_search(profile->n_sum_waits, i,
				   compare_kinds(&profile->sum_waits[i], &want) < 0);
}

static void add_watched(const struct waits *waits)
{
	const struct profile *profile = waits->profile;
	for (size_t i = 0; i < profile->n_meanwhile; i++) {
		const struct profile_meanwhile *row = &profile->meanwhile[i];
		struct watched *to = &waits->watched[sum_of(waits, row->wait_frame, WAIT_FUTEX)];
		to->waker_ns += row->waker_ns;
		to->holder_ns += row->holder_ns;
	}
	for (size_t i = 0; i < profile->n_waits; i++) {
		const struct profile_wait *wait = &profile->waits[i];
		if (!wait->seen_ns)
			continue;
		struct watched *to = &waits->watched[sum_of(waits, wait->frame, wait->cause)];
		to->watched_ns += wait->watched_ns;
		to->seen_ns += wait->seen_ns;
		to->quiet_ns += wait->quiet_ns;
	}
}

/* Shares are times, ns, until all are there. */
static struct profile_sum_runner runner_of(const struct waits *waits,
					   const struct profile_meanwhile *row)
{
	const struct profile *profile = waits->profile;
	struct profile_sum_runner runner = {
		.wait = sum_of(waits, row->wait_frame, WAIT_FUTEX),
		.function = PROFILE_NONE,
		.module = PROFILE_NONE,
		.waited = row->waited,
		.thread = row->thread,
		.share = (double)row->time_ns,
	};
	const struct watched *watched = &waits->watched[runner.wait];
	const bool has_holder = profile->sum_waits[runner.wait].kind == WAITS_LOCK &&
				watched->holder_ns > watched->waker_ns;
	runner.holder_share = (double)(has_holder ? row->holder_ns : row->waker_ns);
	if (row->waited) {
		const struct profile_sum_wait of = kind_of(waits, row->frame, row->cause);
		runner.function = of.function;
		runner.module = of.module;
		runner.call = of.call;
		runner.kind = of.kind;
	} else {
		const uint32_t own = own_frame(profile, waits->places, row->frame);
		profile_split_place(profile, waits->places[own], &runner.function, &runner.module);
	}
	return runner;
}

/* Of one wait those that ran first. */
static int compare_runners(const void *a, const void *b)
{
	const struct profile_sum_runner *x = a, *y = b;
	return rf_compare(x->wait, y->wait) ?: rf_compare(x->waited, y->waited)
	       ?: rf_compare(x->function, y->function) ?: rf_compare(x->module, y->module)
	       ?: rf_compare(x->call, y->call) ?: rf_compare(x->kind, y->kind);
}

/* Of each kind those that tell most first: what the thread did that let the waiting one go on, as
 * far as it is known. */
static int compare_shares(const void *a, const void *b)
{
	const struct profile_sum_runner *x = a, *y = b;
	return rf_compare(x->wait, y->wait) ?: rf_compare(x->waited, y->waited)
	       ?: rf_compare(y->holder_share, x->holder_share) ?: rf_compare(y->share, x->share)
	       ?: compare_runners(x, y);
}

static void merge_runners(struct profile *profile)
{
	struct profile_sum_runner *rows = profile->sum_runners;
	size_t n = 0;
	if (!profile->n_sum_runners)
		return;
	qsort(rows, profile->n_sum_runners, sizeof(*rows), compare_runners);
	for (size_t i = 1; i < profile->n_sum_runners; i++) {
		if (compare_runners(&rows[n], &rows[i]) != 0) {
			rows[++n] = rows[i];
			continue;
		}
		rows[n].share += rows[i].share;
		rows[n].holder_share += rows[i].holder_share;
		if (rows[n].thread != rows[i].thread)
			rows[n].thread = PROFILE_NONE;
	}
	profile->n_sum_runners = n + 1;
}

/* Of rows [first, end) of one wait and kind: their times become shares.  Not all wakers' waits have
 * a sample: those that have stand for all. */
static void set_shares(const struct waits *waits, size_t first, size_t end)
{
	struct profile_sum_runner *rows = waits->profile->sum_runners;
	const struct watched *of = &waits->watched[rows[first].wait];
	double whole = (double)of->watched_ns, sum = 0;
	for (size_t i = first; i < end; i++)
		sum += rows[i].share;
	if (rows[first].waited)
		whole = of->quiet_ns ? sum * (double)of->seen_ns / (double)of->quiet_ns : 0;
	for (size_t i = first; i < end; i++) {
		rows[i].share = whole > 0 ? rows[i].share / whole : 0;
		rows[i].holder_share = whole > 0 ? rows[i].holder_share / whole : 0;
	}
}

/* Keeps the first ones of each wait and kind. */
static void keep_first(struct profile *profile)
{
	struct profile_sum_runner *rows = profile->sum_runners;
	size_t n = 0, of_kind = 0;
	qsort(rows, profile->n_sum_runners, sizeof(*rows), compare_shares);
	for (size_t i = 0; i < profile->n_sum_runners; i++) {
		const struct profile_sum_runner row = rows[i];
		const bool same =
			n && rows[n - 1].wait == row.wait && rows[n - 1].waited == row.waited;
		of_kind = same ? of_kind : 0;
		if (of_kind == MOST_RUNNERS || row.share < LEAST_SHARE ||
		    (row.waited && !row.call)) /* nobody is known */
			continue;
		of_kind++;
		rows[n++] = row;
	}
	profile->n_sum_runners = n;
}

static struct rf_error *add_runners(const struct waits *waits)
{
	struct profile *profile = waits->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_meanwhile; i++) {
		const struct profile_sum_runner row = runner_of(waits, &profile->meanwhile[i]);
		error = rf_array_add(profile->sum_runners, profile->n_sum_runners,
				     profile->cap_sum_runners, row);
	}
	if (error || !profile->n_sum_runners)
		return error;
	merge_runners(profile);
	const struct profile_sum_runner *rows = profile->sum_runners;
	for (size_t first = 0, end; first < profile->n_sum_runners; first = end) {
		for (end = first; end < profile->n_sum_runners &&
				  rows[end].wait == rows[first].wait &&
				  rows[end].waited == rows[first].waited;)
			end++;
		set_shares(waits, first, end);
	}
	keep_first(profile);
	return NULL;
}

struct rf_error *wait_sums_make(struct profile *profile, const uint32_t *places,
				const uint32_t *own)
{
	struct waits waits = {.profile = profile, .places = places, .own = own};
	profile->n_sum_waits = profile->n_sum_runners = 0;
	struct rf_error *error = add_waits(&waits);
	merge_waits(profile);
	waits.watched = calloc(profile->n_sum_waits + 1, sizeof(*waits.watched));
	if (!waits.watched)
		error = error ?: rf_error_no_memory();
	if (!error) {
		add_watched(&waits);
		error = add_runners(&waits);
	}
	free(waits.watched);
	free(profile->meanwhile);
	profile->meanwhile = NULL;
	profile->n_meanwhile = 0;
	return error;
}
