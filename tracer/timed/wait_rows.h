/* Waits of threads, by their stacks: rows of the profile's table of waits. */
#pragma once

#include "base/u64_map.h"
#include "profile/profile.h"
#include "tracer/schedule/schedule.h"

/* Of the waits of a row those behind which not all waits of the thread were sampled any more. */
struct wait_late {
	uint32_t thread; /* its number in the schedule */
	uint64_t time_ns, alone_ns, others_ns;
};

struct wait_rows {
	struct u64_map of_key;  /* thread and frame → row */
	struct wait_late *late; /* for each row */
	size_t n_late, cap_late;
	uint32_t *row_of_wait; /* of the schedule's waits: row plus 1; 0: none */
	size_t n_row_of_wait;
};

void wait_rows_deinit(struct wait_rows *rows);
/* The row of the profile for the schedule's wait of that number: that of the same thread, frame and
 * cause.  PROFILE_NONE: no memory. */
uint32_t wait_rows_add(struct wait_rows *rows, struct profile *profile, uint32_t wait,
		       const struct profile_wait *row);
/* The schedule is finished: the rows get the sums of their waits.  Waits without a sample are told
 * as the late ones of their thread, in proportion to their time; of a thread that has none as a row
 * without a frame.  Fails only when memory is short. */
struct rf_error *wait_rows_finish(struct wait_rows *rows, struct profile *profile,
				  const struct schedule *schedule);
