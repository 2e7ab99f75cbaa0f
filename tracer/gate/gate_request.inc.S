/* Part of the gate (gate.S): asking the tracer.  The program's registers are saved in the slot, the
 * request is posted, and the thread waits until it is answered. */
#define FUTEX_WAKE 1
#define SYS_SCHED_YIELD 24
#define SPINS 200	/* rounds of PAUSES and a yield before sleeping */
#define PAUSES 50

gate_request:		/* ecx = type, rax = argument; SAVE_RAX, SAVE_RCX hold the program's */
	movq	%rdx, %gs:SAVE_RDX
	movq	%rsi, %gs:SAVE_RSI
	movq	%rax, %gs:G_REQ_ARG
	movl	%ecx, %gs:G_REQ_TYPE
	KEEP_FLAGS SAVE_FLAGS
gate_save:		/* rax, rcx, rdx, rsi and the flags are saved */
	movq	%rdi, %gs:SAVE_RDI
	movq	%r8, %gs:SAVE_R8
	movq	%r9, %gs:SAVE_R9
	movq	%r10, %gs:SAVE_R10
	movq	%r11, %gs:SAVE_R11
	movq	%rsp, %gs:SAVE_RSP
	movq	$0, %gs:G_JUMP
gate_post:		/* also again, where the program has written over the request's state */
	movq	%gs:G_STATE, %rdi
	movq	%gs:G_PROCESS, %rdx
	movl	$STATE_REQUESTED, (%rdi)
	lock incl P_DOORBELL(%rdx)
	cmpl	$0, P_SLEEPING(%rdx)
	je	gate_wait_begin
	leaq	P_DOORBELL(%rdx), %rdi
	movl	$FUTEX_WAKE, %esi
	movl	$1, %edx
	movl	$SYS_FUTEX, %eax
	syscall
gate_wait_begin:
	movq	%gs:G_STATE, %rdi
	movl	$SPINS, %r8d
5:	movl	$PAUSES, %ecx
6:	cmpl	$STATE_DONE, (%rdi)
	je	gate_resume
	pause
	decl	%ecx
	jnz	6b
	movq	%gs:G_PROCESS, %rdx
	cmpl	$0, P_CROWDED(%rdx)
	jne	7f
	movl	$SYS_SCHED_YIELD, %eax	/* the server may want this very processor */
	syscall
	decl	%r8d
	jnz	5b
7:	movl	$STATE_REQUESTED, %eax
	movl	$STATE_SLEEPING, %ecx
	lock cmpxchgl %ecx, (%rdi)
	leal	-STATE_REQUESTED(%rax), %eax
	cmpl	$(STATE_DONE - STATE_REQUESTED), %eax
	ja	gate_post
	movl	$FUTEX_WAIT, %esi
	movl	$STATE_SLEEPING, %edx
	xorl	%r10d, %r10d
	movl	$SYS_FUTEX, %eax
	syscall
	jmp	gate_wait_begin
gate_wait_end:

gate_resume:
	movq	%gs:G_JUMP, %rcx
	testq	%rcx, %rcx
	jz	gate_post		/* no answer: somebody else has written that it is there */
	movq	%gs:G_STATE, %rdi
	movl	$STATE_IDLE, (%rdi)
	GIVE_BACK_FLAGS SAVE_FLAGS
	movq	%gs:SAVE_RAX, %rax
	movq	%gs:SAVE_RCX, %rcx
	movq	%gs:SAVE_RDX, %rdx
	movq	%gs:SAVE_RSI, %rsi
	movq	%gs:SAVE_RDI, %rdi
	movq	%gs:SAVE_R8, %r8
	movq	%gs:SAVE_R9, %r9
	movq	%gs:SAVE_R10, %r10
	movq	%gs:SAVE_R11, %r11
	jmp	*%gs:G_JUMP
