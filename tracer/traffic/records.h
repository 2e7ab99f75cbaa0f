/* From the records of one thread to accesses of the simulation. */
#pragma once

#include "tracer/stores/recent_stores.h"
#include "tracer/traffic/allocation_records.h"
#include "tracer/traffic/group_lines.h"
#include "tracer/traffic/simulation.h"
#include "tracer/traffic/trace_expand.h"
#include "tracer/traffic/trace_ring.h"

/* What a reader was at before it looked ahead. */
struct reader_before {
	bool is_kept, in_burst;
	uint32_t row;
	struct trace_expansion expansion;
};

struct record_reader {
	uint32_t thread; /* its row */
	struct simulation *simulation;
	const struct trace_config *config;
	uint32_t space;
	struct access_filter filter;
	struct tlb *tlb; /* NULL: none is simulated */
	struct burst_cache burst_cache;
	struct recent_stores stores;     /* of the burst at hand */
	struct thread_accounts accounts; /* those at hand */
	uint32_t row; /* whose: its own row, or the number of a share (profile_kernels.h) */
	struct row_accounts {
		uint32_t row;
		struct thread_accounts accounts;
	} * others; /* of the rows that had them at hand before */
	size_t n_others, cap_others;
	struct trace_expansion expansion;
	struct group_lines_cache *lines; /* NULL before the first record of several operands */
	struct allocation_reader allocation;
	uint64_t stack_pointer;  /* not yet told; or 0 */
	uint64_t burst;          /* number of the last one; another one for each of any thread */
	uint64_t burst_ns;       /* when it began; before the first one the thread */
	double burst_weight;     /* ns since the one before */
	uint32_t burst_accesses; /* told to the burst's cache */
	bool judged;   /* of the record at hand: executions and misses count, or neither does */
	bool new_code; /* a burst had instructions that no access was seen of before; whoever reads
			* it clears it */
	bool in_burst; /* all accesses are recorded; their steps are looked at */
	bool shares;   /* its accesses are its own in all accounts (struct reader_thread) */
	struct sharing_chunk chunk;    /* the one at hand */
	uint64_t n_records, n_unknown; /* taken, and of no instruction that is known */
	struct reader_before before;
};

/* Its row in the profile, and the one that its traffic is told of (drain.h). */
struct reader_thread {
	uint32_t row, told;
};

/* A reader for the thread with that row in the profile, which runs on `core` (struct hierarchy) in
 * that address space. */
void record_reader_init(struct record_reader *reader, struct simulation *simulation,
			const struct trace_config *config, const struct reader_thread *thread,
			uint32_t space, uint32_t core);
/* The thread has ended.  Does what was put off of its accesses. */
void record_reader_deinit(struct record_reader *reader);

/* The accounts of a row, or NULL: it had none at hand. */
struct thread_accounts *record_reader_accounts(struct record_reader *reader, uint32_t row);

/* Takes a chunk of up to n records, in their order.  `is_burst`: as trace_ring_is_burst said.
 * `stamp`: when it was handed over, in cycles of the time-stamp counter; all of it was recorded
 * behind the stamp of the call before. */
void record_reader_take(struct record_reader *reader, const struct trace_record *records, size_t n,
			bool is_burst, uint64_t stamp);

/* Lets the caches have what records that will be taken later access while the thread works for a
 * kernel; the simulation looks ahead (struct simulation). */
void record_reader_look_ahead(struct record_reader *reader, const struct trace_record *records,
			      size_t n);
/* The reader is where it was before it looked ahead. */
void record_reader_look_back(struct record_reader *reader);
