/* What threads do while no switch is told. */
#pragma once

#include "tracer/schedule/schedule_state.h"

/* Switches are told from now on, and threads are watched for the next gap. */
void schedule_begin_window(struct schedule *schedule);
/* Switches are not told until the next window. */
void schedule_begin_gap(struct schedule *schedule);
/* Within a gap: time goes on towards `time` as in the window, and it is told how far: the less, the
 * more of the threads have ended that ran there.  What a thread did in the gap until now is added;
 * or for the last time. */
uint64_t schedule_advance_gap(struct schedule *schedule, uint64_t time);
void schedule_add_deeds(struct schedule *schedule, struct live *thread);
void schedule_leave_gap(struct schedule *schedule, struct live *thread);
