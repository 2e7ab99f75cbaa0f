/* A thread of rfprof reads the rings of breakpoints, and tells the span. */
#include "tracer/span/breakpoints.h"

#include "base/clock.h"
#include "base/thread.h"
#include "tracer/perf/breakpoint.h"
#include "tracer/perf/event_records.h"
#include "tracer/perf/perf_ring.h"
#include "tracer/process/program_memory.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Of a stack that is looked at: the address that a function returns to lies on top. */
enum { STACK_BYTES = 64 };
enum { RING_PAGES = 8, POLL_MS = 10 };
/* So late may be told of a span that the same, counted run finds. */
#define LATE_NS 50000000
/* A thread whose return was over before it could be watched is seen to be behind it by samples at
 * this distance, ns: its stack pointer is above, by less than what follows. */
#define LOOK_NS 1000003
#define NEAR_STACK (1ull << 20)

/* The events of a processor, with one ring; or of one thread, for a return. */
struct watch {
	int events[N_MARKS]; /* -1: none */
	struct perf_ring ring;
};

struct breakpoints {
	struct span *span;
	struct watch *cpus; /* n_cpus of them */
	size_t n_cpus;
	struct watch back; /* of the thread that has begun the span: its return, and its samples */
	uint64_t addresses[N_MARKS];
	uint64_t first_ns, first_stop_ns; /* of records: the first entry, and that of MARK_STOP */
	uint64_t return_to, stack;        /* of the first entry */
	uint64_t back_ns;                 /* the first record that is behind it */
	uint32_t tid;
	bool watches_return;
	uint64_t seen_ns;
	int stop; /* readable: the end */
	pthread_t thread;
	bool runs;
};

static struct perf_event_attr attributes(uint64_t address)
{
	struct perf_event_attr attr = breakpoint_attributes(address);
	attr.sample_type = PERF_RING_SAMPLE_TYPE;
	attr.sample_regs_user = PERF_RING_REGS_USER;
	attr.sample_stack_user = STACK_BYTES;
	attr.exclude_callchain_user = 1;
	attr.exclude_callchain_kernel = 1;
	event_records_have_times(&attr);
	attr.wakeup_events = 1;
	return attr;
}

static int event_open(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return perf_source_kernel.open(NULL, attr, pid, cpu, -1);
}

static struct rf_error *refused(const char *what)
{
	return rf_error_errno(RF_EUNAVAILABLE, errno, "take --delay and --duration, or --once",
			      "breakpoints for --start-at and --stop-at: %s", what);
}

static void watch_close(struct watch *watch)
{
	perf_ring_unmap(&perf_source_kernel, &watch->ring);
	for (int i = 0; i < N_MARKS; i++)
		if (watch->events[i] >= 0)
			close(watch->events[i]);
	watch->events[0] = watch->events[1] = -1;
}

/* Adds an event to a watch, whose first one has the ring. */
static bool watch_add(struct watch *watch, int number, const struct perf_event_attr *attr,
		      pid_t pid, int cpu)
{
	const int fd = watch->events[number] = event_open(attr, pid, cpu);
	if (fd < 0)
		return false;
	if (watch->ring.mapping)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, watch->events[!number]) == 0;
	return perf_ring_map(&perf_source_kernel, fd, RING_PAGES, &watch->ring);
}

/* ---- what is seen ---- */

/* The return of the first entry is watched in its thread, and that it is behind it by samples. */
static void watch_return(struct breakpoints *points)
{
	struct perf_event_attr attr = attributes(points->return_to);
	points->watches_return = true;
	(void)watch_add(&points->back, 0, &attr, (pid_t)points->tid, -1);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.sample_period = LOOK_NS;
	attr.bp_type = attr.bp_len = 0;
	attr.bp_addr = 0;
	(void)watch_add(&points->back, 1, &attr, (pid_t)points->tid, -1);
}

static void on_entry(struct breakpoints *points, const struct perf_record *record)
{
	if (record->ip == points->addresses[MARK_STOP] && span_has_begun(points->span) &&
	    record->time > span_from(points->span) && record->time < points->first_stop_ns)
		points->first_stop_ns = record->time;
	if (record->ip != points->addresses[MARK_START] || record->time >= points->first_ns ||
	    !record->has_regs || record->stack_size < sizeof(uint64_t))
		return;
	points->first_ns = record->time;
	points->tid = record->tid;
	points->stack = record->regs.sp;
	memcpy(&points->return_to, record->stack, sizeof(uint64_t));
}

static void take_entry(void *context, const void *bytes, size_t size)
{
	struct perf_record record;
	if (perf_record_parse(bytes, size, &record) && record.type == PERF_RECORD_SAMPLE)
		on_entry(context, &record);
}

static void take_back(void *context, const void *bytes, size_t size)
{
	struct breakpoints *points = context;
	struct perf_record record;
	if (!perf_record_parse(bytes, size, &record) || record.type != PERF_RECORD_SAMPLE ||
	    !record.has_regs || record.time < points->first_ns)
		return;
	const uint64_t above = record.regs.sp - points->stack;
	if (above && above < NEAR_STACK && record.time < points->back_ns)
		points->back_ns = record.time;
}

static void disable(struct breakpoints *points, enum mark mark)
{
	for (size_t i = 0; i < points->n_cpus; i++)
		if (points->cpus[i].events[mark] >= 0)
			ioctl(points->cpus[i].events[mark], PERF_EVENT_IOC_DISABLE, 0);
}

/* All records of before `now` are read. */
static void read_all(struct breakpoints *points)
{
	const uint64_t now = clock_now_ns();
	for (size_t i = 0; i < points->n_cpus; i++)
		perf_ring_read(&points->cpus[i].ring, take_entry, points);
	if (points->first_ns != SPAN_NEVER && !span_has_begun(points->span)) {
		span_begins(points->span, points->first_ns);
		disable(points, MARK_START);
		if (!points->addresses[MARK_STOP])
			watch_return(points);
	}
	if (points->back.ring.mapping)
		perf_ring_read(&points->back.ring, take_back, points);
	const uint64_t end =
		points->back_ns < points->first_stop_ns ? points->back_ns : points->first_stop_ns;
	if (end != SPAN_NEVER && !span_has_ended(points->span)) {
		span_ends(points->span, end);
		disable(points, MARK_STOP);
		watch_close(&points->back);
	}
	__atomic_store_n(&points->seen_ns, span_has_ended(points->span) ? SPAN_NEVER : now,
			 __ATOMIC_RELEASE);
}

static void *watch_all(void *context)
{
	struct breakpoints *points = context;
	struct pollfd *polls = calloc(points->n_cpus + 2, sizeof(*polls));
	bool ends = !polls;
	while (!ends) {
		for (size_t i = 0; i < points->n_cpus; i++)
			polls[i] = (struct pollfd){
				points->cpus[i]
					.events[points->addresses[MARK_START] &&
								points->cpus[i].events[0] >= 0
							? MARK_START
							: MARK_STOP],
				POLLIN, 0};
		polls[points->n_cpus] = (struct pollfd){points->back.events[0], POLLIN, 0};
		polls[points->n_cpus + 1] = (struct pollfd){points->stop, POLLIN, 0};
		poll(polls, points->n_cpus + 2, POLL_MS);
		ends = polls[points->n_cpus + 1].revents & POLLIN;
		read_all(points);
	}
	free(polls);
	return NULL;
}

uint64_t breakpoints_known_until(const struct span *span, const struct breakpoints *points,
				 uint64_t time)
{
	if (!span || !span_is_by_function(span) || span_has_ended(span))
		return time;
	if (!points)
		return time - LATE_NS;
	const uint64_t seen = __atomic_load_n(&points->seen_ns, __ATOMIC_ACQUIRE);
	return seen < time ? seen : time;
}

/* ---- start and end ---- */

static struct rf_error *find(struct breakpoints *points, pid_t pid)
{
	struct marks marks = {
		.names = {points->span->options.start_at, points->span->options.stop_at}};
	struct module_files *files = module_files_create();
	struct profile *scratch = profile_create();
	struct program_memory memory;
	struct rf_error *error = NULL;
	if (!files || !scratch) {
		module_files_destroy(files);
		profile_destroy(scratch);
		return rf_error_no_memory();
	}
	program_memory_init_regions(&memory, pid, files, scratch);
	memory.marks = &marks;
	for (int mark = 0; mark < N_MARKS && !error; mark++) {
		if (marks.names[mark])
			points->addresses[mark] = program_memory_find_mark(&memory, mark);
		if (marks.names[mark] && !points->addresses[mark])
			error = rf_error_create(
				RF_EINPUT,
				"give it as a report names it; an inlined function has no entry",
				"no function %s in the program or the libraries that it starts "
				"with",
				marks.names[mark]);
	}
	program_memory_deinit(&memory);
	marks_deinit(&marks);
	module_files_destroy(files);
	profile_destroy(scratch);
	return error;
}

static struct rf_error *open_all(struct breakpoints *points, pid_t pid)
{
	const long n = sysconf(_SC_NPROCESSORS_CONF);
	points->cpus = calloc((size_t)n, sizeof(*points->cpus));
	if (!points->cpus)
		return rf_error_no_memory();
	for (int cpu = 0; cpu < n; cpu++) {
		struct watch *watch = &points->cpus[points->n_cpus];
		bool ok = true;
		watch->events[0] = watch->events[1] = -1;
		for (int mark = 0; mark < N_MARKS && ok; mark++) {
			struct perf_event_attr attr = attributes(points->addresses[mark]);
			attr.inherit = 1;
			ok = !points->addresses[mark] || watch_add(watch, mark, &attr, pid, cpu);
		}
		if (!ok && errno != ENODEV) { /* that one is off line */
			points->n_cpus++;
			return refused(errno == ENOSPC ? "the processor's are all in use"
						       : "the kernel refuses them");
		}
		points->n_cpus += ok;
	}
	return NULL;
}

struct rf_error *breakpoints_start(struct span *span, pid_t pid, struct breakpoints **out)
{
	struct breakpoints *points = calloc(1, sizeof(*points));
	if (!points)
		return rf_error_no_memory();
	*points = (struct breakpoints){.span = span,
				       .stop = eventfd(0, EFD_CLOEXEC),
				       .first_ns = SPAN_NEVER,
				       .first_stop_ns = SPAN_NEVER,
				       .back_ns = SPAN_NEVER,
				       .back = {.events = {-1, -1}}};
	struct rf_error *error = find(points, pid) ?: open_all(points, pid);
	const int errnum = error ? 0 : thread_start(&points->thread, watch_all, points);
	points->runs = !error && !errnum;
	if (errnum)
		error = rf_error_errno(RF_EINTERNAL, errnum, NULL, "cannot start a thread");
	if (error)
		breakpoints_stop(points);
	else
		*out = points;
	return error;
}

void breakpoints_stop(struct breakpoints *points)
{
	if (!points)
		return;
	if (points->runs) {
		eventfd_write(points->stop, 1);
		pthread_join(points->thread, NULL);
	}
	for (size_t i = 0; i < points->n_cpus; i++)
		watch_close(&points->cpus[i]);
	watch_close(&points->back);
	free(points->cpus);
	close(points->stop);
	free(points);
}
