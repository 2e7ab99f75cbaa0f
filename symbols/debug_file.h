/* Separate debug files: by build id, by .gnu_debuglink, and .gnu_debugdata inside the file. */
#pragma once

#include "symbols/elf_file.h"

/* Finds and opens the debug file of the ELF file at `path` with that build id (may be ""): under
 * /usr/lib/debug/.build-id, then by .gnu_debuglink beside the file, in .debug beside it, and under
 * /usr/lib/debug.  A candidate counts only with the same build id, or the right CRC where there
 * is no build id.  False when there is none. */
bool debug_file_open(const struct elf_file *file, const char *path, const char *build_id,
		     struct elf_file *out);

/* Opens a file that somebody says is the debug file of that build id, which must not be "".  False
 * when it is not, or has no DWARF. */
bool debug_file_take(const char *path, const char *build_id, struct elf_file *out);

/* Opens the small symbol table that some distributions put, xz-compressed, into .gnu_debugdata. */
bool debug_data_open(const struct elf_file *file, struct elf_file *out);

/* What must be added to an address in `debug` to get one in `file` (prelink moves the latter). */
uint64_t debug_file_shift(const struct elf_file *file, const struct elf_file *debug);
