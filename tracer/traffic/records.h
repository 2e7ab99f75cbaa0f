/* From the records of one thread to accesses of the simulation. */
#pragma once

#include "tracer/traffic/allocation_records.h"
#include "tracer/traffic/group_lines.h"
#include "tracer/traffic/simulation.h"
#include "tracer/traffic/trace_expand.h"
#include "tracer/traffic/trace_ring.h"

struct record_reader {
	struct simulation *simulation;
	const struct trace_config *config;
	uint32_t space;
	struct access_filter filter;
	struct thread_accounts accounts;
	struct trace_expansion expansion;
	struct group_lines_cache *lines; /* NULL before the first record of several operands */
	struct allocation_reader allocation;
	uint64_t stack_pointer;        /* not yet told; or 0 */
	uint32_t n_chunks;             /* taken */
	uint32_t burst;                /* as in strides_note */
	bool in_burst;                 /* the steps of its accesses are looked at */
	uint64_t n_records, n_unknown; /* taken, and of no instruction that is known */
};

/* A reader for the thread with that row in the profile, which runs on `core` (struct hierarchy) in
 * that address space. */
void record_reader_init(struct record_reader *reader, struct simulation *simulation,
			const struct trace_config *config, uint32_t thread, uint32_t space,
			uint32_t core);
/* The thread has ended.  Does what was put off of its accesses. */
void record_reader_deinit(struct record_reader *reader);

/* Takes a chunk of up to n records, in their order. */
void record_reader_take(struct record_reader *reader, const struct trace_record *records, size_t n);
