/* A team of pinned threads that measure together. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct team;

/* Called on each thread of the team; `thread` counts from 0. */
typedef void team_function(void *context, int thread);

/* Starts one thread for each of the hardware threads `cpus` (operating system numbers) and pins
 * it there.  They block all signals: the process's handlers stay with its own threads. */
struct rf_error *team_create(const int *cpus, int n_threads, struct team **out);
/* Ends and joins the threads; NULL is allowed. */
void team_destroy(struct team *team);

int team_size(const struct team *team);
/* False when a thread could not be pinned (its hardware thread has been taken away). */
bool team_is_pinned(const struct team *team);

/* Runs `function` on all threads and returns when all have returned. */
void team_run(struct team *team, team_function *function, void *context);

/* Inside a team function: waits, spinning, until all threads are here. */
void team_barrier(struct team *team);
