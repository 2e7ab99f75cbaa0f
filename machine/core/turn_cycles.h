/* Cycles of the core that a turn of a loop takes: those of a chain of dependent adds that is timed
 * beside it (machine/kernels/clock_kernels.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Runs so many turns; returns the ticks of the time stamp counter that it took. */
typedef uint64_t turn_ticks(void *context, uint64_t turns);

/* Cycles of one turn, by runs of `turns` and of three times as many: what comes before and behind
 * the turns is in both.  The middle of three batches or more; NAN: they do not repeat within 1 %.
 * `warms_up`: something computes with 512 bits.  Allocates nothing and calls nothing but `run`. */
double turn_cycles(turn_ticks *run, void *context, uint64_t turns, bool warms_up);
