/* The tables by which the gate finds its way without asking. */
#pragma once

#include "tracer/target/target.h"

/* The first, empty table of a copy in the process. */
void entry_table_init(struct target *target, enum copy copy);
/* Whether the gate still looks where they are, and finds their size. */
bool entry_table_is_whole(const struct target *target);
/* Puts what a copy's translator has made since into the table; so above all returns find their way.
 */
void entry_table_show_new(struct target *target, enum copy copy);
/* That thread finds the entry of `key` (a pc, with RETURN_KEY for returns) in its own table, that
 * of the copy that it runs. */
void entry_table_remember(struct target *target, int slot, uint64_t key, uint64_t entry);
/* Makes all entries of a copy for program addresses of [start, end) unreachable. */
void entry_table_forget(struct target *target, enum copy copy, uint64_t start, uint64_t end);
