/* What the gate and translated code find in every slot. */
#include "tracer/target/slots.h"

/* Where the gate's entries stand in it. */
static const struct {
	size_t offset;
	const char *label;
} entries[] = {
	{G_AT_MISS, gate_miss},
	{G_AT_INDIRECT, gate_indirect},
	{G_AT_COLLIDE, gate_collide},
	{G_AT_RETURN, gate_return},
	{G_AT_SYSCALL, gate_syscall},
	{G_AT_RECORD, gate_record},
	{G_AT_ALLOCATION, gate_allocation},
	{G_AT_ALLOCATED, gate_allocated},
	{G_AT_KERNEL_ENTER, gate_kernel_enter},
	{G_AT_KERNEL_RETURN, gate_kernel_return},
	{G_AT_KERNEL_JUMP, gate_kernel_jump},
	{G_AT_CALL_NUMBER, gate_call_number},
	{G_AT_CALL_RESULT, gate_call_result},
};
#define N_ENTRIES (sizeof(entries) / sizeof(entries[0]))

static const size_t pointers[] = {G_SELF, G_PROCESS, G_SYSTAB, G_STATE, G_TABLE_AT};
#define N_POINTERS (sizeof(pointers) / sizeof(pointers[0]))

static uint64_t pointer_of(const struct target *target, int index, size_t offset)
{
	const uint64_t process = target->slots_address;
	switch (offset) {
	case G_SELF:
		return process + (uint64_t)index * SLOT_STRIDE;
	case G_SYSTAB:
		return process + P_SYSTAB;
	case G_STATE:
		return process + P_STATES + 4u * (unsigned)index;
	case G_TABLE_AT:
		return process +
		       (target->slot_of[index].copy == COPY_PLAIN ? P_TABLE_PLAIN : P_TABLE);
	default:
		return process;
	}
}

/* Every jump and return of those tables goes by the gate first. */
static void empty_tables(const struct target *target, uint8_t *slot, size_t behind)
{
	for (size_t i = 0; i < SLOT_TABLE_CELLS; i++) {
		*slot_u64(slot, SLOT_JUMPS + behind + 8 * i) = target_gate(target, gate_indirect);
		*slot_u64(slot, SLOT_RETURNS + behind + 8 * i) = target_gate(target, gate_return);
	}
}

void slots_init(struct target *target, int index)
{
	uint8_t *slot = slot_at(target, index);
	*slot_u64(slot, G_TRACE_STOPS) = 0;
	for (size_t i = 0; i < N_POINTERS; i++)
		*slot_u64(slot, pointers[i]) = pointer_of(target, index, pointers[i]);
	for (size_t i = 0; i < N_ENTRIES; i++)
		*slot_u64(slot, entries[i].offset) = target_gate(target, entries[i].label);
	*slot_u32(slot, G_CALL_CELL) = CALL_NOBODY;
	empty_tables(target, slot, 0);
}

void slots_set_copy(struct target *target, int index, enum copy copy)
{
	uint8_t *slot = slot_at(target, index);
	target->slot_of[index].copy = copy;
	*slot_u64(slot, G_TABLE_AT) = pointer_of(target, index, G_TABLE_AT);
	*slot_u32(slot, G_TABLES) = copy == COPY_PLAIN ? SLOT_PLAIN / 8 : 0;
	if (copy == COPY_PLAIN && !*slot_u64(slot, SLOT_JUMPS + SLOT_PLAIN))
		empty_tables(target, slot, SLOT_PLAIN);
}

bool slots_is_whole(const struct target *target, int index)
{
	uint8_t *slot = slot_at(target, index);
	bool whole = true;
	for (size_t i = 0; i < N_POINTERS; i++)
		whole &= *slot_u64(slot, pointers[i]) == pointer_of(target, index, pointers[i]);
	for (size_t i = 0; i < N_ENTRIES; i++)
		whole &=
			*slot_u64(slot, entries[i].offset) == target_gate(target, entries[i].label);
	return whole;
}
