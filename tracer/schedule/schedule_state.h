/* In which state each thread is: what schedule.c plays records into, and schedule_finish.c reads
 * when all were played. */
#pragma once

#include "base/u64_map.h"
#include "tracer/schedule/schedule.h"
#include "tracer/schedule/settle.h"

enum state { GONE, RUNNING, READY, WAITING };

struct record {
	uint64_t time;
	uint32_t order, pid, tid;
	uint32_t wait; /* of TOLD: the number of the telling */
	uint8_t kind;  /* enum schedule_kind, or TOLD */
};

enum { TOLD = SCHEDULE_GAP + 1 };

/* The kernel's sums of a thread at some moment from `since` on. */
struct telling {
	uint64_t since;
	struct kernel_sums sums;
};

struct stretch {
	uint64_t start, end; /* UINT64_MAX: it goes on */
};

/* What a thread did from one moment to another. */
struct schedule_deeds {
	uint64_t ran_ns, ready_ns, waited_ns, preempted_ns;
	uint64_t voluntary, involuntary, switches;
};

struct live {
	struct schedule_thread sums;
	enum state state;
	uint64_t since;
	bool is_preempted;                   /* it has run before it was ready */
	bool offered;                        /* schedule_next_wait has told of its wait */
	uint32_t wait;                       /* of the sample before the switch, or UINT32_MAX */
	uint64_t idle_at, busy_at, quiet_at; /* the clocks below when it began to wait */
	uint64_t switches;                   /* how often it was switched to */
	struct stretch runs[2];              /* the last times that it ran, the latest one first */
	struct settle_excess excess;
	/* schedule_clip: the excess as the kernel told it first within the part */
	struct settle_excess before;
	/* of what it ran: from its beginning here until its execve, of which there are no records;
	 * after the record of its end */
	uint64_t start_ns, late_ns;
	uint32_t process;   /* its number */
	uint32_t last_wait; /* of those that have ended; and when */
	uint64_t last_wait_end;
	/* until the window began, and within it; whether it does as it did there */
	struct schedule_deeds mark, deeds;
	bool in_gap;
};

/* Which of its threads run. */
struct process {
	uint32_t n_running, running; /* `running`: their numbers, exclusive or */
	uint32_t ran_last; /* the number of the last one that stopped, or UINT32_MAX; and when */
	uint64_t stopped;
};

/* Time in which no thread ran; running time of all; time in which all waited. */
struct schedule_clock {
	uint64_t idle_ns, busy_ns, quiet_ns;
};

struct schedule {
	struct record *records;
	size_t n_records, cap_records;
	struct telling *tellings; /* of the records; so many have not been played */
	size_t n_tellings, cap_tellings, n_untold;
	uint32_t n_arrived;
	struct live *threads;
	size_t n_threads, cap_threads;
	struct u64_map of_tid; /* those that live */
	struct process *processes;
	size_t n_processes, cap_processes;
	struct u64_map of_pid;
	struct schedule_wait *waits;
	size_t n_waits, cap_waits;
	struct schedule_thread *finished;
	struct schedule_sums sums;
	size_t n_in[WAITING + 1]; /* threads by state, without those in a gap */
	uint64_t now, played;     /* time of the last record; up to which all were played */
	struct schedule_clock clock;
	size_t next_look;
	uint64_t from, until; /* schedule_clip */
	bool clips, begun;    /* it was called; `from` has come */
	uint64_t window;      /* when it began; 0: there was none */
	uint64_t window_ns;   /* in a gap: how long it was; 0: there is no gap */
	/* as it was when the window began; in a gap: what the window added */
	struct schedule_clock window_clock;
	double gap_ran; /* in a gap: how many of the threads that are in it run on average */
};

/* Time goes on to `time`. */
void schedule_advance(struct schedule *schedule, uint64_t time);
/* Where that moment lies within the part of the run that is added up (schedule_clip). */
uint64_t schedule_clipped(struct schedule *schedule, uint64_t time);
/* Whether it lies within. */
bool schedule_is_in_part(const struct schedule *schedule, uint64_t time);
/* The thread of a record, which lives from now on if it did not; NULL: memory is short. */
struct live *schedule_live(struct schedule *schedule, const struct record *record);
/* The thread is in that state from now on. */
void schedule_enter(struct schedule *schedule, struct live *thread, enum state state);
/* The thread is no more, from now on. */
void schedule_end_thread(struct schedule *schedule, struct live *thread);
