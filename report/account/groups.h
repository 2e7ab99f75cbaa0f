/* Functions that are one cost though it has many names. */
#pragma once

#include "profile/profile.h"

enum account_group {
	GROUP_NONE,
	GROUP_ALLOCATION, /* malloc, free, new, delete and what they call */
	GROUP_STRINGS,    /* strlen, strcmp and their kin */
	GROUP_MEMORY,     /* memset, memcpy and their kin */
	GROUP_COLLECTION, /* of garbage, by name */
	GROUP_LINKER,     /* the dynamic linker, and what it does at start-up */
	N_ACCOUNT_GROUPS
};

enum account_group account_group_of(const char *name, const char *module);
/* The program's own function that most time in the group was called from; NULL: not known. */
const char *account_group_caller(const struct profile *profile, enum account_group group);
