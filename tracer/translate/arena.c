/* Memory for translated code: appends bytes, and keeps the pieces that say what each byte is. */
#include "tracer/translate/arena.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/search.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)

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

/* ---- pieces ---- */

/* The first byte of a piece has its kind, and which of its parts follow: how far it lies behind the
 * one before always, then what is not as it was there.  One that begins a group comes behind a
 * piece that is all zero. */
#define PIECE_KIND 0x0f
#define PIECE_BEGINS 0x10
#define PIECE_BLOCK 0x20
#define PIECE_ORIG 0x40
#define PIECE_REGISTERS 0x80
#define PIECE_MOST 24   /* bytes that one may take */
#define PIECE_GROUP 256 /* bytes of a group, before the next one begins */

static uint8_t *put_number(uint8_t *to, uint32_t number)
{
	for (; number >= 0x80; number >>= 7)
		*to++ = (uint8_t)(number | 0x80);
	*to++ = (uint8_t)number;
	return to;
}

/* Small where the difference is small, whichever way. */
static uint32_t folded(uint32_t difference)
{
	return difference << 1 ^ -(difference >> 31);
}

static uint32_t unfolded(uint32_t number)
{
	return number >> 1 ^ -(number & 1);
}

static uint8_t *put_piece(uint8_t *to, const struct piece *piece, const struct piece *before)
{
	uint8_t *first = to++;
	*first = piece->kind;
	to = put_number(to, piece->cache - before->cache);
	if (piece->block != before->block) {
		*first |= PIECE_BLOCK;
		to = put_number(to, folded(piece->block - before->block));
	}
	if (piece->orig != before->orig) {
		*first |= PIECE_ORIG;
		to = put_number(to, folded((uint32_t)piece->orig - before->orig));
	}
	if (piece->reg != before->reg || piece->spilled != before->spilled ||
	    piece->in_loop != before->in_loop) {
		*first |= PIECE_REGISTERS;
		*to++ = piece->reg;
		*to++ = piece->spilled;
		*to++ = piece->in_loop;
	}
	return to;
}

static bool has_room(struct piece_list *list)
{
	bool ok = true;
	while (ok && list->cap_bytes < list->n_bytes + PIECE_MOST)
		ok = rf_array_reserve((void **)&list->bytes, list->cap_bytes, &list->cap_bytes, 1);
	return ok;
}

static struct rf_error *add_piece(struct piece_list *list, const struct piece *piece)
{
	const struct piece none = {0};
	const size_t begun = list->n_marks ? list->marks[list->n_marks - 1].at : 0;
	const bool begins = !list->n || list->n_bytes - begun >= PIECE_GROUP;
	const struct piece_mark mark = {piece->cache, (uint32_t)list->n_bytes};
	if (!has_room(list) ||
	    (begins && !rf_array_push(list->marks, list->n_marks, list->cap_marks, mark)))
		return rf_error_no_memory();
	uint8_t *to = list->bytes + list->n_bytes;
	const uint8_t *end = put_piece(to, piece, begins ? &none : &list->last);
	if (begins)
		*to |= PIECE_BEGINS;
	list->n_bytes += (size_t)(end - to);
	list->last = *piece;
	list->n++;
	return NULL;
}

static bool take_number(struct piece_reader *reader, uint32_t *number)
{
	*number = 0;
	for (unsigned shift = 0; reader->at < reader->end && shift < 32; shift += 7) {
		const uint8_t byte = *reader->at++;
		*number |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

struct piece_reader piece_reader_of(const struct piece_list *list)
{
	return (struct piece_reader){.at = list->bytes, .end = list->bytes + list->n_bytes};
}

static bool take_registers(struct piece_reader *reader)
{
	if (reader->end - reader->at < 3 || reader->at[2] > 1)
		return false;
	reader->piece.reg = reader->at[0];
	reader->piece.spilled = reader->at[1];
	reader->piece.in_loop = reader->at[2];
	reader->at += 3;
	return true;
}

bool piece_reader_next(struct piece_reader *reader)
{
	struct piece *piece = &reader->piece;
	uint32_t number;
	if (reader->at == reader->end)
		return false;
	const uint8_t *begin = reader->at, first = *reader->at++;
	reader->begins = first & PIECE_BEGINS;
	if (reader->begins)
		*piece = (struct piece){0};
	piece->kind = first & PIECE_KIND;
	bool ok = take_number(reader, &number);
	piece->cache += number;
	if (ok && first & PIECE_BLOCK) {
		ok = take_number(reader, &number);
		piece->block += unfolded(number);
	}
	if (ok && first & PIECE_ORIG) {
		ok = take_number(reader, &number);
		piece->orig = (uint16_t)(piece->orig + unfolded(number));
	}
	if (ok && first & PIECE_REGISTERS)
		ok = take_registers(reader);
	if (!ok)
		reader->at = begin;
	return ok;
}

/* To the group that an offset is in, if there is one. */
static void seek_group(struct piece_cursor *cursor, const struct piece_list *list, uint64_t offset)
{
	const size_t n = rf_search(list->n_marks, i, list->marks[i].cache <= offset);
	cursor->is_set = n > 0;
	if (!n)
		return;
	cursor->reader = piece_reader_of(list);
	cursor->reader.at += list->marks[n - 1].at;
	cursor->is_set = cursor->has_next = piece_reader_next(&cursor->reader);
}

bool piece_cursor_find(struct piece_cursor *cursor, const struct piece_list *list, uint64_t offset)
{
	if (!cursor->is_set || cursor->here.cache > offset ||
	    offset - cursor->here.cache > PIECE_GROUP)
		seek_group(cursor, list, offset);
	while (cursor->is_set && cursor->has_next && cursor->reader.piece.cache <= offset) {
		cursor->here = cursor->reader.piece;
		cursor->has_next = piece_reader_next(&cursor->reader);
	}
	return cursor->is_set;
}

bool piece_list_join(struct piece_list *list, const struct piece_list *more)
{
	const size_t n_bytes = list->n_bytes + more->n_bytes;
	const size_t n_marks = list->n_marks + more->n_marks;
	if (!more->n)
		return true;
	uint8_t *bytes = realloc(list->bytes, n_bytes);
	list->bytes = bytes ? bytes : list->bytes;
	struct piece_mark *marks = realloc(list->marks, n_marks * sizeof(*marks));
	list->marks = marks ? marks : list->marks;
	if (!bytes || !marks)
		return false;
	memcpy(bytes + list->n_bytes, more->bytes, more->n_bytes);
	for (size_t i = 0; i < more->n_marks; i++)
		marks[list->n_marks + i] =
			(struct piece_mark){more->marks[i].cache,
					    (uint32_t)(more->marks[i].at + list->n_bytes)};
	list->n_bytes = list->cap_bytes = n_bytes;
	list->n_marks = list->cap_marks = n_marks;
	list->n += more->n;
	list->last = more->last;
	return true;
}

void piece_list_deinit(struct piece_list *list)
{
	free(list->bytes);
	free(list->marks);
	*list = (struct piece_list){0};
}

struct rf_error *arena_begin_piece(struct arena *arena, const struct piece *piece)
{
	struct piece new = *piece;
	new.cache = (uint32_t)arena->used;
	assert(!arena->pieces.n || arena->pieces.last.cache <= new.cache);
	arena->is_open = true;
	return add_piece(&arena->pieces, &new);
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

void arena_let_go(const struct arena *arena, size_t begin, size_t end)
{
	begin = (begin + PAGE - 1) & -PAGE;
	end &= -PAGE;
	if (arena->is_shared && begin < end)
		(void)madvise(arena->host + begin, end - begin, MADV_DONTNEED);
}

void arena_free_host(struct arena *arena)
{
	if (arena->is_shared)
		munmap(arena->host, arena->size);
	else
		free(arena->host);
	arena->host = NULL;
}

bool arena_piece_at(const struct arena *arena, uint64_t offset, struct piece *piece)
{
	struct piece_cursor cursor = {0};
	const bool found = piece_cursor_find(&cursor, &arena->pieces, offset) ||
			   piece_cursor_find(&cursor, &arena->lent, offset);
	if (found)
		*piece = cursor.here;
	return found;
}
