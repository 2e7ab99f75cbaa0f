/* Who held up the threads that waited: the samples of other threads of the process meanwhile, by
 * the stack of the wait, and what the thread that let one go on had waited for itself. */
#pragma once

#include "profile/profile.h"
#include "tracer/schedule/schedule.h"

struct wait_runners;
/* Of waits in `schedule`, borrowed, whose records are played before the samples of the same time.
 * NULL: no memory. */
struct wait_runners *wait_runners_create(const struct schedule *schedule);
void wait_runners_destroy(struct wait_runners *runners);

/* A thread begins to wait: its ids, the number of the wait in the schedule and its row in the
 * profile.  Waits and samples come in the order of their times.  Fails only when memory is short.
 */
struct rf_error *wait_runners_begin(struct wait_runners *runners, struct profile *profile,
				    uint64_t time, uint32_t pid, uint32_t tid, uint32_t wait,
				    uint32_t row);
/* A thread ran: `thread` and `frame` are rows of the profile.  That it lets a wait go on which has
 * not ended in the schedule is not known.  Takes as long as threads of all
 * processes wait.  Fails only when memory is short. */
struct rf_error *wait_runners_sample(struct wait_runners *runners, struct profile *profile,
				     uint32_t pid, uint32_t tid,
				     const struct profile_sample *sample);
/* All has been played: adds the rows of profile->meanwhile.  `row_of_wait`: the row of each of the
 * schedule's waits plus 1, or 0, of `n`.  Fails only when memory is short. */
struct rf_error *wait_runners_finish(struct wait_runners *runners, struct profile *profile,
				     const uint32_t *row_of_wait, size_t n);
