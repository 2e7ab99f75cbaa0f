/* Which functions allocate memory, by their names. */
#pragma once

#include "tracer/process/named_functions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum allocator_action {
	ALLOCATOR_GIVES,   /* a block of `size` times `times` bytes */
	ALLOCATOR_CHANGES, /* the same, for what was at `pointer` (realloc) */
	ALLOCATOR_TAKES,   /* frees what is at `pointer` */
	ALLOCATOR_MAPS,
	ALLOCATOR_UNMAPS,
	ALLOCATOR_REMAPS, /* `times` is the new size here */
	ALLOCATOR_WRAPS,  /* a library's function whose caller is who allocates */
};

#define NO_ARGUMENT 3

struct allocator {
	const char *name;
	uint8_t action;               /* enum allocator_action */
	uint8_t n_arguments;          /* how many must be known: rdi, rsi, rdx */
	uint8_t pointer, size, times; /* which of them is what, or NO_ARGUMENT */
	bool by_reference; /* the block's address is stored where rdi points, and the result is 0 */
};

/* All of them.  The numbers of functions below are indices here. */
extern const struct allocator allocators[];
extern const size_t n_allocators;

/* Whether it matters when and with what it returns: what gives memory back does so when it is
 * called. */
static inline bool allocator_returns(const struct allocator *function)
{
	return function->action != ALLOCATOR_TAKES && function->action != ALLOCATOR_UNMAPS;
}

/* Where the files of one run have them, by these numbers.  `kept`: where what was read of files is
 * kept, or NULL.  NULL: memory is short. */
struct named_functions *allocators_in_files(struct kept_store *kept);
