/* A table of instructions, one in each place.  Those with more than one operand, which are few, are
 * read anew each time. */
#include "insn/operand_cache.h"

#include "insn/insn_key.h"

#include <stdlib.h>

#define PLACES 8192 /* a power of two; half a megabyte, of which short programs touch little */

struct entry {
	struct insn_key key;
	struct operand item; /* where n is 1 */
	int64_t by;
	uint16_t written;
	uint8_t n, moved, from;
};

struct operand_cache {
	struct entry entries[PLACES];
};

struct operand_cache *operand_cache_create(void)
{
	return calloc(1, sizeof(struct operand_cache));
}

void operand_cache_destroy(struct operand_cache *cache)
{
	free(cache);
}

/* Whether another instruction of the same key has the same operands, but for the address of one
 * that is relative to it. */
static bool is_of_key(const struct decoded *insn, const struct operands *operands)
{
	const struct operand *item = &operands->items[0];
	if (operands->n != 1 || !insn->rip_relative)
		return operands->n == 0 || (operands->n == 1 && !item->rip_relative);
	return item->rip_relative && item->form != OPERAND_UNTRACED &&
	       item->displacement == (int64_t)insn->target;
}

static void keep(struct entry *entry, const struct insn_key *key, const struct operands *operands)
{
	entry->key = *key;
	entry->item = operands->items[0];
	entry->by = operands->by;
	entry->written = operands->written;
	entry->n = (uint8_t)operands->n;
	entry->moved = operands->moved;
	entry->from = operands->from;
}

void operand_cache_find(struct operand_cache *cache, const struct decoded *insn,
			struct operands *out)
{
	const struct insn_key key = insn_key_of(insn);
	struct entry *entry = &cache->entries[insn_key_hash(&key) & (PLACES - 1)];
	if (!key.length || memcmp(&entry->key, &key, sizeof(key)) != 0) {
		operands_of(insn, out);
		if (key.length && is_of_key(insn, out))
			keep(entry, &key, out);
		return;
	}
	out->n = entry->n;
	out->written = entry->written;
	out->moved = entry->moved;
	out->from = entry->from;
	out->by = entry->by;
	out->items[0] = entry->item;
	if (entry->n && entry->item.rip_relative)
		out->items[0].displacement = (int64_t)insn->target;
}
