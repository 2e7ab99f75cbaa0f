/* Code of the random access kernels; see random_access.h.
 *
 * void rf_random_access_CHAINS(uint64_t steps [rdi], struct random_state * [rsi])
 *
 * Twelve chains live in registers.  Further ones live in the state, which costs a store and a
 * forwarded load a step: little beside the misses for whose sake there are so many. */
#include "machine/kernels/function.inc.S"
#include "machine/kernels/random_access.h"

	/* Chains 0 to 11 and their registers. */
	.macro in_register chains, how
	.set	chain, 0
	.irp r, rcx,rdx,r8,r9,r10,r11,rbx,rbp,r12,r13,r14,r15
	.if chain < \chains
	\how	\r, (8*chain)(%rsi)
	.endif
	.set	chain, chain + 1
	.endr
	.endm
	.macro enter r, slot
	mov	\slot, %\r
	.endm
	.macro step r, slot
	mov	(%\r), %\r
	.endm
	.macro leave_in r, slot
	mov	%\r, \slot
	.endm

	.macro in_state chains
	.set	chain, 12
	.rept	RANDOM_MAX_CHAINS - 12
	.if chain < \chains
	mov	(8*chain)(%rsi), %rax
	mov	(%rax), %rax
	mov	%rax, (8*chain)(%rsi)
	.endif
	.set	chain, chain + 1
	.endr
	.endm

	.macro random_access_kernel name, chains
	begin_function \name
	save	rbx, rbp, r12, r13, r14, r15
	in_register \chains, enter
	.p2align 5
1:	in_register \chains, step
	in_state \chains
	dec	%rdi
	jnz	1b
	in_register \chains, leave_in
	restore	r15, r14, r13, r12, rbp, rbx
	end_function \name
	.endm

	.text
#define KERNEL(chains) random_access_kernel rf_random_access_##chains, chains ;
RANDOM_KERNELS(KERNEL)

	.section .note.GNU-stack, "", @progbits
