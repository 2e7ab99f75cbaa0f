/* Forms as code: what is encoded is decoded as the same form, and nothing that could do harm is. */
#include "insn/dataflow.h"
#include "machine/core/form_code.h"
#include "machine/core/form_latency.h"
#include "machine/data/core_facts.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const common[] = {
#define FORM(name) name,
#include "machine/core/forms.def"
#undef FORM
};

Test(form_code, what_is_encoded_is_decoded_as_the_same_form)
{
	static const struct form_registers registers = {{3, 5, 6, 7, 8}};
	size_t n = 0;
	for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++) {
		struct insn_form form;
		struct form_shape shape;
		struct dataflow flow;
		uint8_t bytes[32];
		char name[FORM_NAME];
		struct code code = {bytes, 0, sizeof(bytes), false};
		cr_assert(form_find(common[i], &form), "%s", common[i]);
		form_name(form, name);
		cr_expect_str_eq(name, common[i]);
		if (!form_shape_of(form, &shape))
			continue;
		code_add(&code, form, &registers);
		cr_assert(!code.failed, "%s", common[i]);
		cr_assert(dataflow_of_bytes(bytes, code.size, &flow));
		/* plain moves from and to memory have no form, nor has a nop */
		if (!flow.parts.form.mnemonic)
			continue;
		cr_expect_eq(form_key(flow.parts.form), form_key(form), "%s", common[i]);
		n++;
	}
	cr_expect_gt(n, 150, "only %zu", n);
}

Test(form_code, what_could_do_harm_is_refused)
{
	static const char *const harmful[] = {
		"hlt",
		"cli",
		"syscall",
		"rep movsb",
		"movsb",
		"call rel",
		"ret",
		"jmp rel",
		"push r64",
		"pop r64",
		"cpuid",
		"rdtsc",
		"wrmsr",
		"int3",
		"std",
		"popfq",
		"vzeroall",
		"ldmxcsr m32",
		"fld m64",
		"fsin",
		"mov other, r16",
		"div r8",
		"idiv r16",
		"xsave m",
		"clflush m8",
		"maskmovdqu xmm, xmm",
		"in r8, i8",
		"enter i16, i8",
		"leave",
		"xgetbv",
		"rdrand r64",
		"lock add m64, r64 x",
		"mwait",
		"wbinvd",
		"ud2",
	};
	for (size_t i = 0; i < sizeof(harmful) / sizeof(*harmful); i++) {
		struct insn_form form;
		struct form_shape shape;
		if (form_find(harmful[i], &form))
			cr_expect(!form_shape_of(form, &shape), "%s", harmful[i]);
	}
}

/* Every mnemonic with every pair of kinds: what is taken must be plain by Zydis' own word. */
Test(form_code, of_all_mnemonics_none_is_privileged_or_goes_elsewhere)
{
	static const uint8_t kinds[] = {KIND_NONE, KIND_R8,    KIND_R64, KIND_XMM, KIND_I8,
					KIND_M64,  KIND_OTHER, KIND_REL, KIND_ST};
	const size_t n_kinds = sizeof(kinds);
	for (uint16_t mnemonic = 1; mnemonic <= ZYDIS_MNEMONIC_MAX_VALUE; mnemonic++)
		for (size_t k = 0; k < n_kinds * n_kinds; k++) {
			const struct insn_form form = {mnemonic,
						       {kinds[k % n_kinds], kinds[k / n_kinds]},
						       0};
			static const struct form_registers registers = {{3, 5, 6, 7, 8}};
			uint8_t bytes[32];
			struct code code = {bytes, 0, sizeof(bytes), false};
			struct form_shape shape;
			struct full_insn insn;
			if (mnemonic == ZYDIS_MNEMONIC_JZ || mnemonic == ZYDIS_MNEMONIC_NOP ||
			    !form_shape_of(form, &shape))
				continue;
			code_add(&code, form, &registers);
			cr_assert(!code.failed && decode_full(bytes, code.size, &insn));
			cr_expect(!(insn.insn.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED));
			cr_expect_eq(insn.insn.meta.branch_type, ZYDIS_BRANCH_TYPE_NONE);
			for (int i = 0; i < insn.insn.operand_count; i++)
				if (insn.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
				    insn.operands[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
					cr_expect_eq(insn.operands[i].mem.base, ZYDIS_REGISTER_R14);
		}
}

static bool reads(const struct dataflow *flow, int number)
{
	for (unsigned r = 0; r < flow->n_reads; r++)
		if (flow->reads[r] == number)
			return true;
	return false;
}

/* The value goes through all instructions, and no register is moved to itself: that takes longer
 * than other moves where those are done by giving registers other names. */
Test(form_code, a_chain_with_moves_goes_from_register_to_register)
{
	static const char *const moves[] = {"mov r64, r64", "mov r32, r32", "movzx r32, r8",
					    "movaps xmm, xmm"};
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		uint8_t bytes[1024];
		struct code code = {bytes, 0, sizeof(bytes), false};
		struct insn_form form;
		struct form_shape shape;
		struct dataflow flow;
		ZydisDecodedInstruction head;
		int before = -1, n = 0;
		cr_assert(form_find(moves[i], &form) && form_shape_of(form, &shape));
		form_add_mixed_chain(&code, form, &shape, true);
		cr_assert(!code.failed);
		for (size_t at = 0; at < code.size; at += head.length, n++) {
			cr_assert(decode_head(bytes + at, code.size - at, &head));
			cr_assert(dataflow_of_bytes(bytes + at, head.length, &flow));
			cr_assert(before < 0 || reads(&flow, before), "%s %d", moves[i], n);
			before = flow.writes[0];
			cr_assert(form_key(flow.parts.form) != form_key(form) ||
					  !reads(&flow, before),
				  "%s", moves[i]);
		}
		cr_assert_eq(n, 48);
	}
}
