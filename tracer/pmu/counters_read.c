/* What hardware counters have counted: their samples out of the rings, their totals, and what a
 * sample stands for. */
#include "tracer/pmu/counters_read.h"

#include <assert.h>
#include <errno.h>

/* --- samples --- */

struct drain {
	struct counters *counters;
	counter_sample_fn *fn;
	void *context;
};

static const struct counter_opened *find_opened(const struct counters *counters, uint64_t id)
{
	for (size_t i = 0; i < counters->n_opened; i++)
		if (counters->opened[i].id == id)
			return &counters->opened[i];
	return NULL;
}

static void take_sample(const struct drain *drain, const struct perf_record *record)
{
	struct counters *counters = drain->counters;
	const struct counter_opened *opened = find_opened(counters, record->id);
	if (!opened) {
		counters->losses.unknown++;
		return;
	}
	const uint64_t period = counters->events[opened->event].period;
	counters->sums[opened->event].n_samples++;
	counters->sums[opened->event].sampled += period;
	const struct counter_sample sample = {
		.time = record->time,
		.ip = record->ip,
		.period = period,
		.pid = record->pid,
		.tid = record->tid,
		.event = opened->event,
	};
	if (drain->fn)
		drain->fn(drain->context, &sample);
}

/* An event was stopped until the next tick (it says PERF_RECORD_UNTHROTTLE when it goes on). */
static void take_throttle(struct counters *counters, const struct perf_record *record)
{
	const struct counter_opened *opened = find_opened(counters, record->id);
	if (opened)
		counters->sums[opened->event].throttled++;
}

static void take_record(void *opaque, const void *bytes, size_t size)
{
	const struct drain *drain = opaque;
	struct counter_losses *losses = &drain->counters->losses;
	struct perf_record record;
	if (!perf_record_parse_counter(bytes, size, &record))
		losses->broken++;
	else if (record.type == PERF_RECORD_SAMPLE)
		take_sample(drain, &record);
	else if (record.type == PERF_RECORD_THROTTLE)
		take_throttle(drain->counters, &record);
	else
		losses->lost += record.lost;
}

void counters_drain(struct counters *counters, counter_sample_fn *fn, void *context)
{
	struct drain drain = {counters, fn, context};
	for (size_t i = 0; i < counters->n_rings; i++)
		if (counters->rings[i]->ring.mapping)
			perf_ring_read(&counters->rings[i]->ring, take_record, &drain);
}

struct counter_losses counters_losses(const struct counters *counters)
{
	struct counter_losses losses = counters->losses;
	for (size_t i = 0; i < counters->n_rings; i++)
		losses.broken += counters->rings[i]->ring.broken;
	return losses;
}

/* --- totals --- */

struct counter_total counter_scale(uint64_t raw, uint64_t enabled_ns, uint64_t running_ns)
{
	struct counter_total total = {.raw = raw,
				      .enabled_ns = enabled_ns,
				      .running_ns = running_ns};
	if (running_ns == 0) {
		total.state = COUNTER_NOT_COUNTED;
		return total;
	}
	total.state = running_ns >= enabled_ns ? COUNTER_EXACT : COUNTER_SCALED;
	total.share = total.state == COUNTER_EXACT ? 1 : (double)running_ns / (double)enabled_ns;
	total.value = (double)raw / total.share;
	return total;
}

/* What read(2) gives: attr.read_format of counters.c. */
struct reading {
	uint64_t value, enabled, running;
};

/* An event that the kernel has given up (pinned ones that got no counter) reads as the end of a
 * file. */
static bool read_one(const struct counters *counters, int fd, struct reading *reading)
{
	*reading = (struct reading){0};
	ssize_t n =
		counters->source->read(counters->source->context, fd, reading, sizeof(*reading));
	if (n >= 0 && n != sizeof(*reading))
		*reading = (struct reading){0};
	return n >= 0;
}

/* The sums over CPUs of `event` in group `group`. */
static bool read_group(const struct counters *counters, size_t event, size_t group,
		       struct reading *sum)
{
	*sum = (struct reading){0};
	for (size_t i = 0; i < counters->n_opened; i++) {
		const struct counter_opened *opened = &counters->opened[i];
		struct reading one;
		if (opened->event != event || opened->group != group)
			continue;
		if (!read_one(counters, opened->fd, &one))
			return false;
		sum->value += one.value;
		sum->running += one.running;
		if (one.enabled > sum->enabled)
			sum->enabled = one.enabled;
	}
	return true;
}

/* Over all groups.  While one group runs the others wait, so the times add up; where the counters
 * suffice for several groups at once, each of them has it all, and one is enough. */
static bool read_groups(const struct counters *counters, size_t event, uint64_t enabled,
			struct reading *sum)
{
	*sum = (struct reading){0};
	if (counters->events[event].wish.software)
		return read_group(counters, event, counters_own_group(counters, event), sum);
	for (size_t group = 0; group < counters->groups.n; group++) {
		struct reading one;
		if (!read_group(counters, event, group, &one))
			return false;
		if (one.running && one.running >= enabled) {
			*sum = one;
			return true;
		}
		sum->value += one.value;
		sum->running += one.running;
	}
	return true;
}

static struct rf_error *cannot_read(const struct counters *counters, size_t event)
{
	return rf_error_errno(RF_EUNAVAILABLE, errno, "rfprof goes on without it",
			      "cannot read the counter of %s", counters->events[event].name);
}

struct rf_error *counters_total(struct counters *counters, size_t event,
				struct counter_total *total)
{
	struct reading clock, sum;
	assert(event < counters->n_events);
	if (!read_one(counters, counters->clock, &clock) ||
	    !read_groups(counters, event, clock.enabled, &sum))
		return cannot_read(counters, event);
	*total = counter_scale(sum.value, clock.enabled, sum.running);
	total->n_samples = counters->sums[event].n_samples;
	total->sampled = counters->sums[event].sampled;
	total->throttled = counters->sums[event].throttled;
	/* what the kernel counts itself goes on */
	if (total->throttled && total->state != COUNTER_NOT_COUNTED &&
	    !counters->events[event].wish.software)
		total->state = COUNTER_TOO_LOW;
	return NULL;
}

/* --- from samples to places --- */

struct counter_weight counter_weight(const struct counter_total *total)
{
	struct counter_weight weight = {0};
	if (total->sampled == 0) {
		weight.missing = total->value > 0 ? 1 : 0;
		return weight;
	}
	weight.scale = total->value / (double)total->sampled;
	if (total->value > 0)
		weight.missing = (total->value - (double)total->sampled) / total->value;
	return weight;
}

bool counter_is_plausible(const struct counter_total *total, uint64_t period, uint64_t contexts,
			  uint64_t lost)
{
	const double raw = (double)total->raw, sampled = (double)total->sampled,
		     untold = (double)period * ((double)contexts + (double)lost);
	if (period == 0 || total->throttled || total->state == COUNTER_NOT_COUNTED)
		return true;
	return raw - sampled <= untold && sampled - raw <= untold;
}

uint64_t counters_contexts(const struct counters *counters)
{
	return (uint64_t)counters->n_rings * counters->groups.n;
}
