/* A table of instructions with what they do, one in each place.  An instruction is found by its
 * key: which is known of all instructions that decode_common knows; others are decoded anew each
 * time. */
#include "insn/insn_cache.h"

#include "insn/decode_common.h"
#include "insn/insn_key.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 8192 /* a power of two; 1 MB */

struct entry {
	struct insn_key key;
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
	const struct insn_key key = insn_key_of(&insn);
	struct entry *entry = &cache->entries[insn_key_hash(&key) & (PLACES - 1)];
	if (memcmp(&entry->key, &key, sizeof(key)) != 0 || (flow && !entry->has_flow)) {
		entry->key = read_entry(entry, bytes, size, flow) ? key : (struct insn_key){0};
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
