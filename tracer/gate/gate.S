/* The gate: the only code of rfprof's own that runs inside a counted program.
 *
 * It is position independent, is copied into the code cache, calls no library, uses no stack, never
 * touches the program's vector registers, and makes no system call but futex, sched_yield and those
 * of the program.  The status flags are saved by lahf and seto, not by pushf: a tracer that steps
 * through here would see its own trap flag pushed, or the kernel would take a popf for the
 * program's wish to be trapped.  GS holds the thread's slot (protocol.h).
 *
 * Entries, reached by `jmp *%gs:G_AT_…` or through a table:
 *   gate_miss      direct transfer to code not yet linked: SAVE_RAX = rax, eax = stub number
 *   gate_indirect  jump table has no entry: rcx = pc, G_SPILL_RCX/RAX = the program's
 *   gate_collide   entry was for another pc: rcx = pc - entry's pc, rax = -entry's pc
 *   gate_return    return table has no entry or one for another pc; the pc is in -8(%rsp)
 *   gate_syscall   the program's system call: rcx = cache address behind it (rcx and r11 are the
 *                  two registers that the syscall instruction may destroy)
 *   gate_record    an access to memory that may be in a class that is simulated: G_TRACE_ADDRESS, _WORD,
 *                  _EXTRA and _BACK; changes no register and no flag
 *   gate_allocation an allocator begins: G_ALLOCATION, G_ALLOCATION_BACK, rax in KEPT_RAX;
 *                  changes no register and no flag
 *   gate_allocated as gate_return, but the return may be an allocator's */
#include "tracer/gate/protocol.h"

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define SYS_FUTEX 202
#define SYS_SCHED_YIELD 24
#define MREMAP_MAYMOVE 1
#define MAP_PRIVATE 0x02
#define MAP_ANONYMOUS 0x20
#define SPINS 200	/* rounds of PAUSES and a yield before sleeping */
#define PAUSES 50

	.section .rodata
	.balign 64
	.globl gate_begin, gate_miss, gate_indirect, gate_collide, gate_return, gate_syscall, gate_end
	.globl gate_do_syscall, gate_after_syscall, gate_wait_begin, gate_wait_end, gate_resume
	.globl gate_do_action, gate_after_action, gate_do_change, gate_after_change
	.globl gate_do_timer, gate_after_timer
	.hidden gate_do_timer, gate_after_timer
	.globl gate_peek_clone, gate_peek_path, gate_record, gate_record_more, gate_allocation, gate_allocated
	.hidden gate_record, gate_record_more, gate_allocation, gate_allocated
	.hidden gate_do_action, gate_after_action, gate_do_change, gate_after_change
	.hidden gate_peek_clone, gate_peek_path
	.hidden gate_begin, gate_miss, gate_indirect, gate_collide, gate_return, gate_syscall, gate_end
	.hidden gate_do_syscall, gate_after_syscall, gate_wait_begin, gate_wait_end, gate_resume
gate_begin:

gate_syscall:
	movq	%rcx, %gs:G_SYSRET
	movzwl	%ax, %ecx
	movq	%gs:G_SYSTAB, %r11
	movzbl	(%r11,%rcx), %ecx
	jrcxz	gate_ask
	leal	-CALL_IN_PLACE(%rcx), %ecx
	jrcxz	gate_do_syscall
	leaq	gate_calls(%rip), %r11
	movzwl	(%r11,%rcx,2), %ecx
	leaq	(%r11,%rcx), %r11
	jmp	*%r11
gate_do_syscall:
	syscall
gate_after_syscall:
	movl	%gs:G_HELD_SENT, %ecx
	jrcxz	1f
	jmp	gate_attend
1:	jmp	*%gs:G_SYSRET

	/* Signals that are held for this thread: natively they would have come by now. */
gate_attend:
	movq	%rax, %gs:SAVE_RAX
	movl	$REQ_ATTEND, %ecx
	jmp	gate_request

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

gate_miss:
	movq	%rcx, %gs:SAVE_RCX
	movl	$REQ_MISS, %ecx
	jmp	gate_request

gate_collide:
	movq	%rdx, %gs:SAVE_RDX
	movq	%rax, %rdx
	lahf
	seto	%al
	movq	%rax, %gs:SAVE_FLAGS
	subq	%rdx, %rcx
	jmp	gate_look_up_jump
gate_indirect:
	movq	%rdx, %gs:SAVE_RDX
	lahf
	seto	%al
	movq	%rax, %gs:SAVE_FLAGS
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

gate_return:
	movq	%rax, %gs:SAVE_RAX
	lahf
	seto	%al
	movq	%rax, %gs:SAVE_FLAGS
	movq	%rcx, %gs:SAVE_RCX
	movq	-8(%rsp), %rcx
	movq	%rcx, %gs:G_REQ_ARG
	movl	$REQ_RETURN, %gs:G_REQ_TYPE
	movq	%rdx, %gs:SAVE_RDX
	movq	%rsi, %gs:SAVE_RSI
	btsq	$RETURN_KEY_BIT, %rcx
	jc	gate_save

gate_look_up:		/* rcx = key; rax, rcx, rdx, rsi and the flags are saved */
	movq	%gs:G_PROCESS, %rdx
	movq	P_TABLE(%rdx), %rsi
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
	movq	%rax, %gs:G_JUMP
	testq	%rcx, %rcx
	js	4f
	movq	%rax, %gs:SLOT_JUMPS(,%rdx,8)
	jmp	5f
4:	cmpl	$0, %gs:G_ALLOCATION_KEEP
	jne	6f
	movq	%rax, %gs:SLOT_RETURNS(,%rdx,8)
6:	movl	$0, %gs:G_ALLOCATION_KEEP
	movq	%gs:SAVE_RCX, %rcx
5:	movq	%gs:SAVE_FLAGS, %rax
	addb	$0x7f, %al			/* sets OF again */
	sahf
	movq	%gs:SAVE_RAX, %rax
	movq	%gs:SAVE_RDX, %rdx
	movq	%gs:SAVE_RSI, %rsi
	jmp	*%gs:G_JUMP

gate_request:		/* ecx = type, rax = argument; SAVE_RAX, SAVE_RCX hold the program's */
	movq	%rdx, %gs:SAVE_RDX
	movq	%rsi, %gs:SAVE_RSI
	movq	%rax, %gs:G_REQ_ARG
	movl	%ecx, %gs:G_REQ_TYPE
	lahf
	seto	%al
	movq	%rax, %gs:SAVE_FLAGS
gate_save:		/* rax, rcx, rdx, rsi and the flags are saved */
	movq	%rdi, %gs:SAVE_RDI
	movq	%r8, %gs:SAVE_R8
	movq	%r9, %gs:SAVE_R9
	movq	%r10, %gs:SAVE_R10
	movq	%r11, %gs:SAVE_R11
	movq	%rsp, %gs:SAVE_RSP
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
	movl	$FUTEX_WAIT, %esi
	movl	$STATE_SLEEPING, %edx
	xorl	%r10d, %r10d
	movl	$SYS_FUTEX, %eax
	syscall
	jmp	gate_wait_begin
gate_wait_end:

gate_resume:
	movq	%gs:G_STATE, %rdi
	movl	$STATE_IDLE, (%rdi)
	movq	%gs:SAVE_FLAGS, %rax
	addb	$0x7f, %al
	sahf
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

	/* Calls of allocators.  Their records lie in the ring of accesses, in order with these.  A return that
	 * is awaited is seen because the cell of its address in the table of returns leads here; so it does
	 * not matter by which instruction of which function it comes. */
#define SIZE_OF_RECORD 16
#define STACKED(n) %gs:(G_ALLOCATION_STACK - 8)(n)	/* the last of n bytes of stack pointers */

allocation_again:
	movq	%rax, %gs:KEPT_RAX
gate_allocation:
	lahf
	seto	%al
	movq	%rax, %gs:KEPT_FLAGS
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

gate_allocated:		/* the program's registers; what was returned to is at -8(%rsp) */
	movq	%rax, %gs:KEPT_RAX
	lahf
	seto	%al
	movq	%rax, %gs:KEPT_FLAGS
	movq	%rcx, %gs:KEPT_RCX
	movq	%rdx, %gs:KEPT_RDX
	leaq	-8(%rsp), %rdx
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

/* ---- Records of accesses: the window of a class (protocol.h, G_TRACE_WINDOWS) ---- */

#define WINDOW(field) (G_TRACE_WINDOWS + (field))

.macro TOUCH way			/* of the window at rcx; it becomes the last one touched */
	movl %gs:WINDOW(WINDOW_TOUCHED)(%rcx), %edx
	orl $(15 << (4 * \way)), %edx
	andl $~(0x1111 << \way), %edx
	movl %edx, %gs:WINDOW(WINDOW_TOUCHED)(%rcx)
	movl $\way, %eax
.endm

gate_record:
	movq %rax, %gs:KEPT_RAX
	lahf
	seto %al
	movq %rax, %gs:KEPT_FLAGS
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
	testl $(WINDOW_FULL | WINDOW_STALE), %edx
	jnz 6f
	testl $WINDOW_OF, %edx
	jz trace_slow
	movl %edx, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	jmp trace_leave
5:	testl $WINDOW_STORED, %edx
	jz trace_slow
	testl $WINDOW_STALE, %edx
	jnz trace_slow
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
6:	testl $WINDOW_STALE, %edx
	jnz trace_slow
	testl $WINDOW_BUT_FIRST, %edx
	jz trace_slow
	movl %edx, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
trace_leave:
	movq %gs:KEPT_FLAGS, %rax
	addb $0x7f, %al
	sahf
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

trace_decide:		/* all but what is left out at once; it changes nothing until there is room */
	movq %gs:G_TRACE_ADDRESS, %rsi
	movl %gs:G_TRACE_WORD, %edx
	movl $63, %edi
	testl %edx, %edx
	js trace_clear			/* it may be anywhere */
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
	testl %edi, %edi
	jz trace_note

	/* Two lines.  It is left out when it would be for both. */
	leaq 1f(%rip), %r11
	jmp trace_is_known
1:	jne trace_note
	incq %rsi
	leaq 1f(%rip), %r11
	jmp trace_is_known
1:	leaq -1(%rsi), %rsi
	jne trace_note
	leaq 1f(%rip), %r11
	jmp trace_pass
1:	incq %rsi
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
	movq %gs:G_TRACE_MASKS, %rdx
	btq %rsi, %rdx
	jnc 3f
	leaq 1f(%rip), %r10
	jmp trace_find
1:	cmpl $WINDOW_WAYS, %eax
	je 4f
	movl %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4), %edx
	addl $WINDOW_ONE, %edx
	testl $WINDOW_STALE, %edx
	jnz 5f
	testl $TRACE_STORES, %gs:G_TRACE_WORD
	jz 2f
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
	movq %gs:G_TRACE_MASKS, %rdx
	btq %rsi, %rdx
	jnc 2f
	leaq 1f(%rip), %r10
	jmp trace_find
1:	movl $WINDOW_TOUCHED, %edx
	leaq 1f(%rip), %r10
	jmp trace_touch
1:	addl $WINDOW_ONE, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	testl $TRACE_STORES, %gs:G_TRACE_WORD
	jz 2f
	orl $WINDOW_OWED, %gs:WINDOW(WINDOW_STATES)(%rcx,%rax,4)
	movq %r11, %r10
	jmp trace_save
2:	jmp *%r11

trace_note:		/* the access to line rsi and edi more will be recorded */
	movq %gs:G_TRACE_MASKS, %rdx
	btq %rsi, %rdx
	jnc trace_noted
	leaq 1f(%rip), %r10
	jmp trace_find
1:	cmpl $WINDOW_WAYS, %eax
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
	jz trace_note_new
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
	andl $~WINDOW_STALE, %edx
	addl $WINDOW_ONE, %edx
	testl $TRACE_STORES, %gs:G_TRACE_WORD
	jz 3f
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
	leaq 5f(%rip), %r10
	jmp trace_touch
5:	movl $WINDOW_TOLD, %edx
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

trace_clear:		/* no line from rsi on, and edi more, is known any more */
	leal 1(%rdi), %eax
	shll $6, %eax			/* a record for each place of their windows */
	addq %gs:G_TRACE_AT, %rax
	addq $SIZE_OF_RECORD, %rax
	cmpq %gs:G_TRACE_END, %rax
	ja trace_end_chunk
1:	movq %gs:G_TRACE_MASKS, %rdx
	btq %rsi, %rdx
	jnc 3f
	leaq 2f(%rip), %r11
	jmp trace_settle
2:	movq $-1, %gs:WINDOW(WINDOW_LINES)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 8)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 16)(%rcx)
	movq $-1, %gs:WINDOW(WINDOW_LINES + 24)(%rcx)
3:	incq %rsi
	decl %edi
	jns 1b
	jmp trace_append

trace_settle:		/* what is to be told of the window of line rsi, rcx, is told; back to r11 */
	movl %esi, %ecx
	andl $63, %ecx
	shll $WINDOW_SHIFT, %ecx
	movl %gs:WINDOW(WINDOW_STATES)(%rcx), %eax
	orl %gs:WINDOW(WINDOW_STATES + 4)(%rcx), %eax
	orl %gs:WINDOW(WINDOW_STATES + 8)(%rcx), %eax
	orl %gs:WINDOW(WINDOW_STATES + 12)(%rcx), %eax
	andl $WINDOW_OWED, %eax
	movl %gs:WINDOW(WINDOW_TOUCHED)(%rcx), %edx
	xorl %gs:WINDOW(WINDOW_TOLD)(%rcx), %edx
	orl %edx, %eax
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
3:	movq %gs:G_TRACE_MASKS, %rdx
	btq %rsi, %rdx
	jnc 5f
	leaq 4f(%rip), %r11
	jmp trace_settle
4:	orl $WINDOW_STALE, %gs:WINDOW(WINDOW_STATES)(%rcx)
	orl $WINDOW_STALE, %gs:WINDOW(WINDOW_STATES + 4)(%rcx)
	orl $WINDOW_STALE, %gs:WINDOW(WINDOW_STATES + 8)(%rcx)
	orl $WINDOW_STALE, %gs:WINDOW(WINDOW_STATES + 12)(%rcx)
5:	incl %esi
	cmpl $64, %esi
	jb 3b
	jmp *%gs:G_TRACE_AFTER

	.balign 4
trace_rows:		/* of the order: a row for each way, and all but its column */
	.long 0xf, 0xf0, 0xf00, 0xf000
	.long 0xeeee, 0xdddd, 0xbbbb, 0x7777

gate_end:
	.section .note.GNU-stack,"",@progbits
