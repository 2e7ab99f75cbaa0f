/* Where the files that a program maps have functions of given names, by their symbol tables. */
#pragma once

#include "base/kept_store.h"
#include "profile/profile.h"
#include "tracer/process/module_file.h"

#include <stdbool.h>
#include <stdint.h>

/* What is looked for. */
struct function_names {
	int n; /* functions; their numbers are 0 to n - 1 */
	/* Whether a symbol, as it stands in the table and perhaps with a version behind an @, is
	 * the function of that number.  Called in a child (base/confined.h). */
	bool (*is_named)(const void *context, int number, const char *symbol);
	const void *context;
	bool untyped;            /* also symbols that the table does not call functions */
	struct kept_store *kept; /* where what was read is kept, or NULL */
	enum kept_kind kind;     /* as what */
};

/* The functions found in the files of one run. */
struct named_functions;
/* NULL: memory is short.  What `names` point to must stay. */
struct named_functions *named_functions_create(const struct function_names *names);
void named_functions_destroy(struct named_functions *functions);

/* The number of the function that begins at the ELF virtual address `vaddr` of that file, or -1.
 * The file's symbol tables are read at the first call for it, by a child, unless what they say is
 * kept. */
int named_functions_at(struct named_functions *functions, const struct module_file *file,
		       uint64_t vaddr);
/* The ELF virtual address at which the function of that number begins; 0: it is not there. */
uint64_t named_functions_vaddr(struct named_functions *functions, const struct module_file *file,
			       int number);
/* Place i of that file, in no order: where a function begins, its number, and bytes of its code (0:
 * not known); false: it has no more. */
bool named_functions_place(struct named_functions *functions, const struct module_file *file,
			   size_t i, uint64_t *vaddr, int *number, uint64_t *size);
/* Whether none of the files that were asked for could not be read. */
bool named_functions_all_read(const struct named_functions *functions);
/* Notes in the profile which files could not be read. */
void named_functions_note_unread(const struct named_functions *functions, struct profile *profile);
