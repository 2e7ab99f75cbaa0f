/* Tells at once when a process maps code of files: by records of the kernel's in rings of their
 * own, since those of other rings are read in batches. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping_watch;

/* Of a process that is about to execute its program, until it executes another one.  Before other
 * rings are mapped, as call_watch_create.  NULL with errno: that is refused, or memory is short. */
struct mapping_watch *mapping_watch_create(pid_t pid);
void mapping_watch_destroy(struct mapping_watch *watch);

/* Descriptors that are readable when there is something; how many there are, or `most`. */
size_t mapping_watch_polls(const struct mapping_watch *watch, struct pollfd *polls, size_t most);
/* Whether code of files was mapped since the last mapping_watch_forget. */
bool mapping_watch_read(struct mapping_watch *watch);
/* When what is at `address` was mapped, of what was mapped since then (CLOCK_MONOTONIC, ns);
 * `otherwise`: it was not, or its record is missing. */
uint64_t mapping_watch_time(const struct mapping_watch *watch, uint64_t address,
			    uint64_t otherwise);
/* What was mapped before `time` is known. */
void mapping_watch_forget(struct mapping_watch *watch, uint64_t time);
