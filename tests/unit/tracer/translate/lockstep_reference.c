#include "tests/unit/tracer/translate/lockstep_reference.h"

#include "insn/work.h"

#include <signal.h>
#include <string.h>

#define TRAP_FLAG 0x100u

struct reference reference;

/* What differs from run to run, shows where the code lies, or reaches beyond the process. */
static bool is_left_out(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_RDRAND:
	case ZYDIS_CATEGORY_RDSEED:
	case ZYDIS_CATEGORY_RDPID:
	case ZYDIS_CATEGORY_RDPRU:
	case ZYDIS_CATEGORY_RDWRFSGS:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_WAITPKG:
	case ZYDIS_CATEGORY_PKU:
		return insn->mnemonic != ZYDIS_MNEMONIC_HLT;
	default:
		break;
	}
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFD:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_FNSTENV:
	case ZYDIS_MNEMONIC_FNSAVE:
	case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FRSTOR:
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_XABORT:
		return true;
	case ZYDIS_MNEMONIC_MOV:
		return insn->opcode == 0x8e;
	case ZYDIS_MNEMONIC_POP:
		return insn->opcode_map == ZYDIS_OPCODE_MAP_0F;
	default:
		return (insn->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS) != 0;
	}
}

static enum step_kind kind_of(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return STEP_DIRECT;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return insn->raw.imm[0].is_relative ? STEP_DIRECT : STEP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return insn->raw.imm[0].is_relative ? STEP_CALL : STEP_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET: /* one that pops arguments goes through the jump table */
		return insn->raw.imm[0].size ? STEP_INDIRECT : STEP_RETURN;
	default:
		return insn->mnemonic == ZYDIS_MNEMONIC_SYSCALL ? STEP_SYSCALL : STEP_NEXT;
	}
}

/* 16 bytes of a vector register from byte 16 * part on, as in the state components of Intel SDM
 * vol. 1, 13.4. */
static void vector_part(const uint8_t *xstate, unsigned reg, unsigned part, uint8_t *out)
{
	memset(out, 0, 16);
	if (reg >= 16 && lockstep_component(7))
		memcpy(out, xstate + lockstep_component(7) + 64 * (reg - 16) + 16 * part, 16);
	else if (part == 0)
		memcpy(out, xstate + 160 + 16 * reg, 16);
	else if (part == 1 && lockstep_component(2))
		memcpy(out, xstate + lockstep_component(2) + 16 * reg, 16);
	else if (part >= 2 && lockstep_component(6))
		memcpy(out, xstate + lockstep_component(6) + 32 * reg + 16 * (part - 2), 16);
}

/* The index vector, if the instruction has one. */
static void keep_index(struct step *step, const uint8_t *xstate)
{
	ZydisDecoder decoder;
	struct full full;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, (void *)step->regs.rip, step->length,
						 &full.insn, full.operands)))
		return;
	for (unsigned i = 0; i < full.insn.operand_count; i++)
		if (full.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    full.operands[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			for (unsigned part = 0; part < 4; part++)
				vector_part(xstate,
					    (unsigned)ZydisRegisterGetId(
						    full.operands[i].mem.index),
					    part, step->index + 16 * part);
}

/* Bits of a mask register, or sign bits of a vector register's elements. */
static uint64_t active_lanes(struct lockstep *lockstep, struct step *step, const struct work *work)
{
	static uint8_t xstate[LOCKSTEP_XSTATE_MAX];
	uint64_t mask = 0, n = 0;
	lockstep_get_xstate(lockstep, xstate);
	keep_index(step, xstate);
	if (work->units == UNITS_KMASK) {
		memcpy(&mask, xstate + lockstep_component(5) + 8 * work->unit_reg, sizeof(mask));
		for (unsigned i = 0; i < work->lanes; i++)
			n += mask >> i & 1;
		step->mask = mask;
		return n;
	}
	const size_t element = work->unit_element_bits / 8;
	for (size_t i = 0; i < work->lanes; i++) {
		const size_t last = (i + 1) * element - 1; /* the byte that holds the sign */
		const uint8_t *half =
			last < 16 ? xstate + 160 : xstate + lockstep_component(2) - 16;
		if (element == 1 && work->lanes == 8) /* an MMX register: fxsave's st/mm area */
			half = xstate + 32;
		n += half[16 * work->unit_reg + last] >> 7;
		step->mask |= (uint64_t)(half[16 * work->unit_reg + last] >> 7) << i;
	}
	return n;
}

/* Whether the instruction of the step being recorded locks the bus: the kernel traps that for
 * reasons of its own (split lock detection), and a single step can be lost then. */
static bool locks_bus(const struct lockstep *lockstep)
{
	struct full full;
	uint64_t address;
	if (!reference_decode(lockstep, reference.n, &full) ||
	    !((full.insn.attributes & ZYDIS_ATTRIB_HAS_LOCK) ||
	      full.insn.mnemonic == ZYDIS_MNEMONIC_XCHG))
		return false;
	for (unsigned i = 0; i < full.insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &full.operands[i];
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    reference_address(&full, operand, reference.n, &address) &&
		    address % 64 + operand->size / 8 > 64)
			return true;
	}
	return false;
}

/* Returns whether the reference may execute it.  An instruction whose masks this processor does not
 * have faults, and has no units. */
static bool look_at(struct lockstep *lockstep, struct step *step)
{
	const uint64_t pc = step->regs.rip;
	const size_t size = lockstep_code_at(lockstep, pc);
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	struct work work;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!size ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, (void *)pc, size, &insn)) ||
	    is_left_out(&insn) || locks_bus(lockstep))
		return false;
	step->length = insn.length;
	step->kind = (uint8_t)kind_of(&insn);
	step->pushes_flags =
		insn.mnemonic == ZYDIS_MNEMONIC_PUSHFQ || insn.mnemonic == ZYDIS_MNEMONIC_PUSHF;
	if (!work_of_bytes((void *)pc, insn.length, &work))
		return true;
	step->has_units = work.units == UNITS_REP ||
			  (work.units == UNITS_KMASK && lockstep_component(5)) ||
			  (work.units == UNITS_VMASK && lockstep_component(2));
	step->repeats = work.units == UNITS_REP;
	if (step->repeats)
		step->units = step->regs.rcx;
	else if (step->has_units)
		step->units = active_lanes(lockstep, step, &work);
	return true;
}

void reference_pretend_syscall(struct user_regs_struct *regs)
{
	regs->rip += 2;
	regs->rcx = regs->rip;
	regs->r11 = regs->eflags;
	regs->rax = 42 + (regs->rax & 0xff);
}

/* Executes reference.steps[i]; 0, or the signal that it raised. */
static int execute(struct lockstep *lockstep, struct step *step)
{
	struct user_regs_struct regs = step->regs;
	if (step->kind == STEP_SYSCALL) {
		reference_pretend_syscall(&regs);
		return lockstep_set_regs(lockstep, &regs) ? 0 : -1;
	}
	for (bool is_done = false; !is_done;) {
		int number = lockstep_step(lockstep);
		if (number != SIGTRAP)
			return number ? number : -1;
		lockstep_get_regs(lockstep, &regs);
		/* gathers and scatters stop for the trap flag with lanes left */
		is_done = step->kind != STEP_NEXT || step->repeats || regs.rip != step->regs.rip;
	}
	if (step->pushes_flags) /* the processor pushed the flag that makes it step */
		*(uint16_t *)regs.rsp &= (uint16_t)~TRAP_FLAG;
	return 0;
}

void reference_put_initial(struct lockstep *lockstep, const struct lockstep_state *start)
{
	for (size_t i = 0; i < lockstep->n_writable; i++)
		memcpy((void *)lockstep->writable[i].start, lockstep->initial[i],
		       lockstep->writable[i].end - lockstep->writable[i].start);
	lockstep_set_regs(lockstep, &start->regs);
	lockstep_set_xstate(lockstep, start->xstate);
}

void reference_keep_memory(const struct lockstep *lockstep, uint8_t *const copies[])
{
	for (size_t i = 0; i < lockstep->n_writable; i++)
		memcpy(copies[i], (void *)lockstep->writable[i].start,
		       lockstep->writable[i].end - lockstep->writable[i].start);
}

bool reference_record(struct lockstep *lockstep, const struct lockstep_state *start,
		      size_t max_steps)
{
	reference_put_initial(lockstep, start);
	reference.fault = 0;
	for (reference.n = 0;; reference.n++) {
		struct step *step = &reference.steps[reference.n];
		*step = (struct step){0};
		if (!lockstep_get_regs(lockstep, &step->regs))
			return false;
		if (reference.n == max_steps || !look_at(lockstep, step))
			return true;
		reference.fault = execute(lockstep, step);
		if (reference.fault)
			return reference.fault > 0;
		struct user_regs_struct after;
		if (step->repeats && lockstep_get_regs(lockstep, &after))
			step->units -= after.rcx;
	}
}

bool reference_replay(struct lockstep *lockstep, const struct lockstep_state *start, size_t at,
		      uint8_t *xstate)
{
	reference_put_initial(lockstep, start);
	for (size_t i = 0; i < at; i++)
		if (execute(lockstep, &reference.steps[i]))
			return false;
	if (at == reference.n && reference.fault) /* it may have done a part */
		execute(lockstep, &reference.steps[at]);
	reference_keep_memory(lockstep, lockstep->native);
	return lockstep_get_xstate(lockstep, xstate);
}

/* ---- what its steps read and write ---- */

bool reference_decode(const struct lockstep *lockstep, size_t at, struct full *full)
{
	const uint64_t pc = reference.steps[at].regs.rip;
	ZydisDecoder decoder;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		&decoder, (void *)pc, lockstep_code_at(lockstep, pc), &full->insn, full->operands));
}

bool reference_address(const struct full *full, const ZydisDecodedOperand *operand, size_t at,
		       uint64_t *address)
{
	struct user_regs_struct regs = reference.steps[at].regs;
	ZydisRegisterContext context = {0};
	for (unsigned i = 0; i < 16; i++)
		context.values[ZYDIS_REGISTER_RAX + i] = *register_number(&regs, i);
	if (!ZYAN_SUCCESS(
		    ZydisCalcAbsoluteAddressEx(&full->insn, operand, regs.rip, &context, address)))
		return false;
	if (operand->mem.segment == ZYDIS_REGISTER_FS)
		*address += regs.fs_base;
	return true;
}

#define MAX_LEFT 64

struct left {
	uint64_t words[MAX_LEFT];
	size_t n;
};

/* The words that [address, address + size) touches; those that it covers are forgotten. */
static bool touches_left(struct left *left, uint64_t address, uint64_t size, bool forget)
{
	bool any = false;
	for (size_t i = 0; i < left->n; i++) {
		const uint64_t word = left->words[i];
		if (word + 8 <= address || address + size <= word)
			continue;
		any = true;
		if (forget && address <= word && word + 8 <= address + size)
			left->words[i--] = left->words[--left->n];
	}
	return any;
}

/* Pushes and calls write below the stack pointer as it is before them. */
static uint64_t place_of(const struct full *full, uint64_t address)
{
	const bool pushes = full->insn.meta.category == ZYDIS_CATEGORY_PUSH ||
			    full->insn.meta.category == ZYDIS_CATEGORY_CALL;
	return pushes ? address - full->insn.operand_width / 8 : address;
}

static bool reads_left(const struct lockstep *lockstep, struct left *left, size_t at)
{
	struct full full;
	bool reads = false;
	if (!left->n || !reference_decode(lockstep, at, &full))
		return false;
	const uint64_t times = reference.steps[at].repeats ? reference.steps[at].units : 1;
	for (int writing = 0; writing < 2; writing++)
		for (unsigned i = 0; i < full.insn.operand_count; i++) {
			const ZydisDecodedOperand *operand = &full.operands[i];
			const unsigned mask = writing ? ZYDIS_OPERAND_ACTION_MASK_WRITE
						      : ZYDIS_OPERAND_ACTION_MASK_READ;
			uint64_t address;
			if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
			    !(operand->actions & mask) ||
			    !reference_address(&full, operand, at, &address))
				continue;
			if (writing && operand->mem.base == ZYDIS_REGISTER_RSP &&
			    i >= full.insn.operand_count_visible)
				address = place_of(&full, address);
			const bool touches =
				touches_left(left, address, operand->size / 8 * times, writing);
			reads |= touches && !writing;
		}
	return reads;
}

uint64_t reference_left_at(size_t step)
{
	switch (reference.steps[step].kind) {
	case STEP_RETURN:
		return reference.steps[step].regs.rsp - 8;
	case STEP_CALL:
	case STEP_CALL_INDIRECT:
		return reference.steps[step].regs.rsp - 16;
	default:
		return 0;
	}
}

void reference_end_at_left(const struct lockstep *lockstep)
{
	struct left left = {.n = 0};
	for (size_t i = 0; i < reference.n; i++) {
		if (reads_left(lockstep, &left, i)) {
			reference.n = i;
			reference.fault = 0;
			return;
		}
		if (reference_left_at(i))
			left.words[left.n++ % MAX_LEFT] = reference_left_at(i);
		left.n = left.n < MAX_LEFT ? left.n : MAX_LEFT;
	}
}

size_t reference_first_got(const struct lockstep *lockstep)
{
	for (size_t i = 0; i < reference.n; i++) {
		const uint8_t *code = (const uint8_t *)reference.steps[i].regs.rip;
		code += *code == 0xf2; /* bnd */
		if (code[0] == 0xff && code[1] == 0x25 &&
		    flags_live_at(lockstep, reference.steps[i + 1].regs.rip))
			return i;
	}
	return reference.n;
}
