/* Opens, reads and closes the events of a process's threads. */
#include "tracer/attach/attached_threads.h"

#include "base/array.h"
#include "tracer/perf/refusal.h"
#include "tracer/timed/sampler.h"
#include "tracer/timed/sampler_event.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Of each processor; plain users may lock 128 pages for all events of a processor. */
enum { RING_PAGES = 64, WAIT_RING_PAGES = 32 };
/* So many switches are one sample of a stack: each of the first ones, then some, since a server may
 * switch 100,000 times a second; a prime, so that none of a row of waits is left out
 * (sampler_perf.c). */
static const uint64_t wait_periods[ATTACHED_WAIT_STAGES] = {1, 61};
enum { MANY_WAITS = 4096 };
/* Looks for threads that were born before their parent had its events. */
enum { MOST_LOOKS = 100 };

typedef void take_fn(void *context, struct attached_cpu *cpu, const struct perf_record *record,
		     bool is_wait);

/* ---- events ---- */

static struct rf_error *refused(const struct attached_threads *threads, int errnum)
{
	char what[64];
	if (errnum == ESRCH)
		return rf_error_errno(RF_EINPUT, errnum, NULL, "process %d", (int)threads->pid);
	if (errnum == EMFILE || errnum == ENFILE)
		return rf_error_errno(
			RF_EUNAVAILABLE, errnum,
			"raise the limit of open files (ulimit -Hn): each thread takes three for "
			"each processor",
			"process %d has too many threads", (int)threads->pid);
	if (errnum == EACCES || errnum == EPERM) {
		snprintf(what, sizeof(what), "/proc/%d/maps", (int)threads->pid);
		if (access(what, R_OK) != 0 || geteuid() != 0)
			return rf_error_errno(
				RF_EUNAVAILABLE, errnum,
				"run rfprof as the user who runs the process, or as root; see "
				"rfprof doctor",
				"process %d may not be measured: it is another user's, has other "
				"rights, or the kernel refuses (kernel.perf_event_paranoid)",
				(int)threads->pid);
	}
	return refusal_here(errnum, REFUSED_SOFTWARE, "an event on a running process");
}

static struct perf_event_attr attributes(const struct attached_threads *threads)
{
	struct perf_event_attr attr = sampler_event_attributes(threads->period_ns);
	attr.disabled = 0;
	attr.inherit_thread = !threads->with_children;
	attr.wakeup_watermark = RING_PAGES * 4096 / 4;
	return attr;
}

static struct perf_event_attr wait_attributes(const struct attached_threads *threads, int stage)
{
	struct perf_event_attr attr = attributes(threads);
	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr.sample_period = wait_periods[stage];
	attr.disabled = stage != (int)threads->few_waits;
	attr.sample_type = PERF_RING_SWITCH_TYPE;
	attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = attr.build_id = 0;
	attr.context_switch = 0;
	return attr;
}

/* Adds an event to a processor's ring, which the first one has. */
static bool share(int event, int *first, struct perf_ring *ring, size_t pages)
{
	if (*first >= 0)
		return ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, *first) == 0;
	*first = event;
	return perf_ring_map(&perf_source_kernel, event, pages, ring);
}

/* Stacks of waits are worth having, but nothing fails for them. */
static struct rf_error *open_waits(struct attached_threads *threads, struct attached_cpu *cpu,
				   pid_t tid)
{
	for (int stage = 0; stage < ATTACHED_WAIT_STAGES && threads->sees_kernel; stage++) {
		struct perf_event_attr attr = wait_attributes(threads, stage);
		const int wait = sampler_event_open(&attr, tid, cpu->number);
		if (wait < 0 && (errno == EMFILE || errno == ENFILE))
			return refused(threads, errno);
		if (wait < 0)
			continue;
		if (!rf_array_push(threads->waits[stage], threads->n_waits[stage],
				   threads->cap_waits[stage], wait)) {
			close(wait);
			return rf_error_no_memory();
		}
		(void)share(wait, &cpu->first_wait, &cpu->wait_ring, WAIT_RING_PAGES);
	}
	return NULL;
}

/* A thread that has ended meanwhile, and a processor that is off line, have none. */
static struct rf_error *open_on(struct attached_threads *threads, struct attached_cpu *cpu,
				pid_t tid)
{
	struct perf_event_attr attr = attributes(threads);
	const int event = sampler_event_open(&attr, tid, cpu->number);
	if (event < 0 && (errno == ESRCH || errno == ENODEV))
		return NULL;
	if (event < 0)
		return refused(threads, errno);
	threads->sees_kernel = !attr.exclude_kernel;
	if (!rf_array_push(threads->events, threads->n_events, threads->cap_events, event)) {
		close(event);
		return rf_error_no_memory();
	}
	if (!share(event, &cpu->first, &cpu->ring, RING_PAGES))
		return refusal_here(errno, REFUSED_RING, "the samples of cpu-clock");
	return open_waits(threads, cpu, tid);
}

/* ---- threads ---- */

static bool is_known(const struct attached_threads *threads, pid_t tid)
{
	for (size_t i = 0; i < threads->n_tids; i++)
		if (threads->tids[i] == tid)
			return true;
	return u64_map_find(&threads->born, (uint64_t)tid) != NULL;
}

static struct rf_error *open_thread(struct attached_threads *threads, pid_t tid)
{
	struct rf_error *error =
		rf_array_add(threads->tids, threads->n_tids, threads->cap_tids, tid);
	for (size_t i = 0; i < threads->n_cpus && !error; i++)
		error = open_on(threads, &threads->cpus[i], tid);
	return error;
}

/* *any: there was a thread without events. */
static struct rf_error *open_new(struct attached_threads *threads, bool *any)
{
	char path[64];
	struct rf_error *error = NULL;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)threads->pid);
	DIR *directory = opendir(path);
	*any = false;
	if (!directory)
		return refused(threads, errno == ENOENT ? ESRCH : errno);
	for (struct dirent *entry; !error && (entry = readdir(directory));) {
		const pid_t tid = (pid_t)atoi(entry->d_name);
		if (tid <= 0 || is_known(threads, tid))
			continue;
		*any = true;
		error = open_thread(threads, tid);
	}
	closedir(directory);
	return error;
}

static struct rf_error *list_processors(struct attached_threads *threads)
{
	const long n = sysconf(_SC_NPROCESSORS_CONF);
	threads->cpus = calloc((size_t)n, sizeof(*threads->cpus));
	if (!threads->cpus)
		return rf_error_no_memory();
	for (int i = 0; i < n; i++)
		threads->cpus[threads->n_cpus++] =
			(struct attached_cpu){.number = i, .first = -1, .first_wait = -1};
	return NULL;
}

struct rf_error *attached_threads_open(struct attached_threads *threads, pid_t pid,
				       bool with_children, uint64_t period_ns, take_fn *take,
				       void *context)
{
	*threads = (struct attached_threads){.pid = pid,
					     .with_children = with_children,
					     .period_ns = period_ns};
	struct rf_error *error = list_processors(threads);
	bool any = true;
	/* Who was born of a thread with events has inherited them, and is told of by a record;
	 * whoever else is new was born of one that had none yet. */
	for (int looks = 0; any && !error && looks < MOST_LOOKS; looks++) {
		error = open_new(threads, &any);
		attached_threads_read(threads, take, context);
	}
	if (!error && !threads->n_events)
		error = refused(threads, ESRCH);
	return error;
}

/* ---- records ---- */

struct reading {
	struct attached_threads *threads;
	struct attached_cpu *cpu;
	take_fn *take;
	void *context;
};

static void take_record(void *opaque, const void *bytes, size_t size)
{
	const struct reading *reading = opaque;
	struct perf_record record;
	if (!perf_record_parse(bytes, size, &record))
		return;
	if (record.type == PERF_RECORD_FORK)
		(void)u64_map_set(&reading->threads->born, record.tid, 1);
	reading->take(reading->context, reading->cpu, &record, false);
}

static void take_wait(void *opaque, const void *bytes, size_t size)
{
	const struct reading *reading = opaque;
	struct perf_record record;
	if (!perf_record_parse_switch(bytes, size, &record) || record.type != PERF_RECORD_SAMPLE)
		return;
	reading->threads->n_wait_samples++;
	reading->take(reading->context, reading->cpu, &record, true);
}

static void control(const int *events, size_t n, unsigned long request)
{
	for (size_t i = 0; i < n; i++)
		ioctl(events[i], request, 0);
}

static void end_wait_stage(struct attached_threads *threads)
{
	if (threads->few_waits || threads->n_wait_samples < MANY_WAITS)
		return;
	threads->few_waits = true;
	control(threads->waits[1], threads->n_waits[1], PERF_EVENT_IOC_ENABLE);
	control(threads->waits[0], threads->n_waits[0], PERF_EVENT_IOC_DISABLE);
}

void attached_threads_read(struct attached_threads *threads, take_fn *take, void *context)
{
	for (size_t i = 0; i < threads->n_cpus; i++) {
		struct attached_cpu *cpu = &threads->cpus[i];
		struct reading reading = {threads, cpu, take, context};
		if (cpu->ring.mapping)
			perf_ring_read(&cpu->ring, take_record, &reading);
		if (cpu->wait_ring.mapping)
			perf_ring_read(&cpu->wait_ring, take_wait, &reading);
	}
	end_wait_stage(threads);
}

/* ---- the end ---- */

void attached_threads_stop(struct attached_threads *threads)
{
	control(threads->events, threads->n_events, PERF_EVENT_IOC_DISABLE);
	for (int stage = 0; stage < ATTACHED_WAIT_STAGES; stage++)
		control(threads->waits[stage], threads->n_waits[stage], PERF_EVENT_IOC_DISABLE);
}

static void close_all(int *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(events[i]);
	free(events);
}

void attached_threads_close(struct attached_threads *threads)
{
	for (size_t i = 0; i < threads->n_cpus; i++) {
		perf_ring_unmap(&perf_source_kernel, &threads->cpus[i].ring);
		perf_ring_unmap(&perf_source_kernel, &threads->cpus[i].wait_ring);
	}
	close_all(threads->events, threads->n_events);
	for (int stage = 0; stage < ATTACHED_WAIT_STAGES; stage++)
		close_all(threads->waits[stage], threads->n_waits[stage]);
	free(threads->cpus);
	free(threads->tids);
	u64_map_deinit(&threads->born);
	*threads = (struct attached_threads){0};
}
