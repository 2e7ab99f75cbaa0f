#include "symbols/dwarf_names.h"

#include "base/array.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Namespaces and classes nest; a damaged file could nest without end. */
#define MAX_DEPTH 64

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
	size_t most_dies; /* that the file can hold */
	size_t dies_left; /* bound for a walk over a damaged file */
};

static int compare_units(const void *left, const void *right)
{
	const struct unit_range *a = left, *b = right;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* The units' own ranges: .debug_aranges is optional, and clang leaves it out. */
static bool read_units(struct dwarf_names *names)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	while (dwarf_get_units(names->dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;
		while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
			struct unit_range range = {start, end, dwarf_dieoffset(&die)};
			if (start < end &&
			    !rf_array_push(names->units, names->n_units, names->cap_units, range))
				return false;
		}
	}
	if (names->n_units)
		qsort(names->units, names->n_units, sizeof(*names->units), compare_units);
	return true;
}

struct dwarf_names *dwarf_names_create(const struct elf_file *file, uint64_t shift)
{
	struct dwarf_names *names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;
	names->shift = shift;
	/* Every DIE takes at least a byte of the file (compressed sections: of what they unpack
	 * to, hence the factor). */
	names->dies_left = names->most_dies = file->size * 32;
	names->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (names->dwarf && read_units(names) && names->n_units)
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

char *dwarf_names_missing_part(struct dwarf_names *names)
{
	const char *name;
	const void *id;
	const ssize_t length = dwelf_dwarf_gnu_debugaltlink(names->dwarf, &name, &id);
	char *text =
		length > 0 && !dwarf_getalt(names->dwarf) ? malloc(2 * (size_t)length + 1) : NULL;
	for (ssize_t i = 0; text && i < length; i++)
		sprintf(text + 2 * i, "%02x", ((const uint8_t *)id)[i]);
	return text;
}

void dwarf_names_take_part(struct dwarf_names *names, struct elf_file *file)
{
	Dwarf *dwarf = names->part_dwarf ? NULL : dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (!dwarf) {
		elf_file_close(file);
		return;
	}
	names->part = *file;
	names->part_dwarf = dwarf;
	dwarf_setalt(names->dwarf, dwarf);
}

static const struct unit_range *find_unit(const struct dwarf_names *names, uint64_t address)
{
	size_t low = 0, high = names->n_units;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (names->units[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < names->units[low - 1].end ? &names->units[low - 1] : NULL;
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

static bool add_subprogram(struct dwarf_names *names, Dwarf_Die *die,
			   struct function_map *functions)
{
	const char *name = dwarf_names_of_die(die);
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool ok = true;
	while (name && ok && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start < end)
			ok = function_map_append(functions, start + names->shift,
						 end + names->shift, name, "", RANK_GLOBAL);
	return ok;
}

static bool may_hold_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_subprogram;
}

static bool walk_children(struct dwarf_names *names, Dwarf_Die *parent, int depth,
			  struct function_map *functions)
{
	Dwarf_Die die;
	if (depth > MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return true;
	do {
		if (!names->dies_left)
			return true;
		names->dies_left--;
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_subprogram && !add_subprogram(names, &die, functions))
			return false;
		if (may_hold_functions(tag) && !walk_children(names, &die, depth + 1, functions))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

bool dwarf_names_functions(struct dwarf_names *names, struct function_map *functions)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	while (dwarf_get_units(names->dwarf, unit, &unit, NULL, &type, &die, &split) == 0)
		if (type == DW_UT_compile && !walk_children(names, &die, 0, functions))
			return false;
	return true;
}

/* The first row of the unit's line table at `address` (an optimised function has several: the
 * first one is that of its head), or the last row before it. */
static Dwarf_Line *find_line(Dwarf_Die *unit, uint64_t address)
{
	Dwarf_Lines *lines;
	size_t n;
	if (dwarf_getsrclines(unit, &lines, &n) != 0)
		return NULL;
	size_t low = 0, high = n;
	Dwarf_Addr at = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at) == 0 && at < address)
			low = middle + 1;
		else
			high = middle;
	}
	bool ends = true;
	for (; low < n; low++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, low);
		if (dwarf_lineaddr(line, &at) != 0 || at != address)
			break;
		if (dwarf_lineendsequence(line, &ends) == 0 && !ends)
			return line;
	}
	return dwarf_getsrc_die(unit, address);
}

bool dwarf_names_line(struct dwarf_names *names, uint64_t vaddr, const char **file, uint32_t *line)
{
	uint64_t address = vaddr - names->shift;
	const struct unit_range *unit = find_unit(names, address);
	Dwarf_Die die;
	if (!unit || !dwarf_offdie(names->dwarf, unit->unit, &die))
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

static bool is_system_header(const char *file)
{
	return strncmp(file, "/usr/", 5) == 0;
}

/* Where an inlined call stands: DW_AT_call_file is an index into the unit's files. */
static bool call_place(Dwarf_Die *unit, Dwarf_Die *inlined, const char **file, uint32_t *line)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number, index;
	Dwarf_Files *files;
	size_t n;
	if (!dwarf_attr(inlined, DW_AT_call_line, &attribute) ||
	    dwarf_formudata(&attribute, &number) != 0 ||
	    !dwarf_attr(inlined, DW_AT_call_file, &attribute) ||
	    dwarf_formudata(&attribute, &index) != 0 || dwarf_getsrcfiles(unit, &files, &n) != 0 ||
	    index >= n)
		return false;
	const char *name = dwarf_filesrc(files, index, NULL, NULL);
	if (!name)
		return false;
	*file = name;
	*line = (uint32_t)number;
	return true;
}

bool dwarf_names_caller_line(struct dwarf_names *names, uint64_t vaddr, const char **file,
			     uint32_t *line)
{
	const uint64_t address = vaddr - names->shift;
	const struct unit_range *unit = find_unit(names, address);
	Dwarf_Die die, *scopes = NULL, *callers = NULL;
	if (!dwarf_names_line(names, vaddr, file, line))
		return false;
	if (!is_system_header(*file) || !unit || !dwarf_offdie(names->dwarf, unit->unit, &die))
		return true;
	/* behind an inlined function come the scopes of its definition: those around it are asked
	 * for apart */
	if (dwarf_getscopes(&die, address, &scopes) > 0) {
		const int n = dwarf_getscopes_die(&scopes[0], &callers);
		for (int i = 0; i < n && is_system_header(*file); i++)
			if (dwarf_tag(&callers[i]) == DW_TAG_inlined_subroutine)
				(void)call_place(&die, &callers[i], file, line);
	}
	free(callers);
	free(scopes);
	return true;
}

uint64_t dwarf_names_line_end(struct dwarf_names *names, uint64_t vaddr)
{
	const uint64_t address = vaddr - names->shift;
	const struct unit_range *unit = find_unit(names, address);
	Dwarf_Die die;
	Dwarf_Lines *lines;
	size_t n;
	if (!unit || !dwarf_offdie(names->dwarf, unit->unit, &die) ||
	    dwarf_getsrclines(&die, &lines, &n) != 0)
		return UINT64_MAX;
	size_t low = 0, high = n;
	Dwarf_Addr at = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at) == 0 && at <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == n || dwarf_lineaddr(dwarf_onesrcline(lines, low), &at) != 0 || at <= address)
		return UINT64_MAX;
	return at + names->shift;
}

bool dwarf_names_unit(struct dwarf_names *names, uint64_t vaddr, Dwarf_Die *unit, uint64_t *address,
		      uint64_t *end)
{
	*address = vaddr - names->shift;
	const struct unit_range *range = find_unit(names, *address);
	if (range) {
		*end = range->end;
		return dwarf_offdie(names->dwarf, range->unit, unit) != NULL;
	}
	size_t low = 0, high = names->n_units;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (names->units[middle].start <= *address)
			low = middle + 1;
		else
			high = middle;
	}
	*end = low < names->n_units ? names->units[low].start : UINT64_MAX;
	return false;
}

size_t dwarf_names_most_dies(const struct dwarf_names *names)
{
	return names->most_dies;
}
