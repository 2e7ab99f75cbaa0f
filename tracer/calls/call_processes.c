/* A list of forks. */
#include "tracer/calls/call_processes.h"

#include "base/array.h"

void call_processes_deinit(struct call_processes *processes)
{
	free(processes->items);
	*processes = (struct call_processes){0};
}

void call_processes_add(struct call_processes *processes, uint32_t pid, uint32_t parent,
			uint64_t born)
{
	if (!rf_array_push(processes->items, processes->n_items, processes->cap_items,
			   ((struct forked_process){pid, parent, born})))
		processes->memory_is_short = true;
}

/* A parent's fork stands before that of its child; of a number that was used again the last one
 * before that counts. */
bool call_processes_share(const struct call_processes *processes, uint32_t pid, uint32_t first,
			  uint64_t since)
{
	for (size_t i = processes->n_items; pid != first && i-- > 0;)
		if (processes->items[i].pid == pid) {
			if (processes->items[i].born < since)
				return false;
			pid = processes->items[i].parent;
		}
	return pid == first;
}
