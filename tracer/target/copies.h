/* The two copies of the code of a process.
 *
 * In a traced run accesses to memory are checked and recorded in the first one.  The second, plain
 * one only counts, and notes calls of allocators.  Both count exactly, and what the program does is
 * the same in either; a thread changes from the one to the other where its registers are the
 * program's own, at times that windows.h chooses.
 *
 * The plain copy is made when it is wanted first.  What was hot in the first one until then is laid
 * out by that (translate/hot_code.h).  So a process that is only counted changes to it, too, once
 * and for all, when it has lived for a while. */
#pragma once

#include "tracer/target/target.h"

/* A copy that has nothing yet, but its memory, gets what is kept of the program
 * (stock/stock.h). */
void copies_inherit(struct target *target, enum copy copy);
/* The target is gone, but for its memory: keeps what its copies have.  `is_last`: nobody asks what
 * is in its code caches any more.  The lock is held by the caller. */
void copies_keep(struct target *target, bool is_last);

/* How often threads change in a run that is only counted, where nothing depends on when they do:
 * one after the other, and each as many times later as the one before took.  Where many threads
 * want the processors, being stopped and stepped takes long.  Of all targets, under their lock. */
struct copies_pace {
	uint64_t begun_ns; /* a thread has been asked; 0: none */
	uint64_t next_ns;  /* none is asked before */
	bool is_over;      /* or ever again */
};

/* Which copy the target's threads are to run (clock_now_ns). */
enum copy copies_wanted(const struct target *target, uint64_t now);
/* ns until that may change. */
uint64_t copies_patience(const struct target *target, uint64_t now);
/* In a run that is only counted, whether the second copy is worth being made by now: all that runs
 * is made once more, most of it when it is about to run, which a compiler that goes on to other
 * code all the time never gets back.  Sets when to ask again.  From the server's thread. */
bool copies_pay(struct target *target, uint64_t now);
/* For so long it is looked what runs. */
#define COPIES_LOOK_NS 50000000ull
/* The plain copy, whose memory and tables are there, learns what is hot, and has that translated.
 */
void copies_find_hot(struct target *target);
/* Looks now and then whether what the plain copy has run since is what was laid out as hot, else
 * lays it out anew: what a program starts with is not what it does for long.  From the server's
 * thread. */
void copies_follow_heat(struct target *target, uint64_t now);

/* Has the slot's thread stopped, so that it changes to the copy that is wanted: at once, or behind
 * the system call that it is in, which nothing interrupts.  The lock is held by the caller. */
void copies_ask(struct target *target, int slot);

/* Whether the slot's thread runs the plain copy and asks for code at pc that no window has met. */
bool copies_is_new(struct target *target, int slot, uint64_t pc);
/* A thread that waits in the gate for code that is not in the plain copy changes to the first one
 * before it is answered.  The lock is held by the caller. */
void copies_enter_first(struct target *target, int slot);

/* A thread that was asked has changed, or need not. */
void copies_answered(struct target *target, int slot);

/* The slot's thread, which does not run, or waits in the gate, is in that copy from now on; what it
 * has recorded, and what it waits for, goes along.  The lock is held by the caller. */
void copies_change(struct target *target, int slot, enum copy copy);
