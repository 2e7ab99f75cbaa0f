/* Names for the code of one module that ran: functions, lines and inlined calls, as rows of a
 * profile. */
#pragma once

#include "base/error.h"
#include "base/u64_map.h"
#include "profile/profile.h"
#include "symbols/symbols.h"

/* A code address of the profile; `block` is its block, or PROFILE_NONE for a frame. */
struct place {
	uint64_t offset;
	uint32_t module, block;
};

/* Naming one module: its places are sorted, functions are added in that order. */
struct module_work {
	struct profile *profile;
	uint32_t module;
	struct symbol_module *symbols; /* while its file is read; or NULL: it cannot be */
	const struct place *places;
	size_t n_places;
	uint64_t bias;    /* offset minus virtual address: 0 but for the vdso */
	uint64_t covered; /* end of the last function added */
	const struct symbol_fetcher *fetcher;
	struct u64_map calls; /* inlined calls that have a row, by their address */
};

/* Whether the module is the vdso, which has no file. */
bool name_is_vdso(const struct module_work *work);
/* Adds the rows by the file behind `fd`, which it takes; of the vdso by the image of this process
 * (fd -1).  A file that is no ELF file, or another one than that of the run, gives those of
 * name_pages.  Fails only when memory is short. */
struct rf_error *name_code(struct module_work *work, int fd);
/* Adds rows of a page each, for code of which no file is read. */
struct rf_error *name_pages(struct module_work *work);
