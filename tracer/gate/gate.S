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
 *   gate_call_number, gate_call_result
 *                  before and behind it, to count it: rcx = cache address to go on at
 *   gate_record    an access to memory that may be in a class that is simulated: G_TRACE_ADDRESS, _WORD,
 *                  _EXTRA and _BACK; changes no register and no flag
 *   gate_allocation an allocator begins: G_ALLOCATION, G_ALLOCATION_BACK, rax in KEPT_RAX;
 *                  changes no register and no flag
 *   gate_kernel_enter  a kernel's function begins: G_KERNEL_NUMBER, G_KERNEL_BACK, rax in KEPT_RAX
 *   gate_kernel_return, gate_kernel_jump
 *                  before what may lead out of a kernel: G_KERNEL_BACK; these three change no
 *                  register and no flag
 *   gate_allocated as gate_return, but the return may be an allocator's
 *
 * The parts stand below in the order of their addresses: the gate is copied as one piece, from
 * gate_begin to gate_end.  gate.h declares the labels that the tracer knows. */
#include "tracer/gate/protocol.h"

/* What several parts use */
#define FUTEX_WAIT 0
#define SYS_FUTEX 202
#define SIZE_OF_RECORD 16
#define WINDOW(field) (G_TRACE_WINDOWS + (field))

.macro KNOWN labels:vararg	/* to the tracer */
	.globl \labels
	.hidden \labels
.endm

.macro KEEP_FLAGS slot		/* rax is lost */
	lahf
	seto	%al
	movq	%rax, %gs:\slot
.endm

.macro GIVE_BACK_FLAGS slot	/* rax is lost */
	movq	%gs:\slot, %rax
	addb	$0x7f, %al	/* sets OF again */
	sahf
.endm

.macro CALL label, register	/* a call without a stack: it comes back to the register's address */
	leaq	9f(%rip), %\register
	jmp	\label
9:
.endm

.macro UNLESS_SIMULATED label	/* the class of line rsi is simulated, it goes there; rdx is lost */
	movq	%gs:G_TRACE_CLASSES, %rdx
	btq	%rsi, %rdx
	jnc	\label
.endm

	.section .rodata
	.balign 64
	KNOWN gate_begin, gate_end
	KNOWN gate_miss, gate_indirect, gate_collide, gate_return, gate_syscall, gate_record
	KNOWN gate_call_number, gate_call_result
	KNOWN gate_allocation, gate_allocated
	KNOWN gate_kernel_enter, gate_kernel_return, gate_kernel_jump
	KNOWN gate_do_syscall, gate_after_syscall, gate_do_action, gate_after_action
	KNOWN gate_do_again, gate_after_again
	KNOWN gate_do_timer, gate_after_timer, gate_do_change, gate_after_change
	KNOWN gate_peek_clone, gate_peek_path, gate_wait_begin, gate_wait_end, gate_record_more
	KNOWN gate_stop, gate_stopped
gate_begin:
#include "tracer/gate/gate_syscalls.inc.S"
#include "tracer/gate/gate_transfers.inc.S"
#include "tracer/gate/gate_request.inc.S"
#include "tracer/gate/gate_kernels.inc.S"
#include "tracer/gate/gate_allocations.inc.S"
#include "tracer/gate/gate_records.inc.S"
#include "tracer/gate/gate_windows.inc.S"
#include "tracer/gate/gate_chunks.inc.S"
	.balign 4
trace_rows:		/* for gate_windows: a row of the order for each way, and all but its column */
	.long 0xf, 0xf0, 0xf00, 0xf000
	.long 0xeeee, 0xdddd, 0xbbbb, 0x7777
gate_end:
	.section .note.GNU-stack,"",@progbits
