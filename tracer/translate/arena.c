/* Memory for translated code: appends bytes, and keeps the pieces that say what each byte is. */
#include "tracer/translate/arena.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/search.h"

#include <string.h>

/* Instructions and parts of them, by the million: as two words that may overlap. */
static void copy_few(uint8_t *to, const uint8_t *from, size_t n)
{
	if (n >= 4) {
		uint32_t first, last;
		memcpy(&first, from, sizeof(first));
		memcpy(&last, from + n - sizeof(last), sizeof(last));
		memcpy(to, &first, sizeof(first));
		memcpy(to + n - sizeof(last), &last, sizeof(last));
	} else if (n) {
		to[0] = from[0];
		to[n / 2] = from[n / 2];
		to[n - 1] = from[n - 1];
	}
}

static void append(struct arena *arena, const void *bytes, size_t n)
{
	assert(n <= arena->size - arena->used);
	if (n <= 8)
		copy_few(arena->host + arena->used, bytes, n);
	else
		memcpy(arena->host + arena->used, bytes, n);
	arena->used += n;
}

void arena_append(struct arena *arena, const void *bytes, size_t n)
{
	assert(arena->is_open);
	append(arena, bytes, n);
}

/* Multi-byte ones (Intel SDM vol. 2, NOP, table 4-12), at most 9 bytes each. */
void arena_append_nops(struct arena *arena, size_t n)
{
	static const uint8_t nops[9][9] = {
		{0x90},
		{0x66, 0x90},
		{0x0f, 0x1f, 0x00},
		{0x0f, 0x1f, 0x40, 0x00},
		{0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
		{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	};
	while (n) {
		const size_t length = n < 9 ? n : 9;
		append(arena, nops[length - 1], length);
		n -= length;
	}
}

void arena_align(struct arena *arena, size_t alignment)
{
	arena_append_nops(arena, -arena->used & (alignment - 1));
}

struct rf_error *arena_begin_piece(struct arena *arena, const struct piece *piece)
{
	struct piece new = *piece;
	new.cache = (uint32_t)arena->used;
	assert(!arena->n_pieces || arena->pieces[arena->n_pieces - 1].cache <= new.cache);
	arena->is_open = true;
	return rf_array_add(arena->pieces, arena->n_pieces, arena->cap_pieces, new);
}

void arena_end_piece(struct arena *arena)
{
	arena->is_open = false;
}

void arena_note_field(struct arena *arena, enum field_kind kind, ptrdiff_t ahead, uint64_t pc)
{
	const struct field field = {pc, (uint32_t)((ptrdiff_t)arena->used + ahead), (uint8_t)kind};
	arena->lacks_fields |=
		!rf_array_push(arena->fields, arena->n_fields, arena->cap_fields, field);
}

const struct piece *arena_piece_at(const struct arena *arena, uint64_t offset)
{
	const size_t n = rf_search(arena->n_pieces, i, arena->pieces[i].cache <= offset);
	if (n)
		return &arena->pieces[n - 1];
	const size_t n_lent = rf_search(arena->n_lent, i, arena->lent[i].cache <= offset);
	return n_lent ? &arena->lent[n_lent - 1] : NULL;
}
