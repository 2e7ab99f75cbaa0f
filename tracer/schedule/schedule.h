/* When the threads of the timed run ran, were ready and waited, from the kernel's records of
 * switches (PERF_RECORD_SWITCH; perf_event_open(2)).
 *
 * Records come from the rings of several processors, each in order, the rings not.  They are kept
 * until all before some moment have come, and played then in the order of their times.  So memory
 * is bounded by what comes between two moments, however often threads switch.
 *
 * A switch tells when a thread stops running, and whether it could have gone on (ready) or not
 * (waiting).  When what it waited for comes, it is ready again, which no switch tells: the kernel's
 * sums in /proc/PID/task/TID/schedstat do, and are looked at now and then (schedule_look).
 *
 * Where threads switch so often that records of it would cost them much, there are records in
 * windows alone.  In a gap threads that switched often in the window before it do all as they did
 * there, in proportion; others stay as they were.  What a thread really ran and was ready is in the
 * kernel's sums, which are looked at in gaps as well. */
#pragma once

#include "tracer/schedule/kernel_sums.h"
#include "tracer/schedule/schedule_clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum schedule_kind {
	SCHEDULE_BEGIN, /* the thread exists, and runs: execve */
	SCHEDULE_BORN,  /* it exists, and is ready */
	SCHEDULE_RUNS,
	SCHEDULE_READY, /* it was preempted */
	SCHEDULE_WAITS,
	SCHEDULE_WAIT_SAMPLE, /* it is about to stop running, and its stack is known: `wait` */
	SCHEDULE_END,
	SCHEDULE_WINDOW, /* of no thread: from here on switches are told, and counted for a gap */
	SCHEDULE_GAP,    /* of no thread: until the next window no switch is told */
};

struct schedule_thread {
	uint32_t pid, tid;
	uint64_t start, end; /* ns; end 0: not seen */
	uint64_t ran_ns, ready_ns, waited_ns;
	uint64_t voluntary, involuntary; /* switches */
	uint64_t preempted_ns;           /* behind the involuntary ones, until it ran again */
	/* of waits without a sample: as in struct schedule_wait */
	uint64_t unknown_ns, unknown_alone_ns, unknown_others_ns;
};

/* Of waits: there is none; there is one, but it has no sample. */
#define SCHEDULE_NO_WAIT UINT32_MAX
#define SCHEDULE_WAIT_UNSEEN (UINT32_MAX - 1)

/* A wait whose stack was sampled. */
struct schedule_wait {
	uint32_t thread;     /* its number here; UINT32_MAX: not known yet */
	uint64_t start, end; /* by the records of switches; 0: it has not begun, not ended */
	/* Who let it go on: the only other thread of the process that ran when it did or just
	 * before, else that ran last before it; 0: nobody, or not known, since several ran.  And
	 * the wait of that thread that ended last, if that was within this one; SCHEDULE_NO_WAIT,
	 * SCHEDULE_WAIT_UNSEEN. */
	uint32_t waker_tid, waker_wait;
	uint32_t before;    /* the wait of its own thread that ended last before it, likewise */
	uint64_t time_ns;   /* 0: it did not wait, or was killed meanwhile */
	uint64_t alone_ns;  /* of it: no thread ran */
	uint64_t others_ns; /* running time of all threads meanwhile, together */
	/* A clock that goes on while no thread runs and none is known to be ready, at both ends. */
	uint64_t quiet_start, quiet_end;
	bool late; /* waits without a sample came before it */
};

struct schedule;
struct schedule *schedule_create(void); /* NULL: no memory */
void schedule_destroy(struct schedule *schedule);

/* Takes a record; `wait`: of SCHEDULE_WAIT_SAMPLE, from schedule_add_wait.  False: no memory. */
bool schedule_record(struct schedule *schedule, enum schedule_kind kind, uint64_t time,
		     uint32_t pid, uint32_t tid, uint32_t wait);
/* A number for the wait of a sample; UINT32_MAX: no memory. */
uint32_t schedule_add_wait(struct schedule *schedule);
/* The next thread, from *at on, that has waited for some time without a sample, and that this was
 * not said of before; its ids.  False: there is none. */
bool schedule_next_wait(struct schedule *schedule, size_t *at, uint32_t *pid, uint32_t *tid);
/* That wait has a sample all the same; `at`: behind it. */
void schedule_set_wait(struct schedule *schedule, size_t at, uint32_t wait);
/* Only what happens in [from, until) is added up, as far as that is known by now: before the first
 * call of schedule_play that reaches there. */
void schedule_clip(struct schedule *schedule, uint64_t from, uint64_t until);
/* Plays the records before `until`: all of them have come. */
void schedule_play(struct schedule *schedule, uint64_t until);
/* Asks the kernel for the sums of threads that live; of some of them where there are many. */
void schedule_look(struct schedule *schedule);
/* The kernel's sums of a thread, which were so at some moment from `since` to `time`; it takes its
 * place among the records.  False: no memory. */
bool schedule_told(struct schedule *schedule, uint32_t pid, uint32_t tid, uint64_t since,
		   uint64_t time, const struct kernel_sums *sums);

/* Longer after its last record no end of a process is seen, unless who looks has no processor. */
#define SCHEDULE_MOST_END_NS 50000000

/* What is known of the program's first thread, and of its process. */
struct schedule_first {
	uint32_t tid;
	struct kernel_sums before; /* of it when its life here began: as rfprof's own child */
	bool has_sums;
	struct kernel_sums sums; /* at its end */
	uint64_t process_ns; /* what all threads of the process ran, with `before`; 0: not known */
	uint64_t end_ns;     /* when its end was seen; 0: not known */
};
/* All records have come: what still lives ends with the last of them, and what the kernel told is
 * taken in. */
void schedule_finish(struct schedule *schedule, const struct schedule_first *first);

const struct schedule_thread *schedule_threads(const struct schedule *schedule, size_t *n);
const struct schedule_wait *schedule_get_wait(const struct schedule *schedule, uint32_t wait);
const struct schedule_sums *schedule_get_sums(const struct schedule *schedule);
