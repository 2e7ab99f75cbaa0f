/* What code that measures a form gives to its operands, in chains and otherwise. */
#pragma once

#include "machine/core/timed_code.h"

enum form_class { CLASS_NONE, CLASS_GENERAL, CLASS_VECTOR, CLASS_MASK, CLASS_FLAGS };

/* The class of an operand's register. */
enum form_class form_class_of(enum form_kind kind);
/* With which vectors a loop of the form is to run. */
struct timed_kind form_timed_kind(struct insn_form form);
/* Sets registers that a form has no choice of. */
void form_fix_registers(struct insn_form form, struct form_registers *registers);
/* Sets rax, rdx and the flags before an instruction that reads them without naming them. */
void form_add_prelude(struct code *code, const struct form_shape *shape);
