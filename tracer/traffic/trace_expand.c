/* Turns a record into the accesses that it stands for, by the form of its operands: plain ones,
 * masked vectors, strings, gathers and scatters. */
#include "tracer/traffic/trace_expand.h"

#include <string.h>

struct expander {
	struct trace_expansion *expansion;
	const struct trace_record *record;
	trace_access *access;
	void *context;
};

static void give(const struct expander *expander, const struct trace_operand *operand,
		 uint64_t address, uint64_t bytes)
{
	if (bytes)
		expander->access(expander->context, operand, address, bytes);
}

/* Neighbouring lanes that are on are one access. */
static void expand_masked(const struct expander *expander, const struct trace_operand *operand)
{
	const uint64_t address = expander->record->address + (uint64_t)operand->at;
	const uint32_t mask = expander->record->extra;
	for (unsigned lane = 0; lane < operand->lanes;) {
		unsigned n = 0;
		while (lane + n < operand->lanes && mask >> (lane + n) & 1)
			n++;
		give(expander, operand, address + lane * operand->bytes,
		     (uint64_t)n * operand->bytes);
		lane += n + 1;
	}
}

static void expand_packed(const struct expander *expander, const struct trace_operand *operand)
{
	const uint32_t mask = expander->record->extra;
	const uint32_t kept = operand->lanes < 32 ? mask & ((1u << operand->lanes) - 1) : mask;
	give(expander, operand, expander->record->address + (uint64_t)operand->at,
	     (uint64_t)__builtin_popcount(kept) * operand->bytes);
}

#define LONGEST_STRING (1ull << 47)

/* Two records: where the instruction began, and where it ended; downward that is below. */
static void expand_string(const struct expander *expander, const struct trace_operand *operand)
{
	uint64_t *begin = &expander->expansion->string_begin;
	const uint64_t end = expander->record->address;
	if (!expander->record->extra)
		*begin = end;
	else if (end - *begin < LONGEST_STRING)
		give(expander, operand, *begin, end - *begin);
	else if (*begin - end < LONGEST_STRING)
		give(expander, operand, end + operand->bytes, *begin - end);
}

static void expand_lanes(const struct expander *expander, const struct trace_operand *operand)
{
	const uint8_t *vector = (const uint8_t *)expander->expansion->gather.words;
	for (unsigned lane = 0; lane < operand->lanes; lane++) {
		int64_t wide;
		int32_t narrow;
		if (!(expander->expansion->gather.mask >> lane & 1))
			continue;
		memcpy(&wide, vector + 8 * (lane % 8), sizeof(wide));
		memcpy(&narrow, vector + 4 * (lane % 16), sizeof(narrow));
		const int64_t index = operand->index_bits == 32 ? narrow : wide;
		give(expander, operand,
		     expander->expansion->gather.base + (uint64_t)(index * operand->scale),
		     operand->bytes);
	}
}

/* The base with the mask, then the index vector in words. */
static void expand_gather(const struct expander *expander, const struct trace_operand *operand)
{
	struct trace_expansion *expansion = expander->expansion;
	const unsigned words = operand->lanes * operand->index_bits / 64;
	if (expansion->gather.got == 0) {
		expansion->gather.base = expander->record->address;
		expansion->gather.mask = expander->record->extra;
	} else {
		expansion->gather.words[(expansion->gather.got - 1) % 8] =
			expander->record->address;
	}
	if (expansion->gather.got++ < words)
		return;
	expansion->gather.got = 0;
	expand_lanes(expander, operand);
}

bool trace_expand(const struct trace_config *config, struct trace_expansion *expansion,
		  const struct trace_record *record, trace_access *access, void *context)
{
	const struct expander expander = {expansion, record, access, context};
	const struct trace_group *group =
		trace_config_group(config, record->word & ((1u << TRACE_GROUP_BITS) - 1));
	if (!group)
		return false;
	switch ((enum operand_form)group->form) {
	case OPERAND_PLAIN:
		for (unsigned i = 0; i < group->n; i++)
			give(&expander, &group->operands[i],
			     record->address + (uint64_t)group->operands[i].at,
			     group->operands[i].bytes);
		break;
	case OPERAND_MASKED:
		expand_masked(&expander, &group->operands[0]);
		break;
	case OPERAND_PACKED:
		expand_packed(&expander, &group->operands[0]);
		break;
	case OPERAND_STRING:
		expand_string(&expander, &group->operands[0]);
		break;
	case OPERAND_GATHER:
		expand_gather(&expander, &group->operands[0]);
		break;
	case OPERAND_UNTRACED:
		break;
	}
	return true;
}
