/* Facts about modules, kept between runs (kept_store.h).  They hold as long as the places where
 * debug files are looked for are the same, too. */
#pragma once

#include "base/kept_store.h"
#include "names/name_facts.h"

/* False: nothing is kept that holds, and *facts (empty before) is empty. */
bool kept_names_load(struct kept_store *store, const struct kept_key *key,
		     struct name_facts *facts);
/* Keeps facts that are lasting.  Those of files that changed a moment ago are not. */
void kept_names_save(struct kept_store *store, const struct kept_key *key,
		     const struct name_facts *facts);
