/* Part of the gate (gate.S): handing a full chunk of records to the tracer and beginning the next one,
 * waiting for it when all chunks of the ring are full. */

trace_end_chunk:	/* there is not room enough; then the access is looked at again */
	movq %gs:G_TRACE_AT, %rcx
	movl $ALLOCATION_RECORD(ALLOCATION_END), 8(%rcx)
	leaq trace_decide(%rip), %rax
	movq %rax, %gs:G_TRACE_AFTER
trace_give:		/* the next chunk may not be drained yet */
	movq %gs:G_TRACE_END, %rcx
	rdtsc
	shlq $32, %rdx
	orq %rdx, %rax
	movq %rax, -TRACE_CHUNK(%rcx)
	incl %gs:G_TRACE_FILLED
1:	movl %gs:G_TRACE_FILLED, %eax
	subl %gs:G_TRACE_DRAINED, %eax
	cmpl %gs:G_TRACE_DEPTH, %eax
	jb trace_next_chunk
	movl $1, %eax
	xchgl %eax, %gs:G_TRACE_WAITS
	movl %gs:G_TRACE_DRAINED, %edx
	movl %gs:G_TRACE_FILLED, %eax
	subl %edx, %eax
	cmpl %gs:G_TRACE_DEPTH, %eax
	jb trace_next_chunk
	movq %gs:G_SELF, %rdi
	addq $G_TRACE_DRAINED, %rdi
	movl $FUTEX_WAIT, %esi
	xorl %r10d, %r10d
	movl $SYS_FUTEX, %eax
	syscall
	jmp 1b
trace_next_chunk:
	movl $0, %gs:G_TRACE_WAITS
	movl %gs:G_TRACE_FILLED, %ecx
	andl $(TRACE_CHUNKS - 1), %ecx
	shll $TRACE_CHUNK_SHIFT, %ecx
	addq %gs:G_SELF, %rcx
	leaq (SLOT_RING + 16)(%rcx), %rax
	movq %rax, %gs:G_TRACE_AT
	addq $(TRACE_CHUNK - 16), %rax
	movq %rax, %gs:G_TRACE_END

	/* Other threads come between two chunks: what they have done to the lines is to be seen. */
	xorl %esi, %esi
3:	UNLESS_SIMULATED 5f
	CALL trace_settle, r11
	orl $WINDOW_OTHERS, %gs:WINDOW(WINDOW_STATES)(%rcx)
	orl $WINDOW_OTHERS, %gs:WINDOW(WINDOW_STATES + 4)(%rcx)
	orl $WINDOW_OTHERS, %gs:WINDOW(WINDOW_STATES + 8)(%rcx)
	orl $WINDOW_OTHERS, %gs:WINDOW(WINDOW_STATES + 12)(%rcx)
5:	incl %esi
	cmpl $64, %esi
	jb 3b

	/* Is the chunk a burst? */
	movq %gs:G_TRACE_END, %rcx
	movl $1, (CHUNK_BURST - TRACE_CHUNK)(%rcx)
	cmpl $0, %gs:G_TRACE_BURST_ASKED
	movl $0, %gs:G_TRACE_BURST_ASKED
	jne 6f
	movl %gs:G_TRACE_FILLED, %eax
	cmpl $TRACE_BURSTS_FIRST, %eax
	jb 6f
	testl $(TRACE_BURST_OF - 1), %eax
	jz 6f
	movl $0, (CHUNK_BURST - TRACE_CHUNK)(%rcx)
	movl $(TRACE_MASKS - 1), %ecx
5:	movq %gs:G_TRACE_SAMPLED(,%rcx,8), %rax
	movq %rax, %gs:G_TRACE_MASKS(,%rcx,8)
	decl %ecx
	jns 5b
	movq %rax, %gs:G_TRACE_CLASSES	/* the mask of one line */
	movl %gs:G_TRACE_SAMPLED_KEEP, %eax
	movl %eax, %gs:G_TRACE_KEEP
	jmp *%gs:G_TRACE_AFTER
6:	movl $(TRACE_MASKS - 1), %ecx
7:	movq $-1, %gs:G_TRACE_MASKS(,%rcx,8)
	decl %ecx
	jns 7b
	movq $-1, %gs:G_TRACE_CLASSES
	movl $0, %gs:G_TRACE_KEEP
	movl $(63 << WINDOW_SHIFT), %ecx	/* windows are empty, and stay so */
8:	movq $-1, %gs:WINDOW(WINDOW_LINES)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 8)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 16)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 24)(%rcx)
	subl $(1 << WINDOW_SHIFT), %ecx
	jns 8b
	jmp *%gs:G_TRACE_AFTER
