/* One counted process image: its code cache, its threads' slots, and the server that answers the
 * requests of its gate. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/gate/protocol.h"
#include "tracer/process/program_memory.h"
#include "tracer/traffic/drain.h"
#include "tracer/translate/translate.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* An execution that was cut in two by a signal: the tail is counted again when it resumes. */
struct interruption {
	uint32_t block, thread;
	uint16_t orig;     /* where the tail begins */
	bool head_counted; /* the block's own counter had been raised already */
	int64_t n;         /* how often */
};

/* A thread in the gate whose request ends counting: the thread that follows the tracees
 * (counted_run.c) takes it out, with the program's own registers and segment base. */
enum leaving_how {
	STAYS,
	ATTENDED, /* stays, but is stopped first for the signals that are held for it */
	LEAVES,
	LEAVES_UNTRACED, /* and is not traced from then on */
	LEAVES_TO_TRACE, /* and traces; process `argument`, if not 0, is not traced from then on */
	LEAVES_UNMAPPED, /* and nothing of ours stays in the process */
};

struct leaving {
	enum leaving_how how;
	uint64_t pc; /* the program's address to go on at */
	pid_t argument;
};

/* What is known of the signals that have a handler (interrupt.c). */
struct caught_signals {
	bool known;
	uint64_t actions;         /* rt_sigaction calls when it was read */
	uint64_t caught;          /* bit n - 1: signal n */
	uint64_t delivered, kept; /* since then; those that delivery leaves with their handler */
};

struct target {
	pid_t pid;
	struct program_memory memory;
	struct translator translator;
	uint8_t *slots;         /* MAX_SLOTS slots, as mapped here */
	uint64_t slots_address; /* and in the target */
	uint64_t gate_address;  /* the gate's copy in the target */
	struct {
		pid_t tid;
		uint32_t thread;
	} slot_of[MAX_SLOTS]; /* tid 0: free */
	struct leaving leaving[MAX_SLOTS];
	struct changing {
		uint64_t start, end;
	} changing[MAX_SLOTS]; /* memory that its call changes now */
	int n_changing;
	uint64_t stop_at[MAX_SLOTS]; /* ns: when the server stops that thread for the follower; 0:
					never */
	uint64_t resumed_at[MAX_SLOTS]; /* ns: its last return from a signal handler */
	struct caught_signals caught;
	bool actions_unseen;          /* code that runs natively may change the signals' actions */
	int n_slots;                  /* one more than the highest slot ever used */
	int n_threads;                /* counted threads alive */
	struct profile_count *counts; /* of threads that are gone; block: index in the cache */
	size_t n_counts, cap_counts;
	struct profile_units *units; /* module: index of the unit counter */
	size_t n_units, cap_units;
	struct interruption *interruptions;
	size_t n_interruptions, cap_interruptions;
	struct u64_map interruption_of_place; /* key: interruption_key; value: index */
	pid_t *tids;                          /* of all threads there ever were */
	size_t n_tids, cap_tids;
	struct drain *drain;                     /* not owned; NULL: accesses are not traced */
	struct drain_source *sources[MAX_SLOTS]; /* of traced threads */
	uint32_t space;                          /* drain_new_space */
	struct object_world *world;              /* not owned; or NULL */
	double untraced;                         /* accesses that could not be traced */
	bool native;              /* given up: threads leave the cache at their next request */
	struct profile *profile;  /* not owned */
	struct code_table *table; /* current hash table in the process area */
	uint64_t table_mask;      /* its number of cells, a power of two, less one */
	size_t table_used, tables_end;
	bool table_full;
	pthread_mutex_t *lock; /* of the whole run: the profile and all targets */
	pthread_t server;
	bool server_runs, stop;
};

/* Prepares the process `tid`, stopped at the end of its execve or fork, for counting, and sets its
 * registers so that it goes on in the code cache.  On failure the process is as it was.  `lock`
 * guards the profile and all targets of a run; the caller does not hold it.  `drain`: takes the
 * records of its accesses, or NULL. */
struct rf_error *target_create(pid_t tid, struct module_files *files, struct profile *profile,
			       struct drain *drain, pthread_mutex_t *lock, struct target **out);

/* Stops the server and collects the counts of all threads into the profile; frees what only a
 * running target needs.  The map of addresses stays. */
void target_finish(struct target *target);
void target_destroy(struct target *target);

/* Takes all that target_create mapped out of the process again; no thread is in it. */
struct injection;
void target_unmap(struct target *target, struct injection *injection);

/* The program's address for `address` in the code cache, when `tid` was one of this target's
 * threads; 0 for the gate and for code between the program's instructions.  *ours is false when
 * the address is none of the cache's or the thread is not the target's.  The lock is held by the
 * caller. */
uint64_t target_map(struct target *target, pid_t tid, uint64_t address, bool *ours);

/* Takes a slot for a thread; returns its GS base in the target, or 0 when all are taken. */
uint64_t target_add_thread(struct target *target, pid_t tid, const char *name);
/* Its stack pointer, before it runs. */
void target_set_stack(struct target *target, pid_t tid, uint64_t stack_pointer);
/* Collects the counts of a thread that is gone. */
void target_remove_thread(struct target *target, pid_t tid);
/* The slot's thread block as mapped here, or NULL. */
uint8_t *target_slot(const struct target *target, pid_t tid);

/* Adds one execution that was cut in two (n is taken for 1).  The lock is held by the caller. */
void target_note_interruption(struct target *target, const struct interruption *cut);

/* Answers the pending request of a slot, if it has one: the thread goes on in the cache, or
 * `leaving` says how it leaves and it is stopped for that.  The lock is held by the caller. */
void target_answer(struct target *target, int slot);
/* The same for a thread that is stopped: it is not told.  False when it must wait. */
bool target_decide(struct target *target, int slot);
/* The gate sees it when the thread runs again (STATE_…). */
void target_set_state(struct target *target, int slot, uint32_t state);
/* From now on all threads leave the cache at their next request; why (static text) is the reason.
 */
void target_give_up(struct target *target, const char *why);
/* Stops that slot's thread for the follower; false when it cannot be. */
bool target_stop_thread(struct target *target, int slot);
/* Whether a SIGSTOP comes from target_stop_thread. */
bool target_sent_stop(const siginfo_t *info);

static inline uint64_t *slot_u64(uint8_t *slot, size_t offset)
{
	return (uint64_t *)(slot + offset);
}

static inline uint32_t *slot_u32(uint8_t *slot, size_t offset)
{
	return (uint32_t *)(slot + offset);
}

/* The program's address behind the system call whose cache address is `sysret`; 0 if unknown. */
uint64_t target_behind_syscall(struct target *target, uint64_t sysret);

/* Gate addresses in the target. */
extern const char gate_begin[], gate_miss[], gate_indirect[], gate_collide[], gate_return[],
	gate_syscall[], gate_do_syscall[], gate_after_syscall[], gate_wait_begin[], gate_wait_end[],
	gate_resume[], gate_do_action[], gate_after_action[], gate_do_timer[], gate_after_timer[],
	gate_peek_clone[], gate_peek_path[], gate_record[], gate_record_more[], gate_allocation[],
	gate_allocated[], gate_do_change[], gate_after_change[], gate_end[];
static inline uint64_t target_gate(const struct target *target, const char *label)
{
	return target->gate_address + (uint64_t)(label - gate_begin);
}
