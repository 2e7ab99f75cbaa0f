/* Small loops whose data lie in L1, for in_core.c.  Each begins with rdi: turns, rsi, rdx, rcx: three
 * arrays of doubles that are 1.0001, r8: a cell that points at itself; LOOP(name, bytes that a turn moves
 * on by, of all arrays together). */
	.intel_syntax noprefix
	.section .note.GNU-stack,"",@progbits
	.text

	.macro LOOP name, bytes
	.p2align 6
run_\name:
	push rbx
	push r12
	push r13
	mov eax, 3
	mov ebx, 5
	mov r9d, 7
	mov r10d, 9
	mov r11d, 11
	mov r12d, 13
	mov r13d, 0x10001
	.irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movapd xmm\r, [rsi]
	.endr
	.p2align 6
start_\name:
	.endm

	.macro END name, bytes
	dec rdi
	jnz start_\name
end_\name:
	pop r13
	pop r12
	pop rbx
	ret
	.pushsection .rodata
text_\name: .string "\name"
	.popsection
	.pushsection .data.rel.ro.loops,"aw"
	.quad text_\name, run_\name, start_\name, end_\name, \bytes
	.popsection
	.endm

	.pushsection .data.rel.ro.loops,"aw"
	.globl in_core_loops
in_core_loops:
	.popsection

	LOOP sum_1_chain
	addsd xmm0, [rsi]
	add rsi, 8
	END sum_1_chain, 8

	LOOP sum_2_chains
	addsd xmm0, [rsi]
	addsd xmm1, [rsi+8]
	add rsi, 16
	END sum_2_chains, 16

	LOOP sum_4_chains
	.irp k, 0,1,2,3
	addsd xmm\k, [rsi+8*\k]
	.endr
	add rsi, 32
	END sum_4_chains, 32

	LOOP sum_8_chains
	.irp k, 0,1,2,3,4,5,6,7
	addsd xmm\k, [rsi+8*\k]
	.endr
	add rsi, 64
	END sum_8_chains, 64

	LOOP product_1_chain
	mulsd xmm0, [rsi]
	add rsi, 8
	END product_1_chain, 8

	LOOP dot_sse_1_chain
	movsd xmm1, [rsi]
	mulsd xmm1, [rdx]
	addsd xmm0, xmm1
	add rsi, 8
	add rdx, 8
	END dot_sse_1_chain, 16

	LOOP fnv
	movzx r9d, byte ptr [rsi]
	xor rax, r9
	imul rax, r13
	inc rsi
	END fnv, 1

	LOOP horner
	mulsd xmm0, xmm1
	addsd xmm0, [rsi]
	add rsi, 8
	END horner, 8

	LOOP horner_4_chains
	movsd xmm8, [rsi]
	.irp k, 0,1,2,3
	mulsd xmm\k, xmm9
	addsd xmm\k, xmm8
	.endr
	add rsi, 8
	END horner_4_chains, 8

	LOOP chase
	mov r8, [r8]
	END chase, 0

	LOOP store_forward
	mov rax, [rsp-8]
	add rax, 1
	mov [rsp-8], rax
	END store_forward, 0

	LOOP store_forward_double
	movsd xmm0, [rsp-8]
	addsd xmm0, xmm1
	movsd [rsp-8], xmm0
	END store_forward_double, 0

	LOOP recurrence_in_memory
	movsd xmm0, [rsi]
	addsd xmm0, xmm1
	movsd [rsi+8], xmm0
	add rsi, 8
	END recurrence_in_memory, 8

	LOOP gauss_seidel
	addsd xmm0, [rsi+8]
	mulsd xmm0, xmm1
	movsd [rsi], xmm0
	add rsi, 8
	END gauss_seidel, 8

	LOOP prefix_sum
	add rax, [rsi]
	mov [rdx], rax
	add rsi, 8
	add rdx, 8
	END prefix_sum, 16

	LOOP division
	movsd xmm0, [rsi]
	divsd xmm0, xmm1
	movsd [rdx], xmm0
	add rsi, 8
	add rdx, 8
	END division, 16

	LOOP division_chain
	divsd xmm0, xmm1
	END division_chain, 0

	LOOP division_packed
	movapd xmm0, [rsi]
	divpd xmm0, xmm1
	movapd [rdx], xmm0
	add rsi, 16
	add rdx, 16
	END division_packed, 32

	LOOP square_root
	sqrtsd xmm0, xmm1
	addsd xmm2, xmm0
	END square_root, 0

	LOOP integer_division
	mov eax, r13d
	xor edx, edx
	div ebx
	add r9d, eax
	END integer_division, 0

	LOOP issue
	.rept 2
	lea r9, [rbx+1]
	movaps xmm1, xmm2
	mov r10, rbx
	addsd xmm3, xmm4
	movaps xmm5, xmm6
	nop
	movsd xmm7, [rdx]
	nop
	.endr
	END issue, 0

	LOOP integers
	.irp r, rax,rbx,r9,r10,r11,r12
	add \r, r13
	xor \r, 5
	.endr
	END integers, 0

	LOOP loads_2
	mov rax, [rsi]
	mov rbx, [rdx]
	add rsi, 8
	add rdx, 8
	END loads_2, 16

	LOOP loads_6
	.irp r, rax,rbx,r9,r10,r11,r12
	mov \r, [rsi]
	.endr
	add rsi, 8
	END loads_6, 8

	LOOP loads_packed_6
	.irp k, 0,1,2,3,4,5
	movapd xmm\k, [rsi+16*\k]
	.endr
	add rsi, 96
	END loads_packed_6, 96

	LOOP stores_4
	.irp k, 0,1,2,3
	mov [rsi+8*\k], rax
	.endr
	add rsi, 32
	END stores_4, 32

	LOOP copy
	movapd xmm0, [rsi]
	movapd [rdx], xmm0
	add rsi, 16
	add rdx, 16
	END copy, 32

	LOOP update
	movapd xmm0, [rsi]
	mulpd xmm0, xmm1
	movapd [rsi], xmm0
	add rsi, 16
	END update, 16

	LOOP triad
	movapd xmm0, [rdx]
	mulpd xmm0, xmm1
	addpd xmm0, [rcx]
	movapd [rsi], xmm0
	add rsi, 16
	add rdx, 16
	add rcx, 16
	END triad, 48

	LOOP triad_unrolled
	.irp k, 0,1,2,3
	movapd xmm\k, [rdx+16*\k]
	mulpd xmm\k, xmm8
	addpd xmm\k, [rcx+16*\k]
	movapd [rsi+16*\k], xmm\k
	.endr
	add rsi, 64
	add rdx, 64
	add rcx, 64
	END triad_unrolled, 192

	LOOP stencil
	movupd xmm0, [rdx-8]
	movupd xmm1, [rdx+8]
	addpd xmm0, [rdx]
	addpd xmm0, xmm1
	mulpd xmm0, xmm8
	movapd [rsi], xmm0
	add rsi, 16
	add rdx, 16
	END stencil, 32

	LOOP complex_multiply
	movapd xmm0, [rsi]
	movapd xmm1, [rdx]
	movapd xmm2, xmm0
	unpcklpd xmm2, xmm2
	unpckhpd xmm0, xmm0
	mulpd xmm2, xmm1
	shufpd xmm1, xmm1, 1
	mulpd xmm0, xmm1
	addsubpd xmm2, xmm0
	movapd [rcx], xmm2
	add rsi, 16
	add rdx, 16
	add rcx, 16
	END complex_multiply, 48

	LOOP shuffles
	.irp k, 0,1,2,3
	unpcklpd xmm\k, xmm8
	.endr
	END shuffles, 0

	LOOP to_double
	cvtdq2pd xmm0, [rsi]
	movapd [rdx], xmm0
	add rsi, 8
	add rdx, 16
	END to_double, 24

	LOOP integer_to_double
	pxor xmm0, xmm0
	cvtsi2sd xmm0, rdi
	addsd xmm1, xmm0
	END integer_to_double, 0

	LOOP branches_not_taken
	add rax, 1
	test rbx, rbx
	jz 1f
	add r9, 1
	cmp r10, r11
	jz 1f
	add r12, 1
1:
	END branches_not_taken, 0

	LOOP jumps
	jmp 1f
	nop
1:
	add rax, 1
	jmp 2f
	nop
2:
	END jumps, 0

	LOOP maximum
	mov r9, [rsi]
	cmp r9, rax
	cmovg rax, r9
	add rsi, 8
	END maximum, 8

	LOOP maximum_of_doubles
	maxsd xmm0, [rsi]
	add rsi, 8
	END maximum_of_doubles, 8

	LOOP multiply_chain
	imul rax, r13
	END multiply_chain, 0

	LOOP congruential
	imul rax, r13
	add rax, 12345
	END congruential, 0

	LOOP xorshift
	mov rbx, rax
	shl rbx, 13
	xor rax, rbx
	mov rbx, rax
	shr rbx, 7
	xor rax, rbx
	mov rbx, rax
	shl rbx, 17
	xor rax, rbx
	END xorshift, 0

	LOOP shifts
	.irp r, rax,rbx,r9,r10,r11,r12
	shl \r, 3
	.endr
	END shifts, 0

	LOOP bytes_compared
	movzx eax, byte ptr [rsi]
	cmp al, byte ptr [rdx]
	setz r9b
	movzx r9d, r9b
	add r10, r9
	inc rsi
	inc rdx
	END bytes_compared, 2

	LOOP long_addition
	mov rax, [rsi]
	add rax, r13
	mov rbx, [rsi+8]
	adc rbx, 0
	mov r9, [rsi+16]
	adc r9, 0
	mov r10, [rsi+24]
	adc r10, 0
	mov [rdx], rax
	mov [rdx+8], rbx
	mov [rdx+16], r9
	mov [rdx+24], r10
	add rsi, 32
	add rdx, 32
	END long_addition, 64

	LOOP address_chain
	lea rax, [rax+rbx*4+16]
	END address_chain, 0

	.globl in_core_loops_end
	.pushsection .data.rel.ro.loops,"aw"
in_core_loops_end:
	.popsection

	LOOP avx_sum_1_chain
	vaddpd ymm0, ymm0, [rsi]
	add rsi, 32
	END avx_sum_1_chain, 32

	LOOP avx_dot_1_chain
	vmovupd ymm1, [rsi]
	vfmadd231pd ymm0, ymm1, [rdx]
	add rsi, 32
	add rdx, 32
	END avx_dot_1_chain, 64

	LOOP avx_dot_4_chains
	.irp k, 0,1,2,3
	vmovupd ymm8, [rsi+32*\k]
	vfmadd231pd ymm\k, ymm8, [rdx+32*\k]
	.endr
	add rsi, 128
	add rdx, 128
	END avx_dot_4_chains, 256

	LOOP avx_fma_10_chains
	.irp k, 0,1,2,3,4,5,6,7,8,9
	vfmadd231pd ymm\k, ymm12, ymm13
	.endr
	END avx_fma_10_chains, 0

	LOOP avx_horner_fma
	vfmadd213sd xmm0, xmm1, [rsi]
	add rsi, 8
	END avx_horner_fma, 8

	LOOP avx_daxpy
	vmovupd ymm0, [rsi]
	vfmadd213pd ymm0, ymm8, [rdx]
	vmovupd [rdx], ymm0
	add rsi, 32
	add rdx, 32
	END avx_daxpy, 64

	LOOP avx_triad
	vmovupd ymm0, [rdx]
	vfmadd213pd ymm0, ymm8, [rcx]
	vmovupd [rsi], ymm0
	add rsi, 32
	add rdx, 32
	add rcx, 32
	END avx_triad, 96

	LOOP avx_division
	vmovupd ymm0, [rsi]
	vdivpd ymm0, ymm0, ymm1
	vmovupd [rdx], ymm0
	add rsi, 32
	add rdx, 32
	END avx_division, 64

	LOOP avx_permute
	vmovupd ymm0, [rsi]
	vpermpd ymm1, ymm0, 0x1b
	vunpcklpd ymm2, ymm0, ymm1
	vaddpd ymm3, ymm3, ymm2
	add rsi, 32
	END avx_permute, 32

	LOOP avx_adds_and_multiplies
	.irp k, 0,1,2,3
	vaddpd ymm\k, ymm12, ymm13
	vmulpd ymm\k, ymm12, ymm13
	.endr
	END avx_adds_and_multiplies, 0

	LOOP avx_integers
	.irp k, 0,1,2,3,4,5
	vpaddd ymm\k, ymm\k, ymm12
	.endr
	END avx_integers, 0

	.globl in_core_loops_avx_end
	.pushsection .data.rel.ro.loops,"aw"
in_core_loops_avx_end:
	.popsection

	LOOP avx512_sum_4_chains
	.irp k, 0,1,2,3
	vaddpd zmm\k, zmm\k, [rsi+64*\k]
	.endr
	add rsi, 256
	END avx512_sum_4_chains, 256

	LOOP avx512_fma_8_chains
	.irp k, 0,1,2,3,4,5,6,7
	vfmadd231pd zmm\k, zmm12, zmm13
	.endr
	END avx512_fma_8_chains, 0

	LOOP avx512_triad
	vmovupd zmm0, [rdx]
	vfmadd213pd zmm0, zmm8, [rcx]
	vmovupd [rsi], zmm0
	add rsi, 64
	add rdx, 64
	add rcx, 64
	END avx512_triad, 192

	.globl in_core_loops_avx512_end
	.pushsection .data.rel.ro.loops,"aw"
in_core_loops_avx512_end:
	.popsection
