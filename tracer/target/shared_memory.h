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
/* Unmaps it here; or the arenas of one copy. */
void shared_memory_unmap(struct target *target);
void shared_memory_unmap_copy(struct target *target, enum copy copy);
