/* Operands of forms, as code that measures them chooses them. */
#include "machine/core/form_operands.h"

#include <string.h>

enum form_class form_class_of(enum form_kind kind)
{
	if (kind >= KIND_R8 && kind <= KIND_CL)
		return CLASS_GENERAL;
	if (kind >= KIND_XMM && kind <= KIND_ZMM)
		return CLASS_VECTOR;
	return kind == KIND_K ? CLASS_MASK : CLASS_NONE;
}

struct timed_kind form_timed_kind(struct insn_form form)
{
	struct timed_kind kind = {KIND_NONE, false};
	const char *name = ZydisMnemonicGetString(form.mnemonic);
	for (int i = 0; i < form_count(form); i++)
		if (form_class_of(form.operands[i]) == CLASS_VECTOR &&
		    form.operands[i] > kind.vectors)
			kind.vectors = form.operands[i];
	kind.single = strstr(name, "ps") || strstr(name, "ss");
	return kind;
}

/* Variable blends of SSE4 take their mask from xmm0; those of AVX get all ones. */
void form_fix_registers(struct insn_form form, struct form_registers *registers)
{
	const char *name = ZydisMnemonicGetString(form.mnemonic);
	if (!strstr(name, "blendv"))
		return;
	if (*name == 'v')
		registers->number[3] = CODE_ONES;
	else
		registers->number[2] = 0;
}

void form_add_prelude(struct code *code, const struct form_shape *shape)
{
	if (shape->reads_rax)
		code_add_named(code, "mov r64, r64", 0, 12, 0);
	if (shape->divides || shape->reads_rdx)
		code_add_named(code, "xor r32, r32", 2, 2, 0);
	if (shape->reads_flags && shape->writes_flags)
		code_add_named(code, "test r64, r64", CODE_CONSTANT, CODE_CONSTANT, 0);
}
