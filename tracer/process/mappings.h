/* Which file's code was at which address in which process, as it changes over time.  The caller
 * plays the events in the order of their times. */
#pragma once

#include "base/error.h"
#include "symbols/unwind.h"
#include "tracer/process/module_file.h"

#include <stddef.h>
#include <stdint.h>

struct mapping {
	uint64_t start, end, file_offset;
	struct module_file *file;
};

struct mappings;
struct mappings *mappings_create(void);
void mappings_destroy(struct mappings *mappings);

/* New executable memory; it replaces what it overlaps. */
struct rf_error *mappings_add(struct mappings *mappings, uint32_t pid,
			      const struct mapping *mapping);
/* `pid` starts as a copy of `parent`. */
struct rf_error *mappings_fork(struct mappings *mappings, uint32_t parent, uint32_t pid);
/* execve: the address space is new and empty. */
void mappings_exec(struct mappings *mappings, uint32_t pid);

/* The mapping that holds `address`, or NULL.  Valid until the next change. */
const struct mapping *mappings_find(const struct mappings *mappings, uint32_t pid,
				    uint64_t address);
/* The mappings with a readable file, in the form that unwinder_walk takes, sorted.  Valid until
 * the next change. */
const struct unwind_mapping *mappings_view(struct mappings *mappings, uint32_t pid, size_t *n);
/* The offset in a profile for `address` inside `mapping`. */
uint64_t mapping_offset(const struct mapping *mapping, uint64_t address);
