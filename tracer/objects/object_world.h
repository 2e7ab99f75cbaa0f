/* What the system shows of one process's memory, for its data objects (struct objects_source).
 *
 * It has maps and files of its own, so that the drain needs no lock of the run.  A process that is
 * gone is remembered as it was when it was last looked at. */
#pragma once

#include "tracer/objects/objects.h"

#include <sys/types.h>

struct object_world;
struct object_world *object_world_create(pid_t pid);
void object_world_destroy(struct object_world *world);

/* Looks at the process once more; any thread may call this. */
void object_world_look(struct object_world *world);

/* It executes another program: what is seen from now on is not its any more. */
void object_world_freeze(struct object_world *world);

struct objects_source object_world_source(struct object_world *world);

/* The run-time address of a module of `profile` less its offsets, where it was mapped last.  False:
 * it has none of that file. */
bool object_world_bias(struct object_world *world, const struct profile *profile, uint32_t module,
		       uint64_t *bias);

/* The row of one of its modules in `profile`; PROFILE_NONE stays what it is. */
uint32_t object_world_module(struct object_world *world, uint32_t module, struct profile *profile);
