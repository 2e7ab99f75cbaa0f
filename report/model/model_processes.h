/* Which process and thread of one run is which of the other, and what of the timed run the counted
 * run did not count. */
#pragma once

#include "report/model/model_rows.h"

struct model_threads {
	const struct model_rows *rows;
	uint32_t *process_of;   /* per thread: row in profile->processes, or PROFILE_NONE */
	uint32_t *twin_process; /* per process */
	uint32_t *twin_thread;  /* per thread: the same one in the other run, or PROFILE_NONE */
	const char **native;    /* per thread of the counted run: why it ran natively, or NULL */
	uint64_t *native_ns;    /* and for how long; 0: not known */
	bool any_native_ns;     /* it is known of one */
	bool *unmatched; /* per process: the counted run has none of that name that could be it */
	/* rows of profile->uncounted that have a module, by its name, then in their order */
	uint32_t *refused;
	size_t n_refused;
	uint32_t *shown; /* per process: index in model->processes */
};
/* Fails only when memory is short; deinit in any case. */
struct rf_error *model_threads_init(struct model_threads *threads, const struct model_rows *rows);
void model_threads_deinit(struct model_threads *threads);

/* Fills model->processes; their work is that of the rows.  Fails only when memory is short. */
struct rf_error *model_processes(const struct model_threads *threads, struct model *model);

/* Finds what of rows->times was not counted (with groups that is known) and lists the causes in
 * model->uncounted.  Fails only when memory is short. */
struct rf_error *model_find_uncounted(struct model_rows *rows, const struct model_threads *threads,
				      struct model *model);

/* Adds nanoseconds, of which a file may claim any number: stops at the largest. */
static inline void model_add_ns(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}
