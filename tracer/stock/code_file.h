/* Kept code (tracer/translate/kept_code.h) as the bytes of a file, and back.
 *
 * The lists stand in the file as they are in memory, one behind the other, and are used where they
 * are when it is read.  Only modules have other numbers in each run: the file has their paths and
 * build ids. */
#pragma once

#include "base/kept_store.h"
#include "profile/profile.h"
#include "tracer/translate/kept_code.h"

/* Which modules the numbers in kept code stand for. */
struct code_names {
	struct code_name {
		uint32_t row;            /* of the profile that it was made with */
		uint32_t path, build_id; /* where they begin in `texts` */
		struct file_stamp stamp; /* of the file at that path */
	} * items;
	size_t n_items, cap_items;
	char *texts; /* each ends with a 0 */
	size_t n_texts, cap_texts;
};

/* False: memory is short.  To be freed in any case. */
bool code_names_take(struct code_names *names, const struct kept_code *kept,
		     const struct profile *profile);
void code_names_deinit(struct code_names *names);

/* All of it, as *n pieces of memory of both, in a list that is to be freed; NULL: memory is short.
 */
struct kept_piece *code_file_pieces(const struct kept_code *kept, const struct code_names *names,
				    size_t *n);

/* What was written, with the numbers that its modules have in this profile, to which they are
 * added.  NULL: a module's file is another one now, or memory is short; or (*broken) it is damaged
 * in some way: no number in it is believed before it is known to be within bounds, and nothing
 * before its sum is known to be right.  `file` is taken, and freed, in any case. */
struct kept_code *code_file_read(struct kept_bytes *file, struct profile *profile, bool *broken);
