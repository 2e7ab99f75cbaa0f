#include "tracer/batch.h"

#include "base/array.h"

void emit_entry(struct batch *batch, uint64_t pc)
{
	struct arena *arena = batch->arena;
	struct translator *translator = batch->translator;
	struct new_entry new = {pc, arena_address(arena, (uint32_t)arena->used)};
	batch_check(batch, rf_array_push(translator->new_entries, translator->n_new_entries,
				   translator->cap_new_entries, new));
	batch_piece(batch, PIECE_STEP, 0);
	if (pc < 1u << 31) {
		EMIT(arena, 0x48, 0x8d, 0x89); /* lea -pc(%rcx), %rcx */
		emit_u32(arena, (uint32_t)-(int64_t)pc);
		EMIT(arena, 0xe3, 15);	       /* jrcxz */
		EMIT(arena, 0x48, 0xc7, 0xc0); /* mov $-pc, %rax */
		emit_u32(arena, (uint32_t)-(int64_t)pc);
	} else {
		emit_mov_imm64(arena, RAX, -pc);
		EMIT(arena, 0x48, 0x8d, 0x0c, 0x01); /* lea (%rcx,%rax), %rcx */
		EMIT(arena, 0xe3, 8);
	}
	emit_gs_jump(arena, G_AT_COLLIDE);
	emit_gs_load(arena, RCX, G_SPILL_RCX);
	emit_gs_load(arena, RAX, G_SPILL_RAX);
}

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

/* Between the spills of an indirect transfer and its end rax is free to count with. */
static void emit_late_count(struct batch *batch, uint16_t orig)
{
	batch_piece(batch, PIECE_RESTART, orig);
	if (!batch->count_in_transfer)
		return;
	emit_count_in(batch, RAX);
	batch_piece(batch, PIECE_RESTART, orig);
}

static void emit_target_in_rcx(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	emit_gs_store(batch->arena, RCX, G_SPILL_RCX);
	emit_gs_store(batch->arena, RAX, G_SPILL_RAX);
	emit_load_operand(batch, insn, orig);
	emit_late_count(batch, orig);
}

static void emit_table_jump(struct arena *arena)
{
	EMIT(arena, 0x0f, 0xb7, 0xc1);		   /* movzwl %cx, %eax */
	EMIT(arena, 0x65, 0xff, 0x24, 0xc5);	   /* jmp *%gs:SLOT_JUMPS(,%rax,8) */
	emit_u32(arena, SLOT_JUMPS);
}

/* The program's return address stays on its stack until the last moment; then the cache address
 * behind the call takes its place, so that the processor's return predictor, fed by the real call
 * in emit_call, is right. */
static void emit_return(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	emit_gs_store(arena, RCX, G_SPILL_RCX);
	emit_gs_store(arena, RAX, G_SPILL_RAX);
	EMIT(arena, 0x48, 0x8b, 0x0c, 0x24); /* mov (%rsp), %rcx */
	emit_late_count(batch, orig);
	EMIT(arena, 0x0f, 0xb7, 0xc1);	     /* movzwl %cx, %eax */
	EMIT(arena, 0x65, 0x48, 0x8b, 0x04, 0xc5); /* mov %gs:SLOT_JUMPS(,%rax,8), %rax */
	emit_u32(arena, SLOT_JUMPS);
	EMIT(arena, 0x48, 0x89, 0x04, 0x24); /* mov %rax, (%rsp) */
	batch_piece(batch, PIECE_STEP, orig);
	if (insn->pop_bytes)
		EMIT(arena, 0xc2, (uint8_t)insn->pop_bytes, (uint8_t)(insn->pop_bytes >> 8));
	else
		EMIT(arena, 0xc3);
}

/* A real call to a cold part (emit_cold_calls), which replaces the pushed cache address by the
 * program's own and goes on; behind the call stands the checking entry of the return address. */
static void emit_call(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const bool direct = insn->flow == FLOW_CALL;
	if (!direct)
		emit_target_in_rcx(batch, insn, orig);
	EMIT(arena, 0xe8);
	struct call_site call = {
		.site = (uint32_t)arena->used,
		.block = batch->block,
		.orig = orig,
		.target = direct ? insn->target : 0,
		.return_pc = insn->pc + insn->length,
	};
	batch_check(batch, rf_array_push(batch->calls, batch->n_calls, batch->cap_calls, call));
	emit_u32(arena, 0);
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

void emit_transfer(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	switch ((enum flow)insn->flow) {
	case FLOW_JUMP:
		batch_jump(batch, insn->target);
		break;
	case FLOW_BRANCH:
		EMIT(arena, 0x0f, (uint8_t)(0x80 | branch_condition(insn)));
		batch_link(batch, insn->target);
		break;
	case FLOW_LOOP: /* loop over a jump to the next block; then a jump to the target */
		emit_bytes(arena, insn->bytes, insn->length - 1u);
		EMIT(arena, 2, 0xeb, 5);
		batch_jump(batch, insn->target);
		break;
	case FLOW_XBEGIN: /* a transaction that always aborts, with status 0 */
		EMIT(arena, 0xb8, 0, 0, 0, 0);
		batch_jump(batch, insn->target);
		break;
	case FLOW_CALL:
	case FLOW_CALL_INDIRECT:
		emit_call(batch, insn, orig);
		break;
	case FLOW_JUMP_INDIRECT:
		emit_target_in_rcx(batch, insn, orig);
		emit_table_jump(arena);
		break;
	case FLOW_RETURN:
		emit_return(batch, insn, orig);
		break;
	case FLOW_SYSCALL:
		emit_syscall(batch, insn, orig);
		break;
	case FLOW_NEXT:
	case FLOW_NATIVE:
		break;
	}
}

/* The other end of a call: puts the program's return address in the place of the cache's. */
static void emit_cold_call(struct batch *batch, const struct call_site *call)
{
	struct arena *arena = batch->arena;
	uint32_t push_site = 0;
	batch->block = call->block;
	batch_piece(batch, PIECE_STEP, call->orig);
	emit_rel32_at(arena, call->site, arena->used);
	if (call->return_pc < 1u << 31) {
		EMIT(arena, 0x48, 0xc7, 0x04, 0x24); /* movq $return_pc, (%rsp) */
		emit_u32(arena, (uint32_t)call->return_pc);
	} else {
		EMIT(arena, 0x48, 0x8d, 0x64, 0x24, 0x08); /* lea 8(%rsp), %rsp */
		EMIT(arena, 0xff, 0x35);		   /* push constant(%rip) */
		push_site = (uint32_t)arena->used;
		emit_u32(arena, 0);
	}
	if (call->target)
		batch_jump(batch, call->target);
	else
		emit_table_jump(arena);
	if (push_site) {
		batch_piece(batch, PIECE_DATA, 0);
		emit_nops(arena, -arena->used & 7);
		emit_rel32_at(arena, push_site, arena->used);
		emit_u64(arena, call->return_pc);
	}
}

void emit_cold_calls(struct batch *batch)
{
	for (size_t i = 0; i < batch->n_calls && !batch->failed; i++)
		emit_cold_call(batch, &batch->calls[i]);
}
