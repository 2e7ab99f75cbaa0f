/* Waits, when it is known how long their threads ran and were ready. */
#pragma once

#include "tracer/schedule/schedule.h"
#include "tracer/schedule/settle.h"

/* Of the time in which a thread waited and no other ran: the share in which it was ready, by all
 * waits as they are before settle_waits.  It is taken to be the same for all waits of a thread. */
double ready_share(const struct schedule_wait *waits, size_t n_waits,
		   const struct schedule_thread *threads, const struct settle_thread *settled,
		   size_t n);

/* Of n_waits waits and n threads, of which `threads` are as the records tell them: takes from each
 * wait what its thread ran meanwhile, the same from each, and was ready, a share.  Then the waits
 * of a thread add up to what it waited, and the threads have the settled sums. */
void settle_waits(struct schedule_wait *waits, size_t n_waits, struct schedule_thread *threads,
		  const struct settle_thread *settled, size_t n);
