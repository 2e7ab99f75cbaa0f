/* The memory that tracer and target share. */
#pragma once

#include "tracer/target/inject.h"
#include "tracer/target/target.h"

/* Makes slots and arenas near the program's code, maps them in both processes, and puts the gate
 * into the first arena. */
struct rf_error *shared_memory_map(struct target *target, struct injection *injection);
/* Makes arenas for the plain copy, too (copies.h). */
struct rf_error *shared_memory_map_plain(struct target *target, struct injection *injection);
/* Takes it all out of the process again; no thread is in it. */
void shared_memory_unmap_remote(struct target *target, struct injection *injection);
/* Gives back the page tables' part in the slots, and in code that was made a while ago, when there
 * is a megabyte more of that: all stays in the memory of the target, and is here again when it is
 * touched. */
void shared_memory_let_go(struct target *target);
/* Has the kernel put code and slots into huge pages, some of them at each call (MADV_COLLAPSE;
 * Linux 6.1): translated code lies further apart than the program's own, and its counters and
 * tables are as many pages again, more than the processor has translations of at once.  Where the
 * kernel does not, all stays as it is.  The lock is held by the caller. */
void shared_memory_use_huge_pages(struct target *target);
/* Unmaps it here; or the arenas of one copy. */
void shared_memory_unmap(struct target *target);
void shared_memory_unmap_copy(struct target *target, enum copy copy);
