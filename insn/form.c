/* What an instruction is apart from its registers, addresses and values. */
#include "insn/form.h"

#include "base/search.h"
#include "insn/decoder.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = {
#define KIND(name, word) word,
#include "insn/form_kinds.def"
#undef KIND
};

/* ---- kinds of operands ---- */

static enum form_kind general_kind(unsigned bits)
{
	return bits == 8 ? KIND_R8 : bits == 16 ? KIND_R16 : bits == 32 ? KIND_R32 : KIND_R64;
}

static enum form_kind vector_kind(unsigned bits)
{
	return bits <= 128 ? KIND_XMM : bits == 256 ? KIND_YMM : KIND_ZMM;
}

static enum form_kind register_kind(ZydisRegister reg)
{
	static const struct {
		ZydisRegisterClass class;
		enum form_kind kind;
	} kinds[] = {{ZYDIS_REGCLASS_GPR8, KIND_R8},   {ZYDIS_REGCLASS_GPR16, KIND_R16},
		     {ZYDIS_REGCLASS_GPR32, KIND_R32}, {ZYDIS_REGCLASS_GPR64, KIND_R64},
		     {ZYDIS_REGCLASS_MMX, KIND_MM},    {ZYDIS_REGCLASS_XMM, KIND_XMM},
		     {ZYDIS_REGCLASS_YMM, KIND_YMM},   {ZYDIS_REGCLASS_ZMM, KIND_ZMM},
		     {ZYDIS_REGCLASS_MASK, KIND_K},    {ZYDIS_REGCLASS_X87, KIND_ST},
		     {ZYDIS_REGCLASS_TMM, KIND_TMM}};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (ZydisRegisterGetClass(reg) == kinds[i].class)
			return kinds[i].kind;
	return KIND_OTHER;
}

static enum form_kind immediate_kind(const ZydisDecodedOperand *operand)
{
	if (operand->imm.is_relative)
		return KIND_REL;
	return operand->size <= 8    ? KIND_I8
	       : operand->size == 16 ? KIND_I16
	       : operand->size == 32 ? KIND_I32
				     : KIND_I64;
}

static enum form_kind address_kind(const ZydisDecodedOperandMem *mem)
{
	const bool base = mem->base != ZYDIS_REGISTER_NONE,
		   index = mem->index != ZYDIS_REGISTER_NONE,
		   displaced = mem->disp.has_displacement && mem->disp.value != 0;
	if (mem->base == ZYDIS_REGISTER_RIP)
		return KIND_A_RIP;
	if (!index)
		return !base ? KIND_A_D : displaced ? KIND_A_BD : KIND_A_B;
	if (!base)
		return displaced ? KIND_A_SD : KIND_A_S;
	if (mem->scale > 1)
		return displaced ? KIND_A_BSD : KIND_A_BS;
	return displaced ? KIND_A_BID : KIND_A_BI;
}

static enum form_kind memory_kind(const ZydisDecodedOperand *operand)
{
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		const enum form_kind index = register_kind(operand->mem.index);
		return index == KIND_XMM ? KIND_VX : index == KIND_YMM ? KIND_VY : KIND_VZ;
	}
	switch (operand->size) {
	case 8:
		return KIND_M8;
	case 16:
		return KIND_M16;
	case 32:
		return KIND_M32;
	case 64:
		return KIND_M64;
	case 80:
		return KIND_M80;
	case 128:
		return KIND_M128;
	case 256:
		return KIND_M256;
	case 512:
		return KIND_M512;
	default:
		return KIND_M;
	}
}

/* ---- the part in memory ---- */

static bool is_vector(enum form_kind kind)
{
	return kind >= KIND_XMM && kind <= KIND_ZMM;
}

/* The widest vector register among the operands, in bits; 0: there is none. */
static unsigned widest_vector(const struct full_insn *insn)
{
	unsigned bits = 0;
	for (int i = 0; i < insn->insn.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &insn->operands[i];
		const enum form_kind kind = operand->type == ZYDIS_OPERAND_TYPE_REGISTER
						    ? register_kind(operand->reg.value)
						    : KIND_NONE;
		const unsigned of = is_vector(kind) ? 128u << (kind - KIND_XMM) : 0;
		bits = of > bits ? of : bits;
	}
	return bits;
}

static bool has_word(const char *name, const char *const *list, size_t n)
{
	name += *name == 'v';
	for (size_t i = 0; i < n; i++)
		if (strncmp(name, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}
#define NAMED(name, list) has_word(name, list, sizeof(list) / sizeof(*list))

/* Vector instructions whose operand in memory could also be a general register. */
static bool takes_general(const char *name)
{
	static const char *const list[] = {"cvtsi2", "cvtusi2", "pinsr", "pextr", "extractps"};
	return NAMED(name, list);
}

/* What exists with memory alone, or does another thing with registers. */
static bool keeps_memory(const struct full_insn *insn)
{
	static const char *const list[] = {"movhp",     "movlp",    "maskmov", "pmaskmov",
					   "pcompress", "compress", "pexpand", "expand",
					   "movbe",     "cmpxchg",  "xchg",    "xadd",
					   "movdir64",  "enqcmd"};
	const ZydisInstructionCategory category = insn->insn.meta.category;
	return (insn->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK) ||
	       insn->insn.meta.isa_set == ZYDIS_ISA_SET_X87 ||
	       category == ZYDIS_CATEGORY_STRINGOP || category == ZYDIS_CATEGORY_AMX_TILE ||
	       NAMED(ZydisMnemonicGetString(insn->insn.mnemonic), list);
}

/* Moves that are done by the units that load or store: from memory also what spreads one value of
 * 32 or 64 bits or more over a register. */
static bool is_plain_move(const struct full_insn *insn, const ZydisDecodedOperand *memory)
{
	const ZydisInstructionCategory category = insn->insn.meta.category;
	const bool loads = memory->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	const ZydisMaskMode mask = insn->insn.avx.mask.mode;
	if (mask == ZYDIS_MASK_MODE_MERGING)
		return false;
	if (category == ZYDIS_CATEGORY_DATAXFER || category == ZYDIS_CATEGORY_PREFETCH ||
	    category == ZYDIS_CATEGORY_POP || category == ZYDIS_CATEGORY_PUSH)
		return true;
	if (category == ZYDIS_CATEGORY_KMASK)
		return true;
	return category == ZYDIS_CATEGORY_BROADCAST && loads && memory->size >= 32;
}

static enum access_width width_of(const struct full_insn *insn, const ZydisDecodedOperand *operand)
{
	const unsigned vector = widest_vector(insn);
	const bool spreads = insn->insn.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID;
	const unsigned bits = spreads && vector ? vector : operand->size;
	if (!vector && bits <= 80)
		return ACCESS_GENERAL;
	return bits <= 128 ? ACCESS_128 : bits == 256 ? ACCESS_256 : ACCESS_512;
}

static enum form_kind register_for(const struct full_insn *insn, const ZydisDecodedOperand *operand)
{
	const unsigned vector = widest_vector(insn);
	if (!vector || takes_general(ZydisMnemonicGetString(insn->insn.mnemonic)))
		return general_kind(operand->size);
	return insn->insn.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID &&
			       insn->insn.meta.category != ZYDIS_CATEGORY_BROADCAST
		       ? vector_kind(vector)
		       : vector_kind(operand->size);
}

static void note_access(const struct full_insn *insn, const ZydisDecodedOperand *operand,
			struct form_parts *out)
{
	const enum access_width width = width_of(insn, operand);
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		out->load = width;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		out->store = width;
	out->indexed = operand->mem.index != ZYDIS_REGISTER_NONE;
}

/* The kind of an operand in memory; `plain` is set where nothing but the move is left. */
static enum form_kind split_memory(const struct full_insn *insn, const ZydisDecodedOperand *operand,
				   struct form_parts *out, bool *plain)
{
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
		return address_kind(&operand->mem);
	note_access(insn, operand, out);
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB || keeps_memory(insn)) {
		out->memory_in_form = true;
		return memory_kind(operand);
	}
	*plain |= is_plain_move(insn, operand);
	return register_for(insn, operand);
}

/* ---- forms ---- */

static enum form_branch branch_of(const struct full_insn *insn)
{
	switch (insn->insn.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return FORM_CONDITIONAL;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		return FORM_JUMP;
	default:
		return FORM_NO_BRANCH;
	}
}

bool form_keeps_rest(const struct full_insn *insn, const ZydisDecodedOperand *operand)
{
	const enum form_kind kind = register_kind(operand->reg.value);
	if (operand->actions != ZYDIS_OPERAND_ACTION_WRITE)
		return false;
	if (kind == KIND_R8 || kind == KIND_R16)
		return true;
	return kind == KIND_XMM && operand->size < 128 &&
	       insn->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
}

bool form_zeroes(const struct full_insn *insn)
{
	static const ZydisMnemonic zeroing[] = {ZYDIS_MNEMONIC_XOR,    ZYDIS_MNEMONIC_SUB,
						ZYDIS_MNEMONIC_PXOR,   ZYDIS_MNEMONIC_XORPS,
						ZYDIS_MNEMONIC_XORPD,  ZYDIS_MNEMONIC_VPXOR,
						ZYDIS_MNEMONIC_VXORPS, ZYDIS_MNEMONIC_VXORPD,
						ZYDIS_MNEMONIC_VPXORD, ZYDIS_MNEMONIC_VPXORQ};
	const int n = insn->insn.operand_count_visible;
	bool found = false;
	for (size_t i = 0; i < sizeof(zeroing) / sizeof(*zeroing); i++)
		found |= insn->insn.mnemonic == zeroing[i];
	return found && n >= 2 && insn->operands[n - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       insn->operands[n - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       insn->operands[n - 1].reg.value == insn->operands[n - 2].reg.value;
}

/* What is gone before it would be executed. */
static bool is_nothing(const struct full_insn *insn)
{
	return insn->insn.meta.category == ZYDIS_CATEGORY_NOP ||
	       insn->insn.meta.category == ZYDIS_CATEGORY_WIDENOP ||
	       insn->insn.mnemonic == ZYDIS_MNEMONIC_ENDBR64 || form_zeroes(insn);
}

static uint8_t flags_of(const struct full_insn *insn)
{
	const ZydisInstructionAttributes has = insn->insn.attributes;
	const ZydisMaskMode mask = insn->insn.avx.mask.mode;
	uint8_t flags = 0;
	if (mask == ZYDIS_MASK_MODE_MERGING || mask == ZYDIS_MASK_MODE_CONTROL)
		flags |= FORM_MASKED;
	if (mask == ZYDIS_MASK_MODE_ZEROING || mask == ZYDIS_MASK_MODE_CONTROL_ZEROING)
		flags |= FORM_MASKED | FORM_ZEROING;
	if (has & ZYDIS_ATTRIB_HAS_LOCK)
		flags |= FORM_LOCKED;
	if (has & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		flags |= FORM_REPEATED;
	return flags;
}

bool form_is_mask(const struct full_insn *insn, int i)
{
	return i > 0 && insn->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       insn->insn.avx.mask.mode != ZYDIS_MASK_MODE_INVALID &&
	       insn->operands[i].encoding == ZYDIS_OPERAND_ENCODING_MASK;
}

static enum form_kind kind_of(const struct full_insn *insn, const ZydisDecodedOperand *operand,
			      struct form_parts *out, bool *plain)
{
	switch (operand->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		return operand->reg.value == ZYDIS_REGISTER_CL &&
				       operand->visibility == ZYDIS_OPERAND_VISIBILITY_IMPLICIT
			       ? KIND_CL
			       : register_kind(operand->reg.value);
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return immediate_kind(operand);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return split_memory(insn, operand, out, plain);
	default:
		return KIND_OTHER;
	}
}

/* The stack's top, of push and pop, calls and returns. */
static void note_stack(const struct full_insn *insn, struct form_parts *out)
{
	for (int i = insn->insn.operand_count_visible; i < insn->insn.operand_count; i++)
		if (insn->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY && !out->memory_in_form)
			note_access(insn, &insn->operands[i], out);
}

void form_parts_of(const struct full_insn *insn, struct form_parts *out)
{
	const ZydisInstructionCategory category = insn->insn.meta.category;
	int n = 0;
	bool plain = category == ZYDIS_CATEGORY_PUSH || category == ZYDIS_CATEGORY_POP ||
		     is_nothing(insn);
	*out = (struct form_parts){.form.mnemonic = (uint16_t)insn->insn.mnemonic,
				   .form.flags = flags_of(insn),
				   .branch = (uint8_t)branch_of(insn)};
	out->memory_in_form = category == ZYDIS_CATEGORY_STRINGOP;
	for (int i = 0; i < insn->insn.operand_count_visible && n < FORM_OPERANDS; i++)
		if (!form_is_mask(insn, i))
			out->form.operands[n++] =
				(uint8_t)kind_of(insn, &insn->operands[i], out, &plain);
	note_stack(insn, out);
	if (out->branch == FORM_CONDITIONAL && out->form.operands[0] == KIND_REL)
		out->form.mnemonic = ZYDIS_MNEMONIC_JZ; /* on whatever condition */
	if (plain)
		out->form = (struct insn_form){0};
}

int form_count(struct insn_form form)
{
	int n = 0;
	while (n < FORM_OPERANDS && form.operands[n] != KIND_NONE)
		n++;
	return n;
}

/* ---- names ---- */

void form_name(struct insn_form form, char name[FORM_NAME])
{
	const char *mnemonic = ZydisMnemonicGetString(form.mnemonic);
	int at = snprintf(name, FORM_NAME, "%s%s%s", form.flags & FORM_LOCKED ? "lock " : "",
			  form.flags & FORM_REPEATED ? "rep " : "", mnemonic ? mnemonic : "none");
	for (int i = 0; i < form_count(form); i++)
		at += snprintf(name + at, FORM_NAME - (size_t)at, "%s%s%s%s", i ? ", " : " ",
			       form.operands[i] < FORM_N_KINDS ? words[form.operands[i]] : "?",
			       i == 0 && form.flags & FORM_MASKED ? "{k}" : "",
			       i == 0 && form.flags & FORM_ZEROING ? "{z}" : "");
}

/* Skips `word` where the text begins with it. */
static bool skip(const char **text, const char *word)
{
	const size_t n = strlen(word);
	if (strncmp(*text, word, n) != 0)
		return false;
	*text += n;
	return true;
}

/* Zydis' mnemonics are in the order of their names. */
static bool find_mnemonic(const char *word, uint16_t *mnemonic)
{
	const size_t n = ZYDIS_MNEMONIC_MAX_VALUE;
	const size_t at =
		rf_search(n, i, strcmp(ZydisMnemonicGetString((ZydisMnemonic)(i + 1)), word) < 0);
	if (at >= n || strcmp(ZydisMnemonicGetString((ZydisMnemonic)(at + 1)), word) != 0)
		return false;
	*mnemonic = (uint16_t)(at + 1);
	return true;
}

static bool read_operand(const char **text, int i, struct insn_form *form)
{
	char word[16];
	size_t n = strcspn(*text, ",{");
	if (n >= sizeof(word))
		return false;
	memcpy(word, *text, n);
	word[n] = '\0';
	*text += n;
	for (uint8_t kind = KIND_NONE + 1; kind < FORM_N_KINDS; kind++)
		if (strcmp(words[kind], word) == 0)
			form->operands[i] = kind;
	if (i == 0 && skip(text, "{k}"))
		form->flags |= FORM_MASKED;
	if (i == 0 && skip(text, "{z}"))
		form->flags |= FORM_ZEROING;
	return form->operands[i] != KIND_NONE;
}

bool form_find(const char *name, struct insn_form *out)
{
	struct insn_form form = {0};
	char mnemonic[32];
	form.flags |= skip(&name, "lock ") ? FORM_LOCKED : 0;
	form.flags |= skip(&name, "rep ") ? FORM_REPEATED : 0;
	const size_t n = strcspn(name, " ");
	if (n >= sizeof(mnemonic))
		return false;
	memcpy(mnemonic, name, n);
	mnemonic[n] = '\0';
	if (!find_mnemonic(mnemonic, &form.mnemonic))
		return false;
	name += n;
	for (int i = 0; i < FORM_OPERANDS && skip(&name, i ? ", " : " "); i++)
		if (!read_operand(&name, i, &form))
			return false;
	if (*name)
		return false;
	*out = form;
	return true;
}
