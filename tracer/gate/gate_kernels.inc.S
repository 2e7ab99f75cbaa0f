/* Part of the gate (gate.S): threads come into kernels and leave them.  What is sure to change
 * nothing goes back at once, the rest is asked. */

gate_kernel_enter:
	movq	%rax, %gs:G_KERNEL_BACK
	movq	%gs:KEPT_RAX, %rax
	movq	%rax, %gs:SAVE_RAX
	KEEP_FLAGS SAVE_FLAGS
	movq	%rcx, %gs:SAVE_RCX
	cmpl	$0, %gs:G_KERNEL_WORKS
	je	1f
	cmpq	%rsp, %gs:G_KERNEL_LIMIT
	jae	kernel_back			/* a call within the kernel */
1:	movl	%gs:G_KERNEL_NUMBER, %eax
	movq	%rax, %gs:G_REQ_ARG
	movl	$REQ_KERNEL_ENTER, %gs:G_REQ_TYPE
	jmp	kernel_ask

gate_kernel_return:
	movq	%rax, %gs:SAVE_RAX
	KEEP_FLAGS SAVE_FLAGS
	movq	%rcx, %gs:SAVE_RCX
	movl	$REQ_KERNEL_RETURN, %gs:G_REQ_TYPE
	cmpq	%rsp, %gs:G_KERNEL_LIMIT
	ja	kernel_back
	jmp	kernel_ask
gate_kernel_jump:
	movq	%rax, %gs:SAVE_RAX
	KEEP_FLAGS SAVE_FLAGS
	movq	%rcx, %gs:SAVE_RCX
	movl	$REQ_KERNEL_JUMP, %gs:G_REQ_TYPE
	cmpq	%rsp, %gs:G_KERNEL_LIMIT
	jae	kernel_back
kernel_ask:
	movq	%rdx, %gs:SAVE_RDX
	movq	%rsi, %gs:SAVE_RSI
	jmp	gate_save

kernel_back:
	GIVE_BACK_FLAGS SAVE_FLAGS
	movq	%gs:SAVE_RAX, %rax
	jmp	*%gs:G_KERNEL_BACK
