/* Lays out a loop's turns: bytes as they are in the program, and our own in front and behind. */
#include "machine/replay/replay_code.h"

#include "machine/replay/replay_variant.h"
#include "machine/topology/cpu_features.h"

#include <stdlib.h>
#include <string.h>

#define LINE 64
#define SLOTS 128 /* instructions in a row that the counter is little beside */
#define FIELD(member) ((int)(REPLAY_STATE + offsetof(struct replay_state, member)))

struct maker {
	const struct way_step *steps;
	size_t n;
	enum replay_variant variant;
	struct replay_use use;
	struct code code;
	struct replay_code *out;
	int counter; /* a general register; -1: a place in memory */
	bool changed;
};

/* ---- what the loop is made of ---- */

static bool is_conditional(const uint8_t *bytes)
{
	return (bytes[0] & 0xf0) == 0x70 || (bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80);
}

static bool is_jump(const uint8_t *bytes)
{
	return bytes[0] == 0xeb || bytes[0] == 0xe9;
}

static bool is_branch(const struct way_step *step)
{
	return is_conditional(step->bytes) || is_jump(step->bytes);
}

static enum replay_why why_not(const struct full_insn *insn, const struct way_step *step)
{
	bool segment = false, scattered = false;
	if (is_branch(step))
		return REPLAY_DONE;
	if (insn->insn.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
		return REPLAY_CALLS;
	for (int i = 0; i < insn->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &insn->operands[i];
		const bool memory = operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
		segment |= memory && (operand->mem.segment == ZYDIS_REGISTER_FS ||
				      operand->mem.segment == ZYDIS_REGISTER_GS);
		scattered |= memory && operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
	}
	if (segment || scattered)
		return segment ? REPLAY_SEGMENT : REPLAY_SCATTERED;
	if (!code_may_run(insn))
		return REPLAY_REFUSED;
	return step->next == step->offset + step->length ? REPLAY_DONE : REPLAY_CALLS;
}

static void note_operand(struct maker *maker, const ZydisDecodedOperand *operand)
{
	struct replay_use *use = &maker->use;
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		const uint8_t base = general_register(operand->mem.base),
			      index = general_register(operand->mem.index);
		use->general |= base == NO_GENERAL ? 0 : 1u << base;
		use->general |= index == NO_GENERAL ? 0 : 1u << index;
	}
	if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	const uint8_t number = general_register(operand->reg.value);
	use->general |= number == NO_GENERAL ? 0 : 1u << number;
	maker->out->is_wide |= ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_ZMM;
}

static enum replay_why look_at(struct maker *maker, size_t i, int *doubles)
{
	struct full_insn *insn = &maker->use.full[i];
	struct dataflow *flow = &maker->use.flows[i];
	const struct way_step *step = &maker->steps[i];
	if (!decode_full(step->bytes, step->length, insn) || insn->insn.length != step->length ||
	    !dataflow_of_bytes(step->bytes, step->length, flow))
		return REPLAY_UNDECODED;
	const enum replay_why why = why_not(insn, step);
	for (int k = 0; k < insn->insn.operand_count && why == REPLAY_DONE; k++)
		note_operand(maker, &insn->operands[k]);
	for (unsigned w = 0; w < flow->n_writes && why == REPLAY_DONE; w++)
		if (flow->writes[w] >= REGISTER_VECTOR && flow->writes[w] < REGISTER_MASK)
			maker->use.vectors_written |= 1u << (flow->writes[w] - REGISTER_VECTOR);
	if (flow->work.flop_lanes)
		*doubles += flow->work.flop_precision == PRECISION_SINGLE ? -1 : 1;
	return why;
}

static bool has_accesses(const struct replay_use *use)
{
	bool found = false;
	for (size_t i = 0; i < use->n; i++)
		found |= use->flows[i].loads || use->flows[i].stores;
	return found;
}

static enum replay_why look(struct maker *maker)
{
	enum replay_why why = REPLAY_DONE;
	int doubles = 0;
	maker->use.n = maker->n;
	for (size_t i = 0; i < maker->n && why == REPLAY_DONE; i++)
		why = look_at(maker, i, &doubles);
	if (why != REPLAY_DONE)
		return why;
	if (maker->variant == REPLAY_MEMORY && !has_accesses(&maker->use))
		return REPLAY_NO_VARIANT;
	maker->out->single = doubles < 0;
	maker->counter = -1;
	for (int i = 15; i >= 0; i--)
		if (i != 4 && !(maker->use.general >> i & 1))
			maker->counter = i;
	replay_find_addresses(&maker->use);
	return REPLAY_DONE;
}

/* ---- our own code ---- */

/* An instruction of REX.W, opcode and a place of the state, with a register or opcode's digit. */
static void add_state(struct code *code, uint8_t opcode, int reg, int address)
{
	uint8_t bytes[8] = {(uint8_t)(0x48 | (reg >> 3) << 2), opcode,
			    (uint8_t)(0x04 | (reg & 7) << 3), 0x25};
	memcpy(bytes + 4, &address, sizeof(address));
	code_add_bytes(code, bytes, sizeof(bytes));
}

#define MOV_FROM 0x8b
#define MOV_TO 0x89
#define DEC 0xff, 1

static bool has_encoding(const struct maker *maker, ZydisInstructionEncoding encoding)
{
	bool found = false;
	for (size_t i = 0; i < maker->n; i++)
		found |= maker->use.full[i].insn.encoding == encoding;
	return found;
}

/* As wide as the loop's own: code without VEX must not find anything in the upper halves. */
static void add_vectors(const struct maker *maker, struct code *code)
{
	static const uint8_t zero_upper[] = {0xc5, 0xf8, 0x77}, base[] = {0x41, 0xbe};
	const bool evex = has_encoding(maker, ZYDIS_INSTRUCTION_ENCODING_EVEX);
	const char *const load = evex ? "vmovups zmm, m512"
				 : has_encoding(maker, ZYDIS_INSTRUCTION_ENCODING_VEX)
					 ? "vmovups ymm, m256"
					 : "movups xmm, m128";
	const int place = FIELD(vector), ones = FIELD(ones) - place;
	if (cpu_has(CPU_AVX))
		code_add_bytes(code, zero_upper, sizeof(zero_upper));
	code_add_bytes(code, base, sizeof(base)); /* mov r14d, … */
	code_add_bytes(code, &place, sizeof(place));
	for (int i = 0; i < (evex ? 32 : 16); i++)
		code_add_named(code, load, i, 0, 0);
	for (int k = 1; k < 8 && cpu_has(CPU_AVX512F | CPU_AVX512BW); k++)
		code_add_named(code, "kmovq k, m64", k, ones, 0);
}

static const uint8_t fence[] = {0x0f, 0xae, 0xe8};

/* Returns where a pass begins. */
static size_t add_start(struct maker *maker)
{
	static const uint8_t push[] = {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
	struct code *code = &maker->code;
	code_add_bytes(code, push, sizeof(push));
	add_state(code, MOV_TO, 4, FIELD(stack));
	add_state(code, MOV_TO, 7, FIELD(passes));
	add_state(code, MOV_TO, 6, FIELD(repeats));
	const size_t pass = code->size;
	add_state(code, MOV_FROM, 0, FIELD(repeats));
	add_state(code, MOV_TO, 0, FIELD(left));
	add_vectors(maker, code);
	for (int i = 0; i < 16; i++)
		add_state(code, MOV_FROM, i, FIELD(general) + 8 * i);
	if (maker->counter >= 0)
		add_state(code, MOV_FROM, maker->counter, FIELD(repeats));
	code_add_bytes(code, "\xf8", 1); /* clc */
	code_add_bytes(code, fence, sizeof(fence));
	return pass;
}

static void add_back(struct code *code, size_t to)
{
	uint8_t jump[6] = {0x0f, 0x85};
	const int32_t distance = (int32_t)to - (int32_t)(code->size + sizeof(jump));
	memcpy(jump + 2, &distance, sizeof(distance));
	code_add_bytes(code, jump, sizeof(jump));
}

static void add_end(struct maker *maker, size_t turns, size_t pass)
{
	static const uint8_t zero_upper[] = {0xc5, 0xf8, 0x77};
	static const uint8_t pop[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d,
				      0x41, 0x5c, 0x5d, 0x5b, 0xc3};
	struct code *code = &maker->code;
	const uint8_t dec[] = {(uint8_t)(0x48 | maker->counter >> 3), 0xff,
			       (uint8_t)(0xc8 | (maker->counter & 7))};
	if (maker->counter >= 0)
		code_add_bytes(code, dec, sizeof(dec));
	else
		add_state(code, DEC, FIELD(left));
	add_back(code, turns);
	code_add_bytes(code, fence, sizeof(fence));
	add_state(code, DEC, FIELD(passes));
	add_back(code, pass);
	add_state(code, MOV_FROM, 4, FIELD(stack));
	if (cpu_has(CPU_AVX))
		code_add_bytes(code, zero_upper, sizeof(zero_upper));
	code_add_bytes(code, pop, sizeof(pop));
}

/* ---- the turns ---- */

static size_t placed(size_t at, uint64_t offset)
{
	return at + (offset - at) % LINE;
}

static void fill_to(struct code *code, size_t at)
{
	while (code->size < at && !code->failed)
		code_add_bytes(code, "\x90", 1);
}

static void note_branch(struct maker *maker, const struct way_step *step, bool is_taken)
{
	struct replay_code *out = maker->out;
	const size_t room = sizeof(out->branches) / sizeof(*out->branches);
	maker->code.failed |= out->n_branches == room;
	if (maker->code.failed)
		return;
	const uint32_t pc = (uint32_t)maker->code.size;
	out->branches[out->n_branches++] =
		(struct replay_branch){pc + (step->length > 2), pc, is_taken};
}

/* With its own bytes but for where it leads to, `distance` behind itself. */
static void add_branch_bytes(struct code *code, const struct way_step *step, size_t distance)
{
	uint8_t bytes[LINE];
	const int32_t far = (int32_t)distance;
	memcpy(bytes, step->bytes, step->length);
	if (step->length == 2)
		bytes[1] = (uint8_t)distance;
	else
		memcpy(bytes + step->length - sizeof(far), &far, sizeof(far));
	code_add_bytes(code, bytes, step->length);
}

/* `is_last`: the counter comes behind it, and leads back. */
static void add_branch(struct maker *maker, const struct way_step *step, bool is_last)
{
	struct code *code = &maker->code;
	const bool conditional = is_conditional(step->bytes);
	const bool is_taken = !is_last && step->next != step->offset + step->length;
	if (!conditional && is_last)
		return;
	if (conditional)
		note_branch(maker, step, is_taken);
	if (!is_taken) {
		add_branch_bytes(code, step, 0);
		return;
	}
	const size_t end = code->size + step->length;
	const size_t target = placed(end + (conditional ? 2 : 0), step->next);
	const uint8_t jump[] = {0xeb, (uint8_t)(target - end - 2)};
	add_branch_bytes(code, step, target - end);
	if (conditional)
		code_add_bytes(code, jump, sizeof(jump));
	fill_to(code, target);
}

static enum replay_why add_turn(struct maker *maker, bool is_last)
{
	enum replay_why why = REPLAY_DONE;
	for (size_t i = 0; i < maker->n && why == REPLAY_DONE; i++) {
		bool changed = false;
		if (is_branch(&maker->steps[i]))
			add_branch(maker, &maker->steps[i], is_last && i + 1 == maker->n);
		else
			why = replay_variant_add(&maker->use, i, &maker->steps[i], maker->variant,
						 &maker->code, &changed);
		maker->changed |= changed;
	}
	return why;
}

static enum replay_why make(struct maker *maker)
{
	struct replay_code *out = maker->out;
	const size_t wanted = (SLOTS + maker->n - 1) / maker->n;
	enum replay_why why = look(maker);
	if (why != REPLAY_DONE)
		return why;
	out->copies = wanted > REPLAY_MOST_COPIES ? REPLAY_MOST_COPIES : (unsigned)wanted;
	const size_t pass = add_start(maker);
	fill_to(&maker->code, placed(maker->code.size, maker->steps[0].offset));
	out->from = maker->code.size;
	for (unsigned i = 0; i < out->copies && why == REPLAY_DONE; i++)
		why = add_turn(maker, i + 1 == out->copies);
	out->to = maker->code.size;
	add_end(maker, out->from, pass);
	out->size = maker->code.size;
	if (why == REPLAY_DONE && maker->code.failed)
		return REPLAY_LONG;
	return why == REPLAY_DONE && maker->variant != REPLAY_WHOLE && !maker->changed
		       ? REPLAY_NO_VARIANT
		       : why;
}

enum replay_why replay_code_make(const struct way_step *steps, size_t n,
				 enum replay_variant variant, struct replay_code *out)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	enum replay_why why = REPLAY_LONG;
	memset(out, 0, sizeof(*out));
	if (maker && n && n <= REPLAY_MOST_STEPS) {
		maker->steps = steps;
		maker->n = n;
		maker->variant = variant;
		maker->out = out;
		maker->code = (struct code){out->bytes, 0, sizeof(out->bytes), false};
		maker->use.full = calloc(n, sizeof(*maker->use.full));
		maker->use.flows = calloc(n, sizeof(*maker->use.flows));
		if (maker->use.full && maker->use.flows)
			why = make(maker);
		free(maker->use.full);
		free(maker->use.flows);
	}
	free(maker);
	return why;
}
