#include "tracer/translate/batch.h"

#include "base/array.h"

/* The prefixes that say how an operand is addressed: fs and 32-bit addresses. */
static void emit_address_prefixes(struct arena *arena, const struct decoded *insn)
{
	for (int i = 0; i < insn->prefix_end; i++)
		if (insn->bytes[i] == 0x64 || insn->bytes[i] == 0x67)
			emit_bytes(arena, &insn->bytes[i], 1);
}

/* rcx = operand of an indirect jump or call, by re-encoding FF /2 or FF /4 as MOV r64, r/m64
 * (REX.W 8B /r); notrack, bnd and a REX byte are dropped or kept as they apply. */
static void emit_load_operand(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	if (insn->rip_relative && !in_reach(arena, insn->target)) {
		emit_mov_imm64(arena, RCX, insn->target);
		batch_piece(batch, PIECE_RESTART, orig);
		emit_address_prefixes(arena, insn);
		EMIT(arena, 0x48, 0x8b, 0x09); /* mov (%rcx), %rcx */
		return;
	}
	emit_address_prefixes(arena, insn);
	uint8_t rex = insn->bytes[insn->prefix_end];
	EMIT(arena, (uint8_t)(0x48 | ((rex & 0xf0) == 0x40 ? rex & 3 : 0)), 0x8b,
	     (uint8_t)((insn->bytes[insn->modrm_offset] & 0xc7) | RCX << 3));
	size_t rest = insn->modrm_offset + 1u;
	if (insn->rip_relative)
		emit_u32(arena, (uint32_t)(insn->target -
					   arena_address(arena, (uint32_t)arena->used + 4)));
	else
		emit_bytes(arena, insn->bytes + rest, insn->length - rest);
}

/* Between the spills of an indirect transfer and its end `reg` is free to count with. */
static void emit_late_count(struct batch *batch, enum piece_kind kind, enum reg reg, uint16_t orig)
{
	batch_piece(batch, kind, orig);
	if (!batch->count_in_transfer)
		return;
	emit_count_in(batch, reg);
	batch_piece(batch, kind, orig);
}

static void emit_target_in_rcx(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	emit_gs_store(batch->arena, RCX, G_SPILL_RCX);
	emit_gs_store(batch->arena, RAX, G_SPILL_RAX);
	emit_load_operand(batch, insn, orig);
	emit_late_count(batch, PIECE_RESTART, RAX, orig);
}

static void emit_table_jump(struct arena *arena)
{
	EMIT(arena, 0x0f, 0xb7, 0xc1);       /* movzwl %cx, %eax */
	EMIT(arena, 0x65, 0xff, 0x24, 0xc5); /* jmp *%gs:SLOT_JUMPS(,%rax,8) */
	emit_u32(arena, SLOT_JUMPS);
}

/* Returns that take arguments off the stack, or whose status flags matter where they lead, are
 * rare: they go the way of indirect jumps, which changes no flags. */
static void emit_return_as_jump(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	emit_gs_store(arena, RCX, G_SPILL_RCX);
	emit_gs_store(arena, RAX, G_SPILL_RAX);
	batch_piece(batch, PIECE_RESTART, orig);
	EMIT(arena, 0x48, 0x8b, 0x0c, 0x24); /* mov (%rsp), %rcx */
	emit_late_count(batch, PIECE_RESTART, RAX, orig);
	EMIT(arena, 0x48, 0x8d, 0xa4, 0x24); /* lea 8+pop(%rsp), %rsp */
	emit_u32(arena, 8u + insn->pop_bytes);
	batch_piece(batch, PIECE_STEP, orig);
	emit_table_jump(arena);
}

/* The cache address to return to is pushed below the program's own return address and returned to
 * from there, over both: so the processor's return predictor, fed by the real call in emit_call, is
 * right, and the landing finds the program's return address where it was.  The register that is
 * borrowed should be one that programs write often: one that they leave alone would be a chain of
 * loads that wait for stores, from return to return. */
static void emit_return(struct batch *batch, const struct planned *item, uint16_t orig)
{
	struct arena *arena = batch->arena;
	if (item->insn.pop_bytes || item->keeps_flags) {
		emit_return_as_jump(batch, &item->insn, orig);
		return;
	}
	emit_gs_store(arena, RDI, G_SPILL_RDI);
	emit_late_count(batch, PIECE_RETURN, RDI, orig);
	EMIT(arena, 0x0f, 0xb7, 0x3c, 0x24); /* movzwl (%rsp), %edi */
	EMIT(arena, 0x65, 0xff, 0x34, 0xfd); /* push %gs:SLOT_RETURNS(,%rdi,8) */
	emit_u32(arena, SLOT_RETURNS);
	batch_piece(batch, PIECE_STEP, orig);
	emit_gs_load(arena, RDI, G_SPILL_RDI);
	EMIT(arena, 0xc2, 8, 0); /* ret $8 */
}

static void emit_push_return_address(struct batch *batch, struct call_site *call)
{
	struct arena *arena = batch->arena;
	if (call->return_pc < 1u << 31) {
		EMIT(arena, 0x68); /* push $return_pc */
		emit_u32(arena, (uint32_t)call->return_pc);
		return;
	}
	EMIT(arena, 0xff, 0x35); /* push constant(%rip) */
	call->push = (uint32_t)arena->used;
	emit_u32(arena, 0);
}

/* The program's own return address is pushed, and then there is a real call, which pushes one word
 * too many: the called end drops it (code_block.called).  Behind the call stands the landing of the
 * return address.  Code that has been translated twice has one call for both, else returns would be
 * predicted wrongly in one. */
static void emit_call(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const bool direct = insn->flow == FLOW_CALL;
	if (!direct)
		emit_target_in_rcx(batch, insn, orig);
	struct call_site call = {.block = batch->block,
				 .orig = orig,
				 .return_pc = insn->pc + insn->length};
	const uint32_t *same = u64_map_find(&batch->cache->calls, call.return_pc);
	const uint32_t arena_bits = (uint32_t)(arena - batch->cache->arenas) << CALL_ARENA_SHIFT;
	if (same && (*same & ~CALL_OFFSET) == arena_bits) {
		emit_jump_to(arena, *same & CALL_OFFSET);
		return;
	}
	batch_check(batch, u64_map_set(&batch->cache->calls, call.return_pc,
				       (uint32_t)arena->used | arena_bits));
	batch->landing_due = call.return_pc;
	emit_push_return_address(batch, &call);
	batch_piece(batch, direct ? PIECE_CALL : PIECE_CALL_INDIRECT, orig);
	EMIT(arena, 0xe8);
	if (direct) {
		batch_link(batch, insn->target, LINK_CALL);
	} else {
		call.site = (uint32_t)arena->used;
		emit_u32(arena, 0);
	}
	batch_check(batch, rf_array_push(batch->calls, batch->n_calls, batch->cap_calls, call));
}

/* ---- jumps through the GOT ---- */

/* Only what looks like an entry of a PLT. */
uint64_t got_value(struct batch *batch, const struct planned *items, size_t n)
{
	struct translator *translator = batch->translator;
	const struct decoded *last = &items[n - 1].insn;
	uint64_t value;
	if (n > MAX_PLT_INSNS || last->flow != FLOW_JUMP_INDIRECT || !last->rip_relative ||
	    !in_reach(batch->arena, last->target) || last->prefix_end + 6 < last->length ||
	    !translator->source.value ||
	    !translator->source.value(translator->source.context, last->target, &value))
		return 0;
	if (plan_is_unresolved(translator, value)) {
		batch->cache->blocks[batch->block].provisional = true;
		return 0;
	}
	return plan_dead_at(translator, value) == DEAD_ALL ? value : 0;
}

/* cmpl $half, address(%rip); jne to what emit_got_misses will emit.  Returns the rel32's place. */
static uint32_t emit_compare_half(struct arena *arena, uint64_t address, uint32_t half)
{
	EMIT(arena, 0x81, 0x3d);
	emit_u32(arena, (uint32_t)(address - arena_address(arena, (uint32_t)arena->used + 8)));
	emit_u32(arena, half);
	EMIT(arena, 0x0f, 0x85);
	emit_u32(arena, 0);
	return (uint32_t)arena->used - 4;
}

/* As long as the slot holds what it held, a direct jump is right. */
static void emit_got_jump(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const uint64_t value = batch->got_value;
	struct got_miss miss = {.block = batch->block, .orig = orig, .insn = *insn};
	miss.sites[0] = emit_compare_half(arena, insn->target, (uint32_t)value);
	miss.sites[1] = emit_compare_half(arena, insn->target + 4, (uint32_t)(value >> 32));
	batch_check(batch, rf_array_push(batch->got_misses, batch->n_got_misses,
					 batch->cap_got_misses, miss));
	batch_jump(batch, value, LINK_JUMP);
}

void emit_got_misses(struct batch *batch)
{
	struct arena *arena = batch->arena;
	batch->count_in_transfer = false;
	for (size_t i = 0; i < batch->n_got_misses && !batch->failed; i++) {
		const struct got_miss *miss = &batch->got_misses[i];
		batch->block = miss->block;
		emit_rel32_at(arena, miss->sites[0], arena->used);
		emit_rel32_at(arena, miss->sites[1], arena->used);
		batch_piece(batch, PIECE_CLEAN, miss->orig);
		emit_target_in_rcx(batch, &miss->insn, miss->orig);
		emit_table_jump(arena);
	}
}

static void emit_syscall(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	if (batch->count_in_transfer) {
		emit_count_in(batch, RCX); /* which the system call destroys anyway */
		batch_piece(batch, PIECE_CLEAN, orig);
	}
	EMIT(arena, 0x48, 0x8d, 0x0d, 8, 0, 0, 0); /* lea 8(%rip), %rcx */
	emit_gs_jump(arena, G_AT_SYSCALL);
	batch_piece(batch, PIECE_STEP, orig);
	emit_mov_imm64(arena, RCX, insn->pc + insn->length);
}

/* The condition code of a jcc, short or near; a REX byte means nothing to it. */
uint8_t branch_condition(const struct decoded *insn)
{
	const uint8_t *opcode = &insn->bytes[insn->prefix_end];
	opcode += (*opcode & 0xf0) == 0x40;
	return (*opcode == 0x0f ? opcode[1] : opcode[0]) & 0xf;
}

void emit_transfer(struct batch *batch, const struct planned *item, uint16_t orig)
{
	const struct decoded *insn = &item->insn;
	struct arena *arena = batch->arena;
	switch ((enum flow)insn->flow) {
	case FLOW_JUMP:
		batch_jump(batch, insn->target, LINK_FLOW);
		break;
	case FLOW_BRANCH:
		EMIT(arena, 0x0f, (uint8_t)(0x80 | branch_condition(insn)));
		batch_link(batch, insn->target, LINK_FLOW);
		break;
	case FLOW_LOOP: /* loop over a jump to the next block; then a jump to the target */
		emit_bytes(arena, insn->bytes, insn->length - 1u);
		EMIT(arena, 2);
		batch_piece(batch, PIECE_STEP, orig); /* rcx is counted down */
		EMIT(arena, 0xeb, 5);
		batch_jump(batch, insn->target, LINK_FLOW);
		break;
	case FLOW_XBEGIN: /* a transaction that always aborts, with status 0 */
		EMIT(arena, 0xb8, 0, 0, 0, 0);
		batch_jump(batch, insn->target, LINK_FLOW);
		break;
	case FLOW_CALL:
	case FLOW_CALL_INDIRECT:
		emit_call(batch, insn, orig);
		break;
	case FLOW_JUMP_INDIRECT:
		if (batch->got_value) {
			emit_got_jump(batch, insn, orig);
			break;
		}
		emit_target_in_rcx(batch, insn, orig);
		emit_table_jump(arena);
		break;
	case FLOW_RETURN:
		emit_return(batch, item, orig);
		break;
	case FLOW_SYSCALL:
		emit_syscall(batch, insn, orig);
		break;
	case FLOW_NEXT:
	case FLOW_NATIVE:
		break;
	}
}

static void emit_cold_call(struct batch *batch, const struct call_site *call)
{
	struct arena *arena = batch->arena;
	batch->block = call->block;
	if (call->site) {
		emit_rel32_at(arena, call->site, arena->used);
		batch_piece(batch, PIECE_STEP, call->orig);
		emit_drop_word(arena);
		emit_table_jump(arena);
	}
	if (call->push) {
		batch_piece(batch, PIECE_DATA, 0);
		emit_nops(arena, -arena->used & 7);
		emit_rel32_at(arena, call->push, arena->used);
		emit_u64(arena, call->return_pc);
	}
}

void emit_cold_calls(struct batch *batch)
{
	for (size_t i = 0; i < batch->n_calls && !batch->failed; i++)
		emit_cold_call(batch, &batch->calls[i]);
}
