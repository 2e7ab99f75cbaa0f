/* The hardware threads that this process may use, their caches and the limits on them. */
#pragma once

#include "base/error.h"
#include "machine/data/machine.h"
#include "machine/topology/cgroup.h"

#define TOPOLOGY_LEVELS 3 /* L1d, L2, L3 */

/* A cache as one hardware thread sees it. */
struct topology_cache {
	uint64_t bytes; /* 0: there is none */
	int id;
};

struct topology_cpu {
	int os_index;                                  /* the operating system's number */
	int core;                                      /* logical number of its core */
	int numa_node;                                 /* logical number, or -1 */
	struct topology_cache caches[TOPOLOGY_LEVELS]; /* by level - 1; id within the level */
};

struct topology {
	char *cpu_model, *microcode, *kernel;
	/* Inside the affinity mask, in the order in which threads are placed: one on each core
	 * first, then the cores' further hardware threads. */
	struct topology_cpu *cpus;
	int n_cpus;
	int *nodes; /* operating system numbers of the NUMA nodes that this process may
		     * take memory from, by logical number */
	int n_nodes;
	int usable_threads;             /* n_cpus, or less by the CPU quota (rounded up) */
	struct machine_cache caches[8]; /* of the first CPU */
	size_t n_caches;
	struct cgroup_limits limits; /* the memory limit also by RLIMIT_AS */
	uint64_t memory_available;   /* bytes that may be allocated now */
};

/* Reads all of it.  RF_EUNAVAILABLE: the system does not show its hardware; memory. */
struct rf_error *topology_read(struct topology *topology);
void topology_deinit(struct topology *topology);

/* Size of the largest cache level that the first `n_threads` threads have: the sum over its
 * instances; 0 when no cache is known. */
uint64_t topology_last_level_bytes(const struct topology *topology, int n_threads);

/* Cores among the first `n_threads` threads. */
int topology_cores(const struct topology *topology, int n_threads);

/* The part of a level (1 to 3) that each of the first `n_threads` threads has to itself: the least
 * over the threads of size / threads on that instance; 0 when a thread has no such cache. */
uint64_t topology_share_bytes(const struct topology *topology, int level, int n_threads);
