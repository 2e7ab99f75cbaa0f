/* When threads of a program were switched to and from: records of the kernel (PERF_RECORD_SWITCH),
 * read by a thread of rfprof and kept. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct switch_record {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint32_t tid;
	bool is_out;
};

struct switch_log;

/* Of a process that waits before its execve, and all its threads.  Errors: the kernel refuses. */
struct rf_error *switch_log_create(pid_t pid, struct switch_log **out);
/* The program has ended: all records, in the order of threads and of their times.  NULL: some were
 * lost, or there were too many of them; *n is 0 then. */
const struct switch_record *switch_log_finish(struct switch_log *log, size_t *n);
/* NULL is allowed. */
void switch_log_destroy(struct switch_log *log);

/* From the first switch to a thread behind `from` to the last one from it up to `until`, ns; 0:
 * there are none, or one of them is missing.  `records`: n of them, in the order of threads and of
 * their times. */
uint64_t switch_log_between(const struct switch_record *records, size_t n, uint32_t tid,
			    uint64_t from, uint64_t until);
