/* Reads what breakpoints at kernels' functions tell, and joins it to calls: which breakpoint is
 * where, as the process maps libraries and calls return to other places. */
#pragma once

#include "base/error.h"
#include "tracer/calls/call_breakpoints.h"
#include "tracer/calls/call_pairs.h"
#include "tracer/calls/call_places.h"
#include "tracer/calls/call_processes.h"
#include "tracer/calls/call_schedule.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct call_finder;
struct mapping_watch;

/* The breakpoint of a place. */
struct place_state {
	uint64_t address; /* that calls return to, of PLACE_BACK */
	uint64_t since;   /* it is on where others are; 0: from the beginning */
	uint64_t mapped;  /* from when on its code is there; 0: from the beginning */
	bool is_refused;
};

struct thread_hits {
	uint32_t pid, tid;
	uint64_t n;
};

/* All zero but for pid, kernels and breakpoints.pid and first_only at first. */
struct call_reader {
	pid_t pid;
	const char *kernels; /* as --kernel has them */
	struct call_places places;
	struct place_state states[MOST_CALL_PLACES]; /* of places */
	struct call_breakpoints breakpoints;
	struct call_finder *finder;
	struct mapping_watch *mappings; /* as long as functions may come; or NULL */
	uint64_t looked_ns;             /* when the finder has looked */
	struct call_processes processes;
	struct call_event *events; /* read, and not yet taken */
	size_t n_events, cap_events;
	struct thread_hits *hits; /* since call_reader_clear_hits */
	size_t n_hits, cap_hits;
	/* when that was, and how long the first process had run then, with all its threads */
	uint64_t cleared_ns, cleared_ran_ns;
	uint64_t all_hits; /* of all threads, in all of the run */
	struct call_pairs pairs;
	uint8_t from_one_place; /* bits of kernels: calls from elsewhere are not seen */
	bool is_on;             /* the breakpoints */
	uint64_t lost;          /* records, or times that the kernel took no more of them */
	bool memory_is_short;
};

/* The rings.  0, or errno: breakpoints are refused. */
int call_reader_map(struct call_reader *reader);
void call_reader_deinit(struct call_reader *reader);
/* The process stands at its entry point: the breakpoints are there, and off. `other`: an address of
 * its code.  Errors: none can be, or no kernel can be watched. */
struct rf_error *call_reader_begin(struct call_reader *reader, uint64_t other);

/* Turns all breakpoints on or off. */
void call_reader_turn(struct call_reader *reader, bool on);
/* Takes all that came before `now`: of a thread's records none that is older comes after that.
 * Looks at what was mapped.  False: records are missing, of which it is not known when they would
 * have come. */
bool call_reader_read(struct call_reader *reader, uint64_t now);
/* CALL_WINDOW, CALL_CLOSE or CALL_FORGET. */
void call_reader_mark(struct call_reader *reader, enum call_event_kind kind, uint64_t time);
/* Whether an address that calls return to is still looked for. */
bool call_reader_lacks_back(const struct call_reader *reader);
/* Of the thread that had most since call_reader_clear_hits, until now: its process's threads
 * together have had a processor for so long, and the time by the clock has not been less. */
struct call_load call_reader_load(const struct call_reader *reader, uint64_t now);
void call_reader_clear_hits(struct call_reader *reader);

/* What to wait for: so many, of which the first is the caller's own; and what has come of it. */
size_t call_reader_n_polls(const struct call_reader *reader);
size_t call_reader_fill_polls(const struct call_reader *reader, struct pollfd *polls);
void call_reader_take_polls(struct call_reader *reader, const struct pollfd *polls);
/* Nothing comes any more: places.missing tells all kernels that were not watched. */
void call_reader_end(struct call_reader *reader, uint64_t now);
