/* What the functions of the kernels begin and end with; not compiled by itself. */
	.macro begin_function name
	.p2align 6
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm

	.macro end_function name
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.macro save registers:vararg
	.irp r, \registers
	push	%\r
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %\r, 0
	.endr
	.endm
	.macro restore registers:vararg
	.irp r, \registers
	pop	%\r
	.cfi_adjust_cfa_offset -8
	.cfi_restore %\r
	.endr
	.endm
