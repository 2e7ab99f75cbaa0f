/* What the preloaded shim (in the program) and sampler_timer (in rfprof) share: one file in memory
 * with a page of settings and a ring for each thread.
 *
 * A ring holds records in the form of perf_event_open(2): PERF_RECORD_SAMPLE with
 * PERF_RING_SAMPLE_TYPE (tracer/perf/perf_ring.h), and MMAP2, COMM and FORK with sample_id_all, so
 * that both samplers are read by the same code.  Only its own thread writes a ring, in a signal
 * handler or with nothing else running; only rfprof reads it.  A thread that is killed while it
 * writes leaves nothing behind, because the head moves last.
 *
 * Version 1: first layout. */
#pragma once

#include <stdint.h>

#define SHIM_PROTOCOL_VERSION 2

/* "N:PATH": PATH opens the file, N is 1 where the user had an LD_PRELOAD of his own. */
#define SHIM_ENVIRONMENT "RFPROF_TIMER"

#define SHIM_PAGE 4096
#define SHIM_SLOTS 1024
#define SHIM_RING_SIZE (256 << 10)
#define SHIM_SLOT_SIZE (SHIM_PAGE + SHIM_RING_SIZE)
#define SHIM_FILE_SIZE (SHIM_PAGE + (uint64_t)SHIM_SLOTS * SHIM_SLOT_SIZE)

/* First page of the file. */
struct shim_header {
	uint32_t version;
	uint32_t signal;      /* what the timers send */
	uint32_t interval_ns; /* of CPU time */
	uint32_t stack_bytes; /* of each sample at most, a multiple of 8 */
	uint32_t unsampled;   /* threads without a slot or a timer */
};

enum shim_slot_state { SHIM_SLOT_FREE, SHIM_SLOT_USED, SHIM_SLOT_CLOSED };

/* Page before each ring. */
struct shim_slot {
	uint32_t state;      /* FREE → USED by the thread, → CLOSED by it, → FREE by rfprof */
	uint32_t generation; /* changed by rfprof when it takes back the slot of a dead process */
	uint32_t pid, tid;
	uint64_t head, tail; /* bytes written and read since the beginning */
	uint64_t lost;       /* samples for which there was no room */
};
