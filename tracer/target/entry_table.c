/* The table of a process in which the gate looks up where indirect jumps, calls and returns go on
 * in the code cache, and the cells of the threads' own tables that remember what was found there.
 *
 * The program can write the slots and the process area: what is read back from there is never
 * trusted.  So the mask that counts here is the target's own. */
#include "tracer/target/entry_table.h"

#include "tracer/target/cuts.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_TABLE_CELLS (1u << 14)
#define MANY_ENTRIES (1u << 14) /* at once: no room is kept for as many */

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

static struct code_table *new_table(struct target *target, enum copy copy, uint64_t n_cells)
{
	struct code_table *table = (struct code_table *)(target->slots + target->tables_end);
	struct entries *entries = &target->entries[copy];
	assert(n_cells && !(n_cells & (n_cells - 1)));
	uint64_t size = sizeof(*table) + n_cells * sizeof(table->cells[0]);
	if (target->tables_end + size > SLOT_STRIDE)
		return NULL;
	target->tables_end += (size + 4095) & ~4095ull;
	entries->used = 0;
	entries->mask = n_cells - 1;
	table->mask = entries->mask;
	return table;
}

static void table_place(struct entries *entries, struct code_table *table, uint64_t key,
			uint64_t entry)
{
	const uint64_t mask = entries->mask, first = cell_hash(key);
	for (uint64_t n = 0; n <= mask; n++) {
		const uint64_t i = (first + n) & mask;
		const uint64_t there = __atomic_load_n(&table->cells[i].key, __ATOMIC_RELAXED);
		if (there && there != key)
			continue;
		entries->used += !there;
		__atomic_store_n(&table->cells[i].entry, entry, __ATOMIC_RELEASE);
		__atomic_store_n(&table->cells[i].key, key, __ATOMIC_RELEASE);
		return;
	}
}

/* Where the gate reads the address of a copy's table. */
static uint64_t *shown_table(const struct target *target, enum copy copy)
{
	return slot_u64(target->slots, copy == COPY_PLAIN ? P_TABLE_PLAIN : P_TABLE);
}

static uint64_t address_of(const struct target *target, const struct code_table *table)
{
	return target->slots_address + (uint64_t)((uint8_t *)table - target->slots);
}

static void show_table(struct target *target, enum copy copy, struct code_table *table)
{
	target->entries[copy].table = table;
	__atomic_store_n(shown_table(target, copy), address_of(target, table), __ATOMIC_RELEASE);
}

bool entry_table_is_whole(const struct target *target)
{
	bool whole = true;
	for (int copy = 0; copy < N_COPIES; copy++) {
		const struct entries *entries = &target->entries[copy];
		if (entries->table)
			whole &= *shown_table(target, copy) == address_of(target, entries->table) &&
				 entries->table->mask == entries->mask;
	}
	return whole;
}

void entry_table_init(struct target *target, enum copy copy)
{
	if (!target->tables_end)
		target->tables_end = P_TABLES;
	show_table(target, copy, new_table(target, copy, FIRST_TABLE_CELLS));
}

/* What has no entry is asked for. */
static void table_remove(struct entries *entries, uint64_t key)
{
	const uint64_t mask = entries->mask, first = cell_hash(key);
	struct code_table *table = entries->table;
	for (uint64_t n = 0; n <= mask; n++) {
		const uint64_t i = (first + n) & mask;
		const uint64_t there = __atomic_load_n(&table->cells[i].key, __ATOMIC_RELAXED);
		if (!there)
			return;
		if (there == key) {
			__atomic_store_n(&table->cells[i].entry, 0, __ATOMIC_RELEASE);
			return;
		}
	}
}

static void table_set(struct target *target, enum copy copy, uint64_t key, uint64_t entry)
{
	struct entries *entries = &target->entries[copy];
	struct code_table *old = entries->table;
	const uint64_t old_mask = entries->mask;
	if (entries->used * 2 > old_mask) {
		struct code_table *bigger = new_table(target, copy, (old_mask + 1) * 4);
		if (!bigger) { /* this target asks each time */
			entries->full = true;
			return;
		}
		for (uint64_t i = 0; i <= old_mask; i++)
			if (old->cells[i].entry)
				table_place(entries, bigger, old->cells[i].key,
					    old->cells[i].entry);
		show_table(target, copy, bigger);
	}
	table_place(entries, entries->table, key, entry);
}

/* The cell of a thread's own table for that key, and what it holds when it holds no entry. */
static uint64_t *thread_cell(struct target *target, int slot, enum copy copy, uint64_t key)
{
	const size_t table = (key & RETURN_KEY ? SLOT_RETURNS : SLOT_JUMPS) +
			     (copy == COPY_PLAIN ? SLOT_PLAIN : 0);
	return slot_u64(slot_at(target, slot), table + 8 * (key & 0xffff));
}

static uint64_t no_entry(const struct target *target, uint64_t key)
{
	return target_gate(target, key & RETURN_KEY ? gate_return : gate_indirect);
}

/* Makes a thread ask for what the cell holds an entry of.  A cell of 0 is of tables that the thread
 * has not got yet (slots_set_copy): it stays as it is, and so does one by which the return from an
 * allocator is awaited.  The thread may write it meanwhile. */
static void clear_cell(const struct target *target, uint64_t *cell, uint64_t key)
{
	const uint64_t none = no_entry(target, key), awaited = target_gate(target, gate_allocated);
	uint64_t there = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
	while (there && there != none && there != awaited &&
	       !__atomic_compare_exchange_n(cell, &there, none, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
}

static void clear_cells(struct target *target, enum copy copy, uint64_t key)
{
	for (int slot = 1; slot < target->n_slots; slot++)
		clear_cell(target, thread_cell(target, slot, copy, key), key);
}

void entry_table_remember(struct target *target, int slot, uint64_t key, uint64_t entry)
{
	*thread_cell(target, slot, target->slot_of[slot].copy, key) = entry;
}

void entry_table_show_new(struct target *target, enum copy copy)
{
	struct translator *translator = &target->copies[copy];
	for (size_t i = 0; i < translator->n_new_entries; i++) {
		const struct new_entry *new = &translator->new_entries[i];
		if (cuts_holds(target, new->key))
			continue;
		if (new->entry)
			table_set(target, copy, new->key, new->entry);
		else
			table_remove(&target->entries[copy], new->key);
		if (new->replaces)
			clear_cells(target, copy, new->key);
	}
	translator->n_new_entries = 0;
	if (translator->cap_new_entries > MANY_ENTRIES) { /* all hot code was laid out anew */
		free(translator->new_entries);
		translator->new_entries = NULL;
		translator->cap_new_entries = 0;
	}
}

/* A thread's own table holds entries of the common one alone, unless that is full. */
void entry_table_forget(struct target *target, enum copy copy, uint64_t start, uint64_t end)
{
	const struct entries *entries = &target->entries[copy];
	for (uint64_t i = 0; entries->table && i <= entries->mask; i++) {
		const uint64_t key = entries->table->cells[i].key, pc = key & ~RETURN_KEY;
		if (pc < start || pc >= end)
			continue;
		__atomic_store_n(&entries->table->cells[i].entry, 0, __ATOMIC_RELEASE);
		clear_cells(target, copy, key);
	}
	for (uint64_t low = 0; low < 65536 && entries->full; low++) {
		clear_cells(target, copy, low);
		clear_cells(target, copy, low | RETURN_KEY);
	}
}
