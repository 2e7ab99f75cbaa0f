/* A function whose entry and return breakpoints can be set on, for rfprof's own thread
 * (hit_cost.c).  It reads a line of each 64 bytes: rdi of them, not 0, from rsi on. */
	.text
	.globl	call_probe, call_probe_return
	.hidden	call_probe, call_probe_return
	.type	call_probe, @function
	.balign	16
call_probe:
	nop
1:
	movq	(%rsi), %rax
	addq	$64, %rsi
	decq	%rdi
	jnz	1b
call_probe_return:
	ret
	.size	call_probe, . - call_probe

	.section .note.GNU-stack, "", @progbits
