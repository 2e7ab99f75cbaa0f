/* Part of the gate (gate.S): records of accesses that are not left out at once, and of two lines.  Here
 * the windows get new lines, and the order of touches that the records do not tell yet is recorded. */

trace_decide:		/* all but what is left out at once; it changes nothing until there is room */
	movq %gs:G_TRACE_ADDRESS, %rsi
	movl %gs:G_TRACE_WORD, %edx
	testl %edx, %edx
	js trace_anywhere
	movl %edx, %ecx
	shrl $TRACE_SPAN_SHIFT, %ecx
	andl $TRACE_SPAN_MAX, %ecx
	leaq -8(%rsi,%rcx,8), %rax	/* no byte behind the last */
	leaq 7(%rax), %rdi
	shrq $6, %rax
	shrq $6, %rdi
	shrq $6, %rsi
	subl %esi, %eax
	subl %esi, %edi
	andl $(TRACE_MASKS - 1), %edi
	testl $TRACE_CHANGES, %edx
	jnz trace_clear
	cmpl $1, %edi
	ja trace_clear
	cmpl %edi, %eax
	jne trace_clear			/* the second line may be none of its */
	movq %gs:G_TRACE_AT, %rax
	addq $((8 + 1) * SIZE_OF_RECORD), %rax
	cmpq %gs:G_TRACE_END, %rax
	ja trace_end_chunk
	cmpl $0, %gs:G_TRACE_BURST_ASKED
	jne trace_end_chunk
	xorl %eax, %eax
	testl $TRACE_STORES, %edx
	jz 1f
	notq %rax
1:	movq %rax, %gs:G_TRACE_STORED_LINES
	testl %edi, %edi
	jz trace_note

	/* Two lines, rsi and the next.  Only one of them may be stored to: it is the first where the
	 * stores begin before its end, the second where they end behind that. */
	testq %rax, %rax
	jz 3f
	movl %gs:G_TRACE_ADDRESS, %eax
	andl $63, %eax
	subl $64, %eax
	negl %eax			/* bytes in the first line */
	movzwl %gs:G_TRACE_EXTRA, %ecx
	movzwl %gs:G_TRACE_EXTRA + TRACE_STORED_SHIFT / 8, %r8d
	movabsq $0x5555555555555555, %r9 /* the lines with even numbers; odd ones follow even ones */
	movq %r9, %r10
	notq %r10
	testb $1, %sil
	jz 1f
	xchgq %r9, %r10
1:	xorl %edx, %edx
	cmpl %eax, %ecx
	jae 2f
	orq %r9, %rdx
2:	cmpl %eax, %r8d
	jbe 2f
	orq %r10, %rdx
2:	movq %rdx, %gs:G_TRACE_STORED_LINES

	/* It is left out when it would be for both. */
3:	CALL trace_is_known, r11
	jne trace_note
	incq %rsi
	CALL trace_is_known, r11
	leaq -1(%rsi), %rsi
	jne trace_note
	CALL trace_pass, r11
	incq %rsi
	leaq trace_leave_more(%rip), %r11
	jmp trace_pass

trace_find:		/* line rsi: rcx = its window, eax = its place there, 4: none; back to r10 */
	movl %esi, %ecx
	andl $63, %ecx
	shll $WINDOW_SHIFT, %ecx
	xorl %eax, %eax
1:	cmpq %rsi, %gs:WINDOW(WINDOW_LINES)(%rcx,%rax,8)
	je 2f
	incl %eax
	cmpl $WINDOW_WAYS, %eax
	jb 1b
2:	jmp *%r10

trace_is_known:		/* ZF: the access to line rsi may be left out; back to r11 */
	UNLESS_SIMULATED 3f
	CALL trace_find, r10
	cmpl $WINDOW_WAYS, %eax
	je 4f
	movl %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4), %edx
	addl $WINDOW_ONE, %edx
	testl $WINDOW_STALE, %edx
	jnz 5f
	movq %gs:G_TRACE_STORED_LINES, %r8
	btq %rsi, %r8
	jnc 2f
	testl $WINDOW_STORED, %edx
	jz 4f
2:	movl $WINDOW_OF, %eax
	testl $WINDOW_FULL, %edx
	jz 2f
	movl $WINDOW_BUT_FIRST, %eax
2:	testl %eax, %edx
	jz 4f
3:	xorl %eax, %eax
	jmp *%r11
4:	orl $1, %eax			/* clears ZF */
5:	jmp *%r11

trace_touch:		/* the way eax of the window rcx in the order at rcx + rdx; back to r10 */
	leaq trace_rows(%rip), %r9
	movl (%r9,%rax,4), %r8d
	addl %edx, %ecx
	orl %r8d, %gs:G_TRACE_WINDOWS(%rcx)
	movl 16(%r9,%rax,4), %r8d
	andl %r8d, %gs:G_TRACE_WINDOWS(%rcx)
	subl %edx, %ecx
	jmp *%r10

trace_save:		/* keeps the access at hand as that of way eax; back to r10 */
	addl %eax, %eax
	movq %gs:G_TRACE_ADDRESS, %r8
	movq %r8, %gs:WINDOW(WINDOW_RECORDS)(%rcx,%rax,8)
	movl %gs:G_TRACE_WORD, %r8d
	movl %r8d, %gs:WINDOW(WINDOW_RECORDS + 8)(%rcx,%rax,8)
	shrl $1, %eax
	jmp *%r10

trace_pass:		/* the access to line rsi is left out; back to r11 */
	UNLESS_SIMULATED 2f
	CALL trace_find, r10
	movl $WINDOW_TOUCHED, %edx
	CALL trace_touch, r10
	addl $WINDOW_ONE, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	movq %gs:G_TRACE_STORED_LINES, %r8
	btq %rsi, %r8
	jnc 2f
	orl $WINDOW_OWED, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	movq %r11, %r10
	jmp trace_save
2:	jmp *%r11

trace_note:		/* the access to line rsi and edi more will be recorded */
	UNLESS_SIMULATED trace_noted
	CALL trace_find, r10
	cmpl $WINDOW_WAYS, %eax
	jb trace_note_known
	movl %gs:G_TRACE_KEEP, %edx
	cmpl $1, %edx
	jb trace_noted
	je trace_note_only
	movl %gs:WINDOW(WINDOW_TOUCHED)(%rcx), %edx
	cmpl %gs:WINDOW(WINDOW_TOLD)(%rcx), %edx
	jne trace_note_behind
	movl $3, %eax			/* the one that was not touched for longest */
	testl $0xf000, %edx
	jz 2f
	movl $2, %eax
	testl $0xf00, %edx
	jz 2f
	movl $1, %eax
	testl $0xf0, %edx
	jz 2f
	xorl %eax, %eax
2:	testl $WINDOW_OWED, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	jnz trace_note_behind
	CALL trace_sharing, r10
	jz trace_note_new
	CALL trace_settled, r10
	jnz trace_note_behind
	popcntl %r8d, %r9d
	incl %r9d
	CALL trace_deepen, r10
	jmp trace_note_new
trace_note_behind:
	leaq trace_note(%rip), %r11
	jmp trace_flush
trace_note_only:	/* a window of one line */
	xorl %eax, %eax
	testl $WINDOW_OWED, %gs:WINDOW(WINDOW_STATES)(%rcx)
	jnz trace_note_behind
trace_note_new:
	movq %rsi, %gs:WINDOW(WINDOW_LINES)(%rcx,%rax,8)
	imull $FULL_FACTOR, %esi, %edx
	testl %gs:G_TRACE_FULL, %edx
	movl $0, %edx
	jnz 2f
	movl %gs:WINDOW(WINDOW_FIRST_STATE)(%rcx), %edx
2:	movl %edx, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
trace_note_known:
	movl %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4), %edx
	testl $WINDOW_STALE, %edx
	jnz trace_note_stale
trace_note_sure:
	andl $~WINDOW_STALE, %edx
	addl $WINDOW_ONE, %edx
	movq %gs:G_TRACE_STORED_LINES, %r8
	btq %rsi, %r8
	jnc 3f
	testl $WINDOW_STORED, %edx
	jnz 2f
	andl $WINDOW_FULL, %edx
	orl $WINDOW_STORED, %edx
2:	andl $~WINDOW_OWED, %edx
3:	movl %edx, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	leaq 4f(%rip), %r10
	testl $WINDOW_OWED, %edx
	jz trace_save
4:	movl $WINDOW_TOUCHED, %edx
	CALL trace_touch, r10
	movl $WINDOW_TOLD, %edx
	leaq trace_noted(%rip), %r10
	jmp trace_touch
trace_noted:
	incq %rsi
	decl %edi
	jns trace_note

trace_append:
	movq %gs:G_TRACE_AT, %rcx
	prefetchw 512(%rcx)
	movq %gs:G_TRACE_ADDRESS, %rax
	movq %gs:G_TRACE_WORD, %rdx	/* and G_TRACE_EXTRA */
	movq %rax, (%rcx)
	movq %rdx, 8(%rcx)
	addq $16, %rcx
	movq %rcx, %gs:G_TRACE_AT
	cmpq %gs:G_TRACE_END, %rcx
	jb trace_leave_more
	leaq trace_leave_more(%rip), %rax
	movq %rax, %gs:G_TRACE_AFTER
	jmp trace_give

	/* A line that came in may have taken another one of its set out of an inclusive level, and so out of L1:
	 * the one there that was used there the longest ago, which is not known here.  When that one is used again
	 * it comes in, takes out the next one, and so on, until all lines of the window that share the set have
	 * been renewed.  The depth of a line: so many of them, with itself, may not have been renewed yet, if the
	 * line is out of L1; 0: it is in L1.  So a line that comes makes those that share its set as deep as they
	 * are many, and a line of depth n, when it is used, makes them n - 1 deep where they were less.  Before, all
	 * that the records do not tell yet is told: so what is told later is of lines that are in L1 by then. */
trace_note_stale:
	CALL trace_sharing, r10
	movl %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4), %edx
	movl %edx, %r9d
	andl $(WINDOW_DEPTH_MAX << WINDOW_DEPTH_SHIFT), %r9d
	orl %r8d, %r9d
	jz trace_note_sure		/* other threads came between, and it takes out none of its window */
	CALL trace_settled, r10
	jnz trace_note_behind
	movl %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4), %edx
	testl %r8d, %r8d
	jz trace_note_sure
	movl $(WINDOW_WAYS - 1), %r9d
	testl $WINDOW_OTHERS, %edx
	jnz 1f
	movl %edx, %r9d
	shrl $WINDOW_DEPTH_SHIFT, %r9d
	andl $WINDOW_DEPTH_MAX, %r9d
	decl %r9d
1:	CALL trace_deepen, r10
	movl %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4), %edx
	jmp trace_note_sure

.macro SHARES way
	movl %gs:WINDOW(WINDOW_LINES + 8 * \way)(%rcx), %r9d
	xorl %esi, %r9d
	andl %edx, %r9d
	cmpl $1, %r9d
	adcl %r8d, %r8d			/* one more bit: whether it was 0 */
.endm

trace_sharing:		/* r8d: the lines of window rcx, but way eax, that share a set with line rsi; ZF: none;
			 * back to r10 */
	movl %gs:G_TRACE_SET_BITS, %edx
	xorl %r8d, %r8d
	SHARES 3
	SHARES 2
	SHARES 1
	SHARES 0
	btrl %eax, %r8d
	testl %r8d, %r8d
	jmp *%r10

trace_settled:		/* ZF: the records tell all of window rcx; back to r10 */
	movl %gs:WINDOW(WINDOW_STATES)(%rcx), %r9d
	orl %gs:WINDOW(WINDOW_STATES + 4)(%rcx), %r9d
	orl %gs:WINDOW(WINDOW_STATES + 8)(%rcx), %r9d
	orl %gs:WINDOW(WINDOW_STATES + 12)(%rcx), %r9d
	andl $WINDOW_OWED, %r9d
	movl %gs:WINDOW(WINDOW_TOUCHED)(%rcx), %edx
	xorl %gs:WINDOW(WINDOW_TOLD)(%rcx), %edx
	orl %edx, %r9d
	jmp *%r10

trace_deepen:		/* the lines r8d, not 0, of window rcx become r9d deep at least; back to r10 */
	shll $WINDOW_DEPTH_SHIFT, %r9d
1:	tzcntl %r8d, %r11d
	movl %gs:WINDOW(WINDOW_STATES)(%rcx,%r11,4), %edx
	andl $(WINDOW_DEPTH_MAX << WINDOW_DEPTH_SHIFT), %edx
	cmpl %r9d, %edx
	jae 2f
	xorl %r9d, %edx
	xorl %edx, %gs:WINDOW(WINDOW_STATES)(%rcx,%r11,4)
2:	leal -1(%r8), %edx
	andl %edx, %r8d
	jnz 1b
	jmp *%r10

trace_clear:		/* no line from rsi on, and edi more, is known any more */
	leal 1(%rdi), %eax
	shll $6, %eax			/* a record for each place of their windows */
	addq %gs:G_TRACE_AT, %rax
	addq $SIZE_OF_RECORD, %rax
	cmpq %gs:G_TRACE_END, %rax
	ja trace_end_chunk
1:	UNLESS_SIMULATED 3f
	CALL trace_settle, r11
	movq $-1, %gs:WINDOW(WINDOW_LINES)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 8)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 16)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 24)(%rcx)
3:	incq %rsi
	decl %edi
	jns 1b
	jmp trace_append

trace_anywhere:		/* no line is known any more; of several records the first one says so */
	testl $TRACE_CHANGES, %edx
	jz trace_append
	movl $(64 * WINDOW_WAYS * SIZE_OF_RECORD), %eax /* of all classes, should they be settled */
	addq %gs:G_TRACE_AT, %rax
	addq $SIZE_OF_RECORD, %rax
	cmpq %gs:G_TRACE_END, %rax
	ja trace_end_chunk
	movq %gs:G_TRACE_CLASSES, %rdi
1:	tzcntq %rdi, %rsi
	jc trace_append
	CALL trace_settle, r11
	movq $-1, %gs:WINDOW(WINDOW_LINES)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 8)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 16)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 24)(%rcx)
	blsrq %rdi, %rdi
	jmp 1b

trace_settle:		/* what is to be told of the window of line rsi, rcx, is told; back to r11 */
	movl %esi, %ecx
	andl $63, %ecx
	shll $WINDOW_SHIFT, %ecx
	CALL trace_settled, r10
	jnz trace_flush
	jmp *%r11

	/* Records once more what was touched in another order than was recorded, and by whom a line was stored to
	 * last: from the first such line on all, from the one touched earliest to the last.  Back to r11. */
trace_flush:
	movl %gs:WINDOW(WINDOW_TOLD)(%rcx), %r8d
	notl %r8d
	andl %gs:WINDOW(WINDOW_TOUCHED)(%rcx), %r8d /* a row: lines that only the records have behind it */
	xorl %r10d, %r10d		/* how many others were touched earlier; 0x100: records are made */
1:	xorl %eax, %eax
2:	leal (,%rax,4), %edx
	shrxl %edx, %gs:WINDOW(WINDOW_TOUCHED)(%rcx), %r9d
	andl $15, %r9d
	popcntl %r9d, %r9d
	cmpb %r10b, %r9b
	je 3f
	incl %eax
	andl $(WINDOW_WAYS - 1), %eax
	jmp 2b
3:	cmpq $-1, %gs:WINDOW(WINDOW_LINES)(%rcx,%rax,8)
	je 6f
	testl $0x100, %r10d
	jnz 5f
	shrxl %edx, %r8d, %r9d
	testl $15, %r9d
	jnz 4f
	testl $WINDOW_OWED, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	jz 6f
4:	orl $0x100, %r10d
5:	andl $~WINDOW_OWED, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	leal (%rax,%rax), %edx
	movq %gs:G_TRACE_AT, %r9
	movq %gs:WINDOW(WINDOW_RECORDS)(%rcx,%rdx,8), %rdx
	movq %rdx, (%r9)
	leal (%rax,%rax), %edx
	movl %gs:WINDOW(WINDOW_RECORDS + 8)(%rcx,%rdx,8), %edx
	andl $~(TRACE_SPAN_MAX << TRACE_SPAN_SHIFT), %edx
	movl %edx, 8(%r9)
	movl %gs:WINDOW(WINDOW_LINES)(%rcx,%rax,8), %edx
	movl %edx, 12(%r9)
	addq $SIZE_OF_RECORD, %r9
	movq %r9, %gs:G_TRACE_AT
6:	incl %r10d
	testl $WINDOW_WAYS, %r10d
	jz 1b
	movl %gs:WINDOW(WINDOW_TOUCHED)(%rcx), %eax
	movl %eax, %gs:WINDOW(WINDOW_TOLD)(%rcx)
	jmp *%r11
