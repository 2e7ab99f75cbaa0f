/* Standard streams of the two runs: the first run's input is kept and replayed, its output passes
 * through unchanged and is hashed, the second run's output goes nowhere and is hashed. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct stdio_plan;

/* Looks at this process's descriptors 0, 1, 2 and decides for each: hand it on as it is (terminal,
 * other device, /dev/null), reopen and compare by offset (regular file), or relay through a pipe
 * (pipe, socket).  The first thing to call in main: it keeps the numbers of closed descriptors from
 * our own files. */
struct rf_error *stdio_plan_create(struct stdio_plan **out);
void stdio_plan_destroy(struct stdio_plan *plan);

/* Before the fork of run 1 or 2.  In the child, stdio_plan_child(plan) puts descriptors 0, 1, 2
 * into place (async-signal-safe, no allocation), or is false and errno says why; in the parent,
 * stdio_plan_start starts the relay threads and closes the child's ends.  After the child has
 * ended, stdio_plan_finish drains the relays and takes the hash.  Children that outlive the program
 * may keep a pipe open: run 1 waits for the end of file, as a shell's pipeline would, run 2 at most
 * 1 s. */
struct rf_error *stdio_plan_prepare(struct stdio_plan *plan, int run);
bool stdio_plan_child(struct stdio_plan *plan);
struct rf_error *stdio_plan_start(struct stdio_plan *plan);
void stdio_plan_finish(struct stdio_plan *plan);
/* In a copy of this process (fork) while a run goes on: closes the pipes to and from the program,
 * so that their ends are seen as if there were no copy. */
void stdio_plan_forget(struct stdio_plan *plan);

/* Whether all that the program wrote has been passed on; async-signal-safe. */
bool stdio_plan_is_drained(const struct stdio_plan *plan);

/* STDIO_NUMBERS: the same words with other numbers, as of programs that print times. */
enum stdio_same { STDIO_SAME, STDIO_NUMBERS, STDIO_DIFFERENT, STDIO_UNKNOWN };
/* Did both runs write the same standard output?  UNKNOWN where it could not be hashed; *why (static
 * text) says the cause. */
enum stdio_same stdio_plan_compare(const struct stdio_plan *plan, const char **why);
/* False where run 2 cannot get the same input as run 1 (a terminal); *why says the cause. */
bool stdio_plan_input_replayed(const struct stdio_plan *plan, const char **why);

/* Whether standard input was kept on disk; how much and where, as a line without a full stop. */
bool stdio_plan_input_kept(const struct stdio_plan *plan, char *words, size_t size);
