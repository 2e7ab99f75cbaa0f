/* DWARF as far as functions and lines need it: the units by their code, and of a unit its functions
 * and its line table, through libdw. */
#include "symbols/dwarf_names.h"

#include "base/array.h"
#include "base/search.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <stdlib.h>

/* Namespaces and classes nest; a damaged file could nest without end. */
#define MAX_DEPTH 512

struct unit_range {
	uint64_t start, end;
	Dwarf_Off unit;
};

struct dwarf_names {
	Dwarf *dwarf;
	uint64_t shift;
	struct unit_range *units; /* sorted by start */
	size_t n_units, cap_units;
	struct elf_file part; /* see dwarf_names_take_part */
	Dwarf *part_dwarf;
	size_t dies_left; /* bound for a walk over a damaged file */
	bool is_split;
};

static int compare_units(const void *left, const void *right)
{
	const struct unit_range *a = left, *b = right;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* The units' own ranges: .debug_aranges is optional, and clang leaves it out. */
static struct rf_error *read_units(struct dwarf_names *names)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	while (dwarf_get_units(names->dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
		names->is_split |= type == DW_UT_skeleton;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;
		while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
			struct unit_range range = {start, end, dwarf_dieoffset(&die)};
			if (start < end &&
			    !rf_array_push(names->units, names->n_units, names->cap_units, range))
				return rf_error_no_memory();
		}
	}
	if (names->n_units)
		qsort(names->units, names->n_units, sizeof(*names->units), compare_units);
	return NULL;
}

/* Every DIE takes at least a byte of the file (compressed sections: of what they unpack to, hence
 * the factor). */
size_t dwarf_most_dies(const struct elf_file *file)
{
	return file->size * 32;
}

struct dwarf_names *dwarf_names_create(const struct elf_file *file, uint64_t shift)
{
	struct dwarf_names *names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;
	names->shift = shift;
	names->dies_left = dwarf_most_dies(file);
	names->dwarf = elf_file_dwarf(file);
	if (names->dwarf && !read_units(names) && names->n_units)
		return names;
	dwarf_names_destroy(names);
	return NULL;
}

void dwarf_names_destroy(struct dwarf_names *names)
{
	if (!names)
		return;
	dwarf_end(names->dwarf);
	if (names->part_dwarf) {
		dwarf_end(names->part_dwarf);
		elf_file_close(&names->part);
	}
	free(names->units);
	free(names);
}

bool dwarf_names_is_split(const struct dwarf_names *names)
{
	return names->is_split;
}

Dwarf *dwarf_names_dwarf(const struct dwarf_names *names)
{
	return names->dwarf;
}

char *dwarf_names_missing_part(struct dwarf_names *names)
{
	const char *name;
	const void *id;
	const ssize_t length = dwelf_dwarf_gnu_debugaltlink(names->dwarf, &name, &id);
	return length > 0 && !dwarf_getalt(names->dwarf) ? elf_file_hex(id, (size_t)length) : NULL;
}

void dwarf_names_take_part(struct dwarf_names *names, struct elf_file *file)
{
	Dwarf *dwarf = names->part_dwarf ? NULL : elf_file_dwarf(file);
	if (!dwarf) {
		elf_file_close(file);
		return;
	}
	names->part = *file;
	names->part_dwarf = dwarf;
	dwarf_setalt(names->dwarf, dwarf);
}

const char *dwarf_names_of_die(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name;
}

const char *dwarf_names_file(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Die unit;
	Dwarf_Word index;
	Dwarf_Files *files;
	size_t n;
	if (!dwarf_attr_integrate(die, name, &attribute) ||
	    dwarf_formudata(&attribute, &index) != 0 || (!index && name == DW_AT_decl_file) ||
	    !dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, &n) != 0 || index >= n)
		return "";
	const char *file = dwarf_filesrc(files, index, NULL, NULL);
	return file ? file : "";
}

struct rf_error *dwarf_walk(Dwarf_Die *parent, int depth, size_t *dies_left, dwarf_visit *visit,
			    void *context)
{
	Dwarf_Die die;
	struct rf_error *error = NULL;
	if (depth > MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return NULL;
	do {
		bool descend = false;
		if (!*dies_left)
			return NULL;
		--*dies_left;
		error = visit(context, &die, &descend);
		if (!error && descend)
			error = dwarf_walk(&die, depth + 1, dies_left, visit, context);
	} while (!error && dwarf_siblingof(&die, &die) == 0);
	return error;
}

struct rf_error *dwarf_walk_units(Dwarf *dwarf, size_t *dies_left, dwarf_visit *visit,
				  void *context)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	struct rf_error *error = NULL;
	while (!error && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, &split) == 0)
		if (type == DW_UT_compile)
			error = dwarf_walk(&die, 0, dies_left, visit, context);
	return error;
}

bool dwarf_is_subprogram(Dwarf_Die *die, bool *descend)
{
	const int tag = dwarf_tag(die);
	*descend = tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
		   tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
		   tag == DW_TAG_subprogram;
	return tag == DW_TAG_subprogram;
}

struct naming {
	struct function_map *functions;
	uint64_t shift;
};

static struct rf_error *add_subprogram(void *context, Dwarf_Die *die, bool *descend)
{
	const struct naming *naming = context;
	const char *name = dwarf_is_subprogram(die, descend) ? dwarf_names_of_die(die) : NULL;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	struct rf_error *error = NULL;
	while (name && !error && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start < end)
			error = function_map_append(naming->functions, start + naming->shift,
						    end + naming->shift, name, "", RANK_GLOBAL);
	return error;
}

struct rf_error *dwarf_names_functions(struct dwarf_names *names, struct function_map *functions)
{
	struct naming naming = {functions, names->shift};
	return dwarf_walk_units(names->dwarf, &names->dies_left, add_subprogram, &naming);
}

/* Whether row `i` of a line table is for an address before `limit`. */
static bool is_line_before(Dwarf_Lines *lines, size_t i, uint64_t limit)
{
	Dwarf_Addr at;
	return dwarf_lineaddr(dwarf_onesrcline(lines, i), &at) == 0 && at < limit;
}

/* The first row of the unit's line table at `address` (an optimised function has several: the
 * first one is that of its head), or the last row before it. */
static Dwarf_Line *find_line(Dwarf_Die *unit, uint64_t address)
{
	Dwarf_Lines *lines;
	size_t n;
	bool ends = true;
	if (dwarf_getsrclines(unit, &lines, &n) != 0)
		return NULL;
	for (size_t row = rf_search(n, i, is_line_before(lines, i, address)); row < n; row++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, row);
		Dwarf_Addr at;
		if (dwarf_lineaddr(line, &at) != 0 || at != address)
			break;
		if (dwarf_lineendsequence(line, &ends) == 0 && !ends)
			return line;
	}
	return dwarf_getsrc_die(unit, address);
}

static bool row_address(Dwarf_Lines *lines, size_t i, size_t n, Dwarf_Addr *at)
{
	return i < n && dwarf_lineaddr(dwarf_onesrcline(lines, i), at) == 0;
}

void dwarf_names_row(struct dwarf_names *names, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	Dwarf_Die die;
	Dwarf_Lines *lines;
	Dwarf_Addr at;
	size_t n;
	uint64_t address, last;
	*start = vaddr;
	const bool known = dwarf_names_unit(names, vaddr, &die, &address, &last);
	if (known && dwarf_getsrclines(&die, &lines, &n) == 0) {
		const size_t next = rf_search(n, i, is_line_before(lines, i, address + 1));
		if (row_address(lines, next, n, &at) && at > address && at < last)
			last = at;
		if (next && row_address(lines, next - 1, n, &at) && at <= address)
			*start = at + names->shift;
	}
	*end = last == UINT64_MAX ? last : last + names->shift;
	/* whatever a damaged file says */
	*start = *start < vaddr ? *start : vaddr;
	*end = *end > vaddr ? *end : vaddr + 1;
}

bool dwarf_names_line(struct dwarf_names *names, uint64_t vaddr, const char **file, uint32_t *line)
{
	Dwarf_Die die;
	uint64_t address, end_of_unit;
	if (!dwarf_names_unit(names, vaddr, &die, &address, &end_of_unit))
		return false;
	Dwarf_Line *entry = find_line(&die, address);
	int number;
	const char *name = entry ? dwarf_linesrc(entry, NULL, NULL) : NULL;
	if (!name || dwarf_lineno(entry, &number) != 0 || number <= 0)
		return false;
	*file = name;
	*line = number;
	return true;
}

const char *dwarf_names_directory(struct dwarf_names *names, uint64_t vaddr)
{
	Dwarf_Die die;
	Dwarf_Attribute attribute;
	uint64_t address, end;
	if (!dwarf_names_unit(names, vaddr, &die, &address, &end) ||
	    !dwarf_attr(&die, DW_AT_comp_dir, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

bool dwarf_names_unit(struct dwarf_names *names, uint64_t vaddr, Dwarf_Die *unit, uint64_t *address,
		      uint64_t *end)
{
	*address = vaddr - names->shift;
	const size_t n = rf_search(names->n_units, i, names->units[i].start <= *address);
	if (n && *address < names->units[n - 1].end) {
		*end = names->units[n - 1].end;
		return dwarf_offdie(names->dwarf, names->units[n - 1].unit, unit) != NULL;
	}
	*end = n < names->n_units ? names->units[n].start : UINT64_MAX;
	return false;
}

size_t *dwarf_names_dies_left(struct dwarf_names *names)
{
	return &names->dies_left;
}
