/* Ticks that came while the kernel had interrupts off: they are told on the way back to the
 * program, as samples of it. */
#pragma once

#include "tracer/perf/perf_ring.h"

enum late_tick {
	LATE_NOT,  /* the program ran, or it is not known */
	LATE_CALL, /* on the way back from a system call */
	LATE_FAULT /* from a page fault */
};

struct late_ticks;
struct late_ticks *late_ticks_create(void); /* NULL: no memory */
void late_ticks_destroy(struct late_ticks *ticks);

/* Takes in a sample of a page fault of the program's own. */
void late_ticks_add_fault(struct late_ticks *ticks, const struct perf_record *fault);
/* Of a sample that is told as the program's; the first of an instruction reads it in the process,
 * which must live still. */
enum late_tick late_ticks_tell(struct late_ticks *ticks, const struct perf_record *sample);
