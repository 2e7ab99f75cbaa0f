/* Rows of a profile about where the wall time went: what threads did by the clock, waits, system
 * calls, and what they sum up to by function. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a thread of the timed run did by the clock.  Times are since the start of the run. */
struct profile_thread_time {
	uint32_t thread;
	uint64_t start_ns, end_ns;
	uint64_t ran_ns, ready_ns, waited_ns; /* on a processor; could have run; could not */
	uint64_t voluntary, involuntary;      /* switches to other threads */
	uint64_t preempted_ns;                /* until it ran again, behind the involuntary ones */
};

/* The run by the clock: so long did exactly `running` threads run. */
struct profile_concurrency {
	uint32_t running;
	uint64_t time_ns;
	uint64_t ready_ns; /* of it: none ran, but one was ready */
};

/* Running time of all threads in slices of the run, in their order, each `slice_ns` (fact) long. */
struct profile_slice {
	uint64_t busy_ns;
};

enum wait_cause {
	WAIT_OTHER,
	WAIT_FUTEX, /* locks, conditions, ends of threads: the stack says which */
	WAIT_PIPE,
	WAIT_SOCKET,
	WAIT_DISK,
	WAIT_TERMINAL,
	WAIT_SLEEP,
	WAIT_CHILD,
	WAIT_POLL,
	WAIT_SIGNAL,
	WAIT_EVENT,
	WAIT_OURS, /* stopped by rfprof, which flushes caches */
	N_WAIT_CAUSES
};

/* Waits of a thread with the same stack.  The leaf frame is in PROFILE_KERNEL_MODULE. */
struct profile_wait {
	uint32_t thread, frame;
	enum wait_cause cause;
	uint64_t n;         /* of those that were looked at */
	uint64_t time_ns;   /* with the part of the thread's waits that were not */
	uint64_t alone_ns;  /* of it: no thread ran */
	uint64_t others_ns; /* running time of all threads meanwhile, together */
	/* of those for other threads that were looked at, in no file: so long samples of other
	 * threads were joined to them; their time; of it all threads waited */
	uint64_t watched_ns, seen_ns, quiet_ns;
};

/* What else there was while threads of a process waited with the stack `wait_frame` for another
 * one.  Running time of its other threads at `frame`, which is that of `thread` alone, or
 * PROFILE_NONE: of several.  Or (`waited`) time in which all waited, by the wait, of `cause`, of
 * the thread that let the waiting one go on; `frame` PROFILE_NONE: it had not waited, or was not
 * known. */
struct profile_meanwhile {
	uint32_t wait_frame, frame, thread;
	bool waited;
	enum wait_cause cause;
	uint64_t time_ns;
	/* of it: of the thread that let the waiting one go on; and of that which came out of such a
	 * wait last, and has the lock, if it is one */
	uint64_t waker_ns, holder_ns;
};

/* Page faults with the same stack, those of the program's own code and of what the kernel did for
 * it there; PROFILE_NONE: of no known frame. */
struct profile_fault {
	uint32_t frame;
	uint64_t n; /* as samples tell it */
};

/* What waits are for, as far as their stacks tell it. */
enum wait_kind {
	WAITS_OTHER,
	WAITS_LOCK,
	WAITS_CONDITION,
	WAITS_JOIN,
	WAITS_BARRIER,
	WAITS_SEMAPHORE,
	WAITS_INTERPRETER, /* the interpreter's own lock (CPython's GIL) */
	WAITS_PIPE,
	WAITS_SOCKET,
	WAITS_DISK,
	WAITS_TERMINAL,
	WAITS_SLEEP,
	WAITS_CHILD,
	WAITS_POLL,
	WAITS_SIGNAL,
	WAITS_EVENT,
	WAITS_OURS, /* for rfprof */
	N_WAIT_KINDS
};

/* Time of the kernel's work `call` (an offset in PROFILE_KERNEL_MODULE), or of a group of functions
 * (PROFILE_GROUPS and more), by the program's own function that called it, itself or through
 * libraries of the system (report/account).  `function`, `module`: one of them, or neither, as in
 * struct profile_sum. */
#define PROFILE_GROUPS 8
struct profile_sum_kernel {
	uint32_t function, module, call;
	uint64_t samples, time_ns; /* less what the samples cost */
};
/* Page faults, by the same. */
struct profile_sum_fault {
	uint32_t function, module;
	uint64_t n;
};
/* Waits, by the same, and by what they are for. */
struct profile_sum_wait {
	uint32_t function, module, call;
	enum wait_kind kind;
	uint32_t threads;                         /* that waited so */
	uint64_t n, time_ns, alone_ns, others_ns; /* as in struct profile_wait */
};

/* Of waits for other threads: a function of the program's own that ran meanwhile, or one in which
 * the thread waited meanwhile that let the waiting one go on, while no thread ran. */
struct profile_sum_runner {
	uint32_t wait;             /* row in sum_waits */
	uint32_t function, module; /* as in struct profile_sum */
	bool waited;
	uint32_t call;       /* what for, as in struct profile_sum_wait; of those that ran: 0 */
	enum wait_kind kind; /* of those that ran: WAITS_OTHER */
	uint32_t thread;     /* the only one, or PROFILE_NONE: several */
	/* of the waiting time; above 1 where several threads ran there at once */
	double share;
	double holder_share; /* of it: of the thread that held the lock, or let the waiting one go
				on */
};

/* A parallel region: code that several threads run at once, and at whose end they wait for each
 * other.  `function`, `module`: that code, which the compiler has made a function of its own
 * (OpenMP), or that waits at a barrier.  Times are for all executions together. */
struct profile_sum_region {
	uint32_t function, module;               /* as in struct profile_sum */
	uint32_t caller_function, caller_module; /* which it stands in; both PROFILE_NONE: itself */
	uint32_t threads;                        /* that took part */
	uint64_t elapsed_ns;                     /* from its beginning to its end */
	/* running or waiting for other things than each other, of a thread: mean, most, least */
	uint64_t mean_ns, most_ns, least_ns;
};

/* How often the system call instruction at (module, offset) asked for `number` in the counted run;
 * `failed` and `bytes`: of those that came back there, the sum of the results that were no errors.
 */
struct profile_system_call {
	uint32_t module, number;
	uint64_t offset;
	/* the last call before it by which the program's own code left for a library of the system,
	 * or PROFILE_NONE: not known, or that code made the system call itself */
	uint32_t caller_module, no_caller; /* no_caller: 0, fills the gap in the key */
	uint64_t caller_offset;
	uint64_t n, failed, bytes;
};

/* System calls by the program's own function behind them, as far as samples tell it; in the order
 * of functions. */
struct profile_sum_call {
	uint32_t function, module; /* as in struct profile_sum */
	uint32_t number;
	uint64_t n, failed, bytes;
};
