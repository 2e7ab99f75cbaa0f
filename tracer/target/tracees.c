#include "tracer/target/tracees.h"

#include "base/array.h"

struct tracee *tracees_find(struct tracees *tracees, pid_t tid)
{
	for (size_t i = 0; i < tracees->n_items; i++)
		if (tracees->items[i].tid == tid)
			return &tracees->items[i];
	return NULL;
}

struct tracee *tracees_add(struct tracees *tracees, pid_t tid)
{
	struct tracee new = {.tid = tid, .tgid = tid};
	if (!rf_array_push(tracees->items, tracees->n_items, tracees->cap_items, new))
		return NULL;
	return &tracees->items[tracees->n_items - 1];
}

void tracees_remove(struct tracees *tracees, pid_t tid)
{
	struct tracee *tracee = tracees_find(tracees, tid);
	if (tracee)
		*tracee = tracees->items[--tracees->n_items];
}
