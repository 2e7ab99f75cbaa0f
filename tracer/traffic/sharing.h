/* Lines that several threads of an address space touch while one of them writes: which bytes each
 * instruction of each thread touched, and how often at least the line went from one to another.
 *
 * It hears of bursts alone (tracer/gate/protocol.h): there every access that has a check is
 * recorded, of whatever class of sets, and none is left out as a repetition.  The shares of an
 * instruction's accesses that went to a line are those of all of its executions, which are counted
 * (sharing_lines.h).  Nothing is noted of an address space that has had one thread at a time only.
 *
 * Memory is bounded: SHARING_LINES lines are watched.  Of those that only one thread has touched
 * the one that was touched least lately gives way to a new one; lines that are shared stay. One
 * thread at a time. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARING_LINES 16384
/* Instructions, each in a thread, that are told apart at one line, and at all lines. */
#define SHARING_TOUCHERS 256
#define SHARING_TOUCHERS_OF_ALL (1 << 18)

/* Where data is: a data object of the address space, and the byte in it. */
struct data_place {
	uint32_t object; /* its number; PROFILE_NONE: not known */
	bool has_offset; /* else it is one of which only the whole is known, as stacks are */
	uint64_t offset; /* bytes from its beginning */
};

/* Asks where an address lies now. */
typedef struct data_place sharing_locate(void *context, uint32_t space, uint64_t address);

struct sharing;
/* Nobody has touched anything.  `locate` is asked when a line turns out to be shared, and again as
 * its accesses double: what was freed may be another object's by then.  NULL: memory is short. */
struct sharing *sharing_create(sharing_locate *locate, void *context);
void sharing_destroy(struct sharing *sharing);

/* A thread, by its row in the profile, begins or ends in an address space; `stamp`: when, in cycles
 * of the time-stamp counter. */
void sharing_thread_begins(struct sharing *sharing, uint32_t space, uint32_t thread,
			   uint64_t stamp);
void sharing_thread_ends(struct sharing *sharing, uint32_t thread, uint64_t stamp);
/* Whether anything is noted there: two of its threads have lived at the same time. */
bool sharing_watches(const struct sharing *sharing, uint32_t space);

/* Accesses that a thread has made between two moments, in cycles; nothing more is known of their
 * order beside those of other threads. */
struct sharing_chunk {
	uint32_t space, thread;
	uint64_t burst; /* its number; another one for each of any thread */
	uint64_t from, to;
};

/* An access to bytes from `address` on, of the account `who`: an instruction in that thread. */
struct sharing_access {
	uint64_t address, bytes;
	uint32_t who;
	bool loads, stores;
};

/* An operand of `who`, of so many that the instruction has, was executed. */
void sharing_execution(struct sharing *sharing, const struct sharing_chunk *chunk, uint32_t who,
		       unsigned n_operands);
/* Notes an access.  Of one that goes over more than SHARING_MOST bytes the first ones count. */
#define SHARING_MOST 65536
void sharing_note(struct sharing *sharing, const struct sharing_chunk *chunk,
		  const struct sharing_access *access);

/* ---- what was seen ---- */

/* What one instruction of one thread did to a line. */
struct toucher {
	uint32_t who, thread;
	uint64_t loaded, stored; /* bit k: byte k of the line */
	uint32_t loads, stores;  /* accesses, in bursts; one that does both is one of each */
	uint32_t both;           /* of these: did both */
	uint32_t visits, visit;  /* of the line's visits: how many it had a part in, the last one */
	struct data_place place; /* of its lowest byte; known where the line is shared */
};

struct watched_line {
	uint64_t line; /* number: address by CACHE_LINE */
	uint32_t space;
	struct toucher *touchers;
	uint32_t n, cap;
	uint32_t last;     /* the toucher of the last access */
	uint64_t accesses; /* in bursts */
	bool has_threads;  /* two threads have touched it, */
	bool is_stored;    /* somebody has stored to it, */
	bool is_shared;    /* and it is known whose data it is since both came true */
	uint64_t turns;    /* it went from one thread to another, seen for certain */
	/* Bursts, or parts of them between those of others, that touched it; how many of them were
	 * another thread's than the one before, and how many of these were single, another one's
	 * than the next as well; the last one's thread, burst, and whether it was a change. */
	uint32_t visits, changes, singles, visitor;
	bool changed;
	uint64_t burst;
	/* Of the last chunk of the chain of chunks, none of which overlaps another, that `turns` is
	 * of. */
	struct {
		uint64_t to;
		uint32_t thread;
		bool is_known, stores;
	} holder;
};

/* All lines that are watched, in any order: `each` is called with each of them. */
void sharing_each(const struct sharing *sharing,
		  void (*each)(void *context, const struct watched_line *line), void *context);

/* How far threads mix at a line: 1: as if each visit were one of any thread by chance, or not
 * known; near 0: each has it for several visits before another one does. */
double sharing_mixed(const struct watched_line *line);

/* What bursts have seen of an account: executions of operands, of so many each time, in so many
 * bursts.  All 0: none. */
struct seen_executions {
	uint64_t executions;
	uint32_t n_operands, bursts;
	uint64_t burst; /* the last one */
};
struct seen_executions sharing_seen(const struct sharing *sharing, uint32_t who);

/* A thread's life; `to` is UINT64_MAX where its end was not told. */
struct sharing_thread {
	uint32_t space, thread;
	uint64_t from, to;
};
const struct sharing_thread *sharing_threads(const struct sharing *sharing, size_t *n);

/* Accesses that were left out because there was no room, and whether memory was short. */
uint64_t sharing_lost(const struct sharing *sharing);
