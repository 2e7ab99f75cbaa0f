/* Events that count nothing, for the sake of the records beside them. */
#include "tracer/calls/switch_log.h"

#include "base/array.h"
#include "base/search.h"
#include "base/thread.h"
#include "tracer/calls/call_event.h"
#include "tracer/perf/perf_ring.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MOST_PAGES = 32, WAIT_MS = 50 };
#define WAKE_BYTES 16384
#define MOST_RECORDS ((size_t)8 << 20)

struct cpu_log {
	int event;
	struct perf_ring ring;
};

struct switch_log {
	struct cpu_log *cpus;
	size_t n_cpus;
	struct switch_record *records;
	size_t n_records, cap_records;
	bool is_incomplete;
	int stop; /* readable: the end */
	pthread_t thread;
	bool runs;
};

static int open_cpu(struct cpu_log *cpu, pid_t pid, int number, size_t pages)
{
	struct perf_event_attr attr = call_event_records();
	attr.inherit_thread = 1;
	attr.context_switch = 1;
	attr.wakeup_watermark = WAKE_BYTES;
	cpu->event = perf_source_kernel.open(NULL, &attr, pid, number, -1);
	return cpu->event >= 0 && perf_ring_map(&perf_source_kernel, cpu->event, pages, &cpu->ring)
		       ? 0
		       : errno;
}

static void close_all(struct switch_log *log)
{
	for (size_t i = 0; i < log->n_cpus; i++) {
		perf_ring_unmap(&perf_source_kernel, &log->cpus[i].ring);
		if (log->cpus[i].event >= 0)
			close(log->cpus[i].event);
	}
	free(log->cpus);
	log->cpus = NULL;
	log->n_cpus = 0;
}

/* errno, or 0. */
static int open_all(struct switch_log *log, pid_t pid, size_t pages)
{
	const long n = sysconf(_SC_NPROCESSORS_CONF);
	log->cpus = calloc((size_t)n, sizeof(*log->cpus));
	for (int number = 0; log->cpus && number < n; number++) {
		const int errnum = open_cpu(&log->cpus[log->n_cpus], pid, number, pages);
		log->n_cpus += errnum != ENODEV; /* that one is off line */
		if (errnum && errnum != ENODEV)
			return errnum;
	}
	return log->n_cpus ? 0 : ENOMEM;
}

static void take(void *context, const void *bytes, size_t size)
{
	struct switch_log *log = context;
	struct perf_record record;
	if (!perf_record_parse_hit(bytes, size, &record) || record.type == PERF_RECORD_LOST) {
		log->is_incomplete = true;
		return;
	}
	if (record.type != PERF_RECORD_SWITCH || log->is_incomplete)
		return;
	const struct switch_record new = {record.time, record.tid,
					  record.misc & PERF_RECORD_MISC_SWITCH_OUT};
	if (log->n_records >= MOST_RECORDS ||
	    !rf_array_push(log->records, log->n_records, log->cap_records, new))
		log->is_incomplete = true;
}

static void read_all(struct switch_log *log)
{
	for (size_t i = 0; i < log->n_cpus; i++) {
		perf_ring_read(&log->cpus[i].ring, take, log);
		log->is_incomplete |= log->cpus[i].ring.broken > 0;
	}
}

static void *run(void *context)
{
	struct switch_log *log = context;
	struct pollfd *polls = calloc(log->n_cpus + 1, sizeof(*polls));
	for (size_t i = 0; polls && i < log->n_cpus; i++)
		polls[i] = (struct pollfd){log->cpus[i].event, POLLIN, 0};
	if (polls)
		polls[log->n_cpus] = (struct pollfd){log->stop, POLLIN, 0};
	while (polls && !(polls[log->n_cpus].revents & POLLIN)) {
		poll(polls, log->n_cpus + 1, WAIT_MS);
		for (size_t i = 0; i < log->n_cpus; i++)
			if (polls[i].revents & (POLLHUP | POLLERR)) /* the process has ended */
				polls[i].fd = -1;
		read_all(log);
	}
	log->is_incomplete |= !polls;
	free(polls);
	return NULL;
}

struct rf_error *switch_log_create(pid_t pid, struct switch_log **out)
{
	struct switch_log *log = calloc(1, sizeof(*log));
	if (!log)
		return rf_error_no_memory();
	log->stop = eventfd(0, EFD_CLOEXEC);
	int errnum = EPERM;
	for (size_t pages = MOST_PAGES; errnum && pages; pages /= 2) {
		close_all(log);
		errnum = open_all(log, pid, pages);
	}
	if (!errnum)
		errnum = thread_start(&log->thread, run, log);
	log->runs = !errnum;
	if (!errnum) {
		*out = log;
		return NULL;
	}
	switch_log_destroy(log);
	return rf_error_errno(RF_EUNAVAILABLE, errnum, NULL,
			      "the kernel does not tell of switches between threads");
}

static void stop(struct switch_log *log)
{
	if (!log->runs)
		return;
	eventfd_write(log->stop, 1);
	pthread_join(log->thread, NULL);
	log->runs = false;
}

static int compare(const void *a, const void *b)
{
	const struct switch_record *x = a, *y = b;
	return rf_compare(x->tid, y->tid) ?: rf_compare(x->time, y->time);
}

const struct switch_record *switch_log_finish(struct switch_log *log, size_t *n)
{
	*n = 0;
	stop(log);
	read_all(log);
	if (log->is_incomplete || !log->n_records)
		return NULL;
	qsort(log->records, log->n_records, sizeof(*log->records), compare);
	*n = log->n_records;
	return log->records;
}

void switch_log_destroy(struct switch_log *log)
{
	if (!log)
		return;
	stop(log);
	close_all(log);
	free(log->records);
	if (log->stop >= 0)
		close(log->stop);
	free(log);
}

/* How many are of threads before that one, or of that one at that time or before. */
static size_t n_until(const struct switch_record *records, size_t n, uint32_t tid, uint64_t time)
{
	return rf_search(
		n, i, records[i].tid < tid || (records[i].tid == tid && records[i].time <= time));
}

uint64_t switch_log_between(const struct switch_record *records, size_t n, uint32_t tid,
			    uint64_t from, uint64_t until)
{
	const size_t in = n_until(records, n, tid, from), end = n_until(records, n, tid, until);
	if (in >= end || records[in].is_out || !records[end - 1].is_out)
		return 0;
	return records[end - 1].time - records[in].time;
}
