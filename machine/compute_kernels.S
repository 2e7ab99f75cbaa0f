/* Code of the compute kernels; see compute_kernels.h for the list and for what they do.
 *
 * void rf_compute_ISA_PRECISION_OP_N(uint64_t iterations [rdi], struct compute_state * [rsi])
 *
 * Assembly, so that neither the compiler nor its options decide what is measured. */
#include "machine/compute_kernels.h"

#define SLOT 64
#define OPERANDS (24 * SLOT)

#define ACCUMULATORS_7 1,2,3,4,5,6,7
#define ACCUMULATORS_8 0,1,2,3,4,5,6,7
#define ACCUMULATORS_10 ACCUMULATORS_8,8,9
#define ACCUMULATORS_12 ACCUMULATORS_10,10,11
#define ACCUMULATORS_14 ACCUMULATORS_12,12,13
#define ACCUMULATORS_16 ACCUMULATORS_14,14,15
#define ACCUMULATORS_20 ACCUMULATORS_16,16,17,18,19
#define ACCUMULATORS_24 ACCUMULATORS_20,20,21,22,23

/* Registers and moves of each width class: mov, register prefix, operand registers. */
#define REGISTERS_avx512f vmovups, zmm, 30, 31
#define REGISTERS_avx2 vmovups, ymm, 14, 15
#define REGISTERS_sse2 movups, xmm, 14, 15
#define REGISTERS_scalar movups, xmm, 14, 15

	.macro step_fma insn, reg, r, b, c
	\insn	%\reg\c, %\reg\b, %\reg\r	/* r = b * r + c */
	.endm
	.macro step_vex insn, reg, r, b, c
	\insn	%\reg\b, %\reg\r, %\reg\r
	.endm
	.macro step_sse insn, reg, r, b, c
	\insn	%\reg\b, %\reg\r
	.endm

	.macro clear_uppers_xmm
	.endm
	.macro clear_uppers_ymm
	vzeroupper
	.endm
	.macro clear_uppers_zmm
	vzeroupper
	.endm

	.macro begin_function name
	.p2align 6
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.endm

	.macro vector_kernel name, form, insn, mov, reg, b, c, accumulators:vararg
	begin_function \name
	\mov	OPERANDS(%rsi), %\reg\b
	\mov	OPERANDS+SLOT(%rsi), %\reg\c
	.irp r, \accumulators
	\mov	\r*SLOT(%rsi), %\reg\r
	.endr
	.p2align 6
1:
	.rept	COMPUTE_UNROLL
	.irp r, \accumulators
	step_\form \insn, \reg, \r, \b, \c
	.endr
	.endr
	dec	%rdi
	jnz	1b
	.irp r, \accumulators
	\mov	%\reg\r, \r*SLOT(%rsi)
	.endr
	clear_uppers_\reg
	ret
	.size	\name, . - \name
	.endm

	/* The operand in st(0), accumulators in st(1) to st(7): slot r - 1 holds st(r). */
	.macro x87_kernel name, insn, accumulators:vararg
	begin_function \name
	.irp r, 6,5,4,3,2,1,0
	fldt	\r*SLOT(%rsi)
	.endr
	fldt	OPERANDS(%rsi)
	.p2align 6
1:
	.rept	COMPUTE_UNROLL
	.irp r, \accumulators
	\insn	%st, %st(\r)
	.endr
	.endr
	dec	%rdi
	jnz	1b
	fstp	%st(0)
	.irp r, 0,1,2,3,4,5,6
	fstpt	\r*SLOT(%rsi)
	.endr
	ret
	.size	\name, . - \name
	.endm

	.text
#define EXPAND(macro, ...) macro __VA_ARGS__
#define KERNEL_fma(n, name, isa, insn) \
	EXPAND(vector_kernel, name, fma, insn, REGISTERS_##isa, ACCUMULATORS_##n) ;
#define KERNEL_vex(n, name, isa, insn) \
	EXPAND(vector_kernel, name, vex, insn, REGISTERS_##isa, ACCUMULATORS_##n) ;
#define KERNEL_sse(n, name, isa, insn) \
	EXPAND(vector_kernel, name, sse, insn, REGISTERS_##isa, ACCUMULATORS_##n) ;
#define KERNEL_x87(n, name, isa, insn) \
	EXPAND(x87_kernel, name, insn, ACCUMULATORS_##n) ;
#define KERNEL(n, isa, precision, op, needs, form, insn) \
	KERNEL_##form(n, rf_compute_##isa##_##precision##_##op##_##n, isa, insn)
COMPUTE_KERNELS(KERNEL)

	.section .note.GNU-stack, "", @progbits
