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

/* movl $value, %gs:offset */
static void emit_gs_set(struct arena *arena, uint32_t offset, uint32_t value)
{
	EMIT(arena, 0x65, 0xc7, 0x04, 0x25);
	emit_u32(arena, offset);
	emit_u32(arena, value);
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
	emit_gs_set(arena, G_ALLOCATION, description(number));
	emit_gs_store(arena, RAX, KEPT_RAX);
	EMIT(arena, 0x48, 0x8d, 0x05, 17, 0, 0, 0); /* lea 17(%rip), %rax: behind the jump */
	emit_gs_store(arena, RAX, G_ALLOCATION_BACK);
	emit_gs_jump(arena, G_AT_ALLOCATION);
}
