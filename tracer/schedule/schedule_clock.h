/* A run by the clock: how many threads ran at each time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULE_STRIP 1024 /* slices of the run at most */

static inline uint64_t schedule_lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What switches to threads took while exactly k others ran, about; `ready`, of those that were
 * known to be ready. */
struct schedule_switches {
	double ns, ready_ns;
};

/* Of the time in which exactly k threads ran. */
struct schedule_level {
	uint64_t running_ns;
	struct schedule_switches switches;
};

struct schedule_sums {
	uint64_t *running_ns; /* [k]: exactly k threads ran */
	size_t n_running, cap_running;
	struct schedule_switches *switches; /* [k] */
	size_t n_switches, cap_switches;
	uint64_t idle_ready_ns; /* of running_ns[0]: a thread was ready */
	uint64_t start;         /* of the first slice */
	uint64_t slice_ns;
	uint64_t busy_ns[SCHEDULE_STRIP];    /* running time of all threads in each slice */
	double switching_ns[SCHEDULE_STRIP]; /* what switches took in each, about */
	/* running_ns, switches, and idle_ready_ns as they were when a window began; when it has
	 * ended: what it added */
	struct schedule_level *window;
	size_t n_window, cap_window;
	uint64_t window_idle_ready_ns;
	bool has_window; /* there was memory for it */
};

void schedule_sums_init(struct schedule_sums *sums);
void schedule_sums_deinit(struct schedule_sums *sums);
/* From `from` (that of the first call begins the run) until `until` so many threads ran; `ready`:
 * another was known to be ready.  What there is no memory for is left out. */
void schedule_sums_add(struct schedule_sums *sums, uint64_t from, uint64_t until, size_t running,
		       bool ready);
/* At `time` a thread was switched to, while so many others ran, which took about `ns`. */
void schedule_sums_switch(struct schedule_sums *sums, uint64_t time, size_t running, bool was_ready,
			  double ns);
/* A window begins; it ends (false: no memory); from `from` until `until` all was as in the window,
 * which was `window_ns` long. */
void schedule_sums_begin_window(struct schedule_sums *sums);
bool schedule_sums_end_window(struct schedule_sums *sums);
void schedule_sums_repeat(struct schedule_sums *sums, uint64_t from, uint64_t until,
			  uint64_t window_ns);
/* Threads ran for so much longer in all, just before they were switched to: the times that switches
 * took about, all multiplied by one factor. */
void schedule_sums_lengthen(struct schedule_sums *sums, uint64_t ns);
/* Of the time from `from` until `until`, in which one thread alone was told to run, it did not for
 * so long; `ready`: it had no processor. */
void schedule_sums_shorten(struct schedule_sums *sums, uint64_t from, uint64_t until, uint64_t ns,
			   bool ready);
/* Of the time in which threads were told to run a processor was taken away for so long in all. */
void schedule_sums_steal(struct schedule_sums *sums, uint64_t ns);
/* While all threads seemed to wait, one was ready for such a share of the time. */
void schedule_sums_ready(struct schedule_sums *sums, double share);
