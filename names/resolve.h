/* From the code that ran to its functions, source lines and inlined calls, in a profile. */
#pragma once

#include "base/error.h"
#include "names/kept_names.h"
#include "profile/profile.h"
#include "symbols/symbols.h"

struct resolve_options {
	/* Asked for the modules that have no debug information here; NULL: nobody is. */
	const struct symbol_fetcher *fetcher;
	/* What earlier runs have read, and where what is new goes; NULL: all is read anew.  Not
	 * used where files may be fetched. */
	struct kept_store *kept;
	bool source; /* source text is kept, too (sources.h) */
};

/* Adds to the profile every function that holds one of its blocks or frames: opens each module
 * by path once, splits nothing, leaves no two functions of a module overlapping; and the source
 * lines and inlined functions of the code that ran, by (module, start).  A module that cannot be
 * opened gets rows per 4-KiB page named "[name]+0x…".  For "[vdso]" the image of this process is
 * used. */
struct rf_error *names_resolve(struct profile *profile, const struct resolve_options *options);
