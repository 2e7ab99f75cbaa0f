/* Emits the ends of blocks that transfer control: jumps, branches, calls, returns, system calls. */
#include "tracer/translate/transfer.h"

#include "base/assert.h"
#include "tracer/translate/copy.h"
#include "tracer/translate/count.h"
#include "tracer/translate/way.h"

#include <string.h>

/* The prefixes that say how an operand is addressed: fs and 32-bit addresses.  Returns how many. */
static size_t address_prefixes(const struct decoded *insn, uint8_t *out)
{
	size_t n = 0;
	for (int i = 0; i < insn->prefix_end; i++)
		if (insn->bytes[i] == 0x64 || insn->bytes[i] == 0x67)
			out[n++] = insn->bytes[i];
	return n;
}

/* The operand of an indirect jump or call as that of a MOV to rcx: FF /2 or FF /4 becomes REX.W 8B
 * /r; notrack, bnd and a REX byte are dropped or kept as they apply.  Returns the length. */
static size_t as_load(const struct decoded *insn, uint64_t pc, uint8_t *out)
{
	const uint8_t rex = insn->bytes[insn->prefix_end];
	const size_t rest = insn->modrm_offset + 1u;
	size_t n = address_prefixes(insn, out);
	out[n++] = (uint8_t)(0x48 | ((rex & 0xf0) == 0x40 ? rex & 3 : 0));
	out[n++] = 0x8b;
	out[n++] = (uint8_t)((insn->bytes[insn->modrm_offset] & 0xc7) | RCX << 3);
	if (insn->rip_relative) {
		const uint64_t next = pc + n + 4;
		const int32_t rel = (int32_t)(insn->target - next);
		assert(next + (uint64_t)(int64_t)rel == insn->target);
		memcpy(out + n, &rel, sizeof(rel));
		return n + sizeof(rel);
	}
	memcpy(out + n, insn->bytes + rest, insn->length - rest);
	return n + insn->length - rest;
}

/* rcx = operand of an indirect jump or call. */
static void emit_load_operand(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	uint8_t bytes[LONGEST_INSN + 1];
	if (insn->rip_relative && !in_reach(arena, insn->target)) {
		emit_mov_imm64(arena, RCX, insn->target);
		arena_note_field(arena, FIELD_IN_MODULE, -8, 0);
		batch_piece(batch, PIECE_RESTART, orig);
		arena_append(arena, bytes, address_prefixes(insn, bytes));
		emit_load(arena, RCX, mem_at(RCX, 0));
		return;
	}
	const uint64_t pc = arena_address(arena, (uint32_t)arena->used);
	arena_append(arena, bytes, as_load(insn, pc, bytes));
	if (insn->rip_relative)
		arena_note_field(arena, FIELD_TO_MODULE, -4, 0);
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

/* ---- what may lead out of a kernel (tracer/kernel) ----
 *
 * All that the block counts is counted before, so that what is behind belongs to nothing of it. */

/* Before a return: rdi is free, and so are the flags. */
static void emit_kernel_check(struct batch *batch, uint16_t orig)
{
	struct arena *arena = batch->arena;
	struct label on = {0};
	if (!batch->translator->source.kernel)
		return;
	emit_compare_with(arena, RSP, gs_at(G_KERNEL_LIMIT));
	emit_branch(arena, CONDITION_ABOVE, &on);
	batch_piece(batch, PIECE_STEP, orig);
	emit_lea_label(arena, RDI, &on);
	emit_gs_store(arena, RDI, G_KERNEL_BACK);
	emit_jump_through(arena, gs_at(G_AT_KERNEL_RETURN));
	label_bind(arena, &on);
	batch_piece(batch, PIECE_RETURN, orig);
}

/* The same where rax is free alone, and rcx holds the target; `entry`: of the gate. */
static void emit_kernel_check_in_rax(struct batch *batch, uint32_t entry, uint16_t orig)
{
	struct arena *arena = batch->arena;
	struct label on = {0};
	if (!batch->translator->source.kernel)
		return;
	emit_lea(arena, RAX, mem_at(RCX, 0));
	emit_gs_load(arena, RCX, G_KERNEL_ARMED);
	emit_jrcxz(arena, &on);
	batch_piece(batch, PIECE_STEP, orig);
	emit_lea_label(arena, RCX, &on);
	emit_gs_store(arena, RCX, G_KERNEL_BACK);
	emit_jump_through(arena, gs_at(entry));
	label_bind(arena, &on);
	batch_piece(batch, PIECE_RESTART, orig);
	emit_lea(arena, RCX, mem_at(RAX, 0));
}

static void emit_target_in_rcx(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	emit_gs_store(batch->arena, RCX, G_SPILL_RCX);
	emit_gs_store(batch->arena, RAX, G_SPILL_RAX);
	emit_load_operand(batch, insn, orig);
	emit_late_count(batch, PIECE_RESTART, RAX, orig);
	emit_kernel_check_in_rax(batch, G_AT_KERNEL_JUMP, orig);
}

static void emit_table_jump(const struct batch *batch)
{
	emit_mov_16(batch->arena, RAX, RCX);
	emit_jump_through(batch->arena,
			  gs_indexed(RAX, SLOT_JUMPS + translator_tables(batch->translator)));
}

/* Returns that take arguments off the stack, or whose status flags matter where they lead, are
 * rare: they go the way of indirect jumps, which changes no flags. */
static void emit_return_as_jump(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	emit_gs_store(arena, RCX, G_SPILL_RCX);
	emit_gs_store(arena, RAX, G_SPILL_RAX);
	batch_piece(batch, PIECE_RESTART, orig);
	emit_load(arena, RCX, mem_at(RSP, 0));
	emit_late_count(batch, PIECE_RESTART, RAX, orig);
	emit_kernel_check_in_rax(batch, G_AT_KERNEL_RETURN, orig);
	emit_lea(arena, RSP, mem_at(RSP, 8 + insn->pop_bytes));
	batch_piece(batch, PIECE_STEP, orig);
	emit_table_jump(batch);
}

/* The cache address to return to is pushed below the program's own return address and returned to
 * from there: so the processor's return predictor, fed by the real call in emit_program_call, is
 * right, and the landing finds the program's return address on top of the stack.  It drops that
 * word: a return that pops both takes 0.3 to 0.8 ns more on Zen 4.  The register that is borrowed
 * should be one that programs write often: one that they leave alone would be a chain of loads that
 * wait for stores, from return to return. */
static void emit_program_return(struct batch *batch, const struct planned *item, uint16_t orig)
{
	struct arena *arena = batch->arena;
	if (item->insn.pop_bytes || item->keeps_flags) {
		emit_return_as_jump(batch, &item->insn, orig);
		return;
	}
	emit_gs_store(arena, RDI, G_SPILL_RDI);
	emit_late_count(batch, PIECE_RETURN, RDI, orig);
	emit_kernel_check(batch, orig);
	emit_load_16(arena, RDI, mem_at(RSP, 0));
	emit_push(arena, gs_indexed(RDI, SLOT_RETURNS + translator_tables(batch->translator)));
	batch_piece(batch, PIECE_STEP, orig);
	emit_gs_load(arena, RDI, G_SPILL_RDI);
	emit_return(arena);
}

static void emit_push_return_address(struct batch *batch, struct call_site *call)
{
	call->is_pushed_from_memory = call->return_pc >= 1u << 31;
	if (call->is_pushed_from_memory)
		emit_push_label(batch->arena, &call->constant);
	else
		emit_push_imm32(batch->arena, (int32_t)call->return_pc);
}

/* A call of the program's own code through the GOT, be it by the procedure linkage table. */
static bool leaves_for_system(struct batch *batch, const struct decoded *insn)
{
	struct translator *translator = batch->translator;
	const struct code_source *source = &translator->source;
	if (!source->is_own || !source->is_own(source->context, insn->pc))
		return false;
	return insn->flow == FLOW_CALL ? plan_is_got_jump(translator, insn->target)
				       : insn->rip_relative;
}

/* The program's own return address is pushed, and then there is a real call, which pushes one word
 * too many: the called end drops it (code_block.called).  Behind the call stands the landing of the
 * return address.  Code that has been translated twice has one call for both, else returns would be
 * predicted wrongly in one. */
static void emit_program_call(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const bool direct = insn->flow == FLOW_CALL;
	if (!direct)
		emit_target_in_rcx(batch, insn, orig);
	struct call_site call = {.is_indirect = !direct,
				 .block = batch->block,
				 .orig = orig,
				 .return_pc = insn->pc + insn->length};
	const uint32_t same = code_cache_find(batch->cache, &batch->cache->calls, call.return_pc);
	const uint32_t arena_bits = (uint32_t)(arena - batch->cache->arenas) << CALL_ARENA_SHIFT;
	if (same != NOT_THERE && (same & ~CALL_OFFSET) == arena_bits) {
		struct label there = label_at(same & CALL_OFFSET);
		emit_jump(arena, &there);
		return;
	}
	assert(arena->used <= CALL_OFFSET);
	if (!pc_index_set(&batch->cache->calls, call.return_pc, (uint32_t)arena->used | arena_bits))
		batch_check(batch, rf_error_no_memory());
	batch->landing_due = call.return_pc;
	if (leaves_for_system(batch, insn))
		emit_store_imm32(arena,
				 (new_out(batch, insn->pc) + 1) |
					 translator_call_out(batch->translator),
				 gs_at(G_CALL_OUT));
	emit_push_return_address(batch, &call);
	batch_piece(batch, direct ? PIECE_CALL : PIECE_CALL_INDIRECT, orig);
	struct label callee = {0};
	emit_call(arena, direct ? &callee : &call.through_table);
	if (direct)
		batch_link(batch, &callee, insn->target, LINK_CALL);
	batch_push(batch, batch->calls, batch->n_calls, batch->cap_calls, call);
}

/* ---- jumps through the GOT ---- */

/* Only what looks like an entry of a PLT. */
uint64_t got_value(struct batch *batch)
{
	struct translator *translator = batch->translator;
	const struct decoded *last = &batch->items[batch->n_items - 1].insn;
	uint64_t value;
	if (batch->n_items > MAX_PLT_INSNS || last->flow != FLOW_JUMP_INDIRECT ||
	    !last->rip_relative || !in_reach(batch->arena, last->target) ||
	    last->prefix_end + 6 < last->length || !translator->source.value ||
	    !translator->source.value(translator->source.context, last->target, &value))
		return 0;
	const bool unresolved = plan_is_unresolved(translator, value);
	batch->cache->blocks[batch->block].provisional = unresolved;
	return !unresolved && plan_dead_at(translator, value) == DEAD_ALL ? value : 0;
}

/* As long as the slot holds what it held, a direct jump is right. */
static void emit_got_jump(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const uint64_t value = batch->got_value;
	struct got_miss miss = {.block = batch->block, .orig = orig, .insn = *insn};
	emit_compare_32_near(arena, insn->target, (uint32_t)value);
	arena_note_field(arena, FIELD_PC_LOW, -4, value);
	emit_branch(arena, CONDITION_NOT_EQUAL, &miss.here);
	emit_compare_32_near(arena, insn->target + 4, (uint32_t)(value >> 32));
	arena_note_field(arena, FIELD_PC_HIGH, -4, value);
	emit_branch(arena, CONDITION_NOT_EQUAL, &miss.here);
	batch_push(batch, batch->got_misses, batch->n_got_misses, batch->cap_got_misses, miss);
	batch_jump(batch, value, LINK_JUMP);
}

void emit_got_misses(struct batch *batch)
{
	struct arena *arena = batch->arena;
	batch->count_in_transfer = false;
	for (size_t i = 0; i < batch->n_got_misses && !batch->failed; i++) {
		struct got_miss *miss = &batch->got_misses[i];
		batch->block = miss->block;
		label_bind(arena, &miss->here);
		batch_piece(batch, PIECE_CLEAN, miss->orig);
		emit_target_in_rcx(batch, &miss->insn, miss->orig);
		emit_table_jump(batch);
	}
}

static void emit_call_number(struct arena *arena, uint32_t counters)
{
	struct label known = {0};
	emit_mov_imm32(arena, R11, counters);
	emit_lea_label(arena, RCX, &known);
	emit_jump_through(arena, gs_at(G_AT_CALL_NUMBER));
	label_bind(arena, &known);
}

static void emit_call_result(struct arena *arena)
{
	struct label counted = {0};
	emit_lea_label(arena, RCX, &counted);
	emit_jump_through(arena, gs_at(G_AT_CALL_RESULT));
	label_bind(arena, &counted);
}

static void emit_syscall(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	struct label behind = {0};
	const uint32_t counters = counter_offset(new_call_counters(batch, insn->pc));
	if (batch->count_in_transfer) {
		emit_count_in(batch, RCX); /* which the system call destroys anyway */
		batch_piece(batch, PIECE_CLEAN, orig);
	}
	batch_piece(batch, PIECE_STEP, orig);
	emit_call_number(arena, counters);
	emit_lea_label(arena, RCX, &behind);
	emit_jump_through(arena, gs_at(G_AT_SYSCALL));
	label_bind(arena, &behind);
	batch_piece(batch, PIECE_STEP, orig);
	emit_call_result(arena);
	emit_mov_imm64(arena, RCX, insn->pc + insn->length);
	arena_note_field(arena, FIELD_PC, -8, insn->pc + insn->length);
}

/* The condition code of a jcc, short or near; a REX byte means nothing to it. */
uint8_t branch_condition(const struct decoded *insn)
{
	const uint8_t *opcode = &insn->bytes[insn->prefix_end];
	opcode += (*opcode & 0xf0) == 0x40;
	return (*opcode == 0x0f ? opcode[1] : opcode[0]) & 0xf;
}

/* The program's own instruction leads over a jump to the next block, to a jump to the target. */
static void emit_loop_insn(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	struct label taken = {0}, behind = {0};
	emit_short_transfer(arena, insn->bytes, insn->length, &taken);
	batch_piece(batch, PIECE_STEP, orig); /* rcx is counted down */
	emit_jump_short(arena, &behind);
	label_bind(arena, &taken);
	batch_jump(batch, insn->target, LINK_FLOW);
	label_bind(arena, &behind);
}

/* Where what it branches to is emitted next, it branches to what is behind it instead. */
static void emit_program_branch(struct batch *batch, const struct planned *item)
{
	const struct decoded *insn = &item->insn;
	const bool inverted = item->last_of_run && batch_falls_to(batch, insn->target);
	struct label taken = {0};
	emit_branch(batch->arena, branch_condition(insn) ^ inverted, &taken);
	batch_link(batch, &taken, inverted ? insn->pc + insn->length : insn->target, LINK_FLOW);
}

void emit_transfer(struct batch *batch, const struct planned *item, uint16_t orig)
{
	const struct decoded *insn = &item->insn;
	switch ((enum flow)insn->flow) {
	case FLOW_JUMP:
		if (!batch_falls_to(batch, insn->target))
			batch_jump(batch, insn->target, LINK_FLOW);
		break;
	case FLOW_BRANCH:
		emit_program_branch(batch, item);
		break;
	case FLOW_LOOP:
		emit_loop_insn(batch, insn, orig);
		break;
	case FLOW_XBEGIN: /* a transaction that always aborts, with status 0 */
		emit_mov_imm32(batch->arena, RAX, 0);
		batch_jump(batch, insn->target, LINK_FLOW);
		break;
	case FLOW_CALL:
	case FLOW_CALL_INDIRECT:
		emit_program_call(batch, insn, orig);
		break;
	case FLOW_JUMP_INDIRECT:
		if (batch->got_value) {
			emit_got_jump(batch, insn, orig);
			break;
		}
		emit_target_in_rcx(batch, insn, orig);
		emit_table_jump(batch);
		break;
	case FLOW_RETURN:
		emit_program_return(batch, item, orig);
		break;
	case FLOW_SYSCALL:
		emit_syscall(batch, insn, orig);
		break;
	case FLOW_NEXT:
	case FLOW_NATIVE:
		break;
	}
}

/* Return addresses lie side by side: each line of them that calls push from takes the place of one
 * of the program's data in the first cache. */
static uint32_t constant_place(struct batch *batch)
{
	static const uint8_t none[8 * CACHE_LINE];
	struct arena *arena = batch->arena;
	struct put_aside *aside = &arena->constants;
	if (aside->at == aside->end) {
		batch_piece(batch, PIECE_DATA, 0);
		arena_align(arena, CACHE_LINE);
		const uint32_t at = (uint32_t)arena->used;
		arena_append(arena, none, sizeof(none));
		*aside = (struct put_aside){at, at + sizeof(none)};
	}
	aside->at += 8;
	return aside->at - 8;
}

void emit_cold_calls(struct batch *batch)
{
	struct arena *arena = batch->arena;
	for (size_t i = 0; i < batch->n_calls && !batch->failed; i++) {
		struct call_site *call = &batch->calls[i];
		batch->block = call->block;
		if (call->is_indirect) {
			label_bind(arena, &call->through_table);
			batch_piece(batch, PIECE_STEP, call->orig);
			emit_drop_word(arena);
			emit_table_jump(batch);
		}
		if (call->is_pushed_from_memory) {
			const uint32_t at = constant_place(batch);
			label_bind_to(arena, &call->constant, at);
			memcpy(arena->host + at, &call->return_pc, sizeof(call->return_pc));
			arena_note_field(arena, FIELD_PC, (ptrdiff_t)at - (ptrdiff_t)arena->used,
					 call->return_pc);
		}
	}
}
