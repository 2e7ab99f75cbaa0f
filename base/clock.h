/* The time that intervals are measured with. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* Processor time of the calling thread in nanoseconds. */
static inline uint64_t clock_thread_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}
