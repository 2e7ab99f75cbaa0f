/* What the gate and the translated code (in the target) and the server (in the tracer) share.
 *
 * Included by C and by assembly.  Every thread's GS base points at its slot in one shared mapping;
 * slot 0 is the process area.  Nothing here is ever seen by the program itself.
 * Tracer and gate are one build, so the layout needs no version. */
#pragma once

/* Slots */
#define SLOT_STRIDE (16 << 20) /* bytes of address space for a thread; touched sparsely */
#define SLOT_JUMPS 0x10000     /* 65536 code-cache addresses, by the low 16 bits of a pc: */
#define SLOT_RETURNS 0x90000   /* where jumps and calls go to, and where returns do */
/* So much farther on: the same two of the copy of the code without checks (target/copies.h) */
#define SLOT_PLAIN 0x100000
#define SLOT_COUNTERS 0x210000                    /* 64-bit counters up to the ring */
#define SLOT_RING (SLOT_STRIDE - (1 << 20))       /* chunks of records of traced accesses */
#define SLOT_BLOCKS (SLOT_RING - 4 * MOST_BLOCKS) /* u32 each: blocks that have run, in a burst */
#define SLOT_N_COUNTERS ((SLOT_BLOCKS - SLOT_COUNTERS) / 8)
/* The counters and the stubs of the copy of the code without checks have these numbers and higher
 * ones. */
#define FIRST_PLAIN_COUNTER (SLOT_N_COUNTERS / 2)
#define FIRST_PLAIN_STUB (1u << 30)
#define MAX_SLOTS 512
#define MOST_BLOCKS 65536 /* of a burst: indices are taken modulo this */

/* Thread block: at GS:0 */
#define G_SELF 0x00
#define G_SPILL_RCX 0x08 /* program's rcx and rax while an indirect jump or call runs */
#define G_SPILL_RAX 0x10
#define G_SPILL_FAR 0x18   /* register borrowed for an operand out of reach */
#define G_SPILL_COUNT 0x20 /* register borrowed for counting */
#define G_SYSRET 0x28      /* cache address behind the system call now in the gate */
#define G_SYSTAB 0x30      /* → P_SYSTAB */
#define G_PROCESS 0x38     /* → process area */
#define G_STATE 0x40       /* → this thread's state word in the process area */
#define G_JUMP 0x48        /* where the gate goes on */
#define G_REQ_TYPE 0x50
#define G_REQ_ARG 0x58
#define G_AT_MISS 0x60 /* addresses of the gate's entries */
#define G_AT_INDIRECT 0x68
#define G_AT_COLLIDE 0x70
#define G_AT_SYSCALL 0x78
#define G_SAVE 0x80 /* program's registers while in the gate, 8 bytes each */
#define SAVE_RAX (G_SAVE + 0x00)
#define SAVE_RCX (G_SAVE + 0x08)
#define SAVE_RDX (G_SAVE + 0x10)
#define SAVE_RSI (G_SAVE + 0x18)
#define SAVE_RDI (G_SAVE + 0x20)
#define SAVE_R8 (G_SAVE + 0x28)
#define SAVE_R9 (G_SAVE + 0x30)
#define SAVE_R10 (G_SAVE + 0x38)
#define SAVE_R11 (G_SAVE + 0x40)
#define SAVE_RSP (G_SAVE + 0x48)
#define SAVE_FLAGS (G_SAVE + 0x50) /* as lahf and seto %al leave them in ax */
#define G_SPILL_LOOP 0xd8          /* register that holds the counter of a loop */
#define G_SPILL_FLAGS 0xe0         /* flags (lahf, seto) while a tile is counted */
#define G_AT_RETURN 0xe8           /* one more of the gate's entries */
#define G_ACTIONS 0xf0             /* u32: how many rt_sigaction calls this thread has ended */
#define G_ACTING 0xf4              /* u32: 1 from before such a call until it is counted there */
#define G_CHANGING 0xf8   /* u32: 1 from before a call that changes code until it has run */
#define G_UNITS 0xfc      /* u32: the units of the instruction with lanes or a tile counted last */
#define G_HELD 0x1d8      /* u32: signals are held for this thread (target/tracees.h) */
#define G_TILECFG 0x100   /* 64 bytes: sttilecfg */
#define G_SHIFT 0x140     /* 16 bytes, the upper 8 always 0 */
#define G_SPILL_RDI 0x150 /* program's rdi while a return runs */

/* Traced accesses (docs/traffic.md).  Those below 0x200 are written by translated code and the
 * gate. */
#define G_SPILL_TRACE 0x1f8     /* register borrowed for checks of addresses */
#define G_SPILL_TRACE_RCX 0x158 /* program's rcx during a check that keeps the flags */
#define G_AT_RECORD 0x160       /* one more of the gate's entries */
#define G_TRACE_BACK 0x168      /* cache address behind a record */
#define G_TRACE_ADDRESS 0x170 /* the record: address, word (TRACE_…), and what it needs besides */
#define G_TRACE_WORD 0x178
#define G_TRACE_EXTRA 0x17c
#define G_TRACE_AT 0x180     /* → where the next record goes */
#define G_TRACE_END 0x188    /* → end of the chunk being filled */
#define G_TRACE_FILLED 0x190 /* u32: chunks handed over */
#define KEPT_RAX 0x198       /* program's registers while a record is made */
#define KEPT_RCX 0x1a0
#define KEPT_RDX 0x1a8
#define KEPT_FLAGS 0x1b0
#define KEPT_RSI 0x1b8 /* these, and r8 and r9, where it is not left out at once */
#define KEPT_RDI 0x1c0
#define KEPT_R10 0x1c8
#define KEPT_R11 0x1d0
#define G_TRACE_ONE 0x1e0 /* the number 1 */
#define G_TRACE_RDI 0x1e8 /* where a string instruction began */
#define G_TRACE_RSI 0x1f0
/* u64 for 1 to 16 lines: bit k is set when one of so many lines from class k on is simulated */
#define G_TRACE_MASKS 0x200
#define G_TRACE_VECTOR 0x280  /* 64 bytes: index vector of a gather or scatter */
#define G_TRACE_DRAINED 0x300 /* u32: chunks that the tracer has taken */
#define G_TRACE_WAITS 0x304   /* u32: the thread waits for that number to rise */
/* Calls of allocators (docs/traffic.md, "Data objects") */
#define G_AT_ALLOCATION 0x308 /* two more of the gate's entries */
#define G_AT_ALLOCATED \
	0x310              /* this one stands in the table of returns for a call that is awaited */
#define G_ALLOCATION 0x318 /* u32: number of the function, ALLOCATION_… */
/* u32: the last one asked for so much that its chunk does not wait */
#define G_ALLOCATION_BIG 0x31c
#define G_ALLOCATION_BACK 0x320  /* cache address behind the call's record */
#define G_ALLOCATION_AT 0x328    /* posix_memalign: where it stores the address */
#define G_ALLOCATION_SP 0x330    /* posix_memalign: its stack pointer */
#define G_ALLOCATION_KEEP 0x338  /* u32: the cell of the table stays as it is */
#define G_ALLOCATION_N 0x340     /* bytes in use of G_ALLOCATION_STACK */
#define G_ALLOCATION_STACK 0x348 /* stack pointers of calls whose return is awaited */
#define ALLOCATION_DEPTH 8
#define KEPT_R8 0x388
#define KEPT_R9 0x390
#define G_TRACE_AFTER 0x398 /* where the gate goes on in a new chunk */
#define G_TRACE_KEEP 0x3a0  /* u32: lines of a window, WINDOW_WAYS, 1 or 0 */
/* u32: bits that are 0 in FULL_FACTOR times the number of a full line */
#define G_TRACE_FULL 0x3a4
/* u64: bit k: the lines at hand whose number is k modulo 64 are stored to, of two at the most */
#define G_TRACE_STORED_LINES 0x3a8
/* u32: lines that differ in one of these bits of their numbers cannot take each other out of L1 */
#define G_TRACE_SET_BITS 0x3b0
/* G_TRACE_BACK while that is gate_stop: the tracer wants the thread to stop behind its record; 0:
 * not */
#define G_TRACE_STOPS 0x3b8
#define G_TRACE_WINDOWS 0x400 /* of each class */

/* The window of a class: its lines that the thread accessed last.  Accesses to them are left out as
 * far as they change nothing for any cache.  What they change is the order in which the lines were
 * touched last; where it is not that of the records when another line comes, the gate records once
 * more what is needed. */
#define WINDOW_SHIFT 7 /* of its size */
#define WINDOW_WAYS 4
#define WINDOW_LINES 0x00   /* u64 each; ~0: none */
#define WINDOW_RECORDS 0x20 /* 16 bytes each: address and word of its last record or owed store */
#define WINDOW_STATES 0x60  /* u32 each: accesses are counted by bits 19 to 31, the others are: */
#define WINDOW_ONE (1 << 19)
#define WINDOW_STORED 1 /* there was a store to the line */
#define WINDOW_FULL 2   /* the line is a full one: accesses that change nothing are recorded, too */
#define WINDOW_OWED 8   /* a store is not recorded yet: it is the line's last writer */
/* The next access is recorded, since the line may not be in L1: */
#define WINDOW_OTHERS 4 /* other threads came between, or */
#define WINDOW_DEPTH_SHIFT 4
#define WINDOW_DEPTH_MAX 7 /* another line came (gate_windows.inc.S) */
#define WINDOW_STALE (WINDOW_OTHERS | WINDOW_DEPTH_MAX << WINDOW_DEPTH_SHIFT)
#define WINDOW_TOUCHED 0x70     /* u32: bit 4 i + j: line i was touched after line j */
#define WINDOW_TOLD 0x74        /* u32: the same as far as the records tell it */
#define WINDOW_FIRST_STATE 0x78 /* u32: 0, or WINDOW_FULL where the class has full lines */
#define WINDOW_ORDER 0x7310     /* any order at first */
/* Spreads numbers of lines over 32 bits: 2^32 by the golden ratio */
#define FULL_FACTOR 0x9e3779b1

#define TRACE_MASKS 16 /* so many there are */

/* The copy of the code that the thread runs (target/copies.h) */
#define G_TABLE_AT 0x2490 /* → P_TABLE or P_TABLE_PLAIN */
#define G_TABLES                                                                                 \
	0x2498 /* u32: its own tables begin so many cells behind SLOT_JUMPS: 0 or SLOT_PLAIN / 8 \
		*/
#define G_CALLING 0x249c /* u32: 1 while a system call runs that may take long */
/* Looked at together behind a system call: */
#define G_HELD_SENT 0x24a0 /* u32: signals that another process has sent are held, or */
#define G_SWITCH 0x24a4    /* u32: the thread is wanted in the other copy */

/* System calls are counted by the instruction that makes them, the number that it asks for, and the
 * last call by which the program's own code has left for a library of the system: in a table by the
 * hash of all three.  What has no room there is counted by the instruction alone, by counters of
 * its own. */
#define G_CALL_CELL 0x24a8 /* u32: where in the slot the call at hand is counted */
#define G_CALL_OUT \
	0x24ac /* u32: the last call that left the program's own code: its unit, plus 1 */
#define CALL_OUT_PLAIN 0x80000000u /* with it, of the plain copy: threads change between copies */
#define G_CALL_BACK 0x24b0         /* cache address behind what the gate does */
#define G_CALL_RAX 0x24b8          /* the program's registers meanwhile */
#define G_CALL_RDX 0x24c0
#define G_CALL_R11 0x24c8
#define G_CALL_FLAGS 0x24d0
#define G_AT_CALL_NUMBER 0x24d8 /* two more of the gate's entries */
#define G_AT_CALL_RESULT 0x24e0

/* Blocks that run are noted in bursts (docs/branches.md): while this is not 0, traced code lowers
 * it and puts the number of a group (TRACE_TRANSFER in translate/trace_config.h) into that cell of
 * SLOT_BLOCKS.  The tracer raises it from 0 at any time, and reads the cells behind it. */
#define G_BLOCKS_LEFT 0x24e8 /* u64 */
#define G_SPILL_BLOCK 0x24f0 /* register borrowed meanwhile */

#define G_TRACE_DEPTH \
	0x24f8 /* u32: so many full chunks may wait to be drained, at most TRACE_CHUNKS */
/* Counters of an instruction, and a row of the table behind its key */
#define CALL_NUMBER 0x00 /* the last number, plus 1; in the table G_CALL_OUT */
#define CALL_FAILED 0x08
#define CALL_BYTES 0x10 /* sum of the results that are no errors */
#define CALL_DONE 0x18  /* how many these are */
#define CALL_COUNTERS 4
#define SLOT_CALLS 0x8000
#define SLOT_N_CALLS 512
#define CALL_ROW_SHIFT 6
#define CALL_KEY 0x00 /* offset of the instruction's counters, and above it the number, plus 1 */
#define CALL_ROW_CELL 0x08
#define CALL_PROBES 16
/* What comes back without having been asked for, as a child does from its parent's clone */
#define CALL_NOBODY (SLOT_CALLS + (SLOT_N_CALLS - 1) * 64 + CALL_ROW_CELL)

/* Kernels (docs/kernels.md).  Before what may lead out of a kernel, code compares the stack pointer
 * with the limit, and asks where it is as high. */
#define G_KERNEL_LIMIT 0x3000    /* u64: as high a stack pointer is asked about; ~0: none */
#define G_KERNEL_ARMED 0x3008    /* u64: 0 where the limit is ~0 */
#define G_KERNEL_BACK 0x3010     /* cache address behind the question */
#define G_KERNEL_NUMBER 0x3018   /* u32: the kernel whose function begins */
#define G_KERNEL_WORKS 0x301c    /* u32: the thread works for a kernel */
#define G_AT_KERNEL_ENTER 0x3020 /* three more of the gate's entries */
#define G_AT_KERNEL_RETURN 0x3028
#define G_AT_KERNEL_JUMP 0x3030

/* Some chunks are bursts: all accesses that have a check are recorded, of whatever class, and
 * windows leave none out.  So it is known how the accesses of an instruction follow each other. */
#define G_TRACE_SAMPLED 0x2400 /* G_TRACE_MASKS and G_TRACE_KEEP of the other chunks */
#define G_TRACE_SAMPLED_KEEP 0x2480
#define G_TRACE_BURST_ASKED 0x2484 /* u32: the next chunk is to be a burst, and begins at once */
/* u64: bit k: class k is recorded in the chunk at hand.  The gate alone writes it: the tracer may
 * set all masks at any time, so that the next access asks the gate. */
#define G_TRACE_CLASSES 0x2488
#define TRACE_BURSTS_FIRST 8 /* so many of a thread's first chunks are bursts, */
#define TRACE_BURST_OF 16    /* and then one of so many; a power of two */

/* The word of a record: the number of a group of operands, the bytes from the first to the last by
 * 8, and three flags */
#define TRACE_GROUP_BITS 22
#define TRACE_GROUP_MAX ((1 << TRACE_GROUP_BITS) - 2)
#define TRACE_SPAN_SHIFT TRACE_GROUP_BITS
#define TRACE_SPAN_MAX 127 /* 0 bytes: once more; extra: low half of the only line that counts */
#define TRACE_CHANGES (1 << 29) /* a group that leaves no line known: not a plain load or store */
#define TRACE_STORES (1 << 30)
/* recorded whatever the address is; the first of several records of an access has TRACE_CHANGES */
#define TRACE_ALWAYS 0x80000000

/* extra, of a group of plain operands that stores and may lie in two lines: its stores lie between
 * these bytes, counted from its lowest one.  So the gate knows which of the lines is stored to. */
#define TRACE_STORED(from, to) ((from) | (to) << TRACE_STORED_SHIFT)
#define TRACE_STORED_SHIFT 16

/* The group of records that stand for calls of allocators and more; its spans are kinds. */
#define TRACE_ALLOCATION (TRACE_GROUP_MAX + 1)
#define ALLOCATION_RECORD(kind) (TRACE_ALLOCATION | (kind) << TRACE_SPAN_SHIFT)
/* the rest of the chunk is empty */
#define ALLOCATION_END 1
/* return address; extra: bits 32 to 47 of the stack pointer << 16, function */
#define ALLOCATION_ENTER 2
/* first argument; extra: low half of the stack pointer */
#define ALLOCATION_FIRST 3
/* one more argument */
#define ALLOCATION_MORE 4
/* of a function that gives memory back: first argument; extra: function */
#define ALLOCATION_TAKE 5
/* result << 16, bits 32 to 47 of the stack pointer; extra: its low half */
#define ALLOCATION_LEAVE 6
/* put there by the tracer: the thread has run unchecked code until here; address: the number of the
 * window that begins */
#define ALLOCATION_GAP 7
/* put there by the tracer: address: whose the accesses are from now on, the row of a thread or the
 * number of a share (profile/profile_kernels.h) */
#define ALLOCATION_SHARE 8

/* What the gate is told of an allocator, above the function's number. */
#define ALLOCATION_TWO 0x100 /* so many arguments are recorded */
#define ALLOCATION_THREE 0x200
#define ALLOCATION_RETURNS 0x400 /* its result is awaited */
#define ALLOCATION_STORES 0x800  /* posix_memalign */
#define ALLOCATION_SIZE_1 0x1000 /* these arguments, multiplied, are the size */
#define ALLOCATION_SIZE_2 0x2000
#define ALLOCATION_SIZE_3 0x4000
/* Bytes from which on a chunk is handed over with the record: so much memory may soon be another
 * thread's. */
#define ALLOCATION_BIG 65536

/* A chunk: a stamp (rdtsc, when it was handed over), whether it is a burst (u32), and records of 16
 * bytes. */
#define CHUNK_BURST 8
#define TRACE_CHUNK_SHIFT 14
#define TRACE_CHUNK (1 << TRACE_CHUNK_SHIFT)
#define TRACE_CHUNKS 64
/* Of accesses to a line that stays in its window the first load and the first store are recorded;
 * the others change nothing in any cache.  Of full lines, of which more is to be known than caches
 * need, it is the first TRACE_SETTLED_FIRST of each TRACE_SETTLED_OF. */
#define TRACE_SETTLED_FIRST 128
#define TRACE_SETTLED_OF 8192
#define WINDOW_OF 0xfff80000        /* bits of a state: the place among TRACE_SETTLED_OF */
#define WINDOW_BUT_FIRST 0xfc000000 /* those of them that are 0 for the first ones */

/* Process area: slot 0 */
#define P_DOORBELL 0x00      /* u32: raised with every request */
#define P_SLEEPING 0x04      /* u32: the server waits on the doorbell */
#define P_CROWDED 0x10       /* u32: others want the processors: to yield is to wait for long */
#define P_TABLE 0x08         /* → current hash table key → entry (RETURN_KEY), */
#define P_TABLE_PLAIN 0x18   /* and that of the copy without checks */
#define P_SYSTAB 0x10000     /* 65536 bytes: what the gate does about a system call */
#define P_STATES 0x20000     /* u32 for each slot */
#define P_CODE_UNITS 0x30000 /* 65536 bytes by bits 24 to 39 of an address: 1 = code was there */
#define P_TABLES 0x100000    /* hash tables: {mask, 0, {pc, entry}…}; grown by the server */

/* What P_SYSTAB holds */
#define CALL_ASK 0 /* the server looks at it first */
#define CALL_IN_PLACE 1
#define CALL_RANGE 2  /* in place where no code is in [rdi, rdi + rsi) */
#define CALL_ACTION 3 /* rt_sigaction: in place, and counted */
#define CALL_CLONE 4  /* in place when the child may be traced */
#define CALL_CLONE3 5
#define CALL_OPEN 6 /* in place when the path is no process's memory */
#define CALL_OPENAT 7
#define CALL_REMAP 8  /* mremap: as CALL_RANGE when its flags (r10) are as usual */
#define CALL_MAP 9    /* mmap: in place when its flags (r10) are those of malloc */
#define CALL_TIMER 10 /* in place; then signals that are held are delivered */

/* Requests */
#define REQ_MISS 1     /* arg: number of the stub that ran */
#define REQ_INDIRECT 2 /* arg: program counter wanted */
#define REQ_SYSCALL 3  /* arg: system call number; arguments in the save area */
#define REQ_RETURN 4   /* arg: program counter returned to */
#define REQ_ATTEND 5   /* behind a system call: held signals are to be delivered */
/* Behind these the thread goes on at G_KERNEL_BACK (tracer/kernel): */
#define REQ_KERNEL_ENTER 6  /* arg: number of the kernel whose function begins */
#define REQ_KERNEL_RETURN 7 /* before a return, */
#define REQ_KERNEL_JUMP 8   /* a jump or a call that may lead out of a kernel */

/* The key of a pc in the hash table: the pc for jumps and calls, with this bit for returns. */
#define RETURN_KEY_BIT 63
#define RETURN_KEY (1ull << RETURN_KEY_BIT)

/* States of a thread's request */
#define STATE_IDLE 0
#define STATE_REQUESTED 1
#define STATE_SLEEPING 2 /* requested, and the thread waits on its state word */
#define STATE_DONE 3
