/* The order of a profile's rows of the simulated TLB, in which they are looked up by place. */
#pragma once

#include "profile/profile.h"

/* By module, offset and kernel, as qsort has it; 0: of the same instruction and kernel. */
int page_walk_compare(const void *a, const void *b);
/* Puts all rows into that order. */
void page_walk_order(struct profile *profile);
