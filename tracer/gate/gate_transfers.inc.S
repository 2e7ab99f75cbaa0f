/* Part of the gate (gate.S): jumps, calls and returns whose target's translation is not known in the
 * thread's own tables.  It is looked up in the process's table, or the tracer is asked. */

gate_miss:
	movq	%rcx, %gs:SAVE_RCX
	movl	$REQ_MISS, %ecx
	jmp	gate_request

gate_collide:
	movq	%rdx, %gs:SAVE_RDX
	movq	%rax, %rdx
	KEEP_FLAGS SAVE_FLAGS
	subq	%rdx, %rcx
	jmp	gate_look_up_jump
gate_indirect:
	movq	%rdx, %gs:SAVE_RDX
	KEEP_FLAGS SAVE_FLAGS
gate_look_up_jump:
	movq	%gs:G_SPILL_RCX, %rax
	movq	%rax, %gs:SAVE_RCX
	movq	%gs:G_SPILL_RAX, %rax
	movq	%rax, %gs:SAVE_RAX
	movq	%rcx, %gs:G_REQ_ARG
	movl	$REQ_INDIRECT, %gs:G_REQ_TYPE
	movq	%rsi, %gs:SAVE_RSI
	testq	%rcx, %rcx			/* no address of a program */
	js	gate_save
	jmp	gate_look_up

gate_return:		/* the return address is on top of the stack, as for a landing */
	leaq	8(%rsp), %rsp
	movq	%rax, %gs:SAVE_RAX
	KEEP_FLAGS SAVE_FLAGS
	movq	%rcx, %gs:SAVE_RCX
	movq	-8(%rsp), %rcx
	movq	%rcx, %gs:G_REQ_ARG
	movl	$REQ_RETURN, %gs:G_REQ_TYPE
	movq	%rdx, %gs:SAVE_RDX
	movq	%rsi, %gs:SAVE_RSI
	btsq	$RETURN_KEY_BIT, %rcx
	jc	gate_save

gate_look_up:		/* rcx = key; rax, rcx, rdx, rsi and the flags are saved */
	movq	%gs:G_TABLE_AT, %rdx
	movq	(%rdx), %rsi
	imulq	$0x2545f491, %rcx, %rax
	shrq	$9, %rax
2:	andq	(%rsi), %rax
	movq	%rax, %rdx
	shlq	$4, %rdx
	cmpq	%rcx, 16(%rsi,%rdx)
	je	3f
	cmpq	$0, 16(%rsi,%rdx)
	je	gate_save
	incq	%rax
	jmp	2b
3:	movq	24(%rsi,%rdx), %rax		/* found: remember it in this thread's table */
	testq	%rax, %rax
	jz	gate_save
	movzwl	%cx, %edx
	addl	%gs:G_TABLES, %edx
	movq	%rax, %gs:G_JUMP
	testq	%rcx, %rcx
	js	4f
	movq	%rax, %gs:SLOT_JUMPS(,%rdx,8)
	jmp	5f
4:	cmpl	$0, %gs:G_ALLOCATION_KEEP
	jne	6f
	movq	%rax, %gs:SLOT_RETURNS(,%rdx,8)
6:	movl	$0, %gs:G_ALLOCATION_KEEP
	leaq	-8(%rsp), %rsp
	movq	%gs:SAVE_RCX, %rcx
5:	GIVE_BACK_FLAGS SAVE_FLAGS
	movq	%gs:SAVE_RAX, %rax
	movq	%gs:SAVE_RDX, %rdx
	movq	%gs:SAVE_RSI, %rsi
	jmp	*%gs:G_JUMP
