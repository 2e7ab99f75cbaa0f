/* The labels of the gate (gate.S) that the tracer knows.  The gate runs as a copy in the target:
 * the address of a label there is that of the copy plus (label - gate_begin). */
#pragma once

/* The whole of it */
extern const char gate_begin[], gate_end[];

/* Entries, which gate.S describes */
extern const char gate_miss[], gate_indirect[], gate_collide[], gate_return[], gate_syscall[],
	gate_record[], gate_allocation[], gate_allocated[], gate_call_number[], gate_call_result[],
	gate_kernel_enter[], gate_kernel_return[], gate_kernel_jump[];

/* The program's system calls: of each kind the instruction, and what stands behind it */
extern const char gate_do_syscall[], gate_after_syscall[], gate_do_again[], gate_after_again[],
	gate_do_action[], gate_after_action[], gate_do_timer[], gate_after_timer[],
	gate_do_change[], gate_after_change[];

/* Instructions that read memory by an address that the program gives, and so may fault */
extern const char gate_peek_clone[], gate_peek_path[];

/* From here to there a thread waits for the answer to its request. */
extern const char gate_wait_begin[], gate_wait_end[];

/* From here on a thread that makes a record has saved six registers more. */
extern const char gate_record_more[];

/* Where a record leads to, in place of its end, when the tracer is to see it; the stop is reported
 * at gate_stopped.  From gate_record to gate_end there is no way out but G_TRACE_BACK. */
extern const char gate_stop[], gate_stopped[];
