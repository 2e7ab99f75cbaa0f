/* An arena: memory that the target maps r-x and the tracer maps rw, to which code is only ever
 * appended.  Every emitted byte belongs to a piece, which says what program address it stands for
 * and what the program's state is when a thread is stopped at its first byte; pieces are in the
 * order of their addresses, so one binary search explains any address in the arena.
 *
 * There are ten pieces for each block of code with checks, and one of them is asked for now and
 * then: they are kept as their differences, some three bytes each. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum piece_kind {
	PIECE_CLEAN,   /* the program's state is exact: pc = block's pc + orig */
	PIECE_RESTART, /* the same but rcx and rax are in their spill slots; nothing else is done */
	PIECE_RETURN,  /* the same but rdi is in its spill slot: a return has begun */
	PIECE_CALL,    /* the return address is pushed; only the call itself is left */
	PIECE_CALL_INDIRECT, /* the same; rcx and rax are in their spill slots, rcx is the target */
	PIECE_FAR,           /* exact, but register `reg` is in the far spill slot, and units are
				counted already if it has any */
	PIECE_LOOP,  /* the same but `reg` is in the loop's spill slot and holds the counter */
	PIECE_REP,   /* exact, but rcx units are counted already that will be counted again */
	PIECE_UNITS, /* exact, but the units of this instruction are counted already: step on */
	PIECE_COUNT, /* exact but for rax, which is borrowed for counting: step on */
	PIECE_STEP,  /* in the middle of something: step on */
	PIECE_DATA,  /* never executed */
};

#define NO_BLOCK UINT32_MAX

struct piece {
	uint32_t cache;  /* offset in the arena */
	uint32_t block;  /* index, or NO_BLOCK */
	uint16_t orig;   /* offset from the block's pc */
	uint8_t kind;    /* enum piece_kind */
	uint8_t reg;     /* PIECE_FAR, PIECE_LOOP */
	uint8_t spilled; /* this register less one is borrowed for checks (trace_emit.h); 0: none */
	bool in_loop;    /* PIECE_STEP: `reg` holds the counter as in PIECE_LOOP */
};

/* Pieces one behind the other, each as what differs from the one before.  A group of them begins
 * with one that is whole, where a mark is. */
struct piece_mark {
	uint32_t cache; /* of the first piece of the group */
	uint32_t at;    /* in `bytes` */
};
struct piece_list {
	size_t n;
	uint8_t *bytes;
	size_t n_bytes, cap_bytes;
	struct piece_mark *marks;
	size_t n_marks, cap_marks;
	struct piece last; /* of those that were added here */
};

/* Goes through pieces in their order. */
struct piece_reader {
	const uint8_t *at, *end;
	struct piece piece; /* the one that was read last */
	bool begins;        /* a group */
};
struct piece_reader piece_reader_of(const struct piece_list *list);
/* Reads the next one; false: there is none, or (at < end) what is there is none.  Never reads
 * beyond the end. */
bool piece_reader_next(struct piece_reader *reader);

/* Finds pieces by offsets that tend to follow each other; all zero at first. */
struct piece_cursor {
	bool is_set, has_next;
	struct piece here;          /* the piece that was found last, if is_set */
	struct piece_reader reader; /* at the next one, if has_next */
};
/* The piece that holds a cache offset, in `here`; false: none does. */
bool piece_cursor_find(struct piece_cursor *cursor, const struct piece_list *list, uint64_t offset);

/* Adds all pieces of another list, which come behind.  False when memory is short. */
bool piece_list_join(struct piece_list *list, const struct piece_list *more);
void piece_list_deinit(struct piece_list *list);

/* What in the code depends on where it is, or the program's modules are (kept_code.h). */
enum field_kind {
	/* 4 bytes: the distance to an address of the module that the block is of, */
	FIELD_TO_MODULE,
	/* 8 bytes: such an address */
	FIELD_IN_MODULE,
	FIELD_PC,        /* 8 bytes: `pc`, an address of the program's code */
	FIELD_MINUS_PC,  /* the same, negative */
	FIELD_PC_LOW,    /* 4 bytes: its low half */
	FIELD_PC_HIGH,   /* its high half */
	FIELD_PC_MIDDLE, /* its bits 16 to 47 */
	FIELD_IN_ARENA,  /* 8 bytes: an address in an arena */
};

struct field {
	uint64_t pc; /* FIELD_PC and the like */
	uint32_t at; /* cache offset */
	uint8_t kind;
};

/* Where each arena has a jump to the gate's entry for returns that came to the wrong place. */
#define ARENA_TO_RETURN 16

/* Room that was taken at once to be used piece by piece. */
struct put_aside {
	uint32_t at, end; /* the same: none is left */
};

struct arena {
	uint64_t base;  /* address in the target */
	uint8_t *host;  /* the same memory here */
	bool is_shared; /* mapped: it stays what it is when its pages are let go of here */
	size_t size, used;
	struct put_aside constants; /* cache offsets: for return addresses that calls push */
	struct piece_list pieces;
	struct piece_list lent; /* those of the code that was inherited, before all others */
	struct field *fields;   /* of all code */
	size_t n_fields, cap_fields;
	bool lacks_fields; /* memory was short */
	bool is_open;      /* a piece has begun, and what is emitted belongs to it */
	uint32_t n_open;   /* fields of instructions that wait for the place they are to aim at */
};

/* Address in the target of a cache offset. */
static inline uint64_t arena_address(const struct arena *arena, uint32_t offset)
{
	return arena->base + offset;
}

/* Appends bytes to the piece that is open. */
void arena_append(struct arena *arena, const void *bytes, size_t n);

/* Appends n bytes of no-operations, or as many as it takes to a multiple of `alignment`, a power of
 * two.  Where they are not executed no piece need be open. */
void arena_append_nops(struct arena *arena, size_t n);
void arena_align(struct arena *arena, size_t alignment);

/* Begins a piece: all its members but `cache` are taken from *piece.  When memory is short,
 * code can be emitted nevertheless, but must not be run. */
struct rf_error *arena_begin_piece(struct arena *arena, const struct piece *piece);

/* Ends the piece that is open: nothing may be emitted until another one begins. */
void arena_end_piece(struct arena *arena);

/* Takes note of a field that begins `ahead` bytes behind what has been appended. */
void arena_note_field(struct arena *arena, enum field_kind kind, ptrdiff_t ahead, uint64_t pc);

/* Frees its memory, which is heap where it is not shared. */
void arena_free_host(struct arena *arena);
/* Lets go of the pages of a part of a shared arena: they are there again when they are touched. */
void arena_let_go(const struct arena *arena, size_t begin, size_t end);

/* Whether a piece holds a cache offset; *piece is what it says. */
bool arena_piece_at(const struct arena *arena, uint64_t offset, struct piece *piece);
