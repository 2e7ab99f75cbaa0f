/* Rows of many profiles put together: what tells rows of a table from others is its key, the rest
 * is added up. */
#pragma once

#include "base/u64_map.h"
#include "profile/profile_schema.h"

struct row_merger {
	struct profile *into;
	struct u64_map rows[N_TABLES]; /* of `into`, by their keys */
	/* of the profile at hand: for each row its row in `into` */
	uint32_t *row_of[N_TABLES];
};

void row_merger_init(struct row_merger *merger, struct profile *into);
void row_merger_deinit(struct row_merger *merger);

/* Makes room for the rows of another profile, of all tables; none of them has a row in `into` yet
 * (PROFILE_NONE). */
struct rf_error *row_merger_begin(struct row_merger *merger, const struct profile *from);
/* Adds a row to the one of its key, or as a new one; *out (or NULL) gets its number.  What it
 * refers to must have been merged before.  RF_EFORMAT where a sum is more than a profile can hold.
 */
struct rf_error *row_merger_add(struct row_merger *merger, enum table_id id, const void *row,
				uint32_t *out);
/* All rows of a table; row_of gets their numbers. */
struct rf_error *row_merger_add_table(struct row_merger *merger, const struct profile *from,
				      enum table_id id);
/* Finds by their keys from now on what `into` has in a table already. */
struct rf_error *row_merger_know_table(struct row_merger *merger, enum table_id id);
/* Appends all rows of a table whatever their keys are; row_of gets their numbers.  A table may
 * refer to itself. */
struct rf_error *row_merger_append_table(struct row_merger *merger, const struct profile *from,
					 enum table_id id);
