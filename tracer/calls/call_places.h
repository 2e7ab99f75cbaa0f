/* Where breakpoints show the calls of kernels: at the entries of their functions, and at each
 * instruction that returns from one.  Where a function has too many of these or none, since it ends
 * with a jump, breakpoints that are left are for the addresses that its calls return to, which are
 * found while it runs. */
#pragma once

#include "base/error.h"
#include "tracer/calls/call_pairs.h"
#include "tracer/kernel/kernel_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MOST_CALL_PLACES 4 /* the processor has so many breakpoints */

enum call_place_kind {
	PLACE_ENTRY,       /* of a function all of whose returns are places */
	PLACE_ENTRY_ALONE, /* of another one */
	PLACE_RETURN,
	PLACE_BACK, /* to be found; of no kernel: address is 0 */
};

struct call_place {
	uint64_t address;
	uint32_t kernel; /* a number below n_kernels of call_places */
	enum call_place_kind kind;
};

struct call_places {
	struct call_place items[MOST_CALL_PLACES];
	size_t n;
	uint32_t kernels[MOST_TIMED_KERNELS]; /* their rows in the profile */
	char names[MOST_TIMED_KERNELS][256];
	size_t n_kernels;
	char missing[512]; /* names of kernels that are not watched, with commas between them; "" */
	const char *why;   /* of the last of them; static text, or NULL */
};

/* Of a process that stands at its entry point; `list`: as --kernel has it.  Kernels are taken in
 * its order, each with all functions of its name, as long as there are breakpoints; where one of
 * them is PLACE_ENTRY_ALONE, all that are left are PLACE_BACK, and one at least is.  Errors: its
 * memory cannot be read, or memory is short. */
struct rf_error *call_places_find(pid_t pid, const char *list, struct call_places *places);

/* Tells of a kernel that is not watched, and why (static text). */
void call_places_say_missing(struct call_places *places, const char *name, const char *why);

/* Adds the entry of a kernel's function, and its returns where there is room: `returns`, n_returns
 * of them.  False: there is none. */
bool call_places_add(struct call_places *places, uint64_t entry, const uint64_t *returns,
		     size_t n_returns);
/* After the last one. */
void call_places_fill(struct call_places *places);

/* The addresses of the instructions that return, of a function whose code is at `bytes` and begins
 * at `address`; up to `most`, and how many there are. */
size_t call_places_returns(const uint8_t *bytes, size_t size, uint64_t address, uint64_t *returns,
			   size_t most);
