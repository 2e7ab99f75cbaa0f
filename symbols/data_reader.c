/* Symbols of data from the same files as those of functions, and from DWARF where each is declared.
 */
#include "symbols/data_reader.h"

#include "base/search.h"
#include "symbols/debug_file.h"
#include "symbols/demangle.h"
#include "symbols/dwarf_names.h"
#include "symbols/elf_symtab.h"
#include "symbols/function_map.h"
#include "symbols/kept_answers.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

struct data_reading {
	struct module_files files;
	struct function_map variables;
	const uint64_t *declared; /* those whose declarations are asked for, sorted */
	size_t n_declared, n_answered;
	FILE *answer;
};

static struct rf_error *add_symbol(void *context, const GElf_Sym *symbol, uint64_t start,
				   const char *name)
{
	struct data_reading *symbols = context;
	if (GELF_ST_TYPE(symbol->st_info) != STT_OBJECT || !symbol->st_size ||
	    !elf_file_segment(&symbols->files.items[0], start) || start + symbol->st_size < start)
		return NULL;
	return function_map_append(&symbols->variables, start, start + symbol->st_size, name, "",
				   elf_symbol_rank(symbol));
}

static void put_range(FILE *answer, enum data_tag tag, uint64_t start, uint64_t end,
		      const char *name)
{
	confined_put_tag(answer, (uint8_t)tag);
	confined_put_number(answer, start);
	confined_put_number(answer, end);
	confined_put_text(answer, name);
}

static void put_variables(const struct data_reading *symbols)
{
	for (size_t i = 0; i < symbols->variables.n_ranges; i++) {
		const struct function_range *range = &symbols->variables.ranges[i];
		char *name = symbol_demangle(range->raw);
		put_range(symbols->answer, DATA_VARIABLE, range->start, range->end,
			  name ? name : range->raw);
		free(name);
	}
}

/* The section at an address, or "" where none is. */
static const char *section_name(const struct elf_file *file, uint64_t vaddr)
{
	size_t names;
	if (elf_getshdrstrndx(file->elf, &names) != 0)
		return "";
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) ||
		    (header.sh_flags & SHF_TLS && header.sh_type == SHT_NOBITS) ||
		    vaddr < header.sh_addr || vaddr - header.sh_addr >= header.sh_size)
			continue;
		const char *name = elf_strptr(file->elf, names, header.sh_name);
		return name ? name : "";
	}
	return "";
}

/* Sections, and what lies between them in a loaded segment. */
static void put_sections(const struct data_reading *symbols)
{
	const struct elf_file *file = &symbols->files.items[0];
	uint64_t start, end, done = 0;
	for (size_t i = 0; i < file->n_edges; i++) {
		if (file->edges[i] < done || !elf_file_stretch(file, file->edges[i], &start, &end))
			continue;
		put_range(symbols->answer, DATA_SECTION, start, end, section_name(file, start));
		done = end;
	}
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

/* What a walk over the DWARF of one file answers for. */
struct declarations {
	struct data_reading *symbols;
	uint64_t shift;
};

static struct rf_error *answer_declaration(void *context, Dwarf_Die *die, bool *descend)
{
	const struct declarations *declarations = context;
	struct data_reading *symbols = declarations->symbols;
	Dwarf_Attribute attribute;
	Dwarf_Word line = 0;
	uint64_t vaddr;
	*descend = dwarf_tag(die) != DW_TAG_variable;
	if (*descend || !static_location(die, &vaddr))
		return NULL;
	vaddr += declarations->shift;
	const size_t at = rf_search(symbols->n_declared, i, symbols->declared[i] < vaddr);
	const char *name = dwarf_attr_integrate(die, DW_AT_name, &attribute)
				   ? dwarf_formstring(&attribute)
				   : NULL;
	if (!name || at == symbols->n_declared || symbols->declared[at] != vaddr)
		return NULL;
	if (dwarf_attr_integrate(die, DW_AT_decl_line, &attribute))
		(void)dwarf_formudata(&attribute, &line);
	answer_question(symbols->answer, vaddr);
	confined_put_tag(symbols->answer, DATA_DECLARATION);
	confined_put_number(symbols->answer, line);
	confined_put_text(symbols->answer, name);
	confined_put_text(symbols->answer, dwarf_names_file(die, DW_AT_decl_file));
	symbols->n_answered++;
	return NULL;
}

/* Where a file of the module is, which has DWARF. */
static const char *path_of(const struct module_files *files, size_t file, const char *path)
{
	for (size_t i = 0; i < files->n_places && file; i++)
		if (files->places[i].used)
			return files->places[i].path;
	return path;
}

/* The first file that has some. */
static void put_declarations(struct data_reading *symbols, const char *path)
{
	for (size_t i = 0; i < symbols->files.n && !symbols->n_answered; i++) {
		const struct elf_file *file = &symbols->files.items[i];
		struct declarations declarations = {symbols,
						    module_files_shift(&symbols->files, i)};
		size_t dies_left = dwarf_most_dies(file);
		Dwarf *dwarf = elf_file_dwarf(file);
		if (!dwarf)
			continue;
		module_files_note_part(&symbols->files, dwarf, path_of(&symbols->files, i, path));
		struct rf_error *error =
			dwarf_walk_units(dwarf, &dies_left, answer_declaration, &declarations);
		symbols->files.forgets |= error != NULL;
		rf_error_destroy(error);
		dwarf_end(dwarf);
	}
}

void data_reader_declarations(const char *path, const uint64_t *questions, size_t n, FILE *answer)
{
	struct data_reading symbols = {.declared = questions, .n_declared = n, .answer = answer};
	struct rf_error *error = module_files_open(path, CONFINED_FD, NULL, &symbols.files);
	if (!error)
		put_declarations(&symbols, path);
	if (!error)
		answer_places(answer, &symbols.files);
	rf_error_destroy(error);
	module_files_close(&symbols.files);
}

void data_reader_variables(const char *path, const uint64_t *questions, size_t n, FILE *answer)
{
	struct data_reading symbols = {.answer = answer};
	struct rf_error *error = module_files_open(path, CONFINED_FD, NULL, &symbols.files)
					 ?: elf_symtab_walk(&symbols.files, add_symbol, &symbols)
						    ?: function_map_settle(&symbols.variables);
	if (!error) {
		answer_question(answer, *questions);
		put_variables(&symbols);
		put_sections(&symbols);
		answer_places(answer, &symbols.files);
	}
	rf_error_destroy(error);
	function_map_deinit(&symbols.variables);
	module_files_close(&symbols.files);
}
