/* What a sample costs the program that is sampled: the interrupt, which in a virtual machine leaves
 * the guest twice, and the copying. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds by which one sample of an event like `attr` delays the thread that it interrupts, on
 * this thread and now: the median over pairs of loops with and without samples.  Takes 2 to 6 ms;
 * `roughly`, a third of that.  0 when it cannot be measured. */
uint64_t sample_cost_ns(const struct perf_event_attr *attr, bool roughly);
