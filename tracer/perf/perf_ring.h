/* Rings of perf records, and the records themselves.
 *
 * The layout is that of perf_event_open(2), "MMAP layout" and "struct perf_event_header".  Both
 * samplers use it: the kernel writes it for sampler_perf, the preloaded shim for sampler_timer.
 * Nothing in a ring is trusted: every size is checked against what is there. */
#pragma once

#include "symbols/unwind.h"
#include "tracer/perf/perf_source.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What each sample holds.  Events of a CPU share a ring (PERF_EVENT_IOC_SET_OUTPUT), so each record
 * carries the id of its event: first in a sample, last in the others, behind its TID and TIME
 * (attr.sample_id_all; perf_event_open(2), "sample_id"). */
#define PERF_RING_SAMPLE_TYPE                                                           \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |           \
	 PERF_SAMPLE_STACK_USER)

/* What each sample of a page fault holds: the same, but for the address that was touched in place
 * of the period. */
#define PERF_RING_FAULT_TYPE ((PERF_RING_SAMPLE_TYPE & ~PERF_SAMPLE_PERIOD) | PERF_SAMPLE_ADDR)

/* What each sample of a switch to another thread holds: the same without the period.  With
 * PERF_SAMPLE_PERIOD the kernel would make a sample of each single event, whatever its period
 * (perf_swevent_event in kernel/events/core.c). */
#define PERF_RING_SWITCH_TYPE (PERF_RING_SAMPLE_TYPE & ~PERF_SAMPLE_PERIOD)

/* What each sample of a hardware counter holds.  Not PERF_SAMPLE_PERIOD: the period is the one that
 * was set, and a software event would make a sample of each single event (above). */
#define PERF_RING_COUNTER_TYPE \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* What each hit of a breakpoint holds; of the registers the stack pointer alone, of the stack what
 * was asked for. */
#define PERF_RING_HIT_TYPE (PERF_RING_COUNTER_TYPE | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* The registers that unwinding needs, and those that tell the way back from a system call or a
 * fault; the kernel writes them in the order of their bits. */
#define PERF_RING_REGS_USER                                                                 \
	(1ull << PERF_REG_X86_BX | 1ull << PERF_REG_X86_CX | 1ull << PERF_REG_X86_DI |      \
	 1ull << PERF_REG_X86_BP | 1ull << PERF_REG_X86_SP | 1ull << PERF_REG_X86_IP |      \
	 1ull << PERF_REG_X86_FLAGS | 1ull << PERF_REG_X86_R12 | 1ull << PERF_REG_X86_R13 | \
	 1ull << PERF_REG_X86_R14 | 1ull << PERF_REG_X86_R15)

/* One record.  Pointers point into the bytes that were parsed. */
struct perf_record {
	uint32_t type; /* PERF_RECORD_* */
	uint16_t misc;
	uint32_t pid, tid;
	uint64_t time; /* CLOCK_MONOTONIC, ns; 0 where the record has none */

	uint64_t id; /* of the event that was opened (the parent's, where inherited) */

	/* PERF_RECORD_SAMPLE */
	uint64_t ip;
	uint64_t period; /* of PERF_RING_FAULT_TYPE: the address that was touched */
	bool has_regs;   /* false: the task was not in 64-bit user code; regs holds ip only */
	struct unwind_regs regs;
	uint64_t cx, di, flags; /* where has_regs */
	/* Where the kernel was, innermost first, with marks between (PERF_CONTEXT_…); callers in
	 * the program are not asked for (attr.exclude_callchain_user). */
	const uint64_t *chain;
	size_t n_chain;
	const uint8_t *stack;
	size_t stack_size;

	/* PERF_RECORD_MMAP2: [start, start + length) is `path` from file_offset */
	uint64_t start, length, file_offset;
	const char *path; /* also the name in PERF_RECORD_COMM */
	bool has_inode;   /* false: has a build id instead (PERF_RECORD_MISC_MMAP_BUILD_ID) */
	uint32_t major, minor;
	uint64_t inode;
	const uint8_t *build_id;
	size_t build_id_size;

	uint32_t parent_pid, parent_tid; /* PERF_RECORD_FORK, PERF_RECORD_EXIT */
	uint64_t lost;                   /* PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES */
};

/* Parses the record at `bytes` (`size` bytes are readable and 8-byte aligned).  Returns false when
 * the record is truncated or contradicts itself.  Types not listed above parse with their header
 * and trailer only. */
bool perf_record_parse(const void *bytes, size_t size, struct perf_record *record);
/* The same for PERF_RING_SWITCH_TYPE. */
bool perf_record_parse_switch(const void *bytes, size_t size, struct perf_record *record);
/* The same for PERF_RING_COUNTER_TYPE. */
bool perf_record_parse_counter(const void *bytes, size_t size, struct perf_record *record);

/* The same for PERF_RING_HIT_TYPE; has_regs: regs.sp is there. */
bool perf_record_parse_hit(const void *bytes, size_t size, struct perf_record *record);

/* A ring that this process reads. */
struct perf_ring {
	void *mapping;  /* by perf_ring_map, or NULL */
	uint64_t *head; /* written by the producer */
	uint64_t *tail; /* written here */
	const uint8_t *data;
	size_t size;     /* bytes of data, a power of two */
	uint64_t broken; /* times that the ring had to be given up to its head */
	bool shared;     /* the producer may change records while they are read: copy first */
	_Alignas(8) uint8_t scratch[1 << 16]; /* one record that wraps around (size is a u16) */
};

/* Called for each record; `size` is what the header says, at least 8. */
typedef void perf_ring_fn(void *context, const void *bytes, size_t size);

/* Maps the ring of a perf event: one control page, then `pages` of data, a power of two.  False
 * with errno. */
bool perf_ring_map(const struct perf_source *source, int fd, size_t pages, struct perf_ring *ring);
/* What is not mapped is left as it is. */
void perf_ring_unmap(const struct perf_source *source, struct perf_ring *ring);

/* Reads everything between tail and head; returns the number of records. */
size_t perf_ring_read(struct perf_ring *ring, perf_ring_fn *fn, void *context);
