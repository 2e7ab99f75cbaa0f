/* The limits that control groups set for this process (cgroups(7)), version 1 and 2. */
#pragma once

#include <stdint.h>

struct cgroup_limits {
	double cpus;           /* CPU quota in CPUs (quota / period); 0: none */
	uint64_t memory_limit; /* bytes; UINT64_MAX: none */
	uint64_t memory_used;  /* of the group with that limit */
};

/* Reads the tightest limits of the process's groups and their parents.  `root` is put in front of
 * every path ("" for the real one).  What cannot be read sets no limit. */
struct cgroup_limits cgroup_limits_read(const char *root);
