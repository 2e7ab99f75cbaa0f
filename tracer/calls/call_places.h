/* Where breakpoints show the calls of kernels: at the entries of their functions, and at each
 * instruction that returns from one.  Where a function has too many of these or none, since it ends
 * with a jump, breakpoints that are left are for the addresses that its calls return to, which are
 * found while it runs.
 *
 * Each place is one of the processor's breakpoints.  One that is not used may be taken later: by
 * the address that calls return to, or by a kernel's function in a library that is mapped then. */
#pragma once

#include "base/error.h"
#include "tracer/calls/call_pairs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_CALL_PLACES 4 /* the processor has so many breakpoints */

enum call_place_kind {
	PLACE_ENTRY,       /* of a function all of whose returns are places */
	PLACE_ENTRY_ALONE, /* of another one */
	PLACE_ENTRY_NEAR,  /* the same, next to a loop: only until it is known where a call is */
	PLACE_CALL,        /* the instruction that calls such a function */
	PLACE_RETURN,
	PLACE_BACK, /* an address that calls return to; 0: not used yet */
};

struct call_place {
	uint64_t address;
	uint64_t entry;  /* of the function, where it is not PLACE_BACK */
	uint64_t back;   /* PLACE_CALL: to where the call returns */
	uint32_t kernel; /* a number below n_kernels of call_places; not of PLACE_BACK */
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
	/* No breakpoint stays next to a loop: one at an entry makes that only calls from one place
	 * are watched, one at a return that where its calls return to is. */
	bool avoids_loops;
};

/* A function of a kernel. */
struct call_function {
	uint64_t entry;
	uint32_t row; /* of the kernel, in the profile */
	uint64_t returns[MOST_CALL_PLACES];
	size_t n_returns; /* maybe more than there is room for; 0: none, or not known */
	/* A short loop lies in the same line of code (64 bytes) as the entry, or a return.  Some
	 * processors run a line slowly while a breakpoint is in it (hit_cost.h). */
	bool loops_at_entry, loops_at_return;
};

/* Finds the returns of a function whose code is at `bytes` and begins at its entry, and loops next
 * to breakpoints. */
void call_places_read(const uint8_t *bytes, size_t size, struct call_function *function);

/* Adds functions of one kernel, all of them or none.  Why not (static text), or NULL. */
const char *call_places_add(struct call_places *places, const char *name,
			    const struct call_function *functions, size_t n);
/* After those that there are at the beginning: whether breakpoints that are left may be used
 * later.  Where one is PLACE_ENTRY_ALONE they are in any case, and one at least is left. */
void call_places_fill(struct call_places *places, bool is_more_to_come);
/* Whether calls that begin there are over where they return to. */
bool call_place_ends_at_back(const struct call_place *place);
/* Whether the function that begins there is watched. */
bool call_places_has(const struct call_places *places, uint64_t entry);
/* The function is gone: its breakpoints are not used. */
void call_places_drop(struct call_places *places, uint64_t entry);

/* Tells of a kernel that is not watched, and why (static text). */
void call_places_say_missing(struct call_places *places, const char *name, const char *why);
