/* The symbol tables of an ELF file, .symtab and .dynsym. */
#pragma once

#include "symbols/elf_file.h"
#include "symbols/function_map.h"

/* An error ends the walk. */
typedef struct rf_error *elf_symbol_visit(void *context, const GElf_Sym *symbol, const char *name);
/* Calls `visit` for each symbol of `tables` that is defined, has a name, and is no absolute number;
 * names are borrowed from `tables`. */
struct rf_error *elf_symtab_walk(const struct elf_file *tables, elf_symbol_visit *visit,
				 void *context);
enum function_rank elf_symbol_rank(const GElf_Sym *symbol);

/* Adds the functions of every symbol table in `tables` (the file itself or its debug file) to two
 * unsettled lists; names are borrowed from `tables`.  `image` is the file whose executable
 * segments count; `shift` is added to the addresses in `tables`.  Ranges of unsized symbols reach
 * to the end of their executable region.  Fails only when memory is short. */
struct rf_error *elf_symtab_read(const struct elf_file *tables, const struct elf_file *image,
				 uint64_t shift, struct function_map *sized,
				 struct function_map *unsized);
