/* Adds profile after profile to one. */
#include "report/merge/ranks.h"

#include "base/array.h"
#include "base/search.h"
#include "profile/kernel_names.h"
#include "profile/page_walk_order.h"
#include "report/merge/lines.h"
#include "report/merge/rank_facts.h"
#include "report/merge/rank_rows.h"
#include "report/merge/rank_threads.h"
#include "report/merge/rows.h"
#include "report/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times of functions in ranks, at most, before those of functions with little time are dropped. */
#define MOST_CELLS (1u << 20)

struct ranks_merge {
	struct profile *into;
	struct row_merger rows;
	struct rank_threads threads;
	struct rank_rows ranks;
	unsigned n_classes; /* of sets, of the rows of sum_traffic; 0: none yet */
	uint64_t *time_ns;  /* of each row of sums, all ranks together */
	double *longest_s;  /* of each: elapsed time in the rank where it took longest */
	bool *dropped;      /* of each: its times in ranks were dropped on the way */
	size_t n_times, cap_times, cap_longest, cap_dropped;
};

/* Those that are merged as they are, in an order in which what is referred to comes first. */
static const enum table_id plain_tables[] = {
	UNCOUNTED,   OBJECTS,       COUNTERS,  SUM_CLASSES,    SUM_FLOP,      SUM_OBJECTS,
	SUM_STRIDES, SUM_IRREGULAR, SUM_CODE,  SUM_QUANTITIES, SUM_KERNEL,    SUM_FAULTS,
	SUM_WAITS,   SUM_REGIONS,   SUM_CALLS, SUM_MPI,        OTHER_TRAFFIC, PAGE_WALKS,
};

/* ---- places ---- */

/* Code of memory without a file and without a name: in each process at another address, and nothing
 * that two of them have in common. */
static bool is_nameless(const struct profile *profile, uint32_t function)
{
	const struct profile_function *row = &profile->functions[function];
	return profile->modules[row->module].path[0] == '[' && strstr(row->name, "+0x");
}

static void forget_place(const struct profile *profile, uint32_t *function, uint32_t *module)
{
	if (*function == PROFILE_NONE || !is_nameless(profile, *function))
		return;
	*module = profile->functions[*function].module;
	*function = PROFILE_NONE;
}

/* Such functions become code of their module. */
static void forget_nameless(struct profile *profile)
{
#define FORGET(table)                                   \
	for (size_t i = 0; i < profile->n_##table; i++) \
		forget_place(profile, &profile->table[i].function, &profile->table[i].module);
	FORGET(sums)
	FORGET(sum_kernel)
	FORGET(sum_faults)
	FORGET(sum_waits)
	FORGET(sum_regions)
	FORGET(sum_calls)
#undef FORGET
	for (size_t i = 0; i < profile->n_sum_regions; i++)
		forget_place(profile, &profile->sum_regions[i].caller_function,
			     &profile->sum_regions[i].caller_module);
}

/* Which kernel an instruction ran for is told of one rank alone. */
static void forget_kernels(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_other_traffic; i++)
		profile->other_traffic[i].kernel = 0;
	for (size_t i = 0; i < profile->n_page_walks; i++)
		profile->page_walks[i].kernel = 0;
}

static struct rf_error *add_functions(struct ranks_merge *merge, const struct profile *profile)
{
	struct rf_error *error = NULL;
	for (uint32_t i = 0; !error && i < profile->n_functions; i++)
		if (!is_nameless(profile, i))
			error = row_merger_add(&merge->rows, FUNCTIONS, &profile->functions[i],
					       &merge->rows.row_of[FUNCTIONS][i]);
	return error;
}

/* ---- sums ---- */

/* The work by thread stands in sum_threads, whether one thread did it or several. */
static struct rf_error *add_work(struct ranks_merge *merge, const struct profile *profile)
{
	struct rf_error *error = NULL;
	for (uint32_t i = 0; !error && i < profile->n_sums; i++) {
		struct profile_sum sum = profile->sums[i];
		const struct profile_sum_thread work = {
			i, sum.thread, sum.flop, sum.load_bytes, sum.store_bytes, sum.instructions};
		sum.thread = PROFILE_NONE;
		error = row_merger_add(&merge->rows, SUMS, &sum, &merge->rows.row_of[SUMS][i]);
		if (!error && work.thread != PROFILE_NONE)
			error = row_merger_add(&merge->rows, SUM_THREADS, &work, NULL);
	}
	for (size_t i = 0; !error && i < profile->n_sum_threads; i++)
		error = row_merger_add(&merge->rows, SUM_THREADS, &profile->sum_threads[i], NULL);
	return error;
}

/* Makes room for what is known of each row of sums. */
static struct rf_error *reach(struct ranks_merge *merge)
{
	while (merge->n_times < merge->into->n_sums) {
		if (!rf_array_reserve((void **)&merge->longest_s, merge->n_times,
				      &merge->cap_longest, sizeof(*merge->longest_s)) ||
		    !rf_array_reserve((void **)&merge->time_ns, merge->n_times, &merge->cap_times,
				      sizeof(*merge->time_ns)) ||
		    !rf_array_reserve((void **)&merge->dropped, merge->n_times, &merge->cap_dropped,
				      sizeof(*merge->dropped)))
			return rf_error_no_memory();
		merge->longest_s[merge->n_times] = 0;
		merge->dropped[merge->n_times] = false;
		merge->time_ns[merge->n_times++] = 0;
	}
	return NULL;
}

/* Of one rank, by its own rows of sums. */
static struct rf_error *add_times(struct ranks_merge *merge, const struct profile *profile,
				  uint32_t rank)
{
	const uint32_t *to = merge->rows.row_of[SUMS];
	uint64_t *times = calloc(profile->n_sums + 1, sizeof(*times));
	struct rf_error *error = times ? reach(merge) : rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_sum_times; i++) {
		times[profile->sum_times[i].sum] += profile->sum_times[i].time_ns;
		error = row_merger_add(&merge->rows, SUM_TIMES, &profile->sum_times[i], NULL);
	}
	for (uint32_t i = 0; !error && i < profile->n_sums; i++) {
		const double threads = fmax(1, profile->sums[i].concurrency);
		const struct profile_rank_time cell = {to[i], rank, times[i]};
		merge->time_ns[to[i]] += times[i];
		merge->longest_s[to[i]] =
			fmax(merge->longest_s[to[i]], (double)times[i] * 1e-9 / threads);
		if (times[i])
			error = rf_array_add(merge->into->rank_times, merge->into->n_rank_times,
					     merge->into->cap_rank_times, cell);
	}
	free(times);
	return error;
}

/* Rows of more classes than another rank has become rows of as few. */
static struct rf_error *fit_classes(struct ranks_merge *merge, struct profile *profile)
{
	const double known = profile_number_fact(profile, "traffic_classes", 0);
	unsigned n = (unsigned)known,
		 fewer = merge->n_classes && merge->n_classes < n ? merge->n_classes : n;
	bool done = true;
	if (!n || !profile->n_sum_traffic)
		return NULL;
	if (n > CACHE_CLASSES ||
	    (merge->n_classes && (n > fewer ? n % fewer : merge->n_classes % fewer)))
		return rf_error_create(
			RF_EFORMAT, NULL,
			"the traffic of the ranks is of %u and of %u classes of sets",
			merge->n_classes, n);
	for (size_t i = 0; done && n > fewer && i < profile->n_sum_traffic; i++)
		done = merge_lines_reduce(&profile->sum_traffic[i], n, fewer);
	for (size_t i = 0; done && merge->n_classes > fewer && i < merge->into->n_sum_traffic; i++)
		done = merge_lines_reduce(&merge->into->sum_traffic[i], merge->n_classes, fewer);
	merge->n_classes = fewer;
	return done ? NULL : rf_error_no_memory();
}

static struct rf_error *add_traffic(struct ranks_merge *merge, struct profile *profile)
{
	struct rf_error *error = fit_classes(merge, profile);
	for (size_t i = 0; !error && merge->n_classes && i < profile->n_sum_traffic; i++) {
		const struct profile_sum_traffic *row = &profile->sum_traffic[i];
		const size_t before = merge->into->n_sum_traffic;
		uint32_t at;
		error = row_merger_add(&merge->rows, SUM_TRAFFIC, row, &at);
		if (!error && at < before &&
		    !merge_lines_add(&merge->into->sum_traffic[at], row, merge->n_classes))
			error = rf_error_no_memory();
	}
	return error;
}

/* Each rank has capacities of its own: they are rounded up to four to the octave, so that there are
 * not more and more. */
static struct rf_error *add_working_sets(struct ranks_merge *merge, const struct profile *profile)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_sum_working_sets; i++) {
		struct profile_sum_working_set row = profile->sum_working_sets[i];
		const double octaves =
			row.capacity ? ceil(4 * log2((double)row.capacity / 64)) / 4 : 0;
		if (row.capacity)
			row.capacity = 64 * (uint64_t)fmax(1, round(exp2(octaves)));
		error = row_merger_add(&merge->rows, SUM_WORKING_SETS, &row, NULL);
	}
	return error;
}

/* ---- which functions' times in ranks are kept ---- */

static int compare_sums(const void *a, const void *b, void *times)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t *of = times;
	return rf_compare(of[y], of[x]) ?: rf_compare(x, y);
}

/* What is dropped once is not taken up again: it would be a part. */
static struct rf_error *keep_most(struct ranks_merge *merge)
{
	const size_t n = merge->n_times;
	struct profile *into = merge->into;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	bool *kept = calloc(n + 1, sizeof(*kept));
	size_t n_kept = 0;
	for (uint32_t i = 0; order && i < n; i++)
		order[i] = i;
	if (order && n)
		qsort_r(order, n, sizeof(*order), compare_sums, merge->time_ns);
	for (size_t i = 0, rows = 0; order && kept && i < n && rows < RANK_TIME_ROWS; i++) {
		kept[order[i]] = !merge->dropped[order[i]];
		rows += kept[order[i]];
	}
	for (size_t i = 0; order && kept && i < n; i++)
		merge->dropped[i] |= !kept[i] && merge->time_ns[i];
	for (size_t i = 0; order && kept && i < into->n_rank_times; i++)
		if (kept[into->rank_times[i].sum])
			into->rank_times[n_kept++] = into->rank_times[i];
	into->n_rank_times = order && kept ? n_kept : into->n_rank_times;
	struct rf_error *error = order && kept ? NULL : rf_error_no_memory();
	free(order);
	free(kept);
	return error;
}

/* ---- all of it ---- */

static struct rf_error *add_rows(struct ranks_merge *merge, struct profile *profile, uint32_t rank)
{
	struct rf_error *error = row_merger_begin(&merge->rows, profile)
		?: row_merger_add_table(&merge->rows, profile, MODULES) ?: add_functions(merge, profile)
		?: rank_threads_add(&merge->threads, profile, &merge->rows, merge->ranks.counted)
		?: add_work(merge, profile) ?: add_times(merge, profile, rank) ?: add_traffic(merge, profile)
		?: add_working_sets(merge, profile);
	for (size_t i = 0; !error && i < sizeof(plain_tables) / sizeof(*plain_tables); i++)
		error = row_merger_add_table(&merge->rows, profile, plain_tables[i]);
	if (!error && !merge->into->n_roofs)
		error = row_merger_append_table(&merge->rows, profile, ROOFS)
				?: row_merger_append_table(&merge->rows, profile, CUSTOM_ROOFS);
	return error;
}

struct rf_error *ranks_merge_add(struct ranks_merge *merge, struct profile *profile,
				 const char *file)
{
	uint32_t rank;
	if (profile->n_ranks)
		return rf_error_create(RF_EINPUT, "name the profiles of the ranks",
				       "%s is of ranks that were put together", file);
	struct rf_error *error = profile->has_sums ? NULL : model_summarise(profile);
	if (error)
		return error;
	forget_nameless(profile);
	forget_kernels(profile);
	error = rank_rows_add(&merge->ranks, merge->into, profile, file, &rank) ?: add_rows(merge, profile, rank)
		?: rank_facts_add(merge->into, profile, rank == 0);
	if (!error && merge->into->n_rank_times > MOST_CELLS)
		error = keep_most(merge);
	return error;
}

/* On how many threads a function ran at once on a node: its time there over the elapsed time of the
 * rank in which it took longest, since ranks do the same at the same time, more or less; not more
 * than there are. */
static void set_concurrency(struct ranks_merge *merge)
{
	const struct profile *into = merge->into;
	double most = 1;
	for (size_t i = 0; i < into->n_rank_nodes; i++)
		most = fmax(most, into->rank_nodes[i].usable_threads);
	for (size_t i = 0; i < merge->n_times; i++) {
		const double time_s = (double)merge->time_ns[i] * 1e-9 / (double)into->n_rank_nodes;
		const double threads = merge->longest_s[i] > 0 ? time_s / merge->longest_s[i] : 1;
		into->sums[i].concurrency = fmin(fmax(1, threads), most);
	}
}

struct rf_error *ranks_merge_finish(struct ranks_merge *merge, struct profile **out)
{
	struct profile *into = merge->into;
	if (!into->n_ranks)
		return rf_error_create(RF_EINPUT, NULL, "there is no profile of a rank");
	struct rf_error *error = keep_most(merge) ?: rank_threads_finish(&merge->threads, into);
	if (error)
		return error;
	set_concurrency(merge);
	page_walk_order(into);
	if (merge->n_classes)
		profile_set_fact(into, "traffic_classes", "%u", merge->n_classes);
	rank_rows_finish(into);
	rank_facts_finish(into);
	profile_set_fact(into, PROFILE_SUMS_FACT, PROFILE_SUMS_VERSION);
	into->has_sums = into->n_sums > 0;
	*out = into;
	merge->into = NULL;
	return NULL;
}

struct rf_error *ranks_merge_create(struct ranks_merge **out)
{
	struct ranks_merge *merge = calloc(1, sizeof(*merge));
	if (!merge)
		return rf_error_no_memory();
	merge->into = profile_create();
	row_merger_init(&merge->rows, merge->into);
	if (!merge->into) {
		free(merge);
		return rf_error_no_memory();
	}
	*out = merge;
	return NULL;
}

void ranks_merge_destroy(struct ranks_merge *merge)
{
	if (!merge)
		return;
	row_merger_deinit(&merge->rows);
	rank_threads_deinit(&merge->threads);
	rank_rows_deinit(&merge->ranks);
	profile_destroy(merge->into);
	free(merge->time_ns);
	free(merge->longest_s);
	free(merge->dropped);
	free(merge);
}
