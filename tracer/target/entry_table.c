/* The table of a process in which the gate looks up where indirect jumps, calls and returns go on
 * in the code cache, and the cells of the threads' own tables that remember what was found there.
 *
 * The program can write the slots and the process area: what is read back from there is never
 * trusted.  So the mask that counts here is the target's own. */
#include "tracer/target/entry_table.h"

#include <assert.h>

#define FIRST_TABLE_CELLS (1u << 14)

/* As the gate reads it (gate_look_up). */
struct code_table {
	uint64_t mask, unused;
	struct {
		uint64_t key, entry;
	} cells[];
};

static uint64_t cell_hash(uint64_t key)
{
	return (key * 0x2545f491u) >> 9;
}

static struct code_table *new_table(struct target *target, uint64_t n_cells)
{
	struct code_table *table = (struct code_table *)(target->slots + target->tables_end);
	assert(n_cells && !(n_cells & (n_cells - 1)));
	uint64_t size = sizeof(*table) + n_cells * sizeof(table->cells[0]);
	if (target->tables_end + size > SLOT_STRIDE)
		return NULL;
	target->tables_end += (size + 4095) & ~4095ull;
	target->table_used = 0;
	target->table_mask = n_cells - 1;
	table->mask = target->table_mask;
	return table;
}

static void table_place(struct target *target, struct code_table *table, uint64_t key,
			uint64_t entry)
{
	const uint64_t mask = target->table_mask, first = cell_hash(key);
	for (uint64_t n = 0; n <= mask; n++) {
		const uint64_t i = (first + n) & mask;
		const uint64_t there = __atomic_load_n(&table->cells[i].key, __ATOMIC_RELAXED);
		if (there && there != key)
			continue;
		target->table_used += !there;
		__atomic_store_n(&table->cells[i].entry, entry, __ATOMIC_RELEASE);
		__atomic_store_n(&table->cells[i].key, key, __ATOMIC_RELEASE);
		return;
	}
}

static void show_table(struct target *target, struct code_table *table)
{
	uint64_t address = target->slots_address + (uint64_t)((uint8_t *)table - target->slots);
	target->table = table;
	__atomic_store_n((uint64_t *)(target->slots + P_TABLE), address, __ATOMIC_RELEASE);
}

bool entry_table_is_whole(const struct target *target)
{
	const uint64_t shown = *slot_u64(target->slots, P_TABLE);
	return shown == target->slots_address +
				(uint64_t)((uint8_t *)target->table - target->slots) &&
	       target->table->mask == target->table_mask;
}

void entry_table_init(struct target *target)
{
	target->tables_end = P_TABLES;
	show_table(target, new_table(target, FIRST_TABLE_CELLS));
}

static void table_set(struct target *target, uint64_t key, uint64_t entry)
{
	struct code_table *old = target->table;
	const uint64_t old_mask = target->table_mask;
	if (target->table_used * 2 > old_mask) {
		struct code_table *bigger = new_table(target, (old_mask + 1) * 4);
		if (!bigger) { /* this target asks each time */
			target->table_full = true;
			return;
		}
		for (uint64_t i = 0; i <= old_mask; i++)
			if (old->cells[i].entry)
				table_place(target, bigger, old->cells[i].key, old->cells[i].entry);
		show_table(target, bigger);
	}
	table_place(target, target->table, key, entry);
}

/* The cell of a thread's own table for that key, and what it holds when it holds no entry. */
static uint64_t *thread_cell(struct target *target, int slot, uint64_t key)
{
	const size_t table = key & RETURN_KEY ? SLOT_RETURNS : SLOT_JUMPS;
	return slot_u64(slot_at(target, slot), table + 8 * (key & 0xffff));
}

static uint64_t no_entry(const struct target *target, uint64_t key)
{
	return target_gate(target, key & RETURN_KEY ? gate_return : gate_indirect);
}

static void clear_cells(struct target *target, uint64_t key)
{
	for (int slot = 1; slot < target->n_slots; slot++)
		__atomic_store_n(thread_cell(target, slot, key), no_entry(target, key),
				 __ATOMIC_RELEASE);
}

void entry_table_remember(struct target *target, int slot, uint64_t key, uint64_t entry)
{
	*thread_cell(target, slot, key) = entry;
}

void entry_table_show_new(struct target *target)
{
	struct translator *translator = &target->translator;
	for (size_t i = 0; i < translator->n_new_entries; i++) {
		const struct new_entry *new = &translator->new_entries[i];
		table_set(target, new->key, new->entry);
		if (new->replaces)
			clear_cells(target, new->key);
	}
	translator->n_new_entries = 0;
}

/* A thread's own table holds entries of the common one alone, unless that is full. */
void entry_table_forget(struct target *target, uint64_t start, uint64_t end)
{
	for (uint64_t i = 0; i <= target->table_mask; i++) {
		const uint64_t key = target->table->cells[i].key, pc = key & ~RETURN_KEY;
		if (pc < start || pc >= end)
			continue;
		__atomic_store_n(&target->table->cells[i].entry, 0, __ATOMIC_RELEASE);
		clear_cells(target, key);
	}
	for (uint64_t low = 0; low < 65536 && target->table_full; low++) {
		clear_cells(target, low);
		clear_cells(target, low | RETURN_KEY);
	}
}
