/* Which threads are told of others, and their counts. */
#include "tracer/process/told_threads.h"

#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>

uint32_t told_threads_begin(struct told_threads *told, uint32_t thread, uint64_t program, bool many)
{
	const uint32_t *first = u64_map_find(&told->first, program);
	if (!first) { /* without memory for it each thread is told of itself */
		(void)u64_map_set(&told->first, program, thread);
		return thread;
	}
	if (!many || !rf_array_reach((void **)&told->of, &told->n_of, thread, sizeof(*told->of)))
		return thread;
	told->of[thread] = *first + 1;
	told->n_told++;
	return *first;
}

/* Where the row of that block is noted of a thread that others are told of; NULL: memory is short.
 */
static uint32_t *row_of(struct told_threads *told, uint32_t thread, uint32_t block)
{
	if (!rf_array_reach((void **)&told->rows_of, &told->n_rows_of, thread,
			    sizeof(*told->rows_of)))
		return NULL;
	struct told_rows *rows = &told->rows_of[thread];
	return rf_array_reach((void **)&rows->of, &rows->n_of, block, sizeof(*rows->of))
		       ? &rows->of[block]
		       : NULL;
}

/* The first row of a pair is a new one, too, beside what that thread has counted itself. */
struct rf_error *told_threads_count(struct told_threads *told, struct profile *profile,
				    struct profile_count count)
{
	const uint32_t thread = told_threads_of(told, count.thread);
	uint32_t *row = thread == count.thread ? NULL : row_of(told, thread, count.block);
	if (row && *row) {
		profile->counts[*row - 1].n += count.n;
		profile->counts[*row - 1].checked += count.checked;
		return NULL;
	}
	count.thread = thread;
	struct rf_error *error =
		rf_array_add(profile->counts, profile->n_counts, profile->cap_counts, count);
	if (row && !error && profile->n_counts <= UINT32_MAX)
		*row = (uint32_t)profile->n_counts;
	return error;
}

void told_threads_note(const struct told_threads *told, struct profile *profile)
{
	if (told->n_told)
		profile_set_fact(profile, "threads_told",
				 "work and traffic of %zu threads are told of earlier ones that "
				 "ran the same programs",
				 told->n_told);
}

void told_threads_deinit(struct told_threads *told)
{
	u64_map_deinit(&told->first);
	for (size_t i = 0; i < told->n_rows_of; i++)
		free(told->rows_of[i].of);
	free(told->rows_of);
	free(told->of);
	*told = (struct told_threads){0};
}
