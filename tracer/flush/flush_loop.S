/* What a thread of the program runs to flush caches (flush_code.h).  It is position independent, is
 * copied into memory of its own behind the list of ranges, calls no library, and uses no stack.
 *
 *   flush_loop     rdi: ranges, begin and end of each one; rsi: how many, not 0
 *   flush_line     takes a line out of all caches; here a range that is gone faults
 *   flush_skip     goes on with the next range
 *   flush_leave    sets the thread's mask of signals, and goes back to where it came from
 *   flush_left     behind that system call
 *   flush_kept     the thread's mask, registers and place (struct flush_kept); not copied: the tracer
 *                  writes it
 *
 * The tracer stops the thread at the system call of flush_leave, which is not done then, and leads
 * it back itself.  Where there is no tracer any more the thread does both on its own. */
#define SYS_RT_SIGPROCMASK 14
#define SIG_SETMASK 2
#define BYTES_OF_MASK 8

	.section .rodata
	.globl	flush_loop, flush_line, flush_skip, flush_leave, flush_left, flush_kept
	.hidden	flush_loop, flush_line, flush_skip, flush_leave, flush_left, flush_kept
	.balign	16
flush_loop:
	movq	(%rdi), %rax
	movq	8(%rdi), %rdx
flush_line:
	clflushopt (%rax)	/* without its prefix: clflush */
	addq	$64, %rax
	cmpq	%rdx, %rax
	jb	flush_line
flush_skip:
	addq	$16, %rdi
	decq	%rsi
	jnz	flush_loop
	mfence
flush_leave:
	movl	$SYS_RT_SIGPROCMASK, %eax
	movl	$SIG_SETMASK, %edi
	leaq	flush_kept(%rip), %rsi
	xorl	%edx, %edx
	movl	$BYTES_OF_MASK, %r10d
	syscall
flush_left:
	movq	flush_kept+8(%rip), %rax
	movq	flush_kept+16(%rip), %rcx
	movq	flush_kept+24(%rip), %rdx
	movq	flush_kept+32(%rip), %rsi
	movq	flush_kept+40(%rip), %rdi
	movq	flush_kept+48(%rip), %r10
	movq	flush_kept+56(%rip), %r11
	leaq	flush_kept+64(%rip), %rsp
	iretq
	.balign	16
flush_kept:

	.section .note.GNU-stack, "", @progbits
