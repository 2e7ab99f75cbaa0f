/* The machine and its measured roofs. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum roof_kind { ROOF_COMPUTE, ROOF_BANDWIDTH };

/* One measured roof: more roofs are more rows.  docs/roofs.md lists what each text may be. */
struct roof {
	enum roof_kind kind;
	char isa[16];       /* compute: "scalar", "sse2", "avx2", "avx512f" by width, "x87", "amx";
			     * bandwidth: what the fastest kernel uses, "rep" for string moves */
	char precision[16]; /* "half", "bfloat16", "single", "double", "x87", "int8", "int32",
			     * "int64"; "" for bandwidth */
	char op[16];        /* "fma", "add", "fma1_add1"; "read", "triad", "random" */
	char level[8];      /* "L1", "L2", "L3", "DRAM"; "" for compute */
	int threads;
	bool by_node; /* a row beside the others, which machine_roof() does not take: all
		       * threads run on NUMA node cpu_node and all memory is on memory_node
		       * (logical numbers) */
	int cpu_node, memory_node;
	double best, median, q1, q3; /* in `unit` */
	double theory; /* by the microarchitecture's table or the memory's data, at the clock
			* measured beside this row; 0: not known */
	char unit[16]; /* "GFLOP/s" (1e9 flop/s), "GOP/s" (1e9 integer operations/s), "GB/s"
			* (1e9 bytes/s) */
	char bytes_convention[96]; /* bandwidth: what counts as a byte moved */
	bool distinguishable;      /* false: this level cannot be told from the next, do not draw */
	bool noisy; /* quartiles at least 5 % of the median apart, even after measuring
		     * for longer */
};

/* A roof that somebody states: a vendor's figure, another machine's.  Drawn, never used to place a
 * function. */
struct custom_roof {
	char name[96];
	double value;  /* in `unit` */
	char unit[16]; /* "GFLOP/s" or "GB/s" */
	char source[160];
};

struct machine_cache {
	int level;
	uint64_t size_bytes;
	uint64_t line_bytes;
	int ways;
	int shared_by;
};

struct machine {
	char *cpu_model;
	int usable_threads;      /* hardware threads inside the affinity mask and cgroup quota */
	char *microarchitecture; /* name, or NULL: not in the table, no theory */
	double clock_ghz;        /* measured with a dependent add loop */
	double clock_fp_ghz;     /* the same while the widest vectors multiply and add */
	struct machine_cache caches[8];
	size_t n_caches;
	struct machine_count {
		int threads;
		bool complete;
	} * counts; /* measured thread counts,
		     * ascending; complete: all rows, not only what reports use */
	size_t n_counts;
	struct roof *roofs;
	size_t n_roofs;
	struct custom_roof *custom_roofs; /* not measured: custom_roofs.h */
	size_t n_custom_roofs;
	bool from_cache; /* read from the cache file instead of measured now */
	char **notes;    /* what could not be measured as it should, one line each */
	size_t n_notes;
};

void machine_deinit(struct machine *machine);

/* Finds the best row for (kind, precision, op, level, threads); NULL for isa, precision, op or
 * level: any.  Between measured thread counts the value is interpolated linearly, outside of them
 * the nearest count's is taken.  Returns the value in `unit` of the row, or 0 when there is no such
 * row. `threads` may be fractional. */
double machine_roof(const struct roof *roofs, size_t n_roofs, enum roof_kind kind, const char *isa,
		    const char *precision, const char *op, const char *level, double threads);
/* True when roofs at `threads` are not measured but interpolated or taken from another count. */
bool machine_roof_interpolated(const struct roof *roofs, size_t n_roofs, double threads);
