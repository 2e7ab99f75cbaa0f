/* Events that do nothing but tell of mappings. */
#include "tracer/calls/mapping_watch.h"

#include "base/array.h"
#include "tracer/perf/event_records.h"
#include "tracer/perf/perf_ring.h"

#include <errno.h>
#include <unistd.h>

enum { RING_PAGES = 1 }; /* some thirty mappings */

struct mapping_cpu {
	int event;
	struct perf_ring ring;
};

struct new_mapping {
	uint64_t start, end, time;
};

struct mapping_watch {
	uint32_t pid;
	struct mapping_cpu *cpus;
	size_t n_cpus;
	struct new_mapping *items;
	size_t n_items, cap_items;
	bool is_incomplete; /* records are missing */
	bool has_executed;  /* another program */
	uint64_t forgot_ns;
};

static int open_event(pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_RING_COUNTER_TYPE,
		.inherit = 1,
		.inherit_thread = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	event_records_have_times(&attr);
	event_records_tell_mappings(&attr);
	return perf_source_kernel.open(NULL, &attr, pid, cpu, -1);
}

static bool open_all(struct mapping_watch *watch, pid_t pid)
{
	const long n = sysconf(_SC_NPROCESSORS_CONF);
	watch->cpus = calloc((size_t)n, sizeof(*watch->cpus));
	for (int number = 0; watch->cpus && number < n; number++) {
		struct mapping_cpu *cpu = &watch->cpus[watch->n_cpus];
		cpu->event = open_event(pid, number);
		if (cpu->event < 0 && errno == ENODEV) /* that one is off line */
			continue;
		if (cpu->event < 0)
			return false;
		watch->n_cpus++;
		if (!perf_ring_map(&perf_source_kernel, cpu->event, RING_PAGES, &cpu->ring))
			return false;
	}
	return watch->n_cpus > 0;
}

struct mapping_watch *mapping_watch_create(pid_t pid)
{
	struct mapping_watch *watch = calloc(1, sizeof(*watch));
	if (!watch)
		return NULL;
	watch->pid = (uint32_t)pid;
	if (open_all(watch, pid))
		return watch;
	const int errnum = errno;
	mapping_watch_destroy(watch);
	errno = errnum;
	return NULL;
}

void mapping_watch_destroy(struct mapping_watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->n_cpus; i++) {
		perf_ring_unmap(&perf_source_kernel, &watch->cpus[i].ring);
		close(watch->cpus[i].event);
	}
	free(watch->cpus);
	free(watch->items);
	free(watch);
}

size_t mapping_watch_polls(const struct mapping_watch *watch, struct pollfd *polls, size_t most)
{
	size_t n = 0;
	for (; n < watch->n_cpus && n < most; n++)
		polls[n] = (struct pollfd){watch->cpus[n].event, POLLIN, 0};
	return n;
}

/* A path begins with one slash. */
static bool is_file(const char *path)
{
	return path && path[0] == '/' && path[1] != '/';
}

static void take(void *context, const void *bytes, size_t size)
{
	struct mapping_watch *watch = context;
	struct perf_record record;
	if (!perf_record_parse_counter(bytes, size, &record) || record.type == PERF_RECORD_LOST) {
		watch->is_incomplete = true;
		return;
	}
	const struct new_mapping mapping = {record.start, record.start + record.length,
					    record.time};
	if (record.pid != watch->pid || watch->has_executed)
		return;
	if (record.type == PERF_RECORD_COMM && record.misc & PERF_RECORD_MISC_COMM_EXEC)
		watch->has_executed = watch->forgot_ns && record.time > watch->forgot_ns;
	else if (record.type == PERF_RECORD_MMAP2 && is_file(record.path) &&
		 !rf_array_push(watch->items, watch->n_items, watch->cap_items, mapping))
		watch->is_incomplete = true;
}

bool mapping_watch_read(struct mapping_watch *watch)
{
	for (size_t i = 0; i < watch->n_cpus; i++) {
		perf_ring_read(&watch->cpus[i].ring, take, watch);
		watch->is_incomplete |= watch->cpus[i].ring.broken;
		watch->cpus[i].ring.broken = 0;
	}
	return !watch->has_executed && (watch->n_items || watch->is_incomplete);
}

uint64_t mapping_watch_time(const struct mapping_watch *watch, uint64_t address, uint64_t otherwise)
{
	uint64_t time = UINT64_MAX;
	for (size_t i = 0; i < watch->n_items; i++)
		if (address - watch->items[i].start < watch->items[i].end - watch->items[i].start &&
		    watch->items[i].time < time)
			time = watch->items[i].time;
	return time < UINT64_MAX ? time : otherwise;
}

void mapping_watch_forget(struct mapping_watch *watch, uint64_t time)
{
	size_t kept = 0;
	for (size_t i = 0; i < watch->n_items; i++)
		if (watch->items[i].time >= time)
			watch->items[kept++] = watch->items[i];
	watch->n_items = kept;
	watch->is_incomplete = false;
	watch->forgot_ns = time;
}
