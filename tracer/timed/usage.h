/* What every kernel tells of a program without rights: the most memory, and what was read and
 * written (proc(5)). */
#pragma once

#include "tracer/schedule/kernel_sums.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct usage {
	bool has_sums, has_bytes;
	struct kernel_sums before, sums; /* of the first thread */
	uint64_t process_ns;             /* what all threads of the process ran; 0: not known */
	/* by read(2), write(2) and their kin, with children that were waited for */
	uint64_t read_bytes, written_bytes;
	uint64_t calls; /* how many these calls were; 0: not known */
};

/* Of a process before it is let go: `before`. */
void usage_at_start(pid_t pid, struct usage *usage);
/* Of a process that has ended and is not waited for yet: all else. */
void usage_at_end(pid_t pid, struct usage *usage);

/* The most memory that any of the watched processes has had, as far as it was looked at. */
struct usage_memory;
struct usage_memory *usage_memory_create(void); /* NULL: no memory */
void usage_memory_destroy(struct usage_memory *memory);
void usage_memory_watch(struct usage_memory *memory, pid_t pid);
void usage_memory_look(struct usage_memory *memory);
uint64_t usage_memory_peak(const struct usage_memory *memory); /* bytes; 0: not known */
