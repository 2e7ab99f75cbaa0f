/* Code of the bandwidth kernels; see bandwidth_kernels.h for what they do.
 *
 * void rf_bandwidth_CODE_OP_BODY_STREAMS_UNROLL_GROUP_AHEAD(void *a [rdi], const void *b [rsi],
 *	const void *c [rdx], size_t bytes [rcx], uint64_t passes [r8], struct bandwidth_state * [r9])
 *
 * Each array has a pointer for its first stream; the others lie one, two and three parts of the
 * array behind it.  So a single stream, which is what fits L1, has no index register: Intel's cores
 * split an indexed VEX load-and-operate into two micro-operations, and before Ice Lake give an
 * indexed store a port that loads want (Intel 64 and IA-32 Architectures Optimization Reference
 * Manual, "Micro-fusion"). */
#include "machine/kernels/bandwidth_kernels.h"
#include "machine/kernels/function.inc.S"

#define FACTOR 64 /* offsets in struct bandwidth_state */
#define SUM 128

#define OPERATION(op, arrays, bytes, nt) \
	.set	ARRAYS_##op, arrays ; .set NON_TEMPORAL_##op, nt ;
#include "machine/kernels/bandwidth_kernels.def"

/* Logic and arithmetic: register number, then a memory operand. */
	.macro xor_zmm r, mem:vararg
	vpxorq	\mem, %zmm\r, %zmm\r
	.endm
	.macro xor_ymm r, mem:vararg
	vxorps	\mem, %ymm\r, %ymm\r
	.endm
	.macro xor_xmm r, mem:vararg
	xorps	\mem, %xmm\r
	.endm
	/* r = constant * r + mem */
	.macro madd_avx512f r, mem:vararg
	vfmadd213pd \mem, %zmm15, %zmm\r
	.endm
	.macro madd_fma3 r, mem:vararg
	vfmadd213pd \mem, %ymm15, %ymm\r
	.endm
	.macro madd_avx2 r, mem:vararg
	vmulpd	%ymm15, %ymm\r, %ymm\r
	vaddpd	\mem, %ymm\r, %ymm\r
	.endm
	.macro madd_sse2 r, mem:vararg
	mulpd	%xmm15, %xmm\r
	addpd	\mem, %xmm\r
	.endm
	.macro madd_scalar r, mem:vararg
	mulsd	%xmm15, %xmm\r
	addsd	\mem, %xmm\r
	.endm
	/* r = factor * mem */
	.macro scale_avx512f r, mem:vararg
	vmulpd	\mem, %zmm14, %zmm\r
	.endm
	.macro scale_avx2 r, mem:vararg
	vmulpd	\mem, %ymm14, %ymm\r
	.endm
	.macro scale_sse2 r, mem:vararg
	movaps	\mem, %xmm\r
	mulpd	%xmm14, %xmm\r
	.endm
	.macro scale_scalar r, mem:vararg
	movsd	\mem, %xmm\r
	mulsd	%xmm14, %xmm\r
	.endm

/* code, bytes of a register, register prefix, load and store, non-temporal store */
#define VECTOR_avx512f avx512f, 64, zmm, vmovaps, vmovntps
#define VECTOR_fma3 fma3, 32, ymm, vmovaps, vmovntps
#define VECTOR_avx2 avx2, 32, ymm, vmovaps, vmovntps
#define VECTOR_sse2 sse2, 16, xmm, movaps, movntps
#define VECTOR_scalar scalar, 8, xmm, movsd, movsd

	.macro load mov, reg, r, mem:vararg
	\mov	\mem, %\reg\r
	.endm
	.macro store mov, reg, r, mem:vararg
	\mov	%\reg\r, \mem
	.endm
	.macro store_constant mov, reg, r, mem:vararg
	\mov	%\reg\()15, \mem
	.endm

	/* A group's work on one array: vectors first ... first + group - 1 of the iteration, in
	 * registers 0 ... group - 1.  `index` is the stream's part of the address, `how` one of the
	 * macros above with its first arguments. */
	.macro group_each first, group, index, size, base, how
	.irp r, 0,1,2,3,4,5,6,7
	.if \r < \group
	\how	\r, 0+\size*(\first+\r)(%\base\index)
	.endif
	.endr
	.endm
	.macro group_prefetch first, group, index, size, hint, ahead, base
	.irp r, 0,1,2,3,4,5,6,7
	.if (\r < \group) && ((\size*(\first+\r)) % 64 == 0)
	\hint	\ahead+\size*(\first+\r)(%\base\index)
	.endif
	.endr
	.endm

	/* A group's work on all arrays of the operation. */
	.macro body_read first, group, index, code, size, reg, mov, store
	group_each \first, \group, "\index", \size, rdi, "xor_\reg"
	.endm
	.macro body_load first, group, index, code, size, reg, mov, store
	group_each \first, \group, "\index", \size, rdi, "load \mov, \reg,"
	.endm
	.macro body_write first, group, index, code, size, reg, mov, store
	group_each \first, \group, "\index", \size, rdi, "store_constant \store, \reg,"
	.endm
	.macro body_copy first, group, index, code, size, reg, mov, store
	group_each \first, \group, "\index", \size, rsi, "load \mov, \reg,"
	group_each \first, \group, "\index", \size, rdi, "store \store, \reg,"
	.endm
	.macro body_triad first, group, index, code, size, reg, mov, store
	group_each \first, \group, "\index", \size, rdx, "load \mov, \reg,"
	group_each \first, \group, "\index", \size, rsi, "madd_\code"
	group_each \first, \group, "\index", \size, rdi, "store \store, \reg,"
	.endm
	.macro body_daxpy first, group, index, code, size, reg, mov, store
	group_each \first, \group, "\index", \size, rsi, "load \mov, \reg,"
	group_each \first, \group, "\index", \size, rdi, "madd_\code"
	group_each \first, \group, "\index", \size, rdi, "store \store, \reg,"
	.endm
	.macro body_update first, group, index, code, size, reg, mov, store
	group_each \first, \group, "\index", \size, rdi, "scale_\code"
	group_each \first, \group, "\index", \size, rdi, "store \store, \reg,"
	.endm

	/* prefetchw is a no-operation on 64-bit Intel processors that do not know it. */
	.macro prefetch_group op, ahead, first, group, index, size
	.ifc \op,read
	group_prefetch \first, \group, "\index", \size, prefetcht0, \ahead, rdi
	.elseif !NON_TEMPORAL_\op
	group_prefetch \first, \group, "\index", \size, prefetchw, \ahead, rdi
	.endif
	.if ARRAYS_\op > 1
	group_prefetch \first, \group, "\index", \size, prefetcht0, \ahead, rsi
	.endif
	.if ARRAYS_\op > 2
	group_prefetch \first, \group, "\index", \size, prefetcht0, \ahead, rdx
	.endif
	.endm

	/* One iteration's work on one stream. */
	.macro stream index, op, body, unroll, group, ahead, code, size, reg, mov, store
	.irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	.if (\i < \unroll) && (\i % \group == 0)
	.if \ahead
	prefetch_group \op, \ahead, \i, \group, "\index", \size
	.endif
	body_\body \i, \group, "\index", \code, \size, \reg, \mov, \store
	.endif
	.endr
	.endm
	.macro streams_1 arguments:vararg
	stream "", \arguments
	.endm
	.macro streams_2 arguments:vararg
	stream "", \arguments
	stream ",%rcx", \arguments
	.endm
	.macro streams_4 arguments:vararg
	stream "", \arguments
	stream ",%rcx", \arguments
	stream ",%rcx,2", \arguments
	stream ",%rax", \arguments
	.endm

	.macro advance arrays, how, by
	.if \arrays > 2
	\how	\by, %rdx
	.endif
	.if \arrays > 1
	\how	\by, %rsi
	.endif
	\how	\by, %rdi
	.endm

	/* rcx: bytes of a stream's part of an array; rax: 3 of them; r10: end of a's first part */
	.macro walk op, body, streams, unroll, group, ahead, code, size, reg, mov, store
	.if BANDWIDTH_GRAIN % (\streams*\unroll*\size)
	.error	"an iteration does not divide BANDWIDTH_GRAIN"
	.endif
	.if \streams == 2
	shr	$1, %rcx
	.elseif \streams == 4
	shr	$2, %rcx
	lea	(%rcx,%rcx,2), %rax
	.endif
	.irp r, 0,1,2,3,4,5,6,7
	xorps	%xmm\r, %xmm\r
	.endr
	\mov	FACTOR(%r9), %\reg\()14
	\mov	(%r9), %\reg\()15
	.p2align 4
1:	lea	(%rdi,%rcx), %r10
	.p2align 6
2:	streams_\streams \op, \body, \unroll, \group, \ahead, \code, \size, \reg, \mov, \store
	advance	ARRAYS_\op, add, $(\unroll*\size)
	cmp	%r10, %rdi
	jb	2b
	advance	ARRAYS_\op, sub, %rcx
	dec	%r8
	jnz	1b
	.irp r, 1,2,3,4,5,6,7
	xor_\reg 0, %\reg\r
	.endr
	\mov	%\reg\()0, SUM(%r9)
	sfence
	.ifnc \reg,xmm
	vzeroupper
	.endif
	.endm

	.macro bandwidth_kernel name, op, body, streams, unroll, group, ahead, code, size, reg, mov, nt
	begin_function \name
	.if NON_TEMPORAL_\op
	walk	\op, \body, \streams, \unroll, \group, \ahead, \code, \size, \reg, \mov, \nt
	.else
	walk	\op, \body, \streams, \unroll, \group, \ahead, \code, \size, \reg, \mov, \mov
	.endif
	end_function \name
	.endm

	.macro string_kernel name, instruction, shift
	begin_function \name
	mov	%rdi, %r10
	mov	%rsi, %r11
	mov	%rcx, %rdx
	shr	$\shift, %rdx
	mov	(%r9), %rax
1:	mov	%rdx, %rcx
	rep \instruction
	mov	%r10, %rdi
	mov	%r11, %rsi
	dec	%r8
	jnz	1b
	sfence
	end_function \name
	.endm

	.text
#define EXPAND(macro, ...) macro __VA_ARGS__
#define KERNEL(code, op, body, streams, unroll, group, ahead) \
	EXPAND(bandwidth_kernel, \
	       rf_bandwidth_##code##_##op##_##body##_##streams##_##unroll##_##group##_##ahead, \
	       op, body, streams, unroll, group, ahead, VECTOR_##code) ;
#define STRING_KERNEL(op, instruction, shift) string_kernel rf_bandwidth_##op, instruction, shift ;
#include "machine/kernels/bandwidth_kernels.def"

	.section .note.GNU-stack, "", @progbits
