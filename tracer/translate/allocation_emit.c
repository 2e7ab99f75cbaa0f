/* Emits a record of each call of an allocator, where its code begins. */
#include "tracer/translate/allocation_emit.h"

#include "tracer/process/allocators.h"

/* The bit for argument `number` as a factor of the size. */
static uint32_t size_bit(uint8_t number)
{
	return number < NO_ARGUMENT ? (uint32_t)ALLOCATION_SIZE_1 << number : 0;
}

/* What the gate needs to know of a function (tracer/gate/protocol.h). */
static uint32_t description(int number)
{
	const struct allocator *function = &allocators[number];
	uint32_t bits = (uint32_t)number | size_bit(function->size);
	if (function->action == ALLOCATOR_REMAPS) /* there it is the new size */
		bits |= function->n_arguments == 3 ? ALLOCATION_THREE : 0;
	else
		bits |= size_bit(function->times);
	if (function->n_arguments == 2)
		bits |= ALLOCATION_TWO;
	if (function->n_arguments == 3)
		bits |= ALLOCATION_THREE;
	if (function->by_reference)
		bits |= ALLOCATION_STORES;
	return allocator_returns(function) ? bits | ALLOCATION_RETURNS : bits;
}

void emit_allocation(struct batch *batch, uint64_t pc)
{
	const struct code_source *source = &batch->translator->source;
	struct arena *arena = batch->arena;
	const int number = batch->translator->trace && source->allocator
				   ? source->allocator(source->context, pc)
				   : -1;
	if (number < 0)
		return;
	batch_piece(batch, PIECE_STEP, 0);
	struct label back = {0};
	emit_store_imm32(arena, description(number), gs_at(G_ALLOCATION));
	emit_gs_store(arena, RAX, KEPT_RAX);
	emit_lea_label(arena, RAX, &back);
	emit_gs_store(arena, RAX, G_ALLOCATION_BACK);
	emit_jump_through(arena, gs_at(G_AT_ALLOCATION));
	label_bind(arena, &back);
}
