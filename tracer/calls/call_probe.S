/* A function whose entry and return breakpoints can be set on, for rfprof's own thread
 * (hit_cost.c).  It calls the function in rdi with the argument in rsi. */
	.text
	.globl	call_probe, call_probe_return
	.hidden	call_probe, call_probe_return
	.type	call_probe, @function
	.balign	16
call_probe:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rdi, %rax
	movq	%rsi, %rdi
	call	*%rax
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
call_probe_return:
	ret
	.cfi_endproc
	.size	call_probe, . - call_probe

/* rdi turns of a loop, and in the same line of code a place that a breakpoint can be set on and
 * nothing comes to. */
	.globl	call_probe_loop, call_probe_beside
	.hidden	call_probe_loop, call_probe_beside
	.type	call_probe_loop, @function
	.balign	64
call_probe_loop:
	imulq	$3, %rax, %rax
	decq	%rdi
	jnz	call_probe_loop
	ret
call_probe_beside:
	nop
	.size	call_probe_loop, . - call_probe_loop

	.section .note.GNU-stack, "", @progbits
