/* Who the ranks are that are merged, what each of them did, and their nodes. */
#pragma once

#include "base/u64_map.h"
#include "profile/profile.h"

#include <stdbool.h>

struct rank_rows {
	struct u64_map numbers; /* of the ranks that are there */
	bool counted;           /* the rank that was added last: its work was */
};

/* Adds the rank of a profile with sums; *out gets its row.  RF_EINPUT: it is there already. */
struct rf_error *rank_rows_add(struct rank_rows *rows, struct profile *into,
			       const struct profile *profile, const char *file, uint32_t *out);
/* Facts about all of them. */
void rank_rows_finish(struct profile *into);
void rank_rows_deinit(struct rank_rows *rows);
