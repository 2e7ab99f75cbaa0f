/* Loads and stores through the caches. */
#pragma once

#include "cache/levels.h"

/* Chooses the code that does them (h->load_or_store) by the levels. */
void load_store_choose(struct hierarchy *h);
