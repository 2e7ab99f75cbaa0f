/* Schedules made by chance: what each thread does at each moment, and the records that tell it. */
#pragma once

#include "tracer/schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 6, MOMENTS = 400, NS = 1000, START = 5000000 };
enum { GONE, RUNS, READY, WAITS };

/* The first threads are of one process, the others of another one. */
static inline uint32_t pid_of(int t)
{
	return t < 4 ? 7 : 8;
}

static inline uint32_t tid_of(int t)
{
	return 100 + (uint32_t)t;
}

struct truth {
	uint8_t state[THREADS][MOMENTS]; /* what each thread does from moment m to m + 1 */
	uint32_t wait[THREADS][MOMENTS]; /* the number of the sample of a wait that begins there */
};

static uint64_t seed = 1;

static inline unsigned any(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* Each thread is there from some moment to another, and stays in a state for a while. */
static inline void make_truth(struct truth *truth)
{
	memset(truth, 0, sizeof(*truth));
	for (int t = 0; t < THREADS; t++) {
		const unsigned first = t ? any(MOMENTS / 2) : 0,
			       end = first + 1 + any(MOMENTS - first);
		uint8_t state = t ? READY : RUNS; /* born ready; the first one by execve */
		for (unsigned m = first; m < end && m < MOMENTS; m++) {
			truth->state[t][m] = state;
			if (any(4))
				continue;
			/* off a processor nobody begins to wait, and who waits is not ready by a
			 * switch */
			state = state == RUNS ? (any(2) ? READY : WAITS) : RUNS;
		}
	}
}

struct fed {
	enum schedule_kind kind;
	uint64_t time;
	uint32_t pid, tid, wait;
};

/* Two of three waits have a sample. */
static inline size_t records_of(struct schedule *schedule, struct truth *truth, struct fed *out)
{
	static const enum schedule_kind kinds[] = {
		[RUNS] = SCHEDULE_RUNS, [READY] = SCHEDULE_READY, [WAITS] = SCHEDULE_WAITS};
	size_t n = 0;
	for (int m = 0; m <= MOMENTS; m++)
		for (int t = 0; t < THREADS; t++) {
			const uint8_t before = m ? truth->state[t][m - 1] : GONE;
			const uint8_t now = m < MOMENTS ? truth->state[t][m] : GONE;
			struct fed fed = {.time = START + (uint64_t)m * NS,
					  .pid = pid_of(t),
					  .tid = tid_of(t)};
			if (before == now)
				continue;
			if (now == WAITS && any(3)) {
				truth->wait[t][m] = fed.wait = schedule_add_wait(schedule);
				truth->wait[t][m]++; /* 0: none */
				fed.kind = SCHEDULE_WAIT_SAMPLE;
				out[n++] = fed;
			}
			fed.kind = before == GONE ? (t ? SCHEDULE_BORN : SCHEDULE_BEGIN)
				   : now == GONE  ? SCHEDULE_END
						  : kinds[now];
			out[n++] = fed;
		}
	return n;
}
