/* Finds the functions of kernels in what a process has mapped, each time that it has mapped more.
 */
#pragma once

#include "base/error.h"
#include "tracer/calls/call_places.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct call_finder;

/* Of a process that may be looked at (ptrace(2), PTRACE_MODE_READ) and has executed its program;
 * `list`: as --kernel has it.  Errors: its memory cannot be read, or memory is short. */
struct rf_error *call_finder_create(pid_t pid, const char *list, struct call_finder **out);
void call_finder_destroy(struct call_finder *finder);

/* Looks at what is mapped now: functions that are new are added to `places`, in the order of the
 * kernels in the list, and those that are gone are dropped, with addresses that calls return to in
 * code that is gone.  Kernels for whose functions there is no room are told as missing.  Files that
 * it has not seen before take some ms each. */
void call_finder_look(struct call_finder *finder, struct call_places *places);
/* The instruction that has called the function at `entry`, from where it returns to `back`: one
 * that calls nothing else, directly or through a slot of the procedure linkage table that has that
 * address. False: it is another one. */
bool call_finder_call(const struct call_finder *finder, uint64_t entry, uint64_t back,
		      uint64_t *call);
/* Whether a kernel has not been found yet. */
bool call_finder_lacks(const struct call_finder *finder);
/* Tells the kernels as missing that have never been found. */
void call_finder_say_missing(const struct call_finder *finder, struct call_places *places);
