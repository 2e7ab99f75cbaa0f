/* Code of the compute kernels; see compute_kernels.h for what they do.
 *
 * void rf_compute_ISA_REGISTERS_PRECISION_OP_N_ADDED(uint64_t iterations [rdi],
 *						      struct compute_state * [rsi])
 *
 * Assembly, so that neither the compiler nor its options decide what is measured. */
#include "machine/kernels/function.inc.S"

#define SLOT 64
#define TILE 1024
#define OPERAND_B (5 * TILE)
#define OPERAND_C (6 * TILE)
#define OPERAND_D (7 * TILE)

#define ACCUMULATORS_3 0,1,2
#define ACCUMULATORS_4 0,1,2,3
#define ACCUMULATORS_5 ACCUMULATORS_4,4
#define ACCUMULATORS_6 ACCUMULATORS_5,5
#define ACCUMULATORS_7 ACCUMULATORS_6,6
#define ACCUMULATORS_8 ACCUMULATORS_7,7
#define ACCUMULATORS_10 ACCUMULATORS_8,8,9
#define ACCUMULATORS_12 ACCUMULATORS_10,10,11
#define ACCUMULATORS_14 ACCUMULATORS_12,12,13
#define ACCUMULATORS_16 ACCUMULATORS_14,14,15
#define ACCUMULATORS_20 ACCUMULATORS_16,16,17,18,19
#define ACCUMULATORS_24 ACCUMULATORS_20,20,21,22,23

/* Register files: move, register prefix, registers of the operands b, c and d (d only in dot). */
#define REGISTERS_zmm32 vmovups, zmm, 31, 30, 29
#define REGISTERS_ymm32 vmovups, ymm, 31, 30, 29
#define REGISTERS_xmm32 vmovups, xmm, 31, 30, 29
#define REGISTERS_xmm32_scalar REGISTERS_xmm32
#define REGISTERS_ymm16 vmovups, ymm, 15, 14, 13
#define REGISTERS_xmm16 movups, xmm, 15, 14, 13

	/* Ends the loop at label 1. */
	.macro loop_back
	dec	%rdi
	jnz	1b
	.endm

	.macro clear_uppers_xmm
	.endm
	.macro clear_uppers_ymm
	vzeroupper
	.endm
	.macro clear_uppers_zmm
	vzeroupper
	.endm

	/* A step of register r with the operand x, which is b and c by turns (in dot c and d); see
	 * compute_kernels.h. */
	.macro step_fma insn, reg, r, b, c, x
	\insn	%\reg\c, %\reg\b, %\reg\r	/* r = b * r + c */
	.endm
	.macro step_vex insn, reg, r, b, c, x
	\insn	%\reg\x, %\reg\r, %\reg\r
	.endm
	.macro step_sse insn, reg, r, b, c, x
	\insn	%\reg\x, %\reg\r
	.endm
	.macro step_dot insn, reg, r, b, c, x
	\insn	%\reg\x, %\reg\b, %\reg\r
	.endm
	/* The first step takes b, the others what the one before left. */
	.macro step_root insn, reg, r, b, c, x
	.if	step
	\insn	%\reg\r, %\reg\r
	.else
	\insn	%\reg\b, %\reg\r
	.endif
	.endm
	.macro step_scalar_root insn, reg, r, b, c, x
	.if	step
	\insn	%\reg\r, %\reg\r, %\reg\r
	.else
	\insn	%\reg\b, %\reg\r, %\reg\r
	.endif
	.endm

	/* `steps` times one step of each accumulator, with the operands `even` and `odd` by turns. */
	.macro all_steps form, insn, steps, reg, b, c, even, odd, accumulators:vararg
	.set	step, 0
	.rept	\steps
	.irp r, \accumulators
	.if	step & 1
	step_\form "\insn", \reg, \r, \b, \c, \odd
	.else
	step_\form "\insn", \reg, \r, \b, \c, \even
	.endif
	.endr
	.set	step, step + 1
	.endr
	.endm

	.macro vector_kernel name, form, insn, steps, mov, reg, b, c, d, accumulators:vararg
	begin_function \name
	\mov	OPERAND_B(%rsi), %\reg\b
	\mov	OPERAND_C(%rsi), %\reg\c
	.ifc	\form, dot
	\mov	OPERAND_D(%rsi), %\reg\d
	.endif
	.irp r, \accumulators
	\mov	\r*SLOT(%rsi), %\reg\r
	.endr
	.p2align 6
1:
	.ifc	\form, dot
	all_steps dot, "\insn", \steps, \reg, \b, \c, \c, \d, \accumulators
	.else
	all_steps \form, "\insn", \steps, \reg, \b, \c, \b, \c, \accumulators
	.endif
	loop_back
	.irp r, \accumulators
	\mov	%\reg\r, \r*SLOT(%rsi)
	.endr
	clear_uppers_\reg
	end_function \name
	.endm

	/* The next accumulator of each kind in turn: products run through 0 … n - 1, sums through n …
	 * n + n_added - 1; a sum goes up in one round and down in the next, a multiplication takes b
	 * in one and c in the next. */
	.macro next_product how, suffix, reg, b, c, n
	product_\how \suffix, \reg, \b, \c, %(n_products % \n), %((n_products / \n) & 1)
	.set	n_products, n_products + 1
	.endm
	.macro product_fma suffix, reg, b, c, r, odd
	vfmadd213\suffix %\reg\c, %\reg\b, %\reg\r
	.endm
	.macro product_vex suffix, reg, b, c, r, odd
	.if	\odd
	vmul\suffix %\reg\c, %\reg\r, %\reg\r
	.else
	vmul\suffix %\reg\b, %\reg\r, %\reg\r
	.endif
	.endm
	.macro product_sse suffix, reg, b, c, r, odd
	.if	\odd
	mul\suffix %\reg\c, %\reg\r
	.else
	mul\suffix %\reg\b, %\reg\r
	.endif
	.endm
	.macro product_x87 suffix, reg, b, c, r, odd
	x87_step fmul, %(\r + 1)
	.endm
	.macro next_sum how, suffix, reg, b, c, n, n_added
	sum_\how \suffix, \reg, \b, \c, %(n_sums % \n_added + \n), %((n_sums / \n_added) & 1)
	.set	n_sums, n_sums + 1
	.endm
	.macro sum_fma suffix, reg, b, c, r, odd
	sum_vex \suffix, \reg, \b, \c, \r, \odd
	.endm
	.macro sum_vex suffix, reg, b, c, r, odd
	.if	\odd
	vsub\suffix %\reg\c, %\reg\r, %\reg\r
	.else
	vadd\suffix %\reg\c, %\reg\r, %\reg\r
	.endif
	.endm
	.macro sum_sse suffix, reg, b, c, r, odd
	.if	\odd
	sub\suffix %\reg\c, %\reg\r
	.else
	add\suffix %\reg\c, %\reg\r
	.endif
	.endm
	.macro sum_x87 suffix, reg, b, c, r, odd
	x87_step fadd, %(\r + 1)
	.endm
	/* Divisions in the place of sums: by b in one round, by c in the next. */
	.macro product_vex_div suffix, reg, b, c, r, odd
	product_vex \suffix, \reg, \b, \c, \r, \odd
	.endm
	.macro product_sse_div suffix, reg, b, c, r, odd
	product_sse \suffix, \reg, \b, \c, \r, \odd
	.endm
	.macro sum_vex_div suffix, reg, b, c, r, odd
	.if	\odd
	vdiv\suffix %\reg\c, %\reg\r, %\reg\r
	.else
	vdiv\suffix %\reg\b, %\reg\r, %\reg\r
	.endif
	.endm
	.macro sum_sse_div suffix, reg, b, c, r, odd
	.if	\odd
	div\suffix %\reg\c, %\reg\r
	.else
	div\suffix %\reg\b, %\reg\r
	.endif
	.endm
	.macro x87_step insn, r
	\insn	%st, %st(\r)
	.endm

	.macro group_1_1 how, suffix, reg, b, c, n, n_added
	next_product \how, \suffix, \reg, \b, \c, \n
	next_sum \how, \suffix, \reg, \b, \c, \n, \n_added
	.endm
	.macro group_2_1 how, suffix, reg, b, c, n, n_added
	next_product \how, \suffix, \reg, \b, \c, \n
	next_sum \how, \suffix, \reg, \b, \c, \n, \n_added
	next_product \how, \suffix, \reg, \b, \c, \n
	.endm
	.macro group_1_2 how, suffix, reg, b, c, n, n_added
	next_sum \how, \suffix, \reg, \b, \c, \n, \n_added
	next_product \how, \suffix, \reg, \b, \c, \n
	next_sum \how, \suffix, \reg, \b, \c, \n, \n_added
	.endm
	.macro group_16_1 how, suffix, reg, b, c, n, n_added
	next_sum \how, \suffix, \reg, \b, \c, \n, \n_added
	.rept	16
	next_product \how, \suffix, \reg, \b, \c, \n
	.endr
	.endm
	/* The loop of a mixed row, in altmacro mode. */
	.macro mixed_loop ratio, how, suffix, groups, n, n_added, reg, b, c
	.set	n_products, 0
	.set	n_sums, 0
	.p2align 6
1:
	.rept	\groups
	group_\ratio \how, \suffix, \reg, \b, \c, \n, \n_added
	.endr
	loop_back
	.endm

	.macro mixed_kernel name, ratio, how, suffix, groups, n, n_added, mov, reg, b, c, d
	begin_function \name
	\mov	OPERAND_B(%rsi), %\reg\b
	\mov	OPERAND_C(%rsi), %\reg\c
	.set	n_moved, 0
	.altmacro
	.rept	\n + \n_added
	move_accumulator \mov, \reg, %n_moved
	.set	n_moved, n_moved + 1
	.endr
	mixed_loop \ratio, \how, \suffix, \groups, \n, \n_added, \reg, \b, \c
	.set	n_moved, 0
	.rept	\n + \n_added
	keep_accumulator \mov, \reg, %n_moved
	.set	n_moved, n_moved + 1
	.endr
	.noaltmacro
	clear_uppers_\reg
	end_function \name
	.endm
	.macro move_accumulator mov, reg, r
	\mov	\r*SLOT(%rsi), %\reg\r
	.endm
	.macro keep_accumulator mov, reg, r
	\mov	%\reg\r, \r*SLOT(%rsi)
	.endm

	/* The operand in st(0), accumulators in st(1) to st(7): slot r holds st(r + 1). */
	.macro begin_x87 name
	begin_function \name
	.irp r, 6,5,4,3,2,1,0
	fldt	\r*SLOT(%rsi)
	.endr
	fldt	OPERAND_B(%rsi)
	.endm
	.macro end_x87 name
	fstp	%st(0)
	.irp r, 0,1,2,3,4,5,6
	fstpt	\r*SLOT(%rsi)
	.endr
	end_function \name
	.endm
	.macro x87_kernel name, insn, steps
	begin_x87 \name
	.p2align 6
1:
	.rept	\steps
	.irp r, 1,2,3,4,5,6,7
	\insn	%st, %st(\r)
	.endr
	.endr
	loop_back
	end_x87 \name
	.endm
	.macro x87_mixed_kernel name, ratio, groups, n, n_added
	begin_x87 \name
	.altmacro
	mixed_loop \ratio, x87, none, \groups, \n, \n_added, none, 0, 0
	.noaltmacro
	end_x87 \name
	.endm

	/* The root is of st(0) only, so that each chain is made on a copy of the operand and put away
	 * into its accumulator, st(1) to st(6); renaming lets the chains overlap. */
	.macro x87_root_kernel name, insn, steps
	begin_function \name
	.irp r, 5,4,3,2,1,0
	fldt	\r*SLOT(%rsi)
	.endr
	fldt	OPERAND_B(%rsi)
	.p2align 6
1:
	.irp r, 2,3,4,5,6,7 /* the copy moves all down by one */
	fld	%st(0)
	.rept	\steps
	\insn
	.endr
	fstp	%st(\r)
	.endr
	loop_back
	fstp	%st(0)
	.irp r, 0,1,2,3,4,5
	fstpt	\r*SLOT(%rsi)
	.endr
	end_function \name
	.endm

#define REGISTERS_general64_6 rax,rcx,rdx,r8,r9,r10
#define REGISTERS_general64_8 REGISTERS_general64_6,r11,r12
#define REGISTERS_general64_10 REGISTERS_general64_8,r13,r14
#define REGISTERS_general64_11 REGISTERS_general64_10,r15
#define REGISTERS_general32_6 eax,ecx,edx,r8d,r9d,r10d
#define REGISTERS_general32_8 REGISTERS_general32_6,r11d,r12d
#define REGISTERS_general32_10 REGISTERS_general32_8,r13d,r14d
#define REGISTERS_general32_11 REGISTERS_general32_10,r15d
#define OPERANDS_general64 rbx, rbp
#define OPERANDS_general32 ebx, ebp

	.macro general_kernel name, insn, steps, b, c, accumulators:vararg
	begin_function \name
	save	rbx, rbp, r12, r13, r14, r15
	mov	OPERAND_B(%rsi), %\b
	mov	OPERAND_C(%rsi), %\c
	.set	slot, 0
	.irp r, \accumulators
	mov	slot(%rsi), %\r
	.set	slot, slot + SLOT
	.endr
	.p2align 6
1:
	all_steps sse, \insn, \steps, , \b, \c, \b, \c, \accumulators
	loop_back
	.set	slot, 0
	.irp r, \accumulators
	mov	%\r, slot(%rsi)
	.set	slot, slot + SLOT
	.endr
	restore	r15, r14, r13, r12, rbp, rbx
	end_function \name
	.endm

	/* b, c and d in tmm5 to tmm7: a tile instruction wants three different tiles. */
	.macro tile_kernel name, insn, steps, accumulators:vararg
	begin_function \name
	ldtilecfg tile_shapes(%rip)
	mov	$SLOT, %eax	/* a row */
	tileloadd OPERAND_B(%rsi,%rax), %tmm5
	tileloadd OPERAND_C(%rsi,%rax), %tmm6
	tileloadd OPERAND_D(%rsi,%rax), %tmm7
	.irp r, \accumulators
	tileloadd \r*TILE(%rsi,%rax), %tmm\r
	.endr
	.p2align 6
1:
	all_steps dot, "\insn", \steps, tmm, 5, 6, 6, 7, \accumulators
	loop_back
	.irp r, \accumulators
	tilestored %tmm\r, \r*TILE(%rsi,%rax)
	.endr
	tilerelease
	end_function \name
	.endm

	/* Palette 1: eight tiles of 16 rows of 64 bytes. */
	.section .rodata
	.p2align 6
tile_shapes:
	.byte	1, 0
	.zero	14
	.rept	8
	.short	64
	.endr
	.zero	16
	.rept	8
	.byte	16
	.endr
	.zero	8

	.text
#define EXPAND(macro, ...) macro __VA_ARGS__
#define VECTOR(name, form, n, steps, registers, insn) \
	EXPAND(vector_kernel, name, form, #insn, steps, REGISTERS_##registers, ACCUMULATORS_##n) ;
#define MIXED(name, ratio, how, groups, n, n_added, registers, suffix) \
	EXPAND(mixed_kernel, name, ratio, how, suffix, groups, n, n_added, REGISTERS_##registers) ;

#define KERNEL_fma(name, n, steps, n_added, registers, insn) VECTOR(name, fma, n, steps, registers, insn)
#define KERNEL_vex(name, n, steps, n_added, registers, insn) VECTOR(name, vex, n, steps, registers, insn)
#define KERNEL_sse(name, n, steps, n_added, registers, insn) VECTOR(name, sse, n, steps, registers, insn)
#define KERNEL_root(name, n, steps, n_added, registers, insn) VECTOR(name, root, n, steps, registers, insn)
#define KERNEL_scalar_root(name, n, steps, n_added, registers, insn) \
	VECTOR(name, scalar_root, n, steps, registers, insn)
#define KERNEL_dot(name, n, steps, n_added, registers, insn) VECTOR(name, dot, n, steps, registers, insn)
#define KERNEL_fma_1_1(name, n, steps, n_added, registers, suffix) \
	MIXED(name, 1_1, fma, n*steps, n, n_added, registers, suffix)
#define KERNEL_fma_2_1(name, n, steps, n_added, registers, suffix) \
	MIXED(name, 2_1, fma, n*steps/2, n, n_added, registers, suffix)
#define KERNEL_fma_1_2(name, n, steps, n_added, registers, suffix) \
	MIXED(name, 1_2, fma, n*steps, n, n_added, registers, suffix)
#define KERNEL_vex_1_1(name, n, steps, n_added, registers, suffix) \
	MIXED(name, 1_1, vex, n*steps, n, n_added, registers, suffix)
#define KERNEL_vex_1_2(name, n, steps, n_added, registers, suffix) \
	MIXED(name, 1_2, vex, n*steps, n, n_added, registers, suffix)
#define KERNEL_sse_1_1(name, n, steps, n_added, registers, suffix) \
	MIXED(name, 1_1, sse, n*steps, n, n_added, registers, suffix)
#define KERNEL_sse_1_2(name, n, steps, n_added, registers, suffix) \
	MIXED(name, 1_2, sse, n*steps, n, n_added, registers, suffix)
#define KERNEL_vex_16_1(name, n, steps, n_added, registers, suffix) \
	MIXED(name, 16_1, vex_div, n*steps/16, n, n_added, registers, suffix)
#define KERNEL_sse_16_1(name, n, steps, n_added, registers, suffix) \
	MIXED(name, 16_1, sse_div, n*steps/16, n, n_added, registers, suffix)
#define KERNEL_x87_1_1(name, n, steps, n_added, registers, insn) \
	x87_mixed_kernel name, 1_1, n*steps, n, n_added ;
#define KERNEL_x87_1_2(name, n, steps, n_added, registers, insn) \
	x87_mixed_kernel name, 1_2, n*steps, n, n_added ;
#define KERNEL_x87(name, n, steps, n_added, registers, insn) x87_kernel name, insn, steps ;
#define KERNEL_x87_root(name, n, steps, n_added, registers, insn) x87_root_kernel name, insn, steps ;
#define KERNEL_general(name, n, steps, n_added, registers, insn) \
	EXPAND(general_kernel, name, insn, steps, OPERANDS_##registers, REGISTERS_##registers##_##n) ;
#define KERNEL_tile(name, n, steps, n_added, registers, insn) \
	EXPAND(tile_kernel, name, insn, steps, ACCUMULATORS_##n) ;

#define KERNEL(n, steps, n_added, added_steps, isa, precision, op, quick, needs, form, registers, insn)     \
	KERNEL_##form(rf_compute_##isa##_##registers##_##precision##_##op##_##n##_##n_added, n, steps,     \
		      n_added, registers, insn)
#include "machine/kernels/compute_kernels.def"

	.section .note.GNU-stack, "", @progbits
