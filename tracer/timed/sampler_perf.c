/* Samples through perf_event_open: the software event cpu-clock, per thread and per CPU.
 *
 * One event per CPU follows the program and everything that it starts (inherit); inherited events
 * can only be mapped per CPU (perf_event_open(2), "inherit").  An hrtimer fires each `period` of a
 * thread's CPU time.  Where the kernel does not trust the user, ticks that fall into the kernel are
 * skipped (exclude_kernel), and the sum of the periods estimates user time.
 *
 * The same events write a record of each switch between threads (schedule.h).  Where the kernel is
 * sampled, another event of each CPU samples the stacks of threads that are about to be switched
 * from, each of the first ones, then some: a program may switch 100,000 times a second.
 *
 * Page faults have an event of each CPU, too (fault_event.h).
 *
 * Rate: three events share each ring.  The fastest starts at the execve; after some samples on any
 * CPU it is switched off and the next takes over.  So a run of 0.2 s has 200 samples, one of a
 * second a thousand, and a long run is hardly slowed down: a sample costs 2 us on hardware but was
 * seen to cost 14 us in a virtual machine, 1.4 % of a period of 1 ms.  (A change of the period by
 * PERF_EVENT_IOC_PERIOD does not reach events that threads have inherited; PERF_EVENT_IOC_ENABLE
 * and _DISABLE do: perf_event_for_each_child in kernel/events/core.c.)
 *
 * Each time a thread is switched to, the kernel arms its timer.  In a virtual machine that costs
 * 12 us where the timer is the next one to come on the processor, which one of 1 ms always is; of
 * 4 ms the kernel's own tick (of 1 to 4 ms) mostly comes first.  So where threads switch often they
 * are sampled by the event of the last stage from the second stage on.  Of each thread up to a
 * period on each processor is never sampled, for which the first stage is not left.
 *
 * Amid page faults a sample costs twice to three times as much as elsewhere, up to 45 us: new pages
 * drive its stack and the ring out of the caches.  Where there is little but them samples are those
 * of the last stage, too, unless they are cheap here.
 *
 * The kernel stops an event until the next tick when it samples faster than
 * kernel.perf_event_max_sample_rate, which the kernel itself lowers where its interrupts take long
 * (to 250 a second in a busy virtual machine).  So no period is shorter than that allows, a stage
 * that is throttled all the same ends, and the first sample after a stop stands for the whole time
 * since. */
#include "base/array.h"
#include "base/clock.h"
#include "tracer/perf/fault_event.h"
#include "tracer/perf/perf_ring.h"
#include "tracer/perf/refusal.h"
#include "tracer/perf/stops.h"
#include "tracer/perf/switch_rate.h"
#include "tracer/span/span.h"
#include "tracer/timed/fault_cost.h"
#include "tracer/timed/sample_cost.h"
#include "tracer/timed/sample_log.h"
#include "tracer/timed/sampler_event.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* One event of each CPU after the other, until `samples` have come from it on any CPU.  Not round
 * numbers: a program with a period of its own must not run in step with its samples.  IN_GAPS is
 * like the last one, but does not record switches. */
enum { STAGES = 3, LAST_STAGE = STAGES - 1, IN_GAPS = STAGES, EVENTS };
static const struct {
	uint64_t period_ns, samples;
} stages[STAGES] = {
	{249989, 128},
	{997001, 8192},
	{3997003, UINT64_MAX},
};

/* The same for samples of switches. */
enum { WAIT_STAGES = 3, LAST_WAIT_STAGE = WAIT_STAGES - 1 };
static const struct {
	uint64_t period, samples;
} wait_stages[WAIT_STAGES] = {
	{1, 4096},
	{61, 4096},
	{499, UINT64_MAX},
};
enum { WAIT_RING_PAGES = 128 };

/* The default of kernel.perf_event_mlock_kb (516) allows plain users 128 pages and the control
 * page per CPU; root may have more.  Tried from the largest on. */
enum { MAX_RING_PAGES = 256, MIN_RING_PAGES = 8 };

/* For which the cost of a sample is measured roughly: their sum is known to 12 % at best. */
#define FEW_SAMPLES 64

/* How many times its cost a sample has amid page faults, and the share of a program's time that
 * they may take there. */
#define AMID_FAULTS 2
#define MOST_COST 0.02

/* The reader wakes at least this often: soon at first, so that files are opened before a short
 * program can delete them; in gaps for the kernel's sums.  Rings drained besides wake nobody. */
enum { POLL_FIRST_MS = 10, POLL_MS = 100, FIRST_POLLS = 100, POLL_GAPS_MS = 20 };

struct cpu_events {
	int number;
	int events[EVENTS]; /* descriptors or -1; that of LAST_STAGE has the ring */
	int enabled;        /* which of them samples now */
	uint64_t n_samples; /* of this stage */
	bool throttled;     /* in this stage */
	struct fault_event faults;
	int waits[WAIT_STAGES]; /* descriptors or -1; the last one has the ring */
	uint64_t n_waits;       /* samples of this stage */
	struct perf_ring wait_ring;
	struct perf_stops stops;
	struct switch_rate switches;
	struct perf_ring ring;
};

struct perf_sampler {
	struct sampler base;
	struct cpu_events **cpus;
	size_t n_cpus, cap_cpus;
	struct pollfd *polls; /* n_cpus rings and the stop event */
	int stage, wait_stage;
	int longest; /* the last stage of which an event has sampled */
	struct switch_windows windows;
	bool in_span;
	bool sees_kernel;
	bool knows_cost;
	uint64_t cost_ns;         /* of a sample, roughly; 0: not known */
	uint64_t max_rate;        /* the kernel's limit in samples a second; 0: not known */
	uint64_t periods[STAGES]; /* ns */
	uint64_t tick_ns;         /* a throttled event goes on at the next tick */
};

static struct rf_error *refused(int errnum)
{
	return refusal_here(errnum, REFUSED_SOFTWARE, "a cpu-clock event");
}

static struct rf_error *perf_probe(void)
{
	struct perf_event_attr attr = sampler_event_attributes(stages[0].period_ns);
	int fd = sampler_event_open(&attr, 0, -1);
	if (fd < 0)
		return refused(errno);
	close(fd);
	return NULL;
}

/* --- events and rings --- */

static void cpu_events_destroy(struct cpu_events *cpu)
{
	perf_ring_unmap(&perf_source_kernel, &cpu->ring);
	perf_ring_unmap(&perf_source_kernel, &cpu->wait_ring);
	for (int i = 0; i < EVENTS; i++)
		if (cpu->events[i] >= 0)
			close(cpu->events[i]);
	for (int i = 0; i < WAIT_STAGES; i++)
		if (cpu->waits[i] >= 0)
			close(cpu->waits[i]);
	fault_event_close(&cpu->faults);
	free(cpu);
}

static struct rf_error *open_events(struct cpu_events *cpu, struct perf_sampler *sampler, pid_t pid,
				    int number)
{
	for (int i = 0; i < EVENTS; i++) {
		const int stage = i == IN_GAPS ? LAST_STAGE : i;
		struct perf_event_attr attr = sampler_event_attributes(sampler->periods[stage]);
		/* Wake when a quarter of the smallest common ring is full. */
		attr.wakeup_watermark = 32 * 4096;
		attr.enable_on_exec = i == 0;
		attr.context_switch = i != IN_GAPS;
		attr.inherit_thread = sampler->base.first_only;
		cpu->events[i] = sampler_event_open(&attr, pid, number);
		if (cpu->events[i] < 0)
			return refused(errno);
		sampler->sees_kernel = !attr.exclude_kernel;
		if (i == LAST_STAGE && !sampler->base.skips_faults)
			fault_event_open(&cpu->faults, &attr, pid, number, sampler->max_rate);
	}
	return NULL;
}

/* Stacks of waits are worth having, but no run fails for them. */
static void open_waits(struct cpu_events *cpu, const struct perf_sampler *sampler, pid_t pid)
{
	for (int i = 0; sampler->sees_kernel && i < WAIT_STAGES; i++) {
		struct perf_event_attr attr = sampler_event_attributes(wait_stages[i].period);
		attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
		attr.sample_type = PERF_RING_SWITCH_TYPE;
		attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = attr.build_id = 0;
		attr.context_switch = 0;
		attr.wakeup_watermark = WAIT_RING_PAGES * 4096 / 4;
		attr.enable_on_exec = i == 0;
		attr.inherit_thread = sampler->base.first_only;
		cpu->waits[i] = sampler_event_open(&attr, pid, cpu->number);
	}
	if (cpu->waits[0] >= 0 && cpu->waits[LAST_WAIT_STAGE] >= 0 &&
	    perf_ring_map(&perf_source_kernel, cpu->waits[LAST_WAIT_STAGE], WAIT_RING_PAGES,
			  &cpu->wait_ring))
		for (int i = 0; i < LAST_WAIT_STAGE; i++)
			ioctl(cpu->waits[i], PERF_EVENT_IOC_SET_OUTPUT,
			      cpu->waits[LAST_WAIT_STAGE]);
}

static struct rf_error *add_cpu(struct perf_sampler *sampler, pid_t pid, int number)
{
	struct cpu_events *cpu = calloc(1, sizeof(*cpu));
	if (!cpu)
		return rf_error_no_memory();
	for (int i = 0; i < EVENTS; i++)
		cpu->events[i] = -1;
	for (int i = 0; i < WAIT_STAGES; i++)
		cpu->waits[i] = -1;
	cpu->faults.event = -1;
	cpu->number = number;
	struct rf_error *error = open_events(cpu, sampler, pid, number);
	if (error && error->errnum == ENODEV) { /* went off line */
		rf_error_destroy(error);
		cpu_events_destroy(cpu);
		return NULL;
	}
	if (!error && !rf_array_push(sampler->cpus, sampler->n_cpus, sampler->cap_cpus, cpu))
		error = rf_error_no_memory();
	if (error)
		cpu_events_destroy(cpu);
	return error;
}

/* Three descriptors for each CPU of a large machine are more than the usual soft limit of 1,024:
 * launch_start has raised it. */
static struct rf_error *open_all_cpus(struct perf_sampler *sampler, pid_t pid)
{
	/* Events on CPUs that are off line are refused with ENODEV. */
	long n = sysconf(_SC_NPROCESSORS_CONF);
	for (int number = 0; number < n; number++) {
		struct rf_error *error = add_cpu(sampler, pid, number);
		if (error)
			return error;
	}
	return sampler->n_cpus ? NULL : refused(ENODEV);
}

static bool map_rings(struct perf_sampler *sampler, size_t pages)
{
	for (size_t i = 0; i < sampler->n_cpus; i++)
		if (!perf_ring_map(&perf_source_kernel, sampler->cpus[i]->events[LAST_STAGE], pages,
				   &sampler->cpus[i]->ring))
			return false;
	return true;
}

/* Equal rings for all CPUs: the limit counts the memory of all of a user's rings together, so that
 * a large one for the first CPU leaves nothing for the last. */
static struct rf_error *map_largest_rings(struct perf_sampler *sampler)
{
	for (size_t n = MAX_RING_PAGES; n >= MIN_RING_PAGES; n /= 2) {
		if (map_rings(sampler, n))
			return NULL;
		const int errnum = errno;
		for (size_t i = 0; i < sampler->n_cpus; i++)
			perf_ring_unmap(&perf_source_kernel, &sampler->cpus[i]->ring);
		errno = errnum;
	}
	return refusal_here(errno, REFUSED_RING, "the samples of cpu-clock");
}

/* All events of a CPU write into the ring of the last one. */
static struct rf_error *share_rings(const struct perf_sampler *sampler)
{
	for (size_t i = 0; i < sampler->n_cpus; i++) {
		struct cpu_events *cpu = sampler->cpus[i];
		for (int event = 0; event < EVENTS; event++)
			if (event != LAST_STAGE &&
			    ioctl(cpu->events[event], PERF_EVENT_IOC_SET_OUTPUT,
				  cpu->events[LAST_STAGE]) != 0)
				return rf_error_errno(RF_EUNAVAILABLE, errno, NULL,
						      "cannot share a ring between events");
		fault_event_share(&cpu->faults, cpu->events[LAST_STAGE]);
	}
	return NULL;
}

/* --- reading --- */

struct read_context {
	struct perf_sampler *sampler;
	struct cpu_events *cpu;
};

static void take_record(void *opaque, const void *bytes, size_t size)
{
	struct read_context *context = opaque;
	struct perf_record record;
	if (!perf_record_parse(bytes, size, &record)) {
		sample_log_lost(context->sampler->base.log, 1);
		return;
	}
	struct fault_event *faults = &context->cpu->faults;
	const bool is_fault = faults->event >= 0 && record.id == faults->id;
	if (is_fault && record.type == PERF_RECORD_SAMPLE) {
		fault_event_add(faults);
		sample_log_fault(&context->sampler->base, &record, faults->period);
	}
	if (is_fault && record.type != PERF_RECORD_LOST)
		return;
	if (record.type == PERF_RECORD_SAMPLE) {
		context->cpu->n_samples++;
		sampler_ran_on(&context->sampler->base, context->cpu->number);
		record.period =
			perf_stops_weight(&context->cpu->stops, &record, context->sampler->tick_ns);
		fault_event_add_time(faults, record.period);
	} else if (record.type == PERF_RECORD_THROTTLE) {
		perf_stops_add(&context->cpu->stops, &record);
		context->cpu->throttled = true;
	}
	switch_rate_add(&context->cpu->switches, &record);
	sample_log_record(&context->sampler->base, &record);
}

/* Of waits that are lost here there remains their time. */
static void take_wait(void *opaque, const void *bytes, size_t size)
{
	struct read_context *context = opaque;
	struct perf_record record;
	if (!perf_record_parse_switch(bytes, size, &record) || record.type != PERF_RECORD_SAMPLE)
		return;
	context->cpu->n_waits++;
	sample_log_switch(&context->sampler->base, &record);
}

static void drain(struct perf_sampler *sampler)
{
	for (size_t i = 0; i < sampler->n_cpus; i++) {
		struct read_context context = {sampler, sampler->cpus[i]};
		perf_ring_read(&sampler->cpus[i]->ring, take_record, &context);
		if (sampler->cpus[i]->wait_ring.mapping)
			perf_ring_read(&sampler->cpus[i]->wait_ring, take_wait, &context);
	}
	if (sampler->base.drain)
		sampler->base.drain(sampler->base.drain_context, &sampler->base);
}

static void end_stage(struct perf_sampler *sampler)
{
	bool enough = false;
	for (size_t i = 0; i < sampler->n_cpus; i++)
		enough |= sampler->cpus[i]->n_samples >= stages[sampler->stage].samples ||
			  sampler->cpus[i]->throttled;
	if (!enough || sampler->stage == LAST_STAGE)
		return;
	for (size_t i = 0; i < sampler->n_cpus; i++) {
		sampler->cpus[i]->n_samples = 0;
		sampler->cpus[i]->throttled = false;
	}
	sampler->stage++;
}

/* The event whose samples it is to cost, without those of switches. */
static struct perf_event_attr plain_attributes(const struct perf_sampler *sampler)
{
	struct perf_event_attr attr = sampler_event_attributes(sampler->periods[0]);
	attr.exclude_kernel = attr.exclude_callchain_kernel = !sampler->sees_kernel;
	attr.context_switch = 0;
	return attr;
}

/* Whether samples of the second stage slow down a program that does little but touch new pages by
 * more than that.  Measured when the first one does, by the thread that reads samples. */
static bool is_dear_amid_faults(struct perf_sampler *sampler)
{
	if (!sampler->knows_cost) {
		const struct perf_event_attr attr = plain_attributes(sampler);
		sampler->knows_cost = true;
		sampler->cost_ns = sample_cost_ns(&attr, true);
	}
	return AMID_FAULTS * sampler->cost_ns > MOST_COST * (double)sampler->periods[1];
}

/* The new event starts first, so that mappings are reported without a gap.  Each goes on where it
 * had come to in its period, so nothing is counted twice. */
static void switch_to_event(struct cpu_events *cpu, int wanted)
{
	if (wanted == cpu->enabled)
		return;
	ioctl(cpu->events[wanted], PERF_EVENT_IOC_ENABLE, 0);
	ioctl(cpu->events[cpu->enabled], PERF_EVENT_IOC_DISABLE, 0);
	cpu->enabled = wanted;
}

/* That of the stage; past the first one, the last where threads switch often, or where they have
 * page faults often and samples are dear. */
static void choose_event(struct perf_sampler *sampler, struct cpu_events *cpu, uint64_t now)
{
	const bool often = switch_rate_is_high(&cpu->switches, now) ||
			   (fault_event_is_often(&cpu->faults) && is_dear_amid_faults(sampler));
	const int wanted = often && sampler->stage > 0 ? LAST_STAGE : sampler->stage;
	switch_to_event(cpu, wanted);
	sampler->longest = wanted > sampler->longest ? wanted : sampler->longest;
}

/* Windows in which switches are recorded, past the first stage of samples.  Of a part of the run
 * nothing is left out. */
static void go_on_with_windows(struct perf_sampler *sampler, uint64_t now)
{
	struct switch_windows *windows = &sampler->windows;
	const int before = (int)windows->state;
	const bool was_gap = windows->state == SWITCHES_GAP;
	double a_second = 0;
	for (size_t i = 0; i < sampler->n_cpus; i++)
		a_second = fmax(a_second, sampler->cpus[i]->switches.a_second);
	if (sampler->stage > 0 && !sampler->base.span && !sampler->base.breakpoints)
		switch_windows_go_on(windows, a_second, now);
	if ((int)windows->state == before)
		return;
	const bool gap = windows->state == SWITCHES_GAP;
	if (gap)
		sample_log_windows(&sampler->base, true);
	for (size_t i = 0; i < sampler->n_cpus && gap != was_gap; i++) {
		struct cpu_events *cpu = sampler->cpus[i];
		switch_rate_resume(&cpu->switches, now);
		switch_to_event(cpu, gap ? IN_GAPS : LAST_STAGE);
		ioctl(cpu->waits[sampler->wait_stage],
		      gap ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
	}
	if (windows->state == SWITCHES_WINDOW)
		sample_log_windows(&sampler->base, false);
}

static void end_wait_stage(struct perf_sampler *sampler)
{
	bool enough = false;
	for (size_t i = 0; i < sampler->n_cpus; i++)
		enough |= sampler->cpus[i]->n_waits >= wait_stages[sampler->wait_stage].samples;
	if (!enough || sampler->wait_stage == LAST_WAIT_STAGE)
		return;
	for (size_t i = 0; i < sampler->n_cpus; i++) {
		struct cpu_events *cpu = sampler->cpus[i];
		ioctl(cpu->waits[sampler->wait_stage + 1], PERF_EVENT_IOC_ENABLE, 0);
		ioctl(cpu->waits[sampler->wait_stage], PERF_EVENT_IOC_DISABLE, 0);
		cpu->n_waits = 0;
	}
	sampler->wait_stage++;
}

static void choose_events(struct perf_sampler *sampler, uint64_t now)
{
	for (size_t i = 0; i < sampler->n_cpus; i++)
		choose_event(sampler, sampler->cpus[i], now);
	end_wait_stage(sampler);
}

/* A span that begins late is short as well. */
static void begin_span(struct perf_sampler *sampler, uint64_t now)
{
	if (!sampler->base.span || sampler->in_span || now < span_from(sampler->base.span))
		return;
	sampler->in_span = true;
	sampler->stage = sampler->longest = 0;
	for (size_t i = 0; i < sampler->n_cpus; i++)
		sampler->cpus[i]->n_samples = 0;
}

static void *read_rings(void *opaque)
{
	struct perf_sampler *sampler = opaque;
	struct pollfd *stop = &sampler->polls[sampler->n_cpus];
	for (size_t i = 0; i < sampler->n_cpus; i++)
		sampler->polls[i] = (struct pollfd){sampler->cpus[i]->events[0], POLLIN, 0};
	*stop = (struct pollfd){sampler->base.stop, POLLIN, 0};
	for (unsigned round = 0; !(stop->revents & POLLIN); round++) {
		const bool often = round < FIRST_POLLS || sampler->base.drain ||
				   sample_log_watches(&sampler->base);
		const bool windows = sampler->windows.state != SWITCHES_ALL;
		const int timeout = often ? POLL_FIRST_MS : windows ? POLL_GAPS_MS : POLL_MS;
		poll(sampler->polls, sampler->n_cpus + 1, timeout);
		uint64_t before = clock_now_ns();
		drain(sampler);
		begin_span(sampler, before);
		end_stage(sampler);
		go_on_with_windows(sampler, before);
		if (sampler->windows.state != SWITCHES_GAP)
			choose_events(sampler, before);
		/* All that was written before this round began has now been read. */
		sample_log_complete_until(&sampler->base, before);
		if (sampler->base.look)
			sampler->base.look(sampler->base.look_context, before);
		/* The first program of the run has ended; its children may go on. */
		for (size_t i = 0; i < sampler->n_cpus; i++)
			if (sampler->polls[i].revents & (POLLHUP | POLLERR))
				sampler->polls[i].fd = -1;
	}
	return NULL;
}

static struct sampler *perf_create(struct profile *profile, struct kept_store *kept)
{
	struct perf_sampler *sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return NULL;
	sampler->base.tells_switches = true;
	if (sampler_init(&sampler->base, profile, kept))
		return &sampler->base;
	free(sampler);
	return NULL;
}

static struct rf_error *perf_start(struct sampler *base, pid_t pid)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;
	sampler->max_rate = sampler_event_max_rate();
	sampler->tick_ns = sampler_event_tick();
	for (int i = 0; i < STAGES; i++)
		sampler->periods[i] = sampler_event_period(stages[i].period_ns, sampler->max_rate,
							   sampler->tick_ns);
	struct rf_error *error = open_all_cpus(sampler, pid);
	if (!error)
		error = map_largest_rings(sampler);
	if (!error)
		error = share_rings(sampler);
	for (size_t i = 0; !error && i < sampler->n_cpus; i++)
		open_waits(sampler->cpus[i], sampler, pid);
	base->skips_kernel = !sampler->sees_kernel;
	sampler->polls = calloc(sampler->n_cpus + 1, sizeof(*sampler->polls));
	if (!error && !sampler->polls)
		error = rf_error_no_memory();
	return error ? error : sampler_start_reader(base, pid, read_rings);
}

/* Whose own spread is so large that a rough cost of each adds nothing to it: it is a small part of
 * their period. */
static bool has_few_samples(const struct perf_sampler *sampler)
{
	uint64_t n = 0;
	for (size_t i = 0; i < sampler->n_cpus; i++)
		n += sampler->cpus[i]->n_samples;
	return sampler->stage == 0 && n < FEW_SAMPLES;
}

static void disable_all(struct perf_sampler *sampler)
{
	for (size_t i = 0; i < sampler->n_cpus; i++) {
		for (int event = 0; event < EVENTS; event++)
			ioctl(sampler->cpus[i]->events[event], PERF_EVENT_IOC_DISABLE, 0);
		for (int stage = 0; stage < WAIT_STAGES; stage++)
			ioctl(sampler->cpus[i]->waits[stage], PERF_EVENT_IOC_DISABLE, 0);
		fault_event_stop(&sampler->cpus[i]->faults);
	}
}

/* Names the source, and makes rows of all that was read. */
static struct rf_error *save(struct sampler *base)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;
	for (size_t i = 0; i < sampler->n_cpus; i++) {
		sample_log_lost(base->log, sampler->cpus[i]->ring.broken);
		base->n_faults += fault_event_count(&sampler->cpus[i]->faults);
	}
	/* now, so that the program's start need not wait for it */
	const struct perf_event_attr attr = plain_attributes(sampler);
	if (!sampler->sees_kernel)
		profile_set_fact(
			base->profile, "no_kernel_samples",
			"kernel.perf_event_paranoid is 2 or more, and there is no CAP_PERFMON");
	if (!sampler->sees_kernel && base->n_faults)
		profile_set_fact(base->profile, "fault_cost_ns", "%" PRIu64, fault_cost_ns());
	profile_set_fact(base->profile, "sample_cost_ns", "%" PRIu64,
			 sample_cost_ns(&attr, has_few_samples(sampler)));
	return sample_log_finish(base, sampler_perf.name, sampler->periods[sampler->longest]);
}

static struct rf_error *perf_finish(struct sampler *base)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;
	disable_all(sampler);
	sampler_stop_reader(base);
	drain(sampler);
	return save(base);
}

static void perf_destroy(struct sampler *base)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;
	if (!sampler)
		return;
	sampler_deinit(base);
	for (size_t i = 0; i < sampler->n_cpus; i++)
		cpu_events_destroy(sampler->cpus[i]);
	free(sampler->cpus);
	free(sampler->polls);
	free(sampler);
}

const struct sampler_ops sampler_perf = {
	.name = "perf cpu-clock",
	.probe = perf_probe,
	.start = perf_start,
	.finish = perf_finish,
	.snapshot = save,
	.destroy = perf_destroy,
	.create = perf_create,
};
