/* Which values an instruction's result comes from and how long that takes at least: what chains of
 * dependent instructions are found by. */
#pragma once

#include "insn/form.h"
#include "insn/work.h"

/* Registers by number: the general ones, vectors, masks, the x87 stack from its top, the flags. */
enum {
	REGISTER_GENERAL = 0,
	REGISTER_VECTOR = 16,
	REGISTER_MASK = 48,
	REGISTER_X87 = 56,
	REGISTER_FLAGS = 64,
	N_REGISTERS
};

/* What a step of a chain is. */
enum step_kind {
	STEP_INTEGER, /* and all that is none of the following */
	STEP_ADD,
	STEP_MULTIPLY,
	STEP_FMA,
	STEP_DIVIDE, /* and square roots; also of integers */
	STEP_LOAD,   /* from an address to what is there */
	STEP_KINDS
};

/* A place in memory, as it is written in the code. */
struct memory_place {
	uint8_t base, index, scale; /* NO_REGISTER: none */
	int64_t displacement;       /* relative to the instruction's end where `relative` */
	bool relative;
};

#define NO_REGISTER 0xff

/* The place with the displacement that it has wherever it is named, of an instruction that ends at
 * `end`. */
static inline struct memory_place memory_place_at(struct memory_place place, uint64_t end)
{
	const uint64_t address = (uint64_t)place.displacement + (place.relative ? end : 0);
	place.displacement = (int64_t)address; /* a file can claim any place of the code */
	return place;
}

/* Whether two of these are the same while their registers are. */
static inline bool memory_place_same(const struct memory_place *a, const struct memory_place *b)
{
	return a->base == b->base && a->index == b->index && a->scale == b->scale &&
	       a->displacement == b->displacement && a->relative == b->relative;
}

#define MAX_READS 8
#define MAX_WRITES 4

struct dataflow {
	struct work work;
	uint8_t reads[MAX_READS], writes[MAX_WRITES];
	/* Which operand of the form each read register is, or FORM_HIDDEN. */
	uint8_t read_as[MAX_READS];
	uint8_t n_reads, n_writes;
	struct form_parts parts;
	enum step_kind kind;
	/* From an operand to the result, in cycles: the least that any of the processors has that
	 * Intel and AMD have made since 2013 (uops.info, Agner Fog's instruction tables). */
	uint8_t latency;
	bool loads, stores; /* explicitly, at `memory` */
	struct memory_place memory;
	uint8_t memory_as; /* which operand of the form it is */
	bool copies;       /* the result is what was read, unchanged */
	bool adds;         /* plain additions and subtractions, which could be a part of FMA */
	bool pauses;       /* pause, tpause, umwait: it waits for another processor */
	bool locks;        /* changes memory atomically: a lock prefix, or xchg with memory */
	bool calls;
	/* The general register writes[0] is set to register `step_of`, which may be the same, and
	 * `step` more. */
	bool steps;
	uint8_t step_of;
	int64_t step;
	int8_t pushed; /* of the x87 stack: 1: before it writes, below 0: popped behind it */
};

/* Cycles from an address to what a load brings from L1, at least. */
#define LOAD_LATENCY 4
/* From a store to a load of the same place; general registers may be renamed over memory. */
#define FORWARD_LATENCY 4

/* Returns false when the bytes cannot be decoded. */
bool dataflow_of_bytes(const uint8_t *bytes, size_t size, struct dataflow *out);
