/* Which processes were forked when, of whom: what a process maps is there in those alone that it
 * forks afterwards. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct forked_process {
	uint32_t pid, parent;
	uint64_t born; /* ns */
};

/* In the order of their births; all zero at first. */
struct call_processes {
	struct forked_process *items;
	size_t n_items, cap_items;
	bool memory_is_short; /* some are missing */
};

void call_processes_deinit(struct call_processes *processes);
void call_processes_add(struct call_processes *processes, uint32_t pid, uint32_t parent,
			uint64_t born);
/* Whether `pid` is `first`, or was forked of it after `since`, at whatever distance. */
bool call_processes_share(const struct call_processes *processes, uint32_t pid, uint32_t first,
			  uint64_t since);
