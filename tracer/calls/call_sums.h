/* From timed calls to what the profile says of all calls of a kernel. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/calls/call_pairs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Time in which calls that began were timed; one for each CALL_WINDOW. */
struct call_window {
	uint64_t begin, end; /* ns */
	bool is_whole;       /* it stands for itself; else for a cycle: */
	uint64_t cycle_ns;
	bool is_spoilt; /* records are missing */
};

struct call_sources {
	const struct timed_call *calls;
	size_t n_calls;
	const struct window_calls *started; /* n_windows of them */
	/* By kernel: what calls that began unseen took at the least and at the most; or NULL. */
	const uint64_t *unseen_least_ns, *unseen_ns;
	const struct call_window *windows;
	size_t n_windows;
	uint64_t end;            /* of the run, ns */
	const uint32_t *kernels; /* the rows in the profile of the calls' kernels */
	size_t n_kernels;
	double cost_ns;         /* that timing a call adds to its time */
	double cost_spread_ns;  /* how far off that may be, the same for all calls */
	uint8_t from_one_place; /* bits of kernels: calls from elsewhere are not seen; a part of the
				 * run then says nothing */
	bool nested; /* calls in calls may be among them, where not all of the run was looked at */
};

/* Whether all of the run was looked at. */
bool call_sums_are_whole(const struct call_sources *sources);

/* Fills kernel_times and kernel_call_times, for kernels of which nearly all calls that were to be
 * timed were, or says in a fact why no kernel has a row.
 *
 * A call's weight w is one over the share of its time that was a window.  The mean of all calls is
 * the ratio of the sums of w times and of w; its interval is that of such a ratio with windows as
 * pairs (statistics/ratio.h), or where they are few, of the mean of independent calls.  Fails only
 * when memory is short. */
struct rf_error *call_sums_save(const struct call_sources *sources, struct profile *profile);
