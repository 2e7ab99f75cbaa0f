/* What was read of the file of roofs, kept once more as it is in memory (base/kept_store.h): to
 * read its JSON takes longer than all else before a short run.  It holds for that very file alone.
 */
#pragma once

#include "base/kept_store.h"
#include "machine/data/machine.h"

/* The machine that the file at `path` has under the key whose text is given.  False: nothing is
 * kept that holds; *machine is untouched. */
bool kept_machine_load(struct kept_store *store, const char *path, const char *key,
		       struct machine *machine);
/* Keeps it; `stamp`: of the file before it was read. */
void kept_machine_save(struct kept_store *store, const char *path, const struct file_stamp *stamp,
		       const char *key, const struct machine *machine);
