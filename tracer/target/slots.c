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
};
#define N_ENTRIES (sizeof(entries) / sizeof(entries[0]))

static const size_t pointers[] = {G_SELF, G_PROCESS, G_SYSTAB, G_STATE};
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
	default:
		return process;
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
	for (size_t i = 0; i < SLOT_TABLE_CELLS; i++) {
		*slot_u64(slot, SLOT_JUMPS + 8 * i) = target_gate(target, gate_indirect);
		*slot_u64(slot, SLOT_RETURNS + 8 * i) = target_gate(target, gate_return);
	}
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
