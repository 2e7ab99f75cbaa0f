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
	cmpl $TRACE_CHUNKS, %eax
	jb trace_next_chunk
	movl $1, %eax
	xchgl %eax, %gs:G_TRACE_WAITS
	movl %gs:G_TRACE_DRAINED, %edx
	movl %gs:G_TRACE_FILLED, %eax
	subl %edx, %eax
	cmpl $TRACE_CHUNKS, %eax
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
	orl $WINDOW_STALE, %gs:WINDOW(WINDOW_STATES)(%rcx)
	orl $WINDOW_STALE, %gs:WINDOW(WINDOW_STATES + 4)(%rcx)
	orl $WINDOW_STALE, %gs:WINDOW(WINDOW_STATES + 8)(%rcx)
	orl $WINDOW_STALE, %gs:WINDOW(WINDOW_STATES + 12)(%rcx)
5:	incl %esi
	cmpl $64, %esi
	jb 3b
	jmp *%gs:G_TRACE_AFTER
