/* Code of the bandwidth kernels; see bandwidth_kernels.h for the list and for what they do.
 *
 * void rf_bandwidth_ISA_OP_STREAMS(void *a [rdi], const void *b [rsi], const void *c [rdx],
 *	size_t bytes [rcx], uint64_t passes [r8], struct bandwidth_state * [r9])
 *
 * Each stream has its own pointer, so that no address needs an index register: Intel's cores
 * split an indexed store or VEX load-and-operate into two micro-operations (Intel 64 and IA-32
 * Architectures Optimization Reference Manual, "Micro-fusion"). */
#include "machine/bandwidth_kernels.h"

#define SUM 64 /* offset in struct bandwidth_state */

/* Logic and arithmetic of each width class: register number, then a memory operand. */
	.macro xor_avx512f r, mem:vararg
	vpxorq	\mem, %zmm\r, %zmm\r
	.endm
	.macro xor_avx2 r, mem:vararg
	vxorps	\mem, %ymm\r, %ymm\r
	.endm
	.macro xor_sse2 r, mem:vararg
	xorps	\mem, %xmm\r
	.endm
	/* r = s * r + mem, s in register 15 */
	.macro madd_avx512f r, mem:vararg
	vfmadd213pd \mem, %zmm15, %zmm\r
	.endm
	.macro madd_avx2 r, mem:vararg
	vmulpd	%ymm15, %ymm\r, %ymm\r
	vaddpd	\mem, %ymm\r, %ymm\r
	.endm
	.macro madd_sse2 r, mem:vararg
	mulpd	%xmm15, %xmm\r
	addpd	\mem, %xmm\r
	.endm
	.macro finish_avx512f
	sfence
	vzeroupper
	.endm
	.macro finish_avx2
	sfence
	vzeroupper
	.endm
	.macro finish_sse2
	sfence
	.endm

/* isa, bytes of a register, register prefix, load and store, non-temporal store */
#define VECTOR_avx512f avx512f, 64, zmm, vmovaps, vmovntps
#define VECTOR_avx2 avx2, 32, ymm, vmovaps, vmovntps
#define VECTOR_sse2 sse2, 16, xmm, movaps, movntps

	/* One iteration's work on one stream: 8 vectors.  a, b, c: pointer registers. */
	.macro body_read isa, size, reg, mov, store, a, b, c
	.irp r, 0,1,2,3,4,5,6,7
	xor_\isa \r, \r*\size(%\a)
	.endr
	.endm
	.macro body_write isa, size, reg, mov, store, a, b, c
	.irp r, 0,1,2,3,4,5,6,7
	\store	%\reg\()15, \r*\size(%\a)
	.endr
	.endm
	.macro body_copy isa, size, reg, mov, store, a, b, c
	.irp r, 0,1,2,3,4,5,6,7
	\mov	\r*\size(%\b), %\reg\r
	.endr
	.irp r, 0,1,2,3,4,5,6,7
	\store	%\reg\r, \r*\size(%\a)
	.endr
	.endm
	.macro body_triad isa, size, reg, mov, store, a, b, c
	.irp r, 0,1,2,3,4,5,6,7
	\mov	\r*\size(%\c), %\reg\r
	.endr
	.irp r, 0,1,2,3,4,5,6,7
	madd_\isa \r, \r*\size(%\b)
	.endr
	.irp r, 0,1,2,3,4,5,6,7
	\store	%\reg\r, \r*\size(%\a)
	.endr
	.endm

	/* The second and later streams start at their parts of the arrays: rcx is the size of a
	 * part.  `lea` leaves the pointers of arrays that a kernel does not have unused. */
	.macro streams_1
	.endm
	.macro streams_2
	shr	$1, %rcx
	lea	(%rdi,%rcx), %r10
	lea	(%rsi,%rcx), %r11
	lea	(%rdx,%rcx), %rbx
	.endm
	.macro streams_4	/* one array */
	shr	$2, %rcx
	lea	(%rdi,%rcx), %r10
	lea	(%rdi,%rcx,2), %r11
	lea	(%r10,%rcx,2), %rbx
	.endm

	.macro bodies_1 op, vector:vararg
	body_\op \vector, rdi, rsi, rdx
	.endm
	.macro bodies_2 op, vector:vararg
	body_\op \vector, rdi, rsi, rdx
	body_\op \vector, r10, r11, rbx
	.endm
	.macro bodies_4 op, vector:vararg
	body_\op \vector, rdi, rsi, rdx
	body_\op \vector, r10, r10, r10
	body_\op \vector, r11, r11, r11
	body_\op \vector, rbx, rbx, rbx
	.endm

	.macro advance_1 how, by
	\how	\by, %rdi
	\how	\by, %rsi
	\how	\by, %rdx
	.endm
	.macro advance_2 how, by
	advance_1 \how, \by
	\how	\by, %r10
	\how	\by, %r11
	\how	\by, %rbx
	.endm
	.macro advance_4 how, by
	\how	\by, %rdi
	\how	\by, %r10
	\how	\by, %r11
	\how	\by, %rbx
	.endm

	.macro bandwidth_kernel name, op, streams, isa, size, reg, mov, store
	.p2align 6
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.cfi_startproc
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	streams_\streams
	.irp r, 0,1,2,3,4,5,6,7
	xorps	%xmm\r, %xmm\r
	.endr
	\mov	(%r9), %\reg\()15
	.p2align 4
1:	xor	%eax, %eax
	.p2align 6
2:	bodies_\streams \op, \isa, \size, \reg, \mov, \store
	advance_\streams add, $(8*\size)
	add	$(8*\size), %rax
	cmp	%rcx, %rax
	jb	2b
	advance_\streams sub, %rcx
	dec	%r8
	jnz	1b
	.irp r, 1,2,3,4,5,6,7
	xor_\isa 0, %\reg\r
	.endr
	\mov	%\reg\()0, SUM(%r9)
	finish_\isa
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
/* Element 5 of VECTOR_* is the non-temporal store, element 4 the ordinary one. */
#define TEMPORAL(isa, size, reg, mov, nt) isa, size, reg, mov, mov
#define NON_TEMPORAL(isa, size, reg, mov, nt) isa, size, reg, mov, nt
#define APPLY(how, ...) how(__VA_ARGS__)
#define EXPAND(macro, ...) macro __VA_ARGS__
#define BODY_read read
#define STORE_read TEMPORAL
#define BODY_write write
#define STORE_write TEMPORAL
#define BODY_copy copy
#define STORE_copy TEMPORAL
#define BODY_triad triad
#define STORE_triad TEMPORAL
#define BODY_write_nt write
#define STORE_write_nt NON_TEMPORAL
#define BODY_copy_nt copy
#define STORE_copy_nt NON_TEMPORAL
#define BODY_triad_nt triad
#define STORE_triad_nt NON_TEMPORAL
#define KERNEL(isa, op, streams, needs) \
	EXPAND(bandwidth_kernel, rf_bandwidth_##isa##_##op##_##streams, BODY_##op, streams, \
	       APPLY(STORE_##op, VECTOR_##isa)) ;
BANDWIDTH_KERNELS(KERNEL)

	.section .note.GNU-stack, "", @progbits
