/* Symbol tables: the walk over them, and which of their symbols are functions. */
#include "symbols/elf_symtab.h"

#include <string.h>

/* ---- the walk ---- */

/* Where the symbols of one file come to. */
struct walk {
	const struct elf_file *file;
	uint64_t shift;
	elf_symbol_visit *visit;
	void *context;
};

static struct rf_error *walk_table(const struct walk *walk, Elf_Scn *section,
				   const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	struct rf_error *error = NULL;
	GElf_Sym symbol;
	if (!data || !data->d_buf || header->sh_entsize != sizeof(Elf64_Sym))
		return NULL;
	for (int i = 0; !error && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(walk->file->elf, header->sh_link, symbol.st_name);
		if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS && name && name[0])
			error = walk->visit(walk->context, &symbol, symbol.st_value + walk->shift,
					    name);
	}
	return error;
}

struct rf_error *elf_symtab_walk(const struct module_files *files, elf_symbol_visit *visit,
				 void *context)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < files->n; i++) {
		const struct walk walk = {&files->items[i], module_files_shift(files, i), visit,
					  context};
		Elf_Scn *section = NULL;
		while (!error && (section = elf_nextscn(walk.file->elf, section))) {
			GElf_Shdr header;
			if (gelf_getshdr(section, &header) &&
			    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
				error = walk_table(&walk, section, &header);
		}
	}
	return error;
}

enum function_rank elf_symbol_rank(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		return RANK_LOCAL;
	case STB_WEAK:
		return RANK_WEAK;
	}
	return RANK_GLOBAL;
}

/* ---- functions ---- */

struct functions {
	const struct elf_file *image;
	struct function_map *sized, *unsized;
};

static bool is_code_symbol(const GElf_Sym *symbol, const char *name)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE: /* labels of assembly code, but not the assembler's own */
		return strncmp(name, ".L", 2) != 0 && name[0] != '$';
	}
	return false;
}

static struct rf_error *add_function(void *context, const GElf_Sym *symbol, uint64_t start,
				     const char *name)
{
	const struct functions *functions = context;
	uint64_t region_start, region_end;
	if (!symbol->st_value || !is_code_symbol(symbol, name) ||
	    !elf_file_region(functions->image, start, &region_start, &region_end))
		return NULL;
	const uint64_t left = region_end - start;
	const uint64_t size = symbol->st_size && symbol->st_size < left ? symbol->st_size : left;
	return function_map_append(symbol->st_size ? functions->sized : functions->unsized, start,
				   start + size, name, "", elf_symbol_rank(symbol));
}

struct rf_error *elf_symtab_read(const struct module_files *files, struct function_map *sized,
				 struct function_map *unsized)
{
	struct functions functions = {&files->items[0], sized, unsized};
	return elf_symtab_walk(files, add_function, &functions);
}
