/* Which variable an address is of: symbols of data from the same files as those of functions, and
 * from DWARF where each is declared. */
#include "symbols/data_symbols.h"

#include "base/array.h"
#include "base/search.h"
#include "symbols/debug_file.h"
#include "symbols/demangle.h"
#include "symbols/dwarf_names.h"
#include "symbols/elf_file.h"
#include "symbols/elf_symtab.h"
#include "symbols/function_map.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

/* Where DWARF says that a variable is declared. */
struct declaration {
	uint64_t vaddr;
	const char *name, *file; /* borrowed from the Dwarf */
	uint32_t line;
};

struct data_symbols {
	struct module_files files;
	struct function_map variables;
	struct declaration *declarations; /* sorted */
	size_t n_declarations, cap_declarations;
	Dwarf *dwarf;
	bool dwarf_read;
	char **names; /* every name that was handed out */
	size_t n_names, cap_names;
};

void data_symbols_close(struct data_symbols *symbols)
{
	if (!symbols)
		return;
	dwarf_end(symbols->dwarf);
	module_files_close(&symbols->files);
	function_map_deinit(&symbols->variables);
	free(symbols->declarations);
	for (size_t i = 0; i < symbols->n_names; i++)
		free(symbols->names[i]);
	free(symbols->names);
	free(symbols);
}

static struct rf_error *add_symbol(void *context, const GElf_Sym *symbol, uint64_t start,
				   const char *name)
{
	struct data_symbols *symbols = context;
	if (GELF_ST_TYPE(symbol->st_info) != STT_OBJECT || !symbol->st_size ||
	    !elf_file_segment(&symbols->files.items[0], start) || start + symbol->st_size < start)
		return NULL;
	return function_map_append(&symbols->variables, start, start + symbol->st_size, name, "",
				   elf_symbol_rank(symbol));
}

struct rf_error *data_symbols_open(const char *path, struct data_symbols **out)
{
	struct data_symbols *symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return rf_error_no_memory();
	struct rf_error *error = module_files_open(path, NULL, &symbols->files)
					 ?: elf_symtab_walk(&symbols->files, add_symbol, symbols)
					 ?: function_map_settle(&symbols->variables);
	if (error)
		data_symbols_close(symbols);
	else
		*out = symbols;
	return error;
}

/* ---- DWARF ---- */

/* The one address in a location expression (DWARF 5, 2.5.1). */
static bool static_location(Dwarf_Die *die, uint64_t *vaddr)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	size_t n;
	if (!dwarf_attr(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &operations, &n) != 0 || n != 1 ||
	    operations[0].atom != DW_OP_addr)
		return false;
	*vaddr = operations[0].number;
	return true;
}

/* What a walk over the DWARF of one file adds to. */
struct declarations {
	struct data_symbols *symbols;
	uint64_t shift;
};

static struct rf_error *add_declaration(void *context, Dwarf_Die *die, bool *descend)
{
	const struct declarations *declarations = context;
	struct data_symbols *symbols = declarations->symbols;
	struct declaration new = {0};
	Dwarf_Attribute attribute;
	Dwarf_Word line;
	*descend = dwarf_tag(die) != DW_TAG_variable;
	if (*descend || !static_location(die, &new.vaddr))
		return NULL;
	new.vaddr += declarations->shift;
	new.name = dwarf_attr_integrate(die, DW_AT_name, &attribute) ? dwarf_formstring(&attribute)
								     : NULL;
	new.file = dwarf_names_file(die, DW_AT_decl_file);
	if (dwarf_attr_integrate(die, DW_AT_decl_line, &attribute) &&
	    dwarf_formudata(&attribute, &line) == 0)
		new.line = (uint32_t)line;
	return new.name ? rf_array_add(symbols->declarations, symbols->n_declarations,
				       symbols->cap_declarations, new)
			: NULL;
}

static int compare_declarations(const void *left, const void *right)
{
	const struct declaration *a = left, *b = right;
	return a->vaddr < b->vaddr ? -1 : a->vaddr > b->vaddr;
}

/* Where memory is short some declarations are left out: nothing else of an answer depends on them.
 */
static void read_dwarf(struct data_symbols *symbols)
{
	symbols->dwarf_read = true;
	for (size_t i = 0; i < symbols->files.n && !symbols->n_declarations; i++) {
		const struct elf_file *file = &symbols->files.items[i];
		struct declarations declarations = {symbols,
						    module_files_shift(&symbols->files, i)};
		size_t dies_left = dwarf_most_dies(file);
		dwarf_end(symbols->dwarf);
		symbols->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
		if (symbols->dwarf)
			rf_error_destroy(dwarf_walk_units(symbols->dwarf, &dies_left,
							  add_declaration, &declarations));
	}
	if (symbols->n_declarations)
		qsort(symbols->declarations, symbols->n_declarations,
		      sizeof(*symbols->declarations), compare_declarations);
}

static const struct declaration *find_declaration(struct data_symbols *symbols, uint64_t start)
{
	if (!symbols->dwarf_read)
		read_dwarf(symbols);
	const struct declaration *rows = symbols->declarations;
	const size_t at = rf_search(symbols->n_declarations, i, rows[i].vaddr < start);
	return at < symbols->n_declarations && rows[at].vaddr == start ? &rows[at] : NULL;
}

/* ---- the answers ---- */

static void answer(struct data_symbols *symbols, struct function_range *range,
		   struct data_symbol *out)
{
	char *name = range->name ? NULL : symbol_demangle(range->raw);
	if (name && rf_array_push(symbols->names, symbols->n_names, symbols->cap_names, name))
		range->name = name;
	else
		free(name);
	*out = (struct data_symbol){
		.start = range->start,
		.end = range->end,
		.name = range->name ? range->name : range->raw,
		.file = "",
	};
}

/* The section that holds vaddr, else the part of the segment that no section has. */
static bool find_section(const struct data_symbols *symbols, uint64_t vaddr,
			 struct data_symbol *out)
{
	const struct elf_file *file = &symbols->files.items[0];
	size_t names;
	*out = (struct data_symbol){.name = "", .file = "", .is_section = true};
	if (!elf_file_stretch(file, vaddr, &out->start, &out->end))
		return false;
	if (elf_getshdrstrndx(file->elf, &names) != 0)
		return true;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) ||
		    (header.sh_flags & SHF_TLS && header.sh_type == SHT_NOBITS) ||
		    vaddr < header.sh_addr || vaddr - header.sh_addr >= header.sh_size)
			continue;
		const char *name = elf_strptr(file->elf, names, header.sh_name);
		out->name = name ? name : "";
		break;
	}
	return true;
}

bool data_symbols_find(struct data_symbols *symbols, uint64_t vaddr, struct data_symbol *out)
{
	size_t next;
	struct function_range *range = function_map_find(&symbols->variables, vaddr, &next);
	if (range) {
		answer(symbols, range, out);
		return true;
	}
	if (!find_section(symbols, vaddr, out))
		return false;
	/* as far as there is no variable */
	if (next && symbols->variables.ranges[next - 1].end > out->start)
		out->start = symbols->variables.ranges[next - 1].end;
	if (next < symbols->variables.n_ranges && symbols->variables.ranges[next].start < out->end)
		out->end = symbols->variables.ranges[next].start;
	return true;
}

void data_symbols_declare(struct data_symbols *symbols, struct data_symbol *symbol)
{
	const struct declaration *declaration =
		symbol->is_section ? NULL : find_declaration(symbols, symbol->start);
	if (!declaration)
		return;
	const size_t length = strlen(declaration->name);
	symbol->file = declaration->file;
	symbol->line = declaration->line;
	/* a static variable of a function is "name.123" in the symbol table */
	if (strncmp(symbol->name, declaration->name, length) == 0 && symbol->name[length] == '.')
		symbol->name = declaration->name;
}
