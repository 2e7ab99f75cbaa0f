/* Threads that wait for work, each on a hardware thread of its own. */
#include "machine/roofs/team.h"

#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct team_thread {
	struct team *team;
	pthread_t handle;
	int index, cpu;
	bool pinned;
};

struct team {
	pthread_mutex_t starting; /* held until all threads are there */
	pthread_barrier_t turn;   /* of the threads and the caller: before and behind the work */
	team_function *function;  /* NULL: end */
	void *context;
	int n_threads;
	_Alignas(64) atomic_int arrived;
	_Alignas(64) atomic_uint barrier_round;
	struct team_thread threads[];
};

/* A set of any number of hardware threads holds one of number `cpu`. */
static bool pin_to(int cpu)
{
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	if (!set)
		return false;
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	bool pinned = sched_setaffinity(0, size, set) == 0;
	CPU_FREE(set);
	return pinned;
}

static void pin(void *context, int thread)
{
	struct team *team = context;
	team->threads[thread].pinned = pin_to(team->threads[thread].cpu);
}

static void *team_thread_main(void *argument)
{
	struct team_thread *thread = argument;
	struct team *team = thread->team;
	pthread_mutex_lock(&team->starting);
	pthread_mutex_unlock(&team->starting);
	for (;;) {
		pthread_barrier_wait(&team->turn);
		if (!team->function)
			return NULL;
		team->function(team->context, thread->index);
		pthread_barrier_wait(&team->turn);
	}
}

/* Starts the threads; stops at the first that cannot be had. */
static int start_threads(struct team *team, const int *cpus, int wanted)
{
	int status = 0;
	for (int i = 0; i < wanted && !status; i++) {
		team->threads[i] = (struct team_thread){.team = team, .index = i, .cpu = cpus[i]};
		status =
			thread_start(&team->threads[i].handle, team_thread_main, &team->threads[i]);
		if (!status)
			team->n_threads++;
	}
	return status;
}

struct rf_error *team_create(const int *cpus, int n_threads, struct team **out)
{
	size_t size = sizeof(struct team) + n_threads * sizeof(struct team_thread);
	struct team *team = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!team)
		return rf_error_no_memory();
	*team = (struct team){0};
	pthread_mutex_init(&team->starting, NULL);
	pthread_mutex_lock(&team->starting);
	int status = start_threads(team, cpus, n_threads);
	pthread_barrier_init(&team->turn, NULL, team->n_threads + 1);
	pthread_mutex_unlock(&team->starting);
	if (status) {
		team_destroy(team);
		return rf_error_errno(RF_EUNAVAILABLE, status,
				      "raise the limit on threads (ulimit -u, pids cgroup)",
				      "cannot start %d threads", n_threads);
	}
	team_run(team, pin, team);
	*out = team;
	return NULL;
}

void team_destroy(struct team *team)
{
	if (!team)
		return;
	team->function = NULL;
	pthread_barrier_wait(&team->turn);
	for (int i = 0; i < team->n_threads; i++)
		pthread_join(team->threads[i].handle, NULL);
	pthread_mutex_destroy(&team->starting);
	pthread_barrier_destroy(&team->turn);
	free(team);
}

int team_size(const struct team *team)
{
	return team->n_threads;
}

bool team_is_pinned(const struct team *team)
{
	for (int i = 0; i < team->n_threads; i++)
		if (!team->threads[i].pinned)
			return false;
	return true;
}

void team_run(struct team *team, team_function *function, void *context)
{
	team->function = function;
	team->context = context;
	pthread_barrier_wait(&team->turn);
	pthread_barrier_wait(&team->turn);
}

void team_barrier(struct team *team)
{
	enum { SPINS = 20000 }; /* about 0.3 ms; then the others probably wait for this CPU */
	unsigned round = atomic_load(&team->barrier_round);
	if (atomic_fetch_add(&team->arrived, 1) == team->n_threads - 1) {
		atomic_store(&team->arrived, 0);
		atomic_fetch_add(&team->barrier_round, 1);
		return;
	}
	for (int spins = 0; atomic_load(&team->barrier_round) == round; spins++) {
		if (spins < SPINS)
			__builtin_ia32_pause();
		else
			sched_yield();
	}
}
