/* The events of breakpoints, by processor. */
#include "tracer/calls/call_breakpoints.h"

#include "tracer/calls/call_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MOST_PAGES = 16 };
#define WAKE_BYTES 12288 /* some 150 hits, 2 ms at the most that 10 us each can be */

struct rf_error *call_breakpoints_refused(int errnum)
{
	return rf_error_errno(RF_EUNAVAILABLE, errnum, NULL, "%s",
			      errnum == ENOSPC ? "the processor's breakpoints are all in use"
					       : "the kernel refuses breakpoints");
}

static struct perf_event_attr attributes_of(const struct call_breakpoints *breakpoints,
					    uint64_t address)
{
	struct perf_event_attr attr = call_event_attributes(address);
	attr.wakeup_watermark = WAKE_BYTES;
	attr.inherit_thread = breakpoints->first_only;
	return attr;
}

static bool open_threads(struct call_cpu *cpu, const struct call_breakpoints *breakpoints,
			 size_t pages)
{
	struct perf_event_attr attr = call_event_records();
	attr.wakeup_watermark = WAKE_BYTES;
	attr.inherit_thread = breakpoints->first_only;
	attr.task = 1;
	cpu->threads = perf_source_kernel.open(NULL, &attr, breakpoints->pid, cpu->number, -1);
	attr.task = 0;
	attr.context_switch = attr.disabled = 1;
	cpu->switches = cpu->threads < 0 ? -1
					 : perf_source_kernel.open(NULL, &attr, breakpoints->pid,
								   cpu->number, -1);
	return cpu->switches >= 0 &&
	       perf_ring_map(&perf_source_kernel, cpu->threads, pages, &cpu->ring) &&
	       ioctl(cpu->switches, PERF_EVENT_IOC_SET_OUTPUT, cpu->threads) == 0;
}

static void close_cpu(struct call_cpu *cpu)
{
	perf_ring_unmap(&perf_source_kernel, &cpu->ring);
	for (size_t i = 0; i < MOST_CALL_PLACES; i++)
		if (cpu->events[i] >= 0)
			close(cpu->events[i]);
	if (cpu->switches >= 0)
		close(cpu->switches);
	if (cpu->threads >= 0)
		close(cpu->threads);
}

/* Rings of all processors; errno, or 0. */
static int open_rings(struct call_breakpoints *breakpoints, size_t pages)
{
	const long n = sysconf(_SC_NPROCESSORS_CONF);
	breakpoints->cpus = calloc((size_t)n, sizeof(*breakpoints->cpus));
	for (int number = 0; breakpoints->cpus && number < n; number++) {
		struct call_cpu *cpu = &breakpoints->cpus[breakpoints->n_cpus];
		memset(cpu->events, -1, sizeof(cpu->events));
		cpu->number = number;
		const bool ok = open_threads(cpu, breakpoints, pages);
		const int errnum = ok ? 0 : errno;
		breakpoints->n_cpus += errnum != ENODEV; /* that one is off line */
		if (errnum && errnum != ENODEV)
			return errnum;
	}
	return breakpoints->n_cpus ? 0 : ENOMEM;
}

int call_breakpoints_map(struct call_breakpoints *breakpoints)
{
	int errnum = EPERM;
	for (size_t pages = MOST_PAGES; errnum && pages; pages /= 2) {
		call_breakpoints_deinit(breakpoints);
		errnum = open_rings(breakpoints, pages);
	}
	return errnum;
}

void call_breakpoints_deinit(struct call_breakpoints *breakpoints)
{
	for (size_t i = 0; i < breakpoints->n_cpus; i++)
		close_cpu(&breakpoints->cpus[i]);
	free(breakpoints->cpus);
	breakpoints->cpus = NULL;
	breakpoints->n_cpus = 0;
}

struct rf_error *call_breakpoints_open(struct call_breakpoints *breakpoints,
				       const struct call_places *places, uint64_t other)
{
	breakpoints->n = places->n;
	for (size_t c = 0; c < breakpoints->n_cpus; c++)
		for (size_t i = 0; i < places->n; i++) {
			struct call_cpu *cpu = &breakpoints->cpus[c];
			const struct perf_event_attr attr =
				attributes_of(breakpoints, places->items[i].address ?: other);
			cpu->events[i] = perf_source_kernel.open(NULL, &attr, breakpoints->pid,
								 cpu->number, -1);
			if (cpu->events[i] < 0 ||
			    ioctl(cpu->events[i], PERF_EVENT_IOC_ID, &cpu->ids[i]) != 0 ||
			    ioctl(cpu->events[i], PERF_EVENT_IOC_SET_OUTPUT, cpu->threads) != 0)
				return call_breakpoints_refused(errno);
		}
	return NULL;
}

void call_breakpoints_turn(struct call_breakpoints *breakpoints, size_t place, bool on)
{
	for (size_t c = 0; c < breakpoints->n_cpus; c++)
		ioctl(breakpoints->cpus[c].events[place],
		      on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void call_breakpoints_turn_switches(struct call_breakpoints *breakpoints, bool on)
{
	for (size_t c = 0; c < breakpoints->n_cpus; c++)
		ioctl(breakpoints->cpus[c].switches,
		      on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

bool call_breakpoints_move(struct call_breakpoints *breakpoints, size_t place, uint64_t address)
{
	struct perf_event_attr attr = attributes_of(breakpoints, address);
	for (size_t c = 0; c < breakpoints->n_cpus; c++)
		if (ioctl(breakpoints->cpus[c].events[place], PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
			  &attr) != 0)
			return false;
	return true;
}
