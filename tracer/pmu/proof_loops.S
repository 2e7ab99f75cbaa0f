/* Loops of known loads, stores and lines, for proof_loops.c. */
	.text
	.intel_syntax noprefix

/* void rf_proof_load_store(uint64_t n, uint64_t words[2]): n > 0 loads and as many stores, of 8 bytes each. */
	.globl	rf_proof_load_store
	.hidden	rf_proof_load_store
	.type	rf_proof_load_store, @function
	.p2align 6
rf_proof_load_store:
	mov	rax, [rsi]
	mov	[rsi + 8], rax
	dec	rdi
	jnz	rf_proof_load_store
	ret
	.size	rf_proof_load_store, . - rf_proof_load_store

/* void rf_proof_read_lines(uint64_t n, const void *memory): n > 0 lines of 64 bytes, one after the other. */
	.globl	rf_proof_read_lines
	.hidden	rf_proof_read_lines
	.type	rf_proof_read_lines, @function
	.p2align 6
rf_proof_read_lines:
	mov	rax, [rsi]
	add	rsi, 64
	dec	rdi
	jnz	rf_proof_read_lines
	ret
	.size	rf_proof_read_lines, . - rf_proof_read_lines

/* void rf_proof_flush_lines(uint64_t n, const void *memory): out of all caches, and waits until they are. */
	.globl	rf_proof_flush_lines
	.hidden	rf_proof_flush_lines
	.type	rf_proof_flush_lines, @function
	.p2align 6
rf_proof_flush_lines:
	clflush	[rsi]
	add	rsi, 64
	dec	rdi
	jnz	rf_proof_flush_lines
	mfence
	ret
	.size	rf_proof_flush_lines, . - rf_proof_flush_lines

	.section .note.GNU-stack, "", @progbits
