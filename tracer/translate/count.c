/* Emits the counting of blocks: finds the cheapest place and way for a block's counter. */
#include "tracer/translate/count.h"

/* Through a register. */
static void emit_raise(struct arena *arena, enum reg reg, uint32_t counter)
{
	emit_gs_load(arena, reg, counter_offset(counter));
	emit_lea(arena, reg, mem_at(reg, 1));
	emit_gs_store(arena, reg, counter_offset(counter));
}

void emit_count_in(struct batch *batch, enum reg reg)
{
	struct code_block *block = &batch->cache->blocks[batch->block];
	emit_raise(batch->arena, reg, block->counter);
	block->counted_at = (uint32_t)batch->arena->used;
}

void emit_count_borrowing(struct batch *batch, enum reg reg, uint16_t orig)
{
	borrow_register(batch, reg, G_SPILL_COUNT);
	batch_piece(batch, PIECE_COUNT, orig);
	emit_count_in(batch, reg);
	give_register_back(batch, reg, G_SPILL_COUNT);
	batch->cache->blocks[batch->block].counted_at = (uint32_t)batch->arena->used;
}

void emit_count_flags(struct batch *batch)
{
	struct code_block *block = &batch->cache->blocks[batch->block];
	emit_increment(batch->arena, gs_at(counter_offset(block->counter)));
	block->counted_at = (uint32_t)batch->arena->used;
}

void emit_count_other(struct batch *batch, uint32_t counter, uint8_t dead)
{
	if (dead & DEAD_ARITHMETIC) {
		emit_increment(batch->arena, gs_at(counter_offset(counter)));
		return;
	}
	borrow_register(batch, R11, G_SPILL_COUNT);
	emit_raise(batch->arena, R11, counter);
	give_register_back(batch, R11, G_SPILL_COUNT);
}

struct count_place count_place(const struct batch *batch)
{
	const size_t n = batch->n_items;
	const struct decoded *last = &batch->items[n - 1].insn;
	for (size_t i = 0; i < n; i++)
		if (batch->items[i].dead & DEAD_ARITHMETIC)
			return (struct count_place){i, true};
	switch ((enum flow)last->flow) {
	case FLOW_JUMP_INDIRECT:
		if (batch->got_value)
			return (struct count_place){n - 1, true};
		return (struct count_place){n, false};
	case FLOW_RETURN:
	case FLOW_CALL_INDIRECT:
	case FLOW_SYSCALL:
		return (struct count_place){n, false};
	case FLOW_CALL:
	case FLOW_JUMP:
		if (plan_dead_at(batch->translator, last->target) & DEAD_ARITHMETIC)
			return (struct count_place){n - 1, true};
		break;
	default:
		break;
	}
	return (struct count_place){0, false};
}

/* A register to borrow for counting: rather one that the block does not use, so that no
 * computation of the program waits for it to come back. */
enum reg count_register(const struct batch *batch)
{
	unsigned used = 1u << RSP;
	for (size_t i = 0; i < batch->n_items; i++)
		used |= decode_used_registers(&batch->items[i].insn);
	enum reg reg = free_register(used, any_register, N_REGISTERS(any_register));
	return reg == NO_REGISTER ? R11 : reg;
}
