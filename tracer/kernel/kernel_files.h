/* The functions that --kernel names: where each file that the program maps has them, by its symbol
 * tables.
 *
 * A name is that of a symbol, or as the report prints it: demangled, with its parameters or
 * without.  Copies of a function that the compiler has made (.constprop, .isra) are it, too. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/process/program_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_KERNELS 64

struct kernel_files;

/* `list`: the names, with commas between them; a comma within brackets is one of a name's own.
 * Each becomes a row of profile->kernels.  RF_EINPUT: it names none, one twice, or too many. */
struct rf_error *kernel_files_create(const char *list, struct profile *profile,
				     struct kernel_files **out);
void kernel_files_destroy(struct kernel_files *files);
/* The same error, before anything is run. */
struct rf_error *kernel_files_check(const char *list);

/* The kernel (row of profile->kernels) whose function begins at an address of a process, or -1; for
 * struct code_source.  A file's symbol tables are read at the first call for it, by a child.
 * context: struct program_memory. */
int kernel_files_at(void *context, uint64_t pc);
/* Where a kernel's function begins in a process. */
struct kernel_entry {
	uint64_t address;
	uint32_t kernel;
	uint64_t size; /* bytes of code; 0: not known */
};
/* The entries of all kernels in what the process has mapped, up to `most`, and how many there are;
 * context: struct program_memory. */
size_t kernel_files_find(void *context, struct kernel_entry *entries, size_t most);
/* Notes in the profile which files could not be read. */
void kernel_files_note_unread(const struct kernel_files *files, struct profile *profile);

/* Whether a function of a symbol table is the one that is asked for by that name. */
bool kernel_is_named(const char *symbol, const char *wanted);
