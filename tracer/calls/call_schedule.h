/* When breakpoints of calls are on, so that they slow the program down by no more than a share of
 * its time: of what its threads have a processor, however long others keep it from them.
 *
 * They are on from the beginning, and stay so where calls are long.  Where they are short, cycles
 * of CALL_CYCLE_NS follow of which each has one window in which they are on.  How long that is, and
 * where in the cycle it lies, is settled before the cycle begins, so that it does not depend on the
 * calls that fall into it: each call has the same chance, whatever it takes, and the calls of a
 * window stand for those of its cycle. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CALL_CYCLE_NS UINT64_C(100000000)
/* The same where calls are so short that nobody is told their times: they may become longer. */
#define CALL_RARE_CYCLE_NS UINT64_C(1000000000)
/* Of a thread's time that may go into breakpoints: where all calls are timed; and in windows. */
#define CALL_MOST_SHARE 0.004
#define CALL_WINDOW_SHARE 0.0025
/* What may be spent at once, ns: as a run begins, and in a window of which more was expected. */
#define CALL_AT_ONCE_NS 1000000
/* In a window in which threads have run for less, nothing is learned of what hits would take. */
#define CALL_LEAST_RAN_NS 200000

struct call_schedule {
	double hit_ns;   /* what one breakpoint costs a thread */
	double rate;     /* share of a thread's time that went into them while they were on */
	double purse_ns; /* what may be spent yet while they are on all the time */
	bool is_whole;   /* they are on all the time */
	bool is_on;
	uint64_t begin, cycle_ns; /* the cycle, ns */
	uint64_t on, off;         /* moments of this cycle */
	uint64_t turned; /* when this window began: a cycle, where they are on all the time */
	uint32_t n_cycles;
};

/* Of the thread that had most hits in this window: how many, and how long it had a processor
 * meanwhile; without hits, how long any thread had one. */
struct call_load {
	uint64_t hits, ran_ns;
};

/* They are turned on at `now`; `hit_ns`: what one costs. */
void call_schedule_begin(struct call_schedule *schedule, double hit_ns, uint64_t now);
/* Whether they are to be on from now on; schedule->turned tells whether another window begins. */
bool call_schedule_step(struct call_schedule *schedule, uint64_t now, const struct call_load *load);
/* When the next step is worth while, ns. */
uint64_t call_schedule_next(const struct call_schedule *schedule, uint64_t now);
