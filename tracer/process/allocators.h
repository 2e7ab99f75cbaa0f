/* Which functions allocate memory, by their names, and where a module has them. */
#pragma once

#include "base/kept_store.h"
#include "profile/profile.h"
#include "tracer/process/module_file.h"

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

/* The functions found in the files of one run. */
struct allocator_files;
/* `kept`: where what was read of files is kept, or NULL. */
struct allocator_files *allocator_files_create(struct kept_store *kept);
void allocator_files_destroy(struct allocator_files *files);

/* The function that begins at `vaddr` of that file, or -1.  The file's symbol tables are read at
 * the first call for it, by a child, unless what they say is kept. */
int allocator_files_find(struct allocator_files *files, const struct module_file *file,
			 uint64_t vaddr);
/* Whether none of the files that were asked for could not be read. */
bool allocator_files_all_read(const struct allocator_files *files);
/* Notes in the profile which files could not be read. */
void allocator_files_note_unread(const struct allocator_files *files, struct profile *profile);
