/* Function symbols of an ELF file: .symtab and .dynsym, sized and unsized apart. */
#pragma once

#include "symbols/elf_file.h"
#include "symbols/function_map.h"

/* Adds the functions of every symbol table in `tables` (the file itself or its debug file) to two
 * unsettled lists; names are borrowed from `tables`.  `image` is the file whose executable
 * segments count; `shift` is added to the addresses in `tables`.  Ranges of unsized symbols reach
 * to the end of their executable region.  False when memory is short. */
bool elf_symtab_read(const struct elf_file *tables, const struct elf_file *image, uint64_t shift,
		     struct function_map *sized, struct function_map *unsized);
