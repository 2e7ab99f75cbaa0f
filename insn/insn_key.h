/* What instructions are found by in tables: their bytes, without those that say how far away their
 * target or their operand is.  These change from place to place, and of what an instruction is and
 * does nothing but the operand's displacement depends on them. */
#pragma once

#include "insn/decode.h"

#include <assert.h>
#include <string.h>

struct insn_key {
	uint8_t bytes[LONGEST_INSN];
	uint8_t length; /* 0: none */
};

static inline bool insn_key_is_direct(uint8_t flow)
{
	return flow == FLOW_JUMP || flow == FLOW_BRANCH || flow == FLOW_CALL;
}

/* Bytes at the end of a direct transfer that say how far it goes; 0: of forms that are rare. */
static inline size_t insn_key_distance(const struct decoded *insn)
{
	const int size = insn->length - insn->prefix_end; /* with REX */
	return size == 2 ? 1 : size == 5 || size == 6 ? 4 : 0;
}

static inline struct insn_key insn_key_of(const struct decoded *insn)
{
	struct insn_key key = {.length = insn->length};
	_Static_assert(sizeof(key.bytes) == sizeof(insn->bytes), "both hold any instruction");
	memcpy(key.bytes, insn->bytes, sizeof(key.bytes));
	if (insn->rip_relative) {
		memset(key.bytes + insn->disp_offset, 0, 4);
	} else if (insn_key_is_direct(insn->flow)) {
		const size_t n = insn_key_distance(insn);
		assert(n < insn->length);
		memset(key.bytes + insn->length - n, 0, n);
	}
	return key;
}

/* Of which the lower bits are as good as any. */
static inline uint64_t insn_key_hash(const struct insn_key *key)
{
	uint64_t words[2];
	_Static_assert(sizeof(*key) == sizeof(words), "a key is two words");
	memcpy(words, key, sizeof(words));
	const uint64_t hash = (words[0] ^ words[1] * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u;
	return (hash ^ hash >> 32) >> 13;
}
