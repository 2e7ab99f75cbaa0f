/* Random states, and aiming their pointers at memory that is there. */
#include "tests/unit/tracer/translate/lockstep.h"
#include "tests/unit/tracer/translate/lockstep_reference.h"

#include <Zydis/Zydis.h>
#include <signal.h>
#include <string.h>

#define DIRECTION_FLAG 0x400u
#define MAX_AIMS 16
#define TAME 0x1c0ull /* the bits of a number that may be an index or a stride */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- plausible states ---- */

static uint64_t scratch_pointer(struct lockstep *lockstep)
{
	const uint64_t random = lockstep_random(lockstep);
	const uint64_t step = random % 4 ? 64 : 1;
	return SCRATCH_ADDRESS + SCRATCH_SIZE / 4 +
	       (random >> 8) % (SCRATCH_SIZE / 2) / step * step;
}

/* Index in encoding order, or -1. */
static int general_register(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	bool general = whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15;
	return general ? (int)(whole - ZYDIS_REGISTER_RAX) : -1;
}

/* Which registers the code from pc on uses for addresses: 'p' pointer, 'i' index. */
static void find_roles(const struct lockstep *lockstep, uint64_t pc, char roles[16])
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (int n = 0; n < 24; n++, pc += insn.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(
			    &decoder, (void *)pc, lockstep_code_at(lockstep, pc), &insn, operands)))
			return;
		if (insn.attributes &
		    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
			roles[1] = 'i';
		for (int i = 0; i < insn.operand_count; i++) {
			if (operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
				continue;
			int base = general_register(operands[i].mem.base);
			int index = general_register(operands[i].mem.index);
			if (index >= 0 && !roles[index])
				roles[index] = operands[i].mem.scale > 1 ? 'i' : 'p';
			if (base >= 0 && !roles[base])
				roles[base] = index >= 0 && operands[i].mem.scale <= 1 &&
							      roles[index] == 'p'
						      ? 'i'
						      : 'p';
		}
	}
}

static uint64_t random_value(struct lockstep *lockstep, char role)
{
	const uint64_t random = lockstep_random(lockstep);
	if (role == 'p')
		return scratch_pointer(lockstep);
	if (role == 'i')
		return random % 48;
	return random % 2 ? lockstep_plausible_word(lockstep) : random >> (random >> 58);
}

static void random_regs(struct lockstep *lockstep, uint64_t pc, struct user_regs_struct *regs)
{
	char roles[16] = {0};
	find_roles(lockstep, pc, roles);
	for (unsigned i = 0; i < 16; i++)
		*register_number(regs, i) = random_value(lockstep, roles[i]);
	regs->rsp = STACK_ADDRESS + STACK_SIZE / 2 + lockstep_random(lockstep) % 64 * 8;
	regs->rip = pc;
	regs->eflags = (lockstep_random(lockstep) & 0x8d5) | 0x202; /* CF PF AF ZF SF OF */
	regs->fs_base = SCRATCH_ADDRESS + SCRATCH_SIZE / 2;
	regs->gs_base = (uint64_t)lockstep->slot;
	regs->orig_rax = (unsigned long long)-1;
}

/* Registers in the xsave area: bytes that are random, small integers or floating-point numbers. */
static void random_vector(struct lockstep *lockstep, uint8_t *bytes, size_t n)
{
	const uint64_t kind = lockstep_random(lockstep) % 4;
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t word =
			kind == 0 ? lockstep_random(lockstep) : lockstep_plausible_word(lockstep);
		if (kind == 1)
			word = (lockstep_random(lockstep) & 0x1f0000001f) | (word << 63);
		memcpy(bytes + i, &word, sizeof(word));
	}
}

static void random_xstate(struct lockstep *lockstep, uint8_t *xstate)
{
	/* SSE, AVX, mask registers, upper halves of zmm0…15, zmm16…31: bytes of each register */
	static const struct {
		uint8_t component, registers, bytes;
	} parts[] = {{1, 16, 16}, {2, 16, 16}, {5, 8, 8}, {6, 16, 32}, {7, 16, 64}};
	uint64_t present;
	memcpy(&present, xstate + 512, sizeof(present));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint32_t offset =
			parts[i].component == 1 ? 160 : lockstep_component(parts[i].component);
		if (!offset)
			continue;
		for (unsigned j = 0; j < parts[i].registers; j++)
			random_vector(lockstep, xstate + offset + j * parts[i].bytes,
				      parts[i].bytes);
		present |= 1u << parts[i].component;
	}
	present |= 1;
	memcpy(xstate + 512, &present, sizeof(present));
	const bool x87_full = lockstep_random(lockstep) % 2;
	xstate[4] = x87_full ? 0x0f : 0; /* four registers in use */
	for (int i = 0; i < 8; i++) {
		uint64_t mantissa = lockstep_random(lockstep) | 1ull << 63;
		uint16_t exponent = (uint16_t)(0x3ff0 + lockstep_random(lockstep) % 32);
		memcpy(xstate + 32 + 16 * i, &mantissa, sizeof(mantissa));
		memcpy(xstate + 40 + 16 * i, &exponent, sizeof(exponent));
	}
}

void lockstep_random_state(struct lockstep *lockstep, uint64_t pc, struct lockstep_state *state)
{
	if (!lockstep->child && !lockstep_start_child(lockstep))
		return;
	lockstep_get_regs(lockstep, &state->regs);
	random_regs(lockstep, pc, &state->regs);
	lockstep_get_xstate(lockstep, state->xstate);
	static const uint8_t control[] = {0x7f, 0x03, 0, 0, 0, 0}; /* fninit */
	memcpy(state->xstate, control, sizeof(control));
	static const uint32_t mxcsr = 0x1f80;
	memcpy(state->xstate + 24, &mxcsr, sizeof(mxcsr));
	random_xstate(lockstep, state->xstate);
}

/* ---- states with values at the edges ---- */

static const uint64_t edge_words[] = {
	0,
	1,
	2,
	7,
	8,
	0x7f,
	0x80,
	0xff,
	0x7fff,
	0x8000,
	0xffff,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x7fffffffffffffff,
	0x8000000000000000,
	UINT64_MAX - 1,
	UINT64_MAX,
};
/* Zeros, smallest and largest denormals, smallest and largest normal numbers, infinities, quiet and
 * signalling NaNs (IEEE 754-2019, 3.4). */
static const uint64_t edge_doubles[] = {
	0,
	1ull << 63,
	1,
	0xfffffffffffff,
	0x10000000000000,
	0x7fefffffffffffff,
	0x7ff0000000000000,
	0xfff0000000000000,
	0x7ff8000000000000,
	0xfff8000000000001,
	0x7ff0000000000001,
};
static const uint32_t edge_floats[] = {
	0,          1u << 31,   1,          0x7fffff,   0x800000,   0x7f7fffff,
	0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001,
};
static const uint16_t edge_exponents[] = {0, 1, 0x3fff, 0x7ffe, 0x7fff, 0x8000, 0xbfff, 0xffff};
static const uint64_t edge_mantissas[] = {/* the highest bit of a normal number is set */
					  0,          1,          1ull << 62,
					  1ull << 63, 3ull << 62, 0xbfffffffffffffff,
					  UINT64_MAX};

#define PICK(lockstep, list) ((list)[lockstep_random(lockstep) % COUNT(list)])

static uint64_t edge_element(struct lockstep *lockstep)
{
	switch (lockstep_random(lockstep) % 4) {
	case 0:
		return PICK(lockstep, edge_words);
	case 1:
		return PICK(lockstep, edge_floats) | (uint64_t)PICK(lockstep, edge_floats) << 32;
	default:
		return PICK(lockstep, edge_doubles);
	}
}

/* One element in four, in one register in two: indices of gathers are left as they are. */
static void edge_vectors(struct lockstep *lockstep, uint8_t *registers, size_t n, size_t size)
{
	for (size_t i = 0; i < n; i++) {
		if (lockstep_random(lockstep) % 2)
			continue;
		for (size_t at = 0; at + 8 <= size; at += 8) {
			const uint64_t element = edge_element(lockstep);
			if (lockstep_random(lockstep) % 4 == 0)
				memcpy(registers + i * size + at, &element, sizeof(element));
		}
	}
}

/* Control, status and tag words, and the eight registers (fxsave; Intel SDM vol. 1, 10.5.1). */
static void edge_x87(struct lockstep *lockstep, uint8_t *xstate)
{
	const uint64_t random = lockstep_random(lockstep);
	const bool unmasked = random % 32 == 0;
	const uint16_t control = (uint16_t)(0x40 | (unmasked ? random >> 8 & 0x3f : 0x3f) |
					    (random >> 16 & 0xf) << 8); /* precision, rounding */
	const uint16_t status =
		(uint16_t)((random >> 20 & 0x7f00) | (unmasked ? 0 : random >> 40 & 0x7f));
	memcpy(xstate, &control, sizeof(control));
	memcpy(xstate + 2, &status, sizeof(status));
	xstate[4] = (uint8_t)(random >> 48);
	for (size_t i = 0; i < 8; i++) {
		const uint64_t mantissa = PICK(lockstep, edge_mantissas);
		const uint16_t exponent = PICK(lockstep, edge_exponents);
		if (lockstep_random(lockstep) % 2)
			continue;
		memcpy(xstate + 32 + 16 * i, &mantissa, sizeof(mantissa));
		memcpy(xstate + 40 + 16 * i, &exponent, sizeof(exponent));
	}
}

static void edge_mxcsr(struct lockstep *lockstep, uint8_t *xstate)
{
	const uint64_t random = lockstep_random(lockstep);
	const uint32_t masks = random % 32 ? 0x3f : random >> 8 & 0x3f;
	/* sticky flags, denormals are zero, masks, rounding, flush to zero */
	const uint32_t mxcsr =
		(uint32_t)((random >> 16 & 0x7f) | masks << 7 | (random >> 24 & 7) << 13);
	memcpy(xstate + 24, &mxcsr, sizeof(mxcsr));
}

static void edge_masks(struct lockstep *lockstep, uint8_t *masks)
{
	for (size_t i = 0; i < 8; i++) {
		const uint64_t random = lockstep_random(lockstep);
		const uint64_t values[] = {0, UINT64_MAX, 1ull << random % 64, random};
		memcpy(masks + 8 * i, &values[random >> 61 & 3], sizeof(values[0]));
	}
}

void lockstep_edge_state(struct lockstep *lockstep, uint64_t pc, struct lockstep_state *state)
{
	char roles[16] = {0};
	lockstep_random_state(lockstep, pc, state);
	find_roles(lockstep, pc, roles);
	for (unsigned i = 0; i < 16; i++)
		if (i != 4 && !roles[i] && lockstep_random(lockstep) % 4 == 0)
			*register_number(&state->regs, i) = PICK(lockstep, edge_words);
	if (lockstep_random(lockstep) % 16 == 0)
		state->regs.eflags |= DIRECTION_FLAG;
	if (lockstep_random(lockstep) % 2)
		return;
	edge_x87(lockstep, state->xstate);
	edge_mxcsr(lockstep, state->xstate);
	edge_vectors(lockstep, state->xstate + 160, 16, 16);
	if (lockstep_component(2))
		edge_vectors(lockstep, state->xstate + lockstep_component(2), 16, 16);
	if (lockstep_component(5))
		edge_masks(lockstep, state->xstate + lockstep_component(5));
	if (lockstep_component(6))
		edge_vectors(lockstep, state->xstate + lockstep_component(6), 16, 32);
	if (lockstep_component(7))
		edge_vectors(lockstep, state->xstate + lockstep_component(7), 16, 64);
}

/* ---- pointers that lead nowhere are aimed elsewhere ---- */

static bool is_there(const struct lockstep *lockstep, uint64_t address, bool written)
{
	if (!written && in_range(&lockstep->image, address))
		return true;
	for (size_t i = 0; i < lockstep->n_writable; i++)
		if (in_range(&lockstep->writable[i], address))
			return true;
	return false;
}

/* Adds `delta` to a word of the memory that both runs start from. */
static bool move_word(struct lockstep *lockstep, uint64_t address, uint64_t delta)
{
	for (size_t i = 0; i < lockstep->n_writable; i++) {
		uint64_t word;
		if (!in_range(&lockstep->writable[i], address) ||
		    !in_range(&lockstep->writable[i], address + 7))
			continue;
		uint8_t *place = lockstep->initial[i] + (address - lockstep->writable[i].start);
		memcpy(&word, place, sizeof(word));
		word += delta;
		memcpy(place, &word, sizeof(word));
		return true;
	}
	return false;
}

/* The step behind the last one before `at` that changed the register; 0: it is as at the start. */
static size_t last_write(unsigned number, size_t at)
{
	while (at && *register_number(&reference.steps[at - 1].regs, number) ==
			     *register_number(&reference.steps[at].regs, number))
		at--;
	return at;
}

static bool writes(const struct full *full, unsigned number)
{
	return full->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       general_register(full->operands[0].reg.value) == (int)number;
}

/* Goes back from step `at`, which has written register *number, to one of the registers that it
 * went by; or makes a small number of the memory that it read, and says so in *done. */
static bool tame_source(struct lockstep *lockstep, size_t at, unsigned *number, bool *done)
{
	struct full full;
	int sources[ZYDIS_MAX_OPERAND_COUNT * 2], n = 0;
	uint64_t address, word;
	if (!reference_decode(lockstep, at, &full) || !writes(&full, *number))
		return false;
	for (unsigned i = 0; i < full.insn.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &full.operands[i];
		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) &&
		    full.insn.mnemonic != ZYDIS_MNEMONIC_LEA)
			continue;
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			sources[n++] = general_register(operand->reg.value);
		} else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
			   operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
			sources[n++] = general_register(operand->mem.base);
			sources[n++] = general_register(operand->mem.index);
		} else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
			   reference_address(&full, operand, at, &address) &&
			   is_there(lockstep, address, false) &&
			   is_there(lockstep, address + 7, false)) {
			memcpy(&word, (void *)address, sizeof(word));
			*done = move_word(lockstep, address,
					  (lockstep_random(lockstep) & TAME) - word);
			return *done;
		}
	}
	const int source = n ? sources[lockstep_random(lockstep) % (unsigned)n] : -1;
	*number = (unsigned)source;
	return source >= 0;
}

/* Makes a small multiple of a cache line of what register `reg` was computed from. */
static bool tame(struct lockstep *lockstep, struct lockstep_state *state, int reg, size_t at)
{
	unsigned number = (unsigned)reg;
	bool done = false;
	if (reg < 0 || !(*register_number(&reference.steps[at].regs, number) & ~TAME))
		return false;
	while (!done && number != 4) {
		at = last_write(number, at);
		if (!at) {
			*register_number(&state->regs, number) = lockstep_random(lockstep) & TAME;
			return true;
		}
		if (!tame_source(lockstep, --at, &number, &done))
			return false;
	}
	return done;
}

static bool is_pointer(uint64_t value)
{
	return value - SCRATCH_ADDRESS < SCRATCH_SIZE;
}

/* Of two registers (or one, the other negative) whose sum is an address: the one that is the
 * pointer. The other one becomes a small number first, where it is none: then *tamed says so. */
static int pointer_of(struct lockstep *lockstep, struct lockstep_state *state, int base, int index,
		      unsigned scale, size_t at, bool *tamed)
{
	*tamed = false;
	if (base < 0 || index < 0)
		return base < 0 ? index : base;
	struct user_regs_struct *regs = &reference.steps[at].regs;
	const bool swapped = scale == 1 && is_pointer(*register_number(regs, (unsigned)index)) &&
			     (!is_pointer(*register_number(regs, (unsigned)base)) ||
			      lockstep_random(lockstep) % 2);
	*tamed = tame(lockstep, state, swapped ? base : index, at);
	return swapped ? index : base;
}

static bool is_string(const struct full *full)
{
	return full->insn.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

/* Where register *number, which step `at` has written, comes from, when it must be greater by
 * delta: another register in *number; or memory, which is changed at once: then *done.  Returns
 * false when it cannot be followed. */
static bool follow_back(struct lockstep *lockstep, struct lockstep_state *state, size_t at,
			unsigned *number, uint64_t delta, bool *done)
{
	struct full full;
	uint64_t address;
	if (!reference_decode(lockstep, at, &full))
		return false;
	const ZydisDecodedOperand *to = &full.operands[0], *from = &full.operands[1];
	int source = (int)*number;
	if (!writes(&full, *number))
		return is_string(&full);
	switch (full.insn.mnemonic) {
	case ZYDIS_MNEMONIC_POP:
		from += from->type == ZYDIS_OPERAND_TYPE_REGISTER; /* rsp, then what it points at */
								   /* fall through */
	case ZYDIS_MNEMONIC_MOV:
		if (from->type == ZYDIS_OPERAND_TYPE_MEMORY && to->size == 64)
			*done = reference_address(&full, from, at, &address) &&
				move_word(lockstep, address, delta);
		source = from->type == ZYDIS_OPERAND_TYPE_REGISTER
				 ? general_register(from->reg.value)
				 : -1;
		break;
	case ZYDIS_MNEMONIC_LEA:
		source = pointer_of(lockstep, state, general_register(from->mem.base),
				    general_register(from->mem.index), from->mem.scale, at, done);
		if (from->mem.base == ZYDIS_REGISTER_NONE && from->mem.scale > 1)
			return false;
		break;
	case ZYDIS_MNEMONIC_ADD:
		if (from->type == ZYDIS_OPERAND_TYPE_REGISTER)
			source = pointer_of(lockstep, state, source,
					    general_register(from->reg.value), 1, at, done);
		break;
	case ZYDIS_MNEMONIC_SUB:
		*done = from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			tame(lockstep, state, general_register(from->reg.value), at);
		break;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_AND:
		break;
	default:
		return false;
	}
	*number = (unsigned)source;
	return *done || source >= 0;
}

/* Changes the start so that register `reg` is greater by `delta` at step `at`. */
static bool chase(struct lockstep *lockstep, struct lockstep_state *state, int reg, size_t at,
		  uint64_t delta)
{
	unsigned number = (unsigned)reg;
	bool done = false;
	if (reg < 0)
		return false;
	while (!done) {
		if (number == 4) { /* stays within the stack */
			state->regs.rsp += delta + 64 < 128 ? delta : 0;
			return delta + 64 < 128;
		}
		at = last_write(number, at);
		if (!at) {
			*register_number(&state->regs, number) += delta;
			return true;
		}
		if (!follow_back(lockstep, state, --at, &number, delta, &done))
			return false;
	}
	return true;
}

/* A pointer into the scratch area, on a cache line, for an operand that is not there or not
 * aligned. */
static bool aim_operand(struct lockstep *lockstep, struct lockstep_state *state, size_t at,
			const struct full *full, const ZydisDecodedOperand *operand)
{
	const int base = general_register(operand->mem.base),
		  index = general_register(operand->mem.index);
	const unsigned scale = operand->mem.scale;
	uint64_t address;
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operand->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
	    !reference_address(full, operand, at, &address))
		return false;
	const bool written = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	const bool there = is_there(lockstep, address, written);
	if (there && !(address & 63))
		return false;
	const uint64_t delta =
		there ? -(address & 63) : (scratch_pointer(lockstep) & ~63ull) - address;
	bool tamed;
	const int pointer = pointer_of(lockstep, state, base, index, scale, at, &tamed);
	return tamed || chase(lockstep, state, pointer, at,
			      pointer == base ? delta : delta / (scale ? scale : 1));
}

/* The operand of an indirect transfer, or the word that a return pops, becomes an address of code.
 */
static bool aim_transfer(struct lockstep *lockstep, struct lockstep_state *state, size_t at,
			 const struct full *full)
{
	const ZydisDecodedOperand *operand = &full->operands[0];
	uint64_t address = reference.steps[at].regs.rsp, word;
	if (reference.steps[at].kind != STEP_RETURN &&
	    operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		const int number = general_register(operand->reg.value);
		word = *register_number(&reference.steps[at].regs, (unsigned)number & 15);
		return chase(lockstep, state, number, at, lockstep_random_pc(lockstep) - word);
	}
	if (reference.steps[at].kind != STEP_RETURN &&
	    !reference_address(full, operand, at, &address))
		return false;
	if (!is_there(lockstep, address, false) || !is_there(lockstep, address + 7, false))
		return false;
	memcpy(&word, (void *)address, sizeof(word)); /* as the reference has left it */
	return move_word(lockstep, address, lockstep_random_pc(lockstep) - word);
}

/* Changes what the instruction that faulted goes by.  Returns false when nothing can be done. */
static bool aim_fault(struct lockstep *lockstep, struct lockstep_state *state)
{
	const size_t at = reference.n;
	const uint8_t kind = reference.steps[at].kind;
	struct full full;
	if ((reference.fault != SIGSEGV && reference.fault != SIGBUS) ||
	    !reference_decode(lockstep, at, &full))
		return false;
	for (unsigned i = 0; i < full.insn.operand_count; i++)
		if (aim_operand(lockstep, state, at, &full, &full.operands[i]))
			return true;
	return (kind == STEP_RETURN || kind == STEP_INDIRECT || kind == STEP_CALL_INDIRECT) &&
	       aim_transfer(lockstep, state, at, &full);
}

bool lockstep_aim(struct lockstep *lockstep, struct lockstep_state *state, size_t steps)
{
	for (int tries = 0; tries < MAX_AIMS; tries++) {
		if (!lockstep->child && !lockstep_start_child(lockstep))
			return false;
		if (!reference_record(lockstep, state, steps))
			return false;
		if (!reference.fault || !aim_fault(lockstep, state))
			break;
	}
	return true;
}
