/* Names for code offsets: ELF symbols, DWARF, `.eh_frame` ranges; demangled. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <stdint.h>

struct symbol_module; /* one ELF file, opened */

/* Where debug files come from that are not on this machine. */
struct symbol_fetcher {
	/* A descriptor of the debug file of a build id, for the caller to close, and its path,
	 * valid until the next call; -1: there is none.  `module`: its base name. */
	int (*fetch)(void *context, const char *module, const char *build_id, const char **path);
	/* That file was another one's. */
	void (*refuse)(void *context, const char *module, const char *path);
	void *context;
};

/* Opens the symbols of the ELF file behind `fd`, which is taken (elf_file_descriptor), and which is
 * at `path`, with debug files found by build id or .gnu_debuglink in the usual places.  `fetcher`
 * (or NULL: no network) is asked when there is no debug information here, or a part of it is not;
 * it must outlive the module.  A file that is not ELF is an error. */
struct rf_error *symbol_module_read(const char *path, int fd, const struct symbol_fetcher *fetcher,
				    struct symbol_module **out);
/* The same for an ELF image in memory (the vdso); the bytes are copied. */
struct rf_error *symbol_module_open_image(const char *name, const void *image, size_t size,
					  struct symbol_module **out);
void symbol_module_close(struct symbol_module *module);

/* Build id in lower-case hex; "" when there is none. */
const char *symbol_module_build_id(const struct symbol_module *module);

struct symbol {
	uint64_t start, end; /* ELF virtual addresses [start, end) */
	const char *name;    /* demangled, owned by the module; never NULL */
	const char *file;    /* source file or "" */
	uint32_t line;       /* or 0 */
};

/* The function that holds `vaddr`.  Order: symtab and dynsym (sized, then unsized up to the next
 * symbol or section end), DWARF subprograms, PLT stubs ("memcpy@plt"), `.eh_frame` FDE range
 * ("libfoo.so+0x12a0").  When nothing is known the symbol is the rest of the gap between known
 * functions inside its executable section, named by the gap's start: every address in an
 * executable segment gets some symbol, so a hot function without one still has its own row.
 * Returns false only for an address outside every executable segment. */
bool symbol_find(struct symbol_module *module, uint64_t vaddr, struct symbol *symbol);

/* Source file and line of the instruction at `vaddr`.  Where it belongs to a function of a
 * library's header that was inlined, the line of the program that it was inlined into.  False when
 * that is not known; *file is owned by the module. */
bool symbol_caller_line(struct symbol_module *module, uint64_t vaddr, const char **file,
			uint32_t *line);

/* Source file and line of the instruction itself, be it inlined or not. */
bool symbol_line(struct symbol_module *module, uint64_t vaddr, const char **file, uint32_t *line);
/* The directory that names of source files at `vaddr` are relative to; NULL: not known.  Owned by
 * the module. */
const char *symbol_directory(struct symbol_module *module, uint64_t vaddr);
/* The code around `vaddr` of which symbol_line says the same, but that its first byte may have
 * another line; [0, UINT64_MAX) where the module has no lines. */
void symbol_row(struct symbol_module *module, uint64_t vaddr, uint64_t *start, uint64_t *end);

/* The i-th place where a debug file was looked for, and whether the file that is there is the
 * module's; NULL: there are no more.  More can come while the module is asked. */
const char *symbol_module_place(const struct symbol_module *module, size_t i, bool *used);
/* Whether all answers hold as long as the module's file and those places stay as they are: memory
 * was not short, nothing was fetched, and no part is in files that only libdw knows. */
bool symbol_module_is_lasting(const struct symbol_module *module);

/* The innermost call that was inlined at `vaddr` (symbols/dwarf_inlines.h), NULL where the code is
 * the function's own or nothing is known, and in *end the address up to which that holds.  Lives as
 * long as the module. */
struct dwarf_inline;
const struct dwarf_inline *symbol_inlined(struct symbol_module *module, uint64_t vaddr,
					  uint64_t *end);
