/* One counted process image: its code cache, its threads' slots, and all else that the files of
 * this folder share about it.  target.c has what each of them asks. */
#pragma once

#include "profile/profile.h"
#include "tracer/gate/gate.h"
#include "tracer/gate/protocol.h"
#include "tracer/kernel/kernel_files.h"
#include "tracer/kernel/kernel_threads.h"
#include "tracer/process/program_memory.h"
#include "tracer/process/told_threads.h"
#include "tracer/traffic/drain.h"
#include "tracer/translate/translate.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The copies of the program's code that a target may have.  Threads of a traced run are in the
 * first one, whose accesses are checked, or in the second one, which is as fast as code is that is
 * only counted (copies.h). */
enum copy { COPY_FIRST, COPY_PLAIN, N_COPIES };

#define SLOTS_SIZE ((uint64_t)MAX_SLOTS * SLOT_STRIDE)

/* An execution that was cut in two by a signal: the tail is counted again when it resumes. */
struct interruption {
	uint32_t block, thread;
	enum copy copy;    /* whose block it is */
	uint16_t orig;     /* where the tail begins */
	bool head_counted; /* the block's own counter had been raised already */
	int64_t n;         /* how often */
};

/* How a thread in the gate whose request ends counting leaves: the thread that follows the tracees
 * (counted_run.c) takes it out, with the program's own registers and segment base. */
enum leaving_how {
	STAYS,
	ATTENDED,        /* stays, but is stopped first for the signals that are held for it */
	LEAVES,          /* goes on natively */
	LEAVES_UNTRACED, /* the same, and is not traced from then on */
	LEAVES_WHOLLY,   /* the same, with all threads of its process */
	LEAVES_WATCHED,  /* the same, and may trace others: its system calls are looked at */
	LEAVES_TO_TRACE, /* the same, and traces; process `argument`, if not 0, is let go */
	LEAVES_UNMAPPED, /* the same, and nothing of ours stays in the process */
	LEAVES_TO_END,   /* untraced, and ends by signal `argument` (namespace_init.h) */
};

struct leaving {
	enum leaving_how how;
	uint64_t pc; /* the program's address to go on at */
	pid_t argument;
	int last_signal; /* LEAVES_TO_END: what is delivered to it on the way, or 0 */
};

/* What is known of the signals that have a handler (tracees.c). */
struct caught_signals {
	bool known;
	uint64_t actions;         /* rt_sigaction calls when it was read */
	uint64_t caught;          /* bit n - 1: signal n */
	uint64_t delivered, kept; /* since then; those that delivery leaves with their handler */
};

struct target {
	pid_t pid;
	struct program_memory memory;
	struct translator copies[N_COPIES];
	struct stock *stock;          /* of the whole run, not owned; or NULL */
	uint64_t program;             /* the file that it runs; 0: not known */
	bool has_plain, plain_failed; /* the second copy can be used, or never will (copies.h) */
	uint64_t plain_from_ns;       /* before that time it is not made */
	bool plain_pays;              /* it is worth being made (copies_pay) */
	uint64_t begun_ns;            /* when the target was there */
	struct running {
		double *executions; /* of the first copy's blocks, a while ago; or NULL */
		size_t n;
	} running;
	uint64_t heat_from_ns, next_heat_ns; /* since when it is there; when it is next looked what
					      * is hot in it */
	uint64_t next_count_ns;              /* when executions may be counted again (copies.c) */
	struct copies_pace *pace; /* of the whole run, not owned; NULL: nothing is only counted */
	struct windows *windows;  /* of the whole run, not owned; NULL: all is traced, or nothing */
	uint8_t *slots;           /* MAX_SLOTS slots, as mapped here */
	size_t let_go[N_COPIES][MAX_ARENAS]; /* shared_memory_let_go: bytes */
	/* Bit i: 2 MiB from i times that on have got their huge page, or will not. */
	uint64_t huge_code[N_COPIES][MAX_ARENAS];
	uint8_t huge_slots[MAX_SLOTS];
	uint64_t slots_address; /* and in the target */
	uint64_t gate_address;  /* the gate's copy in the target */
	struct {
		pid_t tid; /* 0: the slot is free */
		uint32_t thread;
		enum copy copy;   /* that it runs */
		bool changes;     /* it is about to be stopped to change to the other one */
		uint32_t slice;   /* that it fills (cuts.h) */
		bool cut_in_call; /* in the system call that it may still be in */
		uint64_t left_ns; /* what it had run when it went on natively, and 1; 0: it has not
				   */
	} slot_of[MAX_SLOTS];
	struct leaving leaving[MAX_SLOTS];
	struct changing {
		uint64_t start, end;
	} changing[MAX_SLOTS]; /* memory that the thread's call changes now; end 0: none */
	int n_changing;
	uint64_t stop_at[MAX_SLOTS];    /* ns: when the server stops that thread; 0: never */
	uint64_t resumed_at[MAX_SLOTS]; /* ns: its last return from a signal handler */
	struct caught_signals caught;
	bool actions_unseen; /* code that runs natively may change the signals' actions */
	int n_slots;         /* one more than the highest slot ever used */
	int n_threads;       /* counted threads alive */
	struct interruption *interruptions;
	size_t n_interruptions, cap_interruptions;
	struct u64_map interruption_of_place; /* key: interruption_key; value: index */
	pid_t *tids;                          /* of all threads there ever were */
	size_t n_tids, cap_tids;
	struct drain *drain;                     /* not owned; NULL: accesses are not traced */
	struct drain_source *sources[MAX_SLOTS]; /* of traced threads */
	uint32_t space;                          /* drain_new_space */
	struct object_world *world;              /* not owned; or NULL */
	struct kernel_threads *kernels;          /* or NULL: no kernels are asked for */
	double untraced;                         /* accesses that could not be traced */
	bool overwritten;                        /* and is being ended for it (watchdog.c) */
	bool native;               /* given up: threads leave the cache at their next request */
	bool watched;              /* and may trace others */
	struct profile *profile;   /* not owned */
	struct told_threads *told; /* of the whole run, not owned */
	struct span *span;         /* of the whole run, not owned; NULL: all of it is measured */
	bool holds_stop;           /* the end of the span is awaited */
	struct {
		pid_t tid;
		uint64_t pc, stack;
	} back; /* the call that began the span: where it returns to; pc 0: none */
	struct entries {
		struct code_table *table; /* the one that the gate looks into now (entry_table.c) */
		uint64_t mask;            /* its number of cells, a power of two, less one */
		size_t used;              /* its cells with a key */
		bool full;                /* there was no room for a larger one */
	} entries[N_COPIES];
	size_t tables_end;     /* offset in the process area behind the last table */
	pthread_mutex_t *lock; /* of the whole run: the profile and all targets */
	pthread_t server;
	bool server_runs, stop;
	bool finished; /* its counts are in the profile, and only its map of addresses is left */
};

static inline uint64_t *slot_u64(uint8_t *slot, size_t offset)
{
	return (uint64_t *)(slot + offset);
}

static inline uint32_t *slot_u32(uint8_t *slot, size_t offset)
{
	return (uint32_t *)(slot + offset);
}

/* The slot's thread block as mapped here. */
static inline uint8_t *slot_at(const struct target *target, int index)
{
	assert(index > 0 && index < MAX_SLOTS);
	return target->slots + (uint64_t)index * SLOT_STRIDE;
}

static inline int slot_number(const struct target *target, const uint8_t *slot)
{
	assert(slot > target->slots && slot < target->slots + SLOTS_SIZE);
	return (int)((slot - target->slots) / SLOT_STRIDE);
}

/* The address of one of the gate's labels in the target. */
static inline uint64_t target_gate(const struct target *target, const char *label)
{
	return target->gate_address + (uint64_t)(label - gate_begin);
}

/* The state of a slot's request, STATE_….  The program can write it, too. */
static inline uint32_t *target_state(const struct target *target, int index)
{
	assert(index > 0 && index < MAX_SLOTS);
	return (uint32_t *)(target->slots + P_STATES) + index;
}

/* The counters of both copies that are in use. */
static inline struct kernel_counters target_counters(const struct target *target)
{
	return (struct kernel_counters){{target->copies[COPY_FIRST].cache.n_counters,
					 target->copies[COPY_PLAIN].cache.n_counters}};
}
/* The row that what the slot's thread does now is counted for (kernel_threads_row). */
static inline uint32_t target_row(const struct target *target, int index)
{
	return target->kernels ? kernel_threads_row(target->kernels, index)
			       : target->slot_of[index].thread;
}

/* The slot of a thread: its number, or 0, and its thread block, or NULL. */
int target_slot_index(const struct target *target, pid_t tid);
uint8_t *target_slot(const struct target *target, pid_t tid);

bool target_in_gate(const struct target *target, uint64_t pc);

/* The copy that a thread of that slot runs; slot 0, none: the first one. */
struct translator *target_copy_of(struct target *target, int slot);
/* The copy whose code cache holds an address, or NULL. */
struct translator *target_copy_at(const struct target *target, uint64_t address);
/* Whether a piece of any code cache holds an address; *piece is what it says.  *copy: whose code
 * cache has the address, or NULL. */
bool target_piece(const struct target *target, uint64_t address, struct translator **copy,
		  struct piece *piece);

/* The program's address for `address` in the code cache, when `tid` was one of this target's
 * threads; 0 for the gate and for code between the program's instructions.  *ours is false when
 * the address is none of the cache's or the thread is not the target's.  wait_sp, unless 0: the
 * stack pointer with which the thread waits in the kernel; the gate's address is that behind its
 * system call then, as long as it waits there.  The lock is held by the caller. */
uint64_t target_map(struct target *target, pid_t tid, uint64_t address, uint64_t wait_sp,
		    bool *ours);
/* The cache address of the program's code at pc, in the copy that the slot's thread runs; 0 where
 * it must run natively, which is noted with its reason, or when the target is given up.  The lock
 * is held by the caller. */
uint64_t target_body(struct target *target, int slot, uint64_t pc);
/* The program's address behind the system call whose cache address is `sysret`; 0 if unknown. */
uint64_t target_behind_syscall(struct target *target, uint64_t sysret);

/* Plain access as the program itself has it: false when it cannot read all of that memory. */
bool target_read(const struct target *target, uint64_t address, void *buffer, size_t size);

/* The gate sees it when the thread runs again (STATE_…). */
void target_set_state(struct target *target, int index, uint32_t state);
/* Stops that slot's thread for the follower; false when it cannot be. */
bool target_stop_thread(struct target *target, int slot);
/* Whether a SIGSTOP comes from target_stop_thread. */
bool target_sent_stop(const siginfo_t *info);
/* From now on all threads leave the cache at their next request, for the reason `why`. */
void target_give_up(struct target *target, const char *why);
