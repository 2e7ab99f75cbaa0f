#include "symbols/elf_symtab.h"

#include <string.h>

static bool is_code_symbol(const GElf_Sym *symbol, const char *name)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !name || !name[0])
		return false;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE: /* labels of assembly code, but not the assembler's own */
		return strncmp(name, ".L", 2) != 0 && name[0] != '$';
	}
	return false;
}

static enum function_rank rank_of(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		return RANK_LOCAL;
	case STB_WEAK:
		return RANK_WEAK;
	}
	return RANK_GLOBAL;
}

static bool add_symbol(const struct elf_file *image, const GElf_Sym *symbol, uint64_t start,
		       const char *name, struct function_map *sized, struct function_map *unsized)
{
	uint64_t region_start, region_end;
	if (!elf_file_region(image, start, &region_start, &region_end))
		return true;
	uint64_t left = region_end - start;
	uint64_t size = symbol->st_size && symbol->st_size < left ? symbol->st_size : left;
	return function_map_append(symbol->st_size ? sized : unsized, start, start + size, name, "",
				   rank_of(symbol));
}

static bool read_table(const struct elf_file *tables, Elf_Scn *section, const GElf_Shdr *header,
		       const struct elf_file *image, uint64_t shift, struct function_map *sized,
		       struct function_map *unsized)
{
	Elf_Data *data = elf_getdata(section, NULL);
	if (!data || !data->d_buf || header->sh_entsize != sizeof(Elf64_Sym))
		return true;
	int n = data->d_size / sizeof(Elf64_Sym);
	for (int i = 0; i < n; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, i, &symbol) || !symbol.st_value)
			continue;
		const char *name = elf_strptr(tables->elf, header->sh_link, symbol.st_name);
		if (is_code_symbol(&symbol, name) &&
		    !add_symbol(image, &symbol, symbol.st_value + shift, name, sized, unsized))
			return false;
	}
	return true;
}

bool elf_symtab_read(const struct elf_file *tables, const struct elf_file *image, uint64_t shift,
		     struct function_map *sized, struct function_map *unsized)
{
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(tables->elf, section))) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		if (!read_table(tables, section, &header, image, shift, sized, unsized))
			return false;
	}
	return true;
}
