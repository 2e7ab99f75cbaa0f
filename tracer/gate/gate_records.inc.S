/* Part of the gate (gate.S): records of accesses to memory, the fast way.  An access to a line that is
 * in the window of its class (protocol.h, G_TRACE_WINDOWS) and that changes nothing for any cache is
 * left out here; all others go on in gate_windows.inc.S. */

.macro TOUCH way			/* of the window at rcx; it becomes the last one touched, unless it is stale */
	testb $WINDOW_STALE, %gs:WINDOW(WINDOW_STATES + 4 * \way)(%rcx)
	jnz trace_slow
	movl %gs:WINDOW(WINDOW_TOUCHED)(%rcx), %edx
	orl $(15 << (4 * \way)), %edx
	andl $~(0x1111 << \way), %edx
	movl %edx, %gs:WINDOW(WINDOW_TOUCHED)(%rcx)
	movl $\way, %eax
.endm

gate_stop:
	int3
gate_stopped:
	ud2

gate_record:
	movq %rax, %gs:KEPT_RAX
	KEEP_FLAGS KEPT_FLAGS
	movq %rcx, %gs:KEPT_RCX
	movq %rdx, %gs:KEPT_RDX
	movq %gs:G_TRACE_ADDRESS, %rax
	movl %gs:G_TRACE_WORD, %edx
	testl %edx, %edx
	js trace_slow
	movl %edx, %ecx
	shrl $TRACE_SPAN_SHIFT, %ecx
	andl $TRACE_SPAN_MAX, %ecx
	leaq -1(%rax,%rcx,8), %rcx	/* the last byte, or one in the same 8 behind it */
	shrq $6, %rcx
	shrq $6, %rax
	subl %eax, %ecx			/* rax = first line, rcx = how many more, */
	andl $(TRACE_MASKS - 1), %ecx	/* also where addresses wrap */
	shrxq %rax, %gs:G_TRACE_MASKS(,%rcx,8), %rdx
	testb $1, %dl
	jz trace_leave
	testl $TRACE_CHANGES, %gs:G_TRACE_WORD
	jnz trace_slow
	testl %ecx, %ecx
	jnz trace_slow
	movl %eax, %ecx
	andl $63, %ecx
	shll $WINDOW_SHIFT, %ecx
	cmpq %gs:WINDOW(WINDOW_LINES)(%rcx), %rax
	je 1f
	cmpq %gs:WINDOW(WINDOW_LINES + 8)(%rcx), %rax
	je 2f
	cmpq %gs:WINDOW(WINDOW_LINES + 16)(%rcx), %rax
	je 3f
	cmpq %gs:WINDOW(WINDOW_LINES + 24)(%rcx), %rax
	jne trace_slow
	TOUCH 3
	jmp 4f
1:	TOUCH 0
	jmp 4f
2:	TOUCH 1
	jmp 4f
3:	TOUCH 2
4:	movl %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4), %edx
	addl $WINDOW_ONE, %edx
	testl $TRACE_STORES, %gs:G_TRACE_WORD
	jnz 5f
	testl $WINDOW_FULL, %edx
	jnz 6f
	testl $WINDOW_OF, %edx
	jz trace_slow
	movl %edx, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	jmp trace_leave
5:	testl $WINDOW_STORED, %edx
	jz trace_slow
	testl $WINDOW_FULL, %edx
	jz 7f
	testl $WINDOW_BUT_FIRST, %edx
	jz trace_slow
7:	testl $WINDOW_OF, %edx
	jz trace_slow
	orl $WINDOW_OWED, %edx		/* it is the last writer now */
	movl %edx, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	addl %eax, %eax
	movq %gs:G_TRACE_ADDRESS, %rdx
	movq %rdx, %gs:WINDOW(WINDOW_RECORDS)(%rcx,%rax,8)
	movl %gs:G_TRACE_WORD, %edx
	movl %edx, %gs:WINDOW(WINDOW_RECORDS + 8)(%rcx,%rax,8)
	jmp trace_leave
6:	testl $WINDOW_BUT_FIRST, %edx
	jz trace_slow
	movl %edx, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
trace_leave:
	GIVE_BACK_FLAGS KEPT_FLAGS
	movq %gs:KEPT_RAX, %rax
	movq %gs:KEPT_RCX, %rcx
	movq %gs:KEPT_RDX, %rdx
	jmp *%gs:G_TRACE_BACK

trace_hand_over:	/* the chunk is full */
	leaq trace_leave_more(%rip), %rax
	jmp trace_more
trace_slow:
	leaq trace_decide(%rip), %rax
trace_more:
	movq %rsi, %gs:KEPT_RSI
	movq %rdi, %gs:KEPT_RDI
	movq %r8, %gs:KEPT_R8
	movq %r9, %gs:KEPT_R9
	movq %r10, %gs:KEPT_R10
	movq %r11, %gs:KEPT_R11

	/* From here on these six are kept as well. */
gate_record_more:
	leaq trace_decide(%rip), %rcx
	cmpq %rcx, %rax
	je trace_decide
	movq %rax, %gs:G_TRACE_AFTER
	jmp trace_give

trace_leave_more:
	movq %gs:KEPT_RSI, %rsi
	movq %gs:KEPT_RDI, %rdi
	movq %gs:KEPT_R8, %r8
	movq %gs:KEPT_R9, %r9
	movq %gs:KEPT_R10, %r10
	movq %gs:KEPT_R11, %r11
	jmp trace_leave
