/* The files that tell of a module: itself and its separate debug files, found by build id, by
 * .gnu_debuglink, and in .gnu_debugdata inside the file. */
#pragma once

#include "symbols/elf_file.h"
#include "symbols/symbols.h"

/* A place where a debug file was looked for. */
struct debug_place {
	char *path;
	bool used; /* the file that is there belongs to the module */
};

struct module_files {
	struct elf_file items[3]; /* the module's own comes first */
	size_t n;
	char *build_id; /* in lower-case hex; "" when there is none */
	struct debug_place *places;
	size_t n_places, cap_places;
	bool forgets; /* memory was short: some of the places are not among them */
};

/* Reads the ELF file behind `fd`, which it takes, and its debug file: under
 * /usr/lib/debug/.build-id, then by
 * .gnu_debuglink beside the file, in .debug beside it, and under /usr/lib/debug.  A candidate
 * counts only with the same build id, or the right CRC where there is no build id.  `fetcher` (or
 * NULL) is asked where there is no DWARF.  Errors: as elf_file_open. */
struct rf_error *module_files_open(const char *path, int fd, const struct symbol_fetcher *fetcher,
				   struct module_files *files);
/* The same for an image in memory, which has no debug file. */
struct rf_error *module_files_open_image(const char *name, const void *image, size_t size,
					 struct module_files *files);
void module_files_close(struct module_files *files);

/* Adds the places where libdw looks for the file that this one, which is at `path`, shares with
 * others (dwz), if there is such a one. */
void module_files_note_part(struct module_files *files, Dwarf *dwarf, const char *path);

/* What must be added to an address in one of the files to get one in the module's own (prelink
 * moves the latter). */
uint64_t module_files_shift(const struct module_files *files, size_t file);

/* Fetches the debug file of a build id for the module of that name.  False when there is none, it
 * is another one's, or it has no DWARF. */
bool debug_file_fetch(const struct symbol_fetcher *fetcher, const char *module,
		      const char *build_id, struct elf_file *out);
