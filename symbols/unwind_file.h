/* One mapped file as the unwinder needs it: its bytes, and a table of its functions' unwind
 * information in the form that libunwind searches. */
#pragma once

#include "symbols/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_file {
	char *path;
	bool usable; /* `elf` is open */
	struct elf_file elf;

	/* The file's own search table; n_entries is 0 when it has none. */
	uint64_t header_vaddr, table_vaddr, n_entries;

	/* The table made here for what the file's own lacks (.debug_frame, or .eh_frame without a
	 * header): n_made entries of two int32_t (start of the function from elf.low, place of
	 * its FDE from `made`), then the re-encoded CIEs and FDEs. */
	bool made_done;
	uint64_t made_vaddr; /* where `made` is said to be in the file's address space */
	uint8_t *made;
	size_t made_size, n_made;
};

/* Opens the file at `path` ("[vdso]": the kernel's image).  One that cannot be opened is still an
 * unwind_file, but not usable.  `index` is unlike that of every other one and below 2^15 - 1.
 * NULL when memory is short. */
struct unwind_file *unwind_file_create(const char *path, size_t index);
void unwind_file_destroy(struct unwind_file *file);

/* Makes the table `made`, once. */
void unwind_file_make_table(struct unwind_file *file);
