/* From the code that ran to its functions, source lines and inlined calls, in a profile. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "symbols/symbols.h"

/* Adds to the profile every function that holds one of its blocks or frames: opens each module
 * by path once, splits nothing, leaves no two functions of a module overlapping; and the source
 * lines and inlined functions of the code that ran, by (module, start).  A module that cannot be
 * opened gets rows per 4-KiB page named "[name]+0x…".  For "[vdso]" the image of this process is
 * used.  `fetcher` (or NULL) is asked for the modules that have no debug information here. */
struct rf_error *symbols_resolve(struct profile *profile, const struct symbol_fetcher *fetcher);
