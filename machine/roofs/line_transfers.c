/* Two threads take turns at a line, on pairs of hardware threads that are near to each other or
 * far. */
#include "machine/roofs/line_transfers.h"

#include "base/clock.h"
#include "machine/kernels/line_turns.h"
#include "machine/roofs/team.h"
#include "statistics/summary.h"

#include <stdlib.h>

#define REPEATS 25
#define REPEAT_NS 2000000
#define FIRST_TURNS 200 /* to find out how long they take */
#define FEWEST 3        /* repeats, where others have the processors */
#define MOST_NS 100000000

struct turns {
	struct turn_line line;
	struct team *team;
	uint64_t count;
	uint64_t start_ns[2], end_ns[2];
};

/* Two hardware threads whose lines move between them in that way; false: there are none. */
static bool cpus_of(const struct topology *topology, enum line_way way, int cpus[2])
{
	const struct topology_cpu *one = &topology->cpus[0];
	for (int i = 1; i < topology->n_cpus; i++) {
		const struct topology_cpu *other = &topology->cpus[i];
		const struct topology_cache *last = &one->caches[TOPOLOGY_LEVELS - 1],
					    *its = &other->caches[TOPOLOGY_LEVELS - 1];
		/* without a last level the nodes say what is near */
		const bool near = last->bytes && its->bytes ? last->id == its->id
							    : one->numa_node == other->numa_node;
		const enum line_way found = one->core == other->core ? LINE_WITHIN_CORE
					    : near                   ? LINE_WITHIN_CACHE
								     : LINE_BEYOND;
		if (found != way)
			continue;
		cpus[0] = one->os_index;
		cpus[1] = other->os_index;
		return true;
	}
	return false;
}

static void take_turns(void *context, int thread)
{
	struct turns *turns = context;
	team_barrier(turns->team);
	turns->start_ns[thread] = clock_now_ns();
	line_turns(&turns->line, thread, turns->count);
	turns->end_ns[thread] = clock_now_ns();
}

/* ns for one move of the line. */
static double run(struct turns *turns, uint64_t count)
{
	turns->count = count;
	turns->line.turn = 0;
	team_run(turns->team, take_turns, turns);
	const uint64_t start =
		turns->start_ns[0] < turns->start_ns[1] ? turns->start_ns[0] : turns->start_ns[1];
	const uint64_t end =
		turns->end_ns[0] > turns->end_ns[1] ? turns->end_ns[0] : turns->end_ns[1];
	return (double)(end - start) / (2 * (double)count);
}

static struct line_transfer measure(struct turns *turns, enum line_way way)
{
	double ns[REPEATS];
	(void)run(turns, FIRST_TURNS);
	const double first = run(turns, FIRST_TURNS); /* the threads are there by now */
	uint64_t count = first > 0 ? (uint64_t)(REPEAT_NS / (2 * first)) : FIRST_TURNS;
	const uint64_t began_ns = clock_now_ns();
	size_t n = 0;
	if (count < FIRST_TURNS)
		count = FIRST_TURNS;
	while (n < FEWEST || (n < REPEATS && clock_now_ns() - began_ns < MOST_NS))
		ns[n++] = run(turns, count);
	const struct summary all = rf_summary(ns, n);
	return (struct line_transfer){way, all.least, all.median, all.q1, all.q3};
}

struct rf_error *line_transfers_measure(const struct topology *topology, struct machine *machine)
{
	struct turns *turns = aligned_alloc(_Alignof(struct turns), sizeof(*turns));
	struct rf_error *error = turns ? NULL : rf_error_no_memory();
	for (enum line_way way = 0; way < LINE_WAYS && !error && topology->usable_threads > 1;
	     way++) {
		int cpus[2];
		if (!cpus_of(topology, way, cpus))
			continue;
		error = team_create(cpus, 2, &turns->team);
		if (error)
			break;
		/* two threads on one hardware thread would wait for each other's time slices */
		if (team_is_pinned(turns->team))
			machine->transfers[machine->n_transfers++] = measure(turns, way);
		team_destroy(turns->team);
	}
	free(turns);
	return error;
}
