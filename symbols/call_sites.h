/* Functions and lines of single places in the code of a module, read by a child and kept. */
#pragma once

#include "base/kept_store.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>

struct call_site {
	uint64_t address; /* in the module: of the call, not behind it */
	char *name;       /* of the function, "" without a symbol; NULL: not known */
	char *file;       /* as symbol_caller_line says, or "" */
	uint32_t line;    /* or 0 */
};

/* Completes those sites, sorted by address, of which something is known; a file with another build
 * id than that of `module`, a row of the profile, tells nothing.  `store`: where answers are kept,
 * or NULL.  What could not be read is noted in the profile. */
void call_sites_name(struct profile *profile, uint32_t module, struct kept_store *store,
		     struct call_site *sites, size_t n);
