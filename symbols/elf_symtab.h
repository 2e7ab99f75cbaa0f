/* The symbol tables of a module's files, .symtab and .dynsym. */
#pragma once

#include "symbols/debug_file.h"
#include "symbols/function_map.h"

/* `start`: its value as an address in the module's own file.  An error ends the walk. */
typedef struct rf_error *elf_symbol_visit(void *context, const GElf_Sym *symbol, uint64_t start,
					  const char *name);
/* Calls `visit` for each symbol that is defined, has a name, and is no absolute number; names are
 * borrowed from the files. */
struct rf_error *elf_symtab_walk(const struct module_files *files, elf_symbol_visit *visit,
				 void *context);
enum function_rank elf_symbol_rank(const GElf_Sym *symbol);

/* Adds the functions of every symbol table to two unsettled lists; names are borrowed from the
 * files.  The executable segments of the module's own file count.  Ranges of unsized symbols reach
 * to the end of their executable region.  Fails only when memory is short. */
struct rf_error *elf_symtab_read(const struct module_files *files, struct function_map *sized,
				 struct function_map *unsized);
