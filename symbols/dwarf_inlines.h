/* Functions that were inlined, from DWARF: read for the functions that are asked about, each once.
 */
#pragma once

#include "symbols/dwarf_names.h"

struct dwarf_inlines;

/* One call that was inlined (DW_TAG_inlined_subroutine).  Texts are borrowed from the DWARF. */
struct dwarf_inline {
	const char *name; /* of the function: its linkage name, else its name; "" without one */
	const char *file; /* where the function is declared, or "" */
	uint32_t line;    /* or 0 */
	const char *call_file; /* where the call stands, or "" */
	uint32_t call_line;    /* or 0 */
	const struct dwarf_inline
		*caller; /* the inlined function that it stands in; NULL: the function itself */
};

/* `names` must outlive it.  NULL: no memory. */
struct dwarf_inlines *dwarf_inlines_create(struct dwarf_names *names);
void dwarf_inlines_destroy(struct dwarf_inlines *inlines);
/* Whether memory was short, so that inlined calls are missing. */
bool dwarf_inlines_failed(const struct dwarf_inlines *inlines);

/* The innermost inlined call whose code `vaddr` is, or NULL; in *end the address up to which the
 * answer holds (UINT64_MAX where nothing is known).  Lives as long as `inlines`. */
const struct dwarf_inline *dwarf_inlines_find(struct dwarf_inlines *inlines, uint64_t vaddr,
					      uint64_t *end);
