/* Part of the gate (gate.S): calls of allocators.  Their records lie in the ring of accesses, in
 * order with these.  A return that is awaited is seen because the cell of its address in the table of
 * returns leads here, so it does not matter which instruction of which function returns. */

#define STACKED(n) %gs:(G_ALLOCATION_STACK - 8)(n)	/* the last of n bytes of stack pointers */

allocation_again:
	movq	%rax, %gs:KEPT_RAX
gate_allocation:
	KEEP_FLAGS KEPT_FLAGS
	movq	%rcx, %gs:KEPT_RCX
	movq	%rdx, %gs:KEPT_RDX
	movq	%gs:G_TRACE_AT, %rcx
	leaq	(4 * SIZE_OF_RECORD)(%rcx), %rdx
	cmpq	%gs:G_TRACE_END, %rdx
	ja	allocation_no_room
	movl	$1, %eax
	testl	$ALLOCATION_SIZE_1, %gs:G_ALLOCATION
	jz	1f
	movq	%rdi, %rax
1:	testl	$ALLOCATION_SIZE_2, %gs:G_ALLOCATION
	jz	2f
	imulq	%rsi, %rax
2:	testl	$ALLOCATION_SIZE_3, %gs:G_ALLOCATION
	jz	3f
	imulq	%gs:KEPT_RDX, %rax
3:	cmpq	$ALLOCATION_BIG, %rax
	setae	%al
	movzbl	%al, %eax
	movl	%eax, %gs:G_ALLOCATION_BIG
	testl	$ALLOCATION_RETURNS, %gs:G_ALLOCATION
	jz	allocation_takes

	movq	%gs:G_ALLOCATION_N, %rax
4:	testq	%rax, %rax
	jz	5f
	cmpq	%rsp, STACKED(%rax)		/* frames that are gone */
	ja	5f
	subq	$8, %rax
	jmp	4b
5:	cmpq	$(8 * ALLOCATION_DEPTH), %rax
	jb	6f
	xorl	%eax, %eax
6:	addq	$8, %rax
	movq	%rsp, STACKED(%rax)
	movq	%rax, %gs:G_ALLOCATION_N
	movq	(%rsp), %rax
	movq	%rax, (%rcx)
	movzwl	%ax, %eax
	addl	%gs:G_TABLES, %eax
	movq	%gs:G_AT_ALLOCATED, %rdx
	movq	%rdx, %gs:SLOT_RETURNS(,%rax,8)
	movl	$ALLOCATION_RECORD(ALLOCATION_ENTER), 8(%rcx)
	movq	%rsp, %rax
	shrq	$32, %rax
	shll	$16, %eax
	movb	%gs:G_ALLOCATION, %al
	movl	%eax, 12(%rcx)
	movq	%rdi, SIZE_OF_RECORD(%rcx)
	movl	$ALLOCATION_RECORD(ALLOCATION_FIRST), (SIZE_OF_RECORD + 8)(%rcx)
	movl	%esp, (SIZE_OF_RECORD + 12)(%rcx)
	addq	$(2 * SIZE_OF_RECORD), %rcx
	testl	$ALLOCATION_STORES, %gs:G_ALLOCATION
	jz	allocation_more
	movq	%rdi, %gs:G_ALLOCATION_AT
	movq	%rsp, %gs:G_ALLOCATION_SP
allocation_more:
	testl	$(ALLOCATION_TWO | ALLOCATION_THREE), %gs:G_ALLOCATION
	jz	allocation_done
	movq	%rsi, (%rcx)
	movl	$ALLOCATION_RECORD(ALLOCATION_MORE), 8(%rcx)
	addq	$SIZE_OF_RECORD, %rcx
	testl	$ALLOCATION_THREE, %gs:G_ALLOCATION
	jz	allocation_done
	movq	%gs:KEPT_RDX, %rax
	movq	%rax, (%rcx)
	movl	$ALLOCATION_RECORD(ALLOCATION_MORE), 8(%rcx)
	addq	$SIZE_OF_RECORD, %rcx
allocation_done:	/* rcx = where the next record goes */
	movq	%gs:G_ALLOCATION_BACK, %rax
	movq	%rax, %gs:G_TRACE_BACK
	movq	%rcx, %gs:G_TRACE_AT
	cmpq	%gs:G_TRACE_END, %rcx
	jae	trace_hand_over
	jmp	trace_leave

allocation_takes:
	movq	%rdi, (%rcx)
	movl	$ALLOCATION_RECORD(ALLOCATION_TAKE), 8(%rcx)
	movzbl	%gs:G_ALLOCATION, %eax
	movl	%eax, 12(%rcx)
	addq	$SIZE_OF_RECORD, %rcx
	testl	$(ALLOCATION_SIZE_1 | ALLOCATION_SIZE_2), %gs:G_ALLOCATION
	jz	allocation_more			/* how much free takes it does not say */
	movq	%rsi, (%rcx)			/* munmap */
	movl	$ALLOCATION_RECORD(ALLOCATION_MORE), 8(%rcx)
	addq	$SIZE_OF_RECORD, %rcx
	movq	%gs:G_ALLOCATION_BACK, %rax
	jmp	allocation_hand_over

allocation_no_room:
	leaq	allocation_again(%rip), %rax
	movl	$1, %gs:G_ALLOCATION_BIG
allocation_hand_over:	/* rax = where to go on; the rest of the chunk is given away when it matters */
	movq	%rax, %gs:G_TRACE_BACK
	movq	%rcx, %gs:G_TRACE_AT
	cmpq	%gs:G_TRACE_END, %rcx
	jae	trace_hand_over
	cmpl	$0, %gs:G_ALLOCATION_BIG
	je	trace_leave
	movl	$ALLOCATION_RECORD(ALLOCATION_END), 8(%rcx)
	jmp	trace_hand_over

gate_allocated:		/* the program's registers; the return address is on top of the stack */
	movq	%rax, %gs:KEPT_RAX
	KEEP_FLAGS KEPT_FLAGS
	movq	%rcx, %gs:KEPT_RCX
	movq	%rdx, %gs:KEPT_RDX
	movq	%rsp, %rdx
	movq	%gs:G_ALLOCATION_N, %rax
	movl	$1, %gs:G_ALLOCATION_KEEP
1:	testq	%rax, %rax
	jz	allocated_other
	cmpq	%rdx, STACKED(%rax)
	jae	2f
	subq	$8, %rax
	jmp	1b
2:	movq	%rax, %gs:G_ALLOCATION_N
	jne	allocated_other
	subq	$8, %rax
	movq	%rax, %gs:G_ALLOCATION_N
	movl	%eax, %gs:G_ALLOCATION_KEEP	/* another may be awaited through the same cell */
	movq	%gs:KEPT_RAX, %rax
	cmpq	%rdx, %gs:G_ALLOCATION_SP
	jne	4f
	movq	$0, %gs:G_ALLOCATION_SP
	testl	%eax, %eax
	movl	$0, %eax
	jnz	4f
	movq	%gs:G_ALLOCATION_AT, %rax
	movq	(%rax), %rax
4:	movq	%gs:G_TRACE_AT, %rcx
	movl	%edx, 12(%rcx)
	shrq	$32, %rdx
	movzwl	%dx, %edx
	shlq	$16, %rax
	orq	%rdx, %rax
	movq	%rax, (%rcx)
	movl	$ALLOCATION_RECORD(ALLOCATION_LEAVE), 8(%rcx)
	addq	$SIZE_OF_RECORD, %rcx
	leaq	gate_return(%rip), %rax
	jmp	allocation_hand_over
allocated_other:
	leaq	gate_return(%rip), %rax
	movq	%rax, %gs:G_TRACE_BACK
	jmp	trace_leave
