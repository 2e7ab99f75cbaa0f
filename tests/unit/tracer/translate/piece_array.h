/* The pieces of an arena as they are, one behind the other. */
#pragma once

#include "tracer/translate/arena.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* All *n of them, those that are lent first; heap. */
static inline struct piece *piece_array(const struct arena *arena, size_t *n)
{
	const struct piece_list *const lists[] = {&arena->lent, &arena->pieces};
	struct piece *pieces = calloc(arena->lent.n + arena->pieces.n + 1, sizeof(*pieces));
	cr_assert(pieces);
	*n = 0;
	for (int k = 0; k < 2; k++) {
		struct piece_reader reader = piece_reader_of(lists[k]);
		for (size_t i = 0; i < lists[k]->n; i++) {
			cr_assert(piece_reader_next(&reader), "piece %zu of %zu", i, lists[k]->n);
			pieces[(*n)++] = reader.piece;
		}
		cr_assert_eq(reader.at, reader.end);
	}
	return pieces;
}
