/* The machine and its measured roofs. */
#pragma once

#include "base/error.h"
#include "machine/data/roof_terms.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One measurement of a row. */
struct roof_visit {
	int64_t when_s; /* seconds since 1970 */
	double best;    /* in the row's unit */
};
#define ROOF_HISTORY 8 /* that a row keeps; see roof_history.h */

/* One measured roof: more roofs are more rows. */
struct roof {
	enum roof_kind kind;
	enum roof_isa isa;
	enum roof_precision precision; /* ROOF_PRECISION_NONE for bandwidth */
	enum roof_op op;
	enum roof_level level; /* ROOF_LEVEL_NONE for compute */
	int threads;
	bool by_node; /* a row beside the others, which machine_roof() does not take: all
		       * threads run on NUMA node cpu_node and all memory is on memory_node
		       * (logical numbers) */
	int cpu_node, memory_node;
	/* In `unit`: the best of all measurements in the history; median and quartiles are of the
	 * repeats of that measurement, or of a longer one that was hardly slower. */
	double best, median, q1, q3;
	double theory; /* by the microarchitecture's table or the memory's data, at the clock
			* measured beside this row; 0: not known */
	char unit[16]; /* "GFLOP/s" (1e9 flop/s), "GOP/s" (1e9 integer operations/s), "GB/s"
			* (1e9 bytes/s) */
	char bytes_convention[96]; /* bandwidth: what counts as a byte moved */
	/* False: this level cannot be told from the next, or zeros not from other data: do not
	 * draw. */
	bool distinguishable;
	bool noisy;     /* quartiles at least 5 % of the median apart, even after measuring
			 * for longer */
	int n_measured; /* in all; 0: a row of a file that does not tell */
	int n_history;  /* the first and the last of these, in their order */
	struct roof_visit history[ROOF_HISTORY];
	double now; /* behind the program that this process has run; 0: not; never kept */
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

/* A thread count that was measured. */
struct machine_count {
	int threads;
	bool complete; /* all rows, not only what reports use */
};

/* One thread's walks through so many bytes: see size_curve.h. */
struct size_point {
	uint64_t bytes;
	/* ns from one dependent load to the next, in random order: the lowest and the median of
	 * the repeats. */
	double latency_ns, latency_median_ns;
	double read_gbs, read_median_gbs; /* 1e9 bytes/s, the highest and the median */
};

/* Between which hardware threads a line moves. */
enum line_way {
	LINE_WITHIN_CORE,  /* of one core */
	LINE_WITHIN_CACHE, /* of two cores below one last cache */
	LINE_BEYOND,       /* of two last caches, or sockets */
	LINE_WAYS
};
/* What it costs that a line moves, once, which two threads write in turns: ns. */
struct line_transfer {
	enum line_way way;
	double best_ns, median_ns, q1_ns, q3_ns; /* of the repeats */
};

/* What it costs one thread that lines lie far apart (docs/roofs.md); ns; 0: not known. */
struct page_costs {
	bool measured;
	/* Of a line of L2, L3 and memory that shares a set of L1 with all others, by independent
	 * loads. */
	double one_set_ns[3];
	/* Pages of 4 KiB that the nearest and the farthest TLB reach.  Without these no end was
	 * found, and what is next is 0. */
	uint32_t first_pages, last_pages;
	/* So much longer takes a line whose page is in the farther TLB alone, or in none: by loads
	 * that wait for each other, and by independent ones. */
	double second_ns[2], walk_ns[2];
	/* The latter of as many pages of 4 KiB that lie in huge pages, where the kernel gives them.
	 */
	double huge_walk_ns[2];
};

struct machine {
	char *cpu_model;
	int usable_threads;      /* hardware threads inside the affinity mask and cgroup quota */
	char *microarchitecture; /* name, or NULL: not in the table, no theory */
	double clock_ghz;        /* measured with a dependent add loop */
	double clock_fp_ghz;     /* the same while the widest vectors multiply and add */
	struct machine_cache caches[8];
	size_t n_caches;
	struct machine_count *counts; /* ascending */
	size_t n_counts;
	struct roof *roofs;
	size_t n_roofs;
	struct size_point *sizes; /* ascending; none where only the quick rows were measured */
	size_t n_sizes;
	bool sizes_in_small_pages; /* no huge pages could be had: misses of the TLB are in it */
	struct line_transfer transfers[LINE_WAYS]; /* those that are there and were measured */
	size_t n_transfers;
	struct page_costs pages;
	struct custom_roof *custom_roofs; /* not measured: custom_roofs.h */
	size_t n_custom_roofs;
	bool from_cache; /* read from the cache file instead of measured now */
	char **notes;    /* what could not be measured as it should, one line each */
	size_t n_notes;
};

void machine_deinit(struct machine *machine);

/* "one core", "one last cache", "two last caches". */
const char *line_way_words(enum line_way way);
/* "core", "cache", "beyond": in JSON; LINE_WAYS: no such word. */
const char *line_way_name(enum line_way way);
enum line_way line_way_find(const char *name);

/* Which rows a look-up wants; ROOF_ISA_ANY: of whatever isa. */
struct roof_key {
	enum roof_kind kind;
	enum roof_isa isa;
	enum roof_precision precision;
	enum roof_op op;
	enum roof_level level;
};

static inline struct roof_key roof_compute(enum roof_isa isa, enum roof_precision precision,
					   enum roof_op op)
{
	return (struct roof_key){ROOF_COMPUTE, isa, precision, op, ROOF_LEVEL_NONE};
}

static inline struct roof_key roof_bandwidth(enum roof_op op, enum roof_level level)
{
	return (struct roof_key){ROOF_BANDWIDTH, ROOF_ISA_ANY, ROOF_PRECISION_NONE, op, level};
}

/* Whether two rows are of the same roof, at perhaps another thread count or on other nodes.  Which
 * kernel was fastest (isa) makes no difference to a bandwidth. */
bool roof_is_same(const struct roof *a, const struct roof *b);
/* Whether a row is of the key and not of single NUMA nodes. */
bool roof_matches(const struct roof *roof, struct roof_key key);

/* What it does in a cycle, all its threads together: its rate over the machine's clock (under
 * vector code where the vectors are wide).  NAN for a bandwidth, and where no clock was measured
 * (0). */
double roof_per_cycle(const struct roof *roof, double clock_ghz, double clock_fp_ghz);

/* The best rate of the key at `threads`, which may be fractional, in `unit` of the rows; 0: there
 * is no such row.  Between measured thread counts the value is interpolated linearly, outside of
 * them the nearest count's is taken. */
double machine_roof(const struct roof *roofs, size_t n_roofs, struct roof_key key, double threads);
/* True when roofs at `threads` are not measured but interpolated or taken from another count. */
bool machine_roof_interpolated(const struct roof *roofs, size_t n_roofs, double threads);

/* True when the machine has rows at `threads`; all rows unless `quick`. */
bool machine_has_count(const struct machine *machine, int threads, bool quick);

/* The machine's row of the same roof, thread count and nodes, or NULL. */
struct roof *machine_row(const struct machine *machine, const struct roof *like);

/* Moves what `older` has and `newer` lacks (rows at other thread counts, rows by NUMA node, the
 * walk by size, the notes about them) into `newer`; a row that both have continues the history of
 * `older`, where that has one.  `older` is left to be deinitialised. */
struct rf_error *machine_merge(struct machine *newer, struct machine *older);
