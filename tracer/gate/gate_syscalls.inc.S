/* Part of the gate (gate.S): the program's system calls.  Most run here at once; those that could
 * change code, start children, set up handlers or open the memory of a process are looked at first,
 * and where a look at the registers is not enough the tracer is asked. */
#define MREMAP_MAYMOVE 1
#define MAP_PRIVATE 0x02
#define MAP_ANONYMOUS 0x20

gate_syscall:
	movq	%rcx, %gs:G_SYSRET
	movzwl	%ax, %ecx
	movq	%gs:G_SYSTAB, %r11
	movzbl	(%r11,%rcx), %ecx
	jrcxz	gate_ask
	leal	-CALL_IN_PLACE(%rcx), %ecx
	jrcxz	gate_call
	leaq	gate_calls(%rip), %r11
	movzwl	(%r11,%rcx,2), %ecx
	leaq	(%r11,%rcx), %r11
	jmp	*%r11
gate_call:
	movl	$1, %gs:G_CALLING
gate_do_syscall:
	syscall
gate_after_syscall:
	movl	$0, %gs:G_CALLING
	movq	%gs:G_HELD_SENT, %rcx		/* and G_SWITCH */
	jrcxz	1f
	jmp	gate_attend
1:	jmp	*%gs:G_SYSRET

	/* Signals that are held for this thread: natively they would have come by now; or the
	 * other copy of the code is wanted. */
gate_attend:
	movq	%rax, %gs:SAVE_RAX
	movl	$REQ_ATTEND, %ecx
	jmp	gate_request

	/* A call that a stop of the tracer's has ended runs again here, so that the next stop knows. */
gate_do_again:
	syscall
gate_after_again:
	jmp	gate_after_syscall

gate_ask:
	movq	%rax, %gs:SAVE_RAX
	movl	$REQ_SYSCALL, %ecx
	jmp	gate_request

	.balign 2
gate_calls:	/* by what P_SYSTAB holds, from CALL_IN_PLACE on; all lie behind this table */
	.word	0
	.word	gate_range - gate_calls, gate_action - gate_calls, gate_clone - gate_calls
	.word	gate_peek_clone - gate_calls, gate_open - gate_calls, gate_openat - gate_calls
	.word	gate_remap - gate_calls, gate_map - gate_calls, gate_do_timer - gate_calls

	/* mmap: as malloc calls it, it replaces nothing */
gate_map:
	leal	-(MAP_PRIVATE + MAP_ANONYMOUS)(%r10), %ecx
	jrcxz	gate_do_syscall
	jmp	gate_range

	/* mremap: one that only may move, as that of realloc, is no more than its range */
gate_remap:
	leal	-MREMAP_MAYMOVE(%r10), %ecx
	jrcxz	gate_range
	jmp	gate_ask

	/* A call that changes the memory [rdi, rdi + rsi): one of less than 16 MB that begins and
	 * ends where no code ever was runs in place.  Reading at an odd place shifts by 24. */
gate_range:
	movq	%rsi, %gs:G_SHIFT
	movq	%gs:G_SHIFT+3, %rcx
	jrcxz	1f
	jmp	gate_ask
1:	movq	%gs:G_PROCESS, %r11
	movq	%rdi, %gs:G_SHIFT
	movzwl	%gs:G_SHIFT+3, %ecx
	movzbl	P_CODE_UNITS(%r11,%rcx), %ecx
	jrcxz	1f
	jmp	gate_ask
1:	leaq	(%rdi,%rsi), %rcx
	movq	%rcx, %gs:G_SHIFT
	movzwl	%gs:G_SHIFT+3, %ecx
	movzbl	P_CODE_UNITS(%r11,%rcx), %ecx
	jrcxz	2f
	jmp	gate_ask
2:	jmp	gate_do_syscall

	/* A clone whose child is not to be traced: bit 23 of the flags, made a byte by its sign. */
gate_clone:
	movq	%rdi, %gs:G_SHIFT
	movsbl	%gs:G_SHIFT+2, %ecx
	jmp	gate_sign
gate_peek_clone:
	movsbl	2(%rdi), %ecx
gate_sign:
	movl	%ecx, %gs:G_SHIFT
	movzbl	%gs:G_SHIFT+3, %ecx
	jrcxz	2b
	jmp	gate_ask

	/* Paths that may end in the memory of a process: those that begin with "/pro", and "mem". */
gate_open:
	movq	%rdi, %rcx
	jmp	gate_peek_path
gate_openat:
	movq	%rsi, %rcx
gate_peek_path:
	movl	(%rcx), %r11d
	leal	-0x6f72702f(%r11), %ecx
	jrcxz	3f
	leal	-0x006d656d(%r11), %ecx
	jrcxz	3f
	jmp	gate_do_syscall
3:	jmp	gate_ask

	/* rt_sigaction: the tracer knows by the number of these whether what it has read still holds */
gate_action:
	movl	$1, %gs:G_ACTING
gate_do_action:
	syscall
gate_after_action:
	movl	%gs:G_ACTIONS, %ecx
	leal	1(%rcx), %ecx
	movl	%ecx, %gs:G_ACTIONS
	movl	$0, %gs:G_ACTING
	jmp	*%gs:G_SYSRET

	/* Calls that stop timers: no signal of a timer that is stopped comes behind them. */
gate_do_timer:
	syscall
gate_after_timer:
	movl	%gs:G_HELD, %ecx
	jrcxz	4f
	jmp	gate_attend
4:	jmp	*%gs:G_SYSRET

	/* Calls that change code: the server answers nobody else about that code meanwhile. */
gate_do_change:
	syscall
gate_after_change:
	movl	$0, %gs:G_CHANGING
	jmp	*%gs:G_SYSRET

	/* rcx = where to go on, r11 = the instruction's counters, rax = the number.  rcx and r11 are lost
	 * with the call anyway. */
gate_call_number:
	movq	%rcx, %gs:G_CALL_BACK
	movq	%rax, %gs:G_CALL_RAX
	movq	%rdx, %gs:G_CALL_RDX
	KEEP_FLAGS G_CALL_FLAGS
	movl	%gs:G_CALL_RAX, %ecx
	movl	%gs:G_CALL_OUT, %edx
	incl	%ecx			/* of all ones 0: no number */
	movq	%rcx, %gs:CALL_NUMBER(%r11)
	shlq	$32, %rcx
	orq	%r11, %rcx		/* the key */
	imulq	$-0x61c8864f, %rcx, %rax
	addq	%rdx, %rax
	imulq	$-0x61c8864f, %rax, %rax
	shrq	$40, %rax
	andl	$(SLOT_N_CALLS - 1), %eax
	shll	$CALL_ROW_SHIFT, %eax
	movl	%r11d, %gs:G_CALL_CELL
	movl	$CALL_PROBES, %r11d
5:	addl	$SLOT_CALLS, %eax
	cmpq	$0, %gs:CALL_KEY(%rax)
	je	6f
	cmpq	%rcx, %gs:CALL_KEY(%rax)
	jne	7f
	cmpq	%rdx, %gs:CALL_ROW_CELL(%rax)
	je	8f
7:	subl	$(SLOT_CALLS - (1 << CALL_ROW_SHIFT)), %eax
	andl	$((SLOT_N_CALLS << CALL_ROW_SHIFT) - 1), %eax
	decl	%r11d
	jnz	5b
	jmp	9f
6:	cmpl	$(CALL_NOBODY - CALL_ROW_CELL), %eax
	je	7b
	movq	%rdx, %gs:CALL_ROW_CELL(%rax)
	movq	%rcx, %gs:CALL_KEY(%rax)
8:	addl	$CALL_ROW_CELL, %eax
	movl	%eax, %gs:G_CALL_CELL
9:	GIVE_BACK_FLAGS G_CALL_FLAGS
	movq	%gs:G_CALL_RAX, %rax
	movq	%gs:G_CALL_RDX, %rdx
	jmp	*%gs:G_CALL_BACK

	/* A call has come back: rcx = where to go on, rax = the result; an error is below 0. */
gate_call_result:
	movq	%rcx, %gs:G_CALL_BACK
	movq	%r11, %gs:G_CALL_R11
	movl	%gs:G_CALL_CELL, %r11d
	movq	%rax, %gs:G_SHIFT
	movzbl	%gs:G_SHIFT+7, %ecx
	jrcxz	9f
	movq	%gs:CALL_FAILED(%r11), %rcx
	leaq	1(%rcx), %rcx
	movq	%rcx, %gs:CALL_FAILED(%r11)
	movq	%gs:G_CALL_R11, %r11
	jmp	*%gs:G_CALL_BACK
9:	movq	%gs:CALL_BYTES(%r11), %rcx
	leaq	(%rcx,%rax), %rcx
	movq	%rcx, %gs:CALL_BYTES(%r11)
	movq	%gs:CALL_DONE(%r11), %rcx
	leaq	1(%rcx), %rcx
	movq	%rcx, %gs:CALL_DONE(%r11)
	movq	%gs:G_CALL_R11, %r11
	jmp	*%gs:G_CALL_BACK
