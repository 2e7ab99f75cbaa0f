/* A second opinion on flop and vector integer lanes, slow and obvious: by the spelling of the
 * mnemonic and the widths of the registers, without the tables. */
#pragma once

#include "insn/work.h"

#include <Zydis/Zydis.h>
#include <string.h>

struct reference {
	int kind, precision, lanes, per_lane; /* kind -1: no flop */
};

static inline bool starts_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static inline bool ends_with(const char *name, const char *suffix)
{
	size_t length = strlen(name), n = strlen(suffix);
	return length >= n && !strcmp(name + length - n, suffix);
}

static inline bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

/* Width in bits of the widest vector register among the operands. */
static inline int reference_bits(const ZydisDecodedInstruction *insn,
				 const ZydisDecodedOperand *operands)
{
	int bits = 0;
	for (int i = 0; i < insn->operand_count_visible; i++) {
		if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		ZydisRegisterClass class = ZydisRegisterGetClass(operands[i].reg.value);
		int width = class == ZYDIS_REGCLASS_MMX   ? 64
			    : class == ZYDIS_REGCLASS_XMM ? 128
			    : class == ZYDIS_REGCLASS_YMM ? 256
			    : class == ZYDIS_REGCLASS_ZMM ? 512
							  : 0;
		bits = width > bits ? width : bits;
	}
	return bits;
}

static inline struct reference reference_x87(const char *name)
{
	static const char *const adds[] = {"fadd",  "faddp", "fiadd",  "fsub",   "fsubp",
					   "fisub", "fsubr", "fsubrp", "fisubr", NULL};
	static const char *const muls[] = {"fmul", "fmulp", "fimul", NULL};
	static const char *const divs[] = {"fdiv",   "fdivp",  "fidiv", "fdivr",
					   "fdivrp", "fidivr", NULL};
	static const char *const others[] = {"fprem",   "fprem1",  "fsin",   "fcos",
					     "fsincos", "fptan",   "fpatan", "f2xm1",
					     "fyl2x",   "fyl2xp1", NULL};
	struct reference r = {-1, PRECISION_X87, 1, 1};
	if (is_one_of(name, adds))
		r.kind = FLOP_ADD;
	else if (is_one_of(name, muls))
		r.kind = FLOP_MUL;
	else if (is_one_of(name, divs))
		r.kind = FLOP_DIV;
	else if (!strcmp(name, "fsqrt"))
		r.kind = FLOP_SQRT;
	else if (is_one_of(name, others))
		r.kind = FLOP_OTHER;
	if (!strcmp(name, "fsincos"))
		r.per_lane = 2;
	return r;
}

static inline struct reference reference_3dnow(const char *name)
{
	struct reference r = {-1, PRECISION_SINGLE, 2, 1};
	if (starts_with(name, "pi2f") || starts_with(name, "pf2i"))
		return r;
	if (starts_with(name, "pfadd") || starts_with(name, "pfsub") || ends_with(name, "acc"))
		r.kind = FLOP_ADD;
	else if (starts_with(name, "pfmul"))
		r.kind = FLOP_MUL;
	else if (starts_with(name, "pfm") || strchr(name, '1') || strchr(name, '2'))
		r.kind = FLOP_OTHER; /* minimum, maximum, Newton steps */
	else if (!strcmp(name, "pfrcp") || !strcmp(name, "pfsqrt"))
		r = (struct reference){FLOP_OTHER, PRECISION_SINGLE, 1, 1};
	return r;
}

static inline int reference_kind(const char *stem)
{
	static const struct {
		const char *prefix;
		int kind;
	} stems[] = {
		{"addsub", FLOP_ADD},  {"add", FLOP_ADD},     {"sub", FLOP_ADD},
		{"hadd", FLOP_ADD},    {"hsub", FLOP_ADD},    {"mul", FLOP_MUL},
		{"div", FLOP_DIV},     {"sqrt", FLOP_SQRT},   {"min", FLOP_OTHER},
		{"max", FLOP_OTHER},   {"rcp", FLOP_OTHER},   {"rsqrt", FLOP_OTHER},
		{"range", FLOP_OTHER}, {"exp2", FLOP_OTHER},  {"fmadd", FLOP_FMA},
		{"fmsub", FLOP_FMA},   {"fnmadd", FLOP_FMA},  {"fnmsub", FLOP_FMA},
		{"4fmadd", FLOP_FMA},  {"4fnmadd", FLOP_FMA},
	};
	for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
		if (starts_with(stem, stems[i].prefix))
			return stems[i].kind;
	return -1;
}

/* A name that ends in ps, pd, ph, ss, sd or sh. */
static inline struct reference reference_suffix(const char *name, int bits)
{
	struct reference r = {-1, 0, 1, 1};
	size_t n = strlen(name);
	if (n < 4 || !strchr("ps", name[n - 2]) || !strchr("sdh", name[n - 1]))
		return r;
	int element = name[n - 1] == 'd' ? 64 : name[n - 1] == 's' ? 32 : 16;
	r.kind = reference_kind(name[0] == 'v' ? name + 1 : name);
	r.precision = element == 64   ? PRECISION_DOUBLE
		      : element == 32 ? PRECISION_SINGLE
				      : PRECISION_HALF;
	if (name[n - 2] == 'p')
		r.lanes = bits / element;
	r.per_lane = r.kind != FLOP_FMA ? 1 : strstr(name, "4f") ? 8 : 2;
	return r;
}

static inline struct reference reference_complex(const char *name, int bits)
{
	struct reference r = {FLOP_FMA, PRECISION_HALF, bits / 32, strstr(name, "mul") ? 6 : 8};
	if (ends_with(name, "sh"))
		r.lanes = 1;
	return r;
}

/* The flop of an instruction. */
static inline struct reference reference_flop(const ZydisDecodedInstruction *insn,
					      const ZydisDecodedOperand *operands)
{
	const char *name = ZydisMnemonicGetString(insn->mnemonic);
	int bits = reference_bits(insn, operands);
	if (insn->meta.isa_ext == ZYDIS_ISA_EXT_X87)
		return reference_x87(name);
	if (insn->meta.category == ZYDIS_CATEGORY_AMD3DNOW)
		return reference_3dnow(name);
	if (!strcmp(name, "tdpbf16ps"))
		return (struct reference){FLOP_FMA, PRECISION_BFLOAT16, 4096, 4};
	if (!strcmp(name, "vdpbf16ps"))
		return (struct reference){FLOP_FMA, PRECISION_BFLOAT16, bits / 32, 4};
	if (name[0] == 'v' && (ends_with(name, "cph") || ends_with(name, "csh")))
		return reference_complex(name, bits);
	int imm = insn->raw.imm[0].value.u;
	if (ends_with(name, "dpps") && strlen(name) < 6)
		return (struct reference){
			FLOP_FMA, PRECISION_SINGLE,
			(!!(imm & 16) + !!(imm & 32) + !!(imm & 64) + !!(imm & 128)) * (bits / 128),
			2};
	if (ends_with(name, "dppd") && strlen(name) < 6)
		return (struct reference){FLOP_FMA, PRECISION_DOUBLE, !!(imm & 16) + !!(imm & 32),
					  2};
	return reference_suffix(name, bits);
}

/* Lanes of the vector integer instructions whose last letter is their element, 0 for others. */
static inline int reference_integer_lanes(const ZydisDecodedInstruction *insn,
					  const ZydisDecodedOperand *operands)
{
	static const char *const stems[] = {"padd",  "psub", "pcmpeq", "pcmpgt", "pmin",
					    "pmax",  "pabs", "psll",   "psrl",   "psra",
					    "pmull", "prol", "pror",   NULL};
	const char *name = ZydisMnemonicGetString(insn->mnemonic);
	const char *stem = name[0] == 'v' ? name + 1 : name;
	int bits = reference_bits(insn, operands);
	if (!bits || ends_with(name, "dq"))
		return 0;
	for (const char *const *s = stems; *s; s++) {
		if (!starts_with(stem, *s))
			continue;
		char last = name[strlen(name) - 1];
		return bits / (last == 'b' ? 8 : last == 'w' ? 16 : last == 'd' ? 32 : 64);
	}
	return 0;
}
