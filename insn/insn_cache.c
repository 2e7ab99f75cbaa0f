/* A table of instructions with what they do, one in each place.
 *
 * An instruction is found by its bytes, without those that say how far away its target or its
 * operand is: these change from place to place, and nothing but the operand's displacement depends
 * on them.  Where these bytes lie is known of all instructions that decode_common knows; others are
 * decoded anew each time. */
#include "insn/insn_cache.h"

#include "insn/decode_common.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 8192 /* a power of two; 1 MB */

struct key {
	uint8_t bytes[LONGEST_INSN];
	uint8_t length; /* 0: none */
};

struct entry {
	struct key key;
	bool has_flow; /* else only the work is known */
	struct dataflow flow;
};

struct insn_cache {
	struct entry entries[PLACES];
	struct entry other; /* the last that has no place */
};

struct insn_cache *insn_cache_create(void)
{
	return calloc(1, sizeof(struct insn_cache));
}

void insn_cache_destroy(struct insn_cache *cache)
{
	free(cache);
}

static bool is_direct(uint8_t flow)
{
	return flow == FLOW_JUMP || flow == FLOW_BRANCH || flow == FLOW_CALL;
}

static struct key key_of(const struct decoded *insn)
{
	struct key key = {.length = insn->length};
	_Static_assert(sizeof(key.bytes) == sizeof(insn->bytes), "both hold any instruction");
	memcpy(key.bytes, insn->bytes, sizeof(key.bytes));
	if (insn->rip_relative) {
		memset(key.bytes + insn->disp_offset, 0, 4);
	} else if (is_direct(insn->flow)) { /* the last bytes: one, or four */
		const size_t n = insn->length - insn->prefix_end > 2 ? 4 : 1;
		memset(key.bytes + insn->length - n, 0, n);
	}
	return key;
}

static struct entry *place_of(struct insn_cache *cache, const struct key *key)
{
	uint64_t words[2];
	_Static_assert(sizeof(*key) == sizeof(words), "a key is two words");
	memcpy(words, key, sizeof(words));
	const uint64_t hash = (words[0] ^ words[1] * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u;
	return &cache->entries[(hash ^ hash >> 32) >> 13 & (PLACES - 1)];
}

/* Reads what is wanted into an entry; false when it cannot be decoded. */
static bool read_entry(struct entry *entry, const uint8_t *bytes, size_t size, bool flow)
{
	entry->has_flow = flow;
	return flow ? dataflow_of_bytes(bytes, size, &entry->flow)
		    : work_of_bytes(bytes, size, &entry->flow.work);
}

/* The displacement that this instruction has, of an entry that may have been read of another. */
static void set_displacement(struct entry *entry, const struct decoded *insn)
{
	int32_t displacement;
	if (!entry->has_flow || !entry->flow.memory.relative)
		return;
	assert(insn->rip_relative);
	memcpy(&displacement, insn->bytes + insn->disp_offset, sizeof(displacement));
	entry->flow.memory.displacement = displacement;
}

static const struct entry *find(struct insn_cache *cache, const uint8_t *bytes, size_t size,
				bool flow)
{
	struct decoded insn;
	if (!decode_common(bytes, size, 0, &insn))
		return read_entry(&cache->other, bytes, size, flow) ? &cache->other : NULL;
	const struct key key = key_of(&insn);
	struct entry *entry = place_of(cache, &key);
	if (memcmp(&entry->key, &key, sizeof(key)) != 0 || (flow && !entry->has_flow)) {
		entry->key = read_entry(entry, bytes, size, flow) ? key : (struct key){0};
		return entry->key.length ? entry : NULL;
	}
	set_displacement(entry, &insn);
	return entry;
}

const struct work *insn_cache_work(struct insn_cache *cache, const uint8_t *bytes, size_t size)
{
	const struct entry *entry = find(cache, bytes, size, false);
	return entry ? &entry->flow.work : NULL;
}

const struct dataflow *insn_cache_dataflow(struct insn_cache *cache, const uint8_t *bytes,
					   size_t size)
{
	const struct entry *entry = find(cache, bytes, size, true);
	return entry ? &entry->flow : NULL;
}
