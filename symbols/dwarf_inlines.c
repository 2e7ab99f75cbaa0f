/* Which calls were inlined where.  Two steps bound the cost in large files: of a unit, once, where
 * its functions are; of a function, once, the calls that were inlined in it.
 *
 * Where memory is short or the DWARF is damaged, the answer is that nothing was inlined: a report
 * without inlined functions is better than none. */
#include "symbols/dwarf_inlines.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"
#include "symbols/overlaps.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

/* Calls and blocks nest; a damaged file could nest without end. */
#define MAX_DEPTH 512

/* Code whose innermost call is `call` (NULL: none). */
struct piece {
	uint64_t start, end;
	const struct dwarf_inline *call;
};

struct pieces {
	struct piece *items;
	size_t n_items, cap_items;
};

struct subprogram {
	Dwarf_Off die;
	bool is_read;
	struct pieces pieces; /* sorted, without overlaps; what is not there is its own code */
};

struct code_range {
	uint64_t start, end;
	size_t subprogram;
};

struct unit {
	Dwarf_Die die; /* the split one, where there is one */
	struct code_range *ranges;
	size_t n_ranges, cap_ranges; /* sorted by start */
	struct subprogram *subprograms;
	size_t n_subprograms, cap_subprograms;
};

struct dwarf_inlines {
	struct dwarf_names *names;
	struct u64_map unit_at; /* offset of a unit's entry + 1 → index */
	struct unit **units;
	size_t n_units, cap_units;
	struct dwarf_inline **calls;
	size_t n_calls, cap_calls;
	bool failed;
};

struct dwarf_inlines *dwarf_inlines_create(struct dwarf_names *names)
{
	struct dwarf_inlines *inlines = calloc(1, sizeof(*inlines));
	if (inlines)
		inlines->names = names;
	return inlines;
}

static void unit_destroy(struct unit *unit)
{
	for (size_t i = 0; i < unit->n_subprograms; i++)
		free(unit->subprograms[i].pieces.items);
	free(unit->subprograms);
	free(unit->ranges);
	free(unit);
}

void dwarf_inlines_destroy(struct dwarf_inlines *inlines)
{
	if (!inlines)
		return;
	for (size_t i = 0; i < inlines->n_units; i++)
		unit_destroy(inlines->units[i]);
	for (size_t i = 0; i < inlines->n_calls; i++)
		free(inlines->calls[i]);
	free(inlines->units);
	free(inlines->calls);
	u64_map_deinit(&inlines->unit_at);
	free(inlines);
}

bool dwarf_inlines_failed(const struct dwarf_inlines *inlines)
{
	return inlines->failed;
}

/* ---- a unit: where its functions are ---- */

static struct rf_error *add_subprogram(void *context, Dwarf_Die *die, bool *descend)
{
	struct unit *unit = context;
	const struct subprogram subprogram = {.die = dwarf_dieoffset(die)};
	const size_t n_before = unit->n_ranges;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	if (!dwarf_is_subprogram(die, descend))
		return NULL;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		const struct code_range range = {start, end, unit->n_subprograms};
		if (start < end &&
		    !rf_array_push(unit->ranges, unit->n_ranges, unit->cap_ranges, range))
			return rf_error_no_memory();
	}
	return unit->n_ranges == n_before ? NULL
					  : rf_array_add(unit->subprograms, unit->n_subprograms,
							 unit->cap_subprograms, subprogram);
}

static int compare_ranges(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;
	return rf_compare(a->start, b->start) ?: rf_compare(a->subprogram, b->subprogram);
}

/* With split DWARF (-gsplit-dwarf) what is in the file itself is a skeleton. */
static void take_split(Dwarf_Die *die)
{
	Dwarf_Die split;
	uint8_t type;
	if (dwarf_cu_info(die->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
	    type == DW_UT_skeleton && split.addr)
		*die = split;
}

static struct unit *read_unit(struct dwarf_inlines *inlines, Dwarf_Die *die)
{
	const uint64_t key = dwarf_dieoffset(die) + 1;
	const uint32_t *known = u64_map_find(&inlines->unit_at, key);
	if (known)
		return inlines->units[*known];
	struct unit *unit = calloc(1, sizeof(*unit));
	if (!unit)
		return NULL;
	unit->die = *die;
	take_split(&unit->die);
	if (dwarf_walk(&unit->die, 0, dwarf_names_dies_left(inlines->names), add_subprogram,
		       unit) ||
	    !rf_array_push(inlines->units, inlines->n_units, inlines->cap_units, unit)) {
		unit_destroy(unit);
		return NULL;
	}
	if (unit->n_ranges)
		qsort(unit->ranges, unit->n_ranges, sizeof(*unit->ranges), compare_ranges);
	return u64_map_set(&inlines->unit_at, key, (uint32_t)(inlines->n_units - 1)) ? unit : NULL;
}

/* ---- a function: what was inlined in it ---- */

/* While a function is read: the code of each call (the range's owner); those further in have a
 * higher rank. */
struct reading {
	struct dwarf_inlines *inlines;
	struct ranked_range *layers;
	size_t n_layers, cap_layers;
};

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	if (!dwarf_attr_integrate(die, name, &attribute) ||
	    dwarf_formudata(&attribute, &value) != 0 || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static const struct dwarf_inline *add_call(struct reading *reading, Dwarf_Die *die,
					   const struct dwarf_inline *caller)
{
	struct dwarf_inlines *inlines = reading->inlines;
	struct dwarf_inline *call = calloc(1, sizeof(*call));
	if (!call || !rf_array_push(inlines->calls, inlines->n_calls, inlines->cap_calls, call)) {
		free(call);
		return NULL;
	}
	const char *name = dwarf_names_of_die(die);
	call->name = name ? name : "";
	call->file = dwarf_names_file(die, DW_AT_decl_file);
	call->line = number_of(die, DW_AT_decl_line);
	call->call_file = dwarf_names_file(die, DW_AT_call_file);
	call->call_line = number_of(die, DW_AT_call_line);
	call->caller = caller;
	return call;
}

static bool add_layers(struct reading *reading, Dwarf_Die *die, uint32_t depth,
		       const struct dwarf_inline *call)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		const struct ranked_range layer = {start, end, depth, call};
		if (start < end &&
		    !rf_array_push(reading->layers, reading->n_layers, reading->cap_layers, layer))
			return false;
	}
	return true;
}

/* Types and variables have no code; functions within a function have subprograms of their own. */
static bool may_hold_calls(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

static bool read_calls(struct reading *reading, Dwarf_Die *parent, uint32_t depth,
		       const struct dwarf_inline *caller)
{
	size_t *dies_left = dwarf_names_dies_left(reading->inlines->names);
	Dwarf_Die die;
	if (depth > MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return true;
	do {
		if (!*dies_left)
			return true;
		--*dies_left;
		const int tag = dwarf_tag(&die);
		const struct dwarf_inline *call = caller;
		if (!may_hold_calls(tag))
			continue;
		if (tag == DW_TAG_inlined_subroutine)
			call = add_call(reading, &die, caller);
		if ((tag == DW_TAG_inlined_subroutine &&
		     (!call || !add_layers(reading, &die, depth, call))) ||
		    !read_calls(reading, &die, depth + 1, call))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

/* ---- from layers to pieces ---- */

static struct rf_error *add_piece(void *context, uint64_t start, uint64_t end,
				  const struct ranked_range *layer)
{
	struct pieces *pieces = context;
	struct piece *last = pieces->n_items ? &pieces->items[pieces->n_items - 1] : NULL;
	if (last && last->end == start && last->call == layer->owner) {
		last->end = end;
		return NULL;
	}
	const struct piece piece = {start, end, layer->owner};
	return rf_array_add(pieces->items, pieces->n_items, pieces->cap_items, piece);
}

static bool read_subprogram(struct dwarf_inlines *inlines, struct unit *unit,
			    struct subprogram *subprogram)
{
	struct reading reading = {.inlines = inlines};
	Dwarf_Die die;
	subprogram->is_read = true;
	/* a unit of split DWARF is in a file of its own */
	if (!dwarf_offdie(dwarf_cu_getdwarf(unit->die.cu), subprogram->die, &die))
		return true;
	const bool ok =
		read_calls(&reading, &die, 0, NULL) &&
		!overlaps_flatten(reading.layers, reading.n_layers, add_piece, &subprogram->pieces);
	free(reading.layers);
	return ok;
}

/* ---- look-ups ---- */

/* The last range that starts at or before the address; *next gets the start of the one behind. */
static const struct code_range *find_range(const struct unit *unit, uint64_t address,
					   uint64_t *next)
{
	const size_t n = rf_search(unit->n_ranges, i, unit->ranges[i].start <= address);
	*next = n < unit->n_ranges ? unit->ranges[n].start : UINT64_MAX;
	return n && address < unit->ranges[n - 1].end ? &unit->ranges[n - 1] : NULL;
}

static const struct dwarf_inline *find_piece(const struct pieces *pieces, uint64_t address,
					     uint64_t *end)
{
	const size_t n = rf_search(pieces->n_items, i, pieces->items[i].start <= address);
	const struct piece *piece = n ? &pieces->items[n - 1] : NULL;
	const bool inside = piece && address < piece->end;
	const uint64_t limit = inside                ? piece->end
			       : n < pieces->n_items ? pieces->items[n].start
						     : UINT64_MAX;
	if (limit < *end)
		*end = limit;
	return inside ? piece->call : NULL;
}

/* An address of the DWARF as one of the file; sums that wrap around hold for one byte. */
static uint64_t shifted(uint64_t address, uint64_t shift, uint64_t vaddr)
{
	if (address == UINT64_MAX)
		return address;
	return address + shift > vaddr ? address + shift : vaddr + 1;
}

const struct dwarf_inline *dwarf_inlines_find(struct dwarf_inlines *inlines, uint64_t vaddr,
					      uint64_t *end)
{
	Dwarf_Die die;
	uint64_t address, last, next;
	const bool there = dwarf_names_unit(inlines->names, vaddr, &die, &address, &last);
	const uint64_t shift = vaddr - address;
	*end = shifted(last, shift, vaddr);
	struct unit *unit = there ? read_unit(inlines, &die) : NULL;
	if (!unit) {
		inlines->failed |= there;
		return NULL;
	}
	const struct code_range *range = find_range(unit, address, &next);
	if (next < last)
		last = next;
	if (range && range->end < last)
		last = range->end;
	const struct dwarf_inline *call = NULL;
	struct subprogram *subprogram = range ? &unit->subprograms[range->subprogram] : NULL;
	if (subprogram && (subprogram->is_read || read_subprogram(inlines, unit, subprogram)))
		call = find_piece(&subprogram->pieces, address, &last);
	else
		inlines->failed |= subprogram != NULL;
	*end = shifted(last, shift, vaddr);
	return call;
}
