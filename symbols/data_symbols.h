/* Static and global variables of one ELF file: names by symbol, places in the source by DWARF. What
 * is read of the file is read by a child; no descriptor stays open. */
#pragma once

#include "base/kept_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct data_symbols;
/* Reads the symbols of the ELF file at `path`, with its debug file, unless `store` (or NULL), which
 * must live as long, keeps them from before.  Errors: the file cannot be opened, or there is no
 * child.  A file that cannot be read has no symbols. */
struct rf_error *data_symbols_open(const char *path, struct kept_store *store,
				   struct data_symbols **out);
void data_symbols_close(struct data_symbols *symbols);
/* Why they are not all that there are, or NULL. */
const char *data_symbols_trouble(const struct data_symbols *symbols);
const char *data_symbols_path(const struct data_symbols *symbols);

struct data_symbol {
	uint64_t start, end; /* ELF virtual addresses */
	const char *name;    /* demangled; of a section: its name; owned by `symbols` */
	const char *file;    /* source file of the declaration, or ""; see data_symbols_declare */
	uint32_t line;       /* or 0 */
	bool is_section;     /* no variable is known there */
};

/* The variable that holds `vaddr`; else the section, or what lies between the sections, of a loaded
 * segment; false outside of them. */
bool data_symbols_find(const struct data_symbols *symbols, uint64_t vaddr, struct data_symbol *out);
/* Adds to the variables that begin at these addresses, sorted, where they are declared, and the
 * names that they have there.  Of what is not kept all of the file's DWARF is read, which can take
 * seconds. */
void data_symbols_declare(struct data_symbols *symbols, const uint64_t *vaddrs, size_t n);
