/* Parts of one work, each in a thread that lives as long as its part. */
#include "base/parallel.h"

#include "base/thread.h"

#include <assert.h>
#include <sched.h>
#include <stdbool.h>

struct part {
	pthread_t thread;
	bool has_thread;
	size_t number;
	struct rf_error *(*run)(size_t part, void *context);
	void *context;
	struct rf_error *error;
};

/* Machines with more processors than a cpu_set_t holds have enough in any case. */
static size_t n_processors(void)
{
	cpu_set_t allowed;
	return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? (size_t)CPU_COUNT(&allowed)
								    : PARALLEL_MOST;
}

size_t parallel_parts(size_t n, size_t least)
{
	size_t parts = n / least;
	if (parts > PARALLEL_MOST)
		parts = PARALLEL_MOST;
	if (parts > 1 && parts > n_processors())
		parts = n_processors();
	return parts ? parts : 1;
}

static void *run_part(void *opaque)
{
	struct part *part = opaque;
	part->error = part->run(part->number, part->context);
	return NULL;
}

struct rf_error *parallel_run(size_t n, struct rf_error *(*run)(size_t part, void *context),
			      void *context)
{
	struct part parts[PARALLEL_MOST];
	struct rf_error *error = NULL;
	assert(n <= PARALLEL_MOST);
	for (size_t i = 0; i < n; i++)
		parts[i] = (struct part){.number = i, .run = run, .context = context};
	for (size_t i = 1; i < n; i++)
		parts[i].has_thread = thread_start(&parts[i].thread, run_part, &parts[i]) == 0;
	for (size_t i = 0; i < n; i++)
		if (!parts[i].has_thread)
			run_part(&parts[i]);
	for (size_t i = 0; i < n; i++) {
		if (parts[i].has_thread)
			pthread_join(parts[i].thread, NULL);
		if (error)
			rf_error_destroy(parts[i].error);
		else
			error = parts[i].error;
	}
	return error;
}
