/* Function names and source lines from DWARF, read only where they are asked for. */
#pragma once

#include "symbols/elf_file.h"
#include "symbols/function_map.h"

#include <elfutils/libdw.h>

struct dwarf_names;

/* Opens the DWARF of `file`; `shift` is added to its addresses.  NULL when there is none.  `file`
 * must outlive it. */
struct dwarf_names *dwarf_names_create(const struct elf_file *file, uint64_t shift);
void dwarf_names_destroy(struct dwarf_names *names);

/* Several debug files can share a file with what they have in common (dwz).  The build id of the
 * one that belongs to this DWARF and is not on this machine, in lower-case hex, to be freed; NULL:
 * there is none, or it is here. */
char *dwarf_names_missing_part(struct dwarf_names *names);
/* Takes over the file, which is that part. */
void dwarf_names_take_part(struct dwarf_names *names, struct elf_file *file);

/* Adds every subprogram's ranges to an unsettled list (names are borrowed from `names`).  Fails
 * only when memory is short. */
struct rf_error *dwarf_names_functions(struct dwarf_names *names, struct function_map *functions);

/* Source file and line of the instruction at `vaddr`; false when they are not known.  *file is
 * borrowed from `names`. */
bool dwarf_names_line(struct dwarf_names *names, uint64_t vaddr, const char **file, uint32_t *line);
/* The directory that the unit of `vaddr` was compiled in, to which names of its files are relative;
 * NULL: not known.  Borrowed from `names`. */
const char *dwarf_names_directory(struct dwarf_names *names, uint64_t vaddr);
/* The code around `vaddr` up to where the line table, or a unit, begins or ends: [*start, *end).
 * What dwarf_names_line says of *start holds for no other address (several lines may begin there),
 * what it says of another address holds for all others. */
void dwarf_names_row(struct dwarf_names *names, uint64_t vaddr, uint64_t *start, uint64_t *end);
/* Whether some of it is in files of its own (-gsplit-dwarf), and the DWARF itself. */
bool dwarf_names_is_split(const struct dwarf_names *names);
Dwarf *dwarf_names_dwarf(const struct dwarf_names *names);

/* For what else is read from the DWARF of the same file (dwarf_inlines).  The unit whose code
 * `vaddr` is, or false; in *address what `vaddr` is in the DWARF, and in *end the address there up
 * to which the answer holds, UINT64_MAX: to the end. */
bool dwarf_names_unit(struct dwarf_names *names, uint64_t vaddr, Dwarf_Die *unit, uint64_t *address,
		      uint64_t *end);
/* Gets an entry, and says in *descend whether those below it shall be visited, too. */
typedef struct rf_error *dwarf_visit(void *context, Dwarf_Die *die, bool *descend);
/* Visits the entries below `parent`, at that depth, until there is an error; *dies_left is how many
 * more there can be in a file that is not damaged. */
struct rf_error *dwarf_walk(Dwarf_Die *parent, int depth, size_t *dies_left, dwarf_visit *visit,
			    void *context);
/* The same for the entries of all compile units. */
struct rf_error *dwarf_walk_units(Dwarf *dwarf, size_t *dies_left, dwarf_visit *visit,
				  void *context);
/* Whether an entry is a function; *descend: there can be some below it. */
bool dwarf_is_subprogram(Dwarf_Die *die, bool *descend);
/* The linkage name of an entry, else its name, or NULL. */
const char *dwarf_names_of_die(Dwarf_Die *die);
/* The source file that an attribute of an entry (DW_AT_decl_file, DW_AT_call_file) names, or "".
 * Unlike libdw's dwarf_decl_file it asserts nothing about the unit's table of files. */
const char *dwarf_names_file(Dwarf_Die *die, unsigned attribute);
/* More entries than that the file cannot hold. */
size_t dwarf_most_dies(const struct elf_file *file);
/* How many of them are left for walks over this DWARF. */
size_t *dwarf_names_dies_left(struct dwarf_names *names);
