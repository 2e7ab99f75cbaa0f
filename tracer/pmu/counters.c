/* Opening and closing hardware counters: which events go into which group on which CPU, with what
 * this kernel and this PMU know, and the rings of their samples. */
#include "tracer/pmu/counters.h"

#include "base/array.h"
#include "base/clock.h"
#include "tracer/perf/event_records.h"
#include "tracer/perf/refusal.h"

#include <errno.h>
#include <string.h>

enum { MAX_RING_PAGES = 32, MIN_RING_PAGES = 2 };

/* --- one event --- */

static struct perf_event_attr attributes(const struct counters *counters,
					 const struct counter_event *event, bool leads)
{
	struct perf_event_attr attr = event->attr;
	attr.size = sizeof(attr);
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.disabled = leads; /* the others of a group follow it */
	attr.enable_on_exec = leads;
	attr.inherit = 1;
	attr.inherit_thread = counters->options.first_only;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	if (!counters->sampled)
		return attr;
	/* one ring has one clock, so those that are not sampled have it too */
	event_records_have_times(&attr);
	attr.sample_type = PERF_RING_COUNTER_TYPE;
	attr.sample_period = event->period;
	return attr;
}

/* perf_event_open with what this kernel and PMU know: events for threads without children came with
 * Linux 5.13 (before, children are counted too); precise addresses exist for some events and less
 * precise ones for others. */
static int open_best(const struct counters *counters, struct perf_event_attr *attr, int cpu,
		     int group)
{
	const struct perf_source *source = counters->source;
	for (;;) {
		int fd = source->open(source->context, attr, counters->options.pid, cpu, group);
		if (fd >= 0 || (errno != EINVAL && errno != EOPNOTSUPP))
			return fd;
		if (attr->precise_ip)
			attr->precise_ip--;
		else if (attr->inherit_thread)
			attr->inherit_thread = 0;
		else
			return -1;
	}
}

static enum refusal_kind kind_of(const struct counter_event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE ? REFUSED_SOFTWARE : REFUSED_HARDWARE;
}

static struct rf_error *refused(const struct counter_event *event, int errnum)
{
	struct refusal_facts facts;
	const struct refusal_request request = {kind_of(event), event->name, event->period != 0};
	refusal_facts_read("", &facts);
	return refusal_explain(errnum, &request, &facts);
}

static struct rf_error *open_event(struct counters *counters, size_t number, unsigned group,
				   unsigned ring, int *leader)
{
	const struct counter_event *event = &counters->events[number];
	struct perf_event_attr attr = attributes(counters, event, *leader < 0);
	int fd = open_best(counters, &attr, counters->rings[ring]->cpu, *leader);
	if (fd < 0)
		return refused(event, errno);
	struct counter_opened opened = {
		.fd = fd, .event = (unsigned)number, .group = group, .cpu = ring};
	if (!rf_array_push(counters->opened, counters->n_opened, counters->cap_opened, opened)) {
		counters->source->close(counters->source->context, fd);
		return rf_error_no_memory();
	}
	if (*leader < 0)
		*leader = fd;
	if (event->period && counters->rings[ring]->first < 0)
		counters->rings[ring]->first = fd;
	return NULL;
}

/* --- groups and CPUs --- */

static bool is_in(const struct counters *counters, size_t event, unsigned group)
{
	const struct group_wish *wish = &counters->events[event].wish;
	return !wish->software && (wish->everywhere || counters->groups.group_of[event] == group);
}

static struct rf_error *open_group(struct counters *counters, unsigned group, unsigned ring)
{
	struct rf_error *error = NULL;
	int leader = -1;
	for (size_t i = 0; i < counters->n_events && !error; i++)
		if (is_in(counters, i, group))
			error = open_event(counters, i, group, ring, &leader);
	return error;
}

static struct rf_error *open_cpu(struct counters *counters, int cpu)
{
	struct counter_ring *ring = calloc(1, sizeof(*ring));
	if (!ring ||
	    !rf_array_push(counters->rings, counters->n_rings, counters->cap_rings, ring)) {
		free(ring);
		return rf_error_no_memory();
	}
	ring->cpu = cpu;
	ring->first = -1;
	struct rf_error *error = NULL;
	const unsigned number = (unsigned)counters->n_rings - 1;
	for (unsigned group = 0; group < counters->groups.n && !error; group++)
		error = open_group(counters, group, number);
	for (size_t i = 0; i < counters->n_events && !error; i++) {
		int leader = -1;
		if (counters->events[i].wish.software)
			error = open_event(counters, i, counters_own_group(counters, i), number,
					   &leader);
	}
	return error;
}

static void unmap_rings(struct counters *counters)
{
	for (size_t i = 0; i < counters->n_rings; i++)
		perf_ring_unmap(counters->source, &counters->rings[i]->ring);
}

static void close_all(struct counters *counters)
{
	const struct perf_source *source = counters->source;
	unmap_rings(counters);
	for (size_t i = counters->n_opened; i-- > 0;)
		source->close(source->context, counters->opened[i].fd);
	counters->n_opened = 0;
	for (size_t i = 0; i < counters->n_rings; i++)
		free(counters->rings[i]);
	counters->n_rings = 0;
}

/* On each CPU that is on line, when events are sampled: one that is not is refused with ENODEV
 * before any of its events is open. */
static struct rf_error *open_cpus(struct counters *counters)
{
	if (!counters->sampled)
		return open_cpu(counters, -1);
	struct rf_error *last = NULL;
	for (unsigned cpu = 0; cpu < counters->options.n_cpus; cpu++) {
		const size_t before = counters->n_opened;
		struct rf_error *error = open_cpu(counters, (int)cpu);
		if (error && (error->errnum != ENODEV || counters->n_opened != before)) {
			rf_error_destroy(last);
			return error;
		}
		if (!error)
			continue;
		rf_error_destroy(last);
		last = error;
		free(counters->rings[--counters->n_rings]);
	}
	if (counters->n_opened == 0)
		return last ? last
			    : rf_error_create(RF_EINTERNAL, NULL, "counters for no CPU at all");
	rf_error_destroy(last);
	return NULL;
}

/* The kernel knows better which events its counters can count together: with fewer to a group,
 * until it agrees. */
static struct rf_error *open_groups(struct counters *counters, const struct counter_limits *limits)
{
	struct group_wish wishes[EVENT_GROUPS_MAX];
	struct counter_limits tried = *limits;
	struct rf_error *error = NULL;
	for (size_t i = 0; i < counters->n_events; i++)
		wishes[i] = counters->events[i].wish;
	for (;; tried.general--) {
		if (!event_groups_make(wishes, counters->n_events, &tried, &counters->groups))
			return error ? error
				     : rf_error_create(RF_EUNAVAILABLE, "ask for fewer events",
						       "an event does not fit %u general counters "
						       "with those of every group",
						       tried.general);
		rf_error_destroy(error);
		error = open_cpus(counters);
		if (!error || error->errnum != EINVAL || tried.general == 0)
			return error;
		close_all(counters);
	}
}

/* The clock: its time is the program's, on whatever CPU. */
static struct rf_error *open_clock(struct counters *counters)
{
	const struct counter_event clock = {
		.attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY},
		.name = "a software event",
	};
	const bool sampled = counters->sampled;
	counters->sampled = false;
	struct perf_event_attr attr = attributes(counters, &clock, true);
	counters->sampled = sampled;
	counters->clock = open_best(counters, &attr, -1, -1);
	return counters->clock < 0 ? refused(&clock, errno) : NULL;
}

/* --- rings --- */

static bool map_rings(struct counters *counters, size_t pages)
{
	for (size_t i = 0; i < counters->n_rings; i++) {
		struct counter_ring *ring = counters->rings[i];
		if (ring->first >= 0 &&
		    !perf_ring_map(counters->source, ring->first, pages, &ring->ring))
			return false;
	}
	return true;
}

/* Equal rings for all CPUs; the limit is on the memory of all of a user's rings together. */
static struct rf_error *map_largest(struct counters *counters)
{
	for (size_t pages = MAX_RING_PAGES; pages >= MIN_RING_PAGES; pages /= 2) {
		if (map_rings(counters, pages))
			return NULL;
		const int errnum = errno;
		unmap_rings(counters);
		errno = errnum;
	}
	return refusal_here(errno, REFUSED_RING, "the samples of counters");
}

/* Samples of all events of a CPU go into one ring, and each says whose it is. */
static struct rf_error *share_ring(struct counters *counters, struct counter_opened *opened)
{
	const struct perf_source *source = counters->source;
	const int first = counters->rings[opened->cpu]->first;
	if (!counters->events[opened->event].period)
		return NULL;
	if (source->control(source->context, opened->fd, PERF_EVENT_IOC_ID,
			    (uintptr_t)&opened->id) != 0)
		return refusal_here(errno, REFUSED_RING, "the number of an event");
	if (opened->fd != first &&
	    source->control(source->context, opened->fd, PERF_EVENT_IOC_SET_OUTPUT,
			    (uintptr_t)first) != 0)
		return refusal_here(errno, REFUSED_RING, "a ring that events share");
	return NULL;
}

static struct rf_error *open_rings(struct counters *counters)
{
	struct rf_error *error = map_largest(counters);
	for (size_t i = 0; i < counters->n_opened && !error; i++)
		error = share_ring(counters, &counters->opened[i]);
	return error;
}

/* --- the whole --- */

static struct counters *create(const struct perf_source *source, const struct counter_event *events,
			       size_t n, const struct counter_options *options)
{
	struct counters *counters = calloc(1, sizeof(*counters));
	if (!counters)
		return NULL;
	counters->source = source;
	counters->options = *options;
	counters->clock = -1;
	counters->n_events = n;
	counters->events = calloc(n, sizeof(*events));
	counters->sums = calloc(n, sizeof(*counters->sums));
	if (!counters->events || !counters->sums) {
		counters_destroy(counters);
		return NULL;
	}
	memcpy(counters->events, events, n * sizeof(*events));
	for (size_t i = 0; i < n; i++) {
		counters->events[i].wish.software = kind_of(&events[i]) == REFUSED_SOFTWARE;
		counters->sampled |= events[i].period != 0;
	}
	return counters;
}

struct rf_error *counters_open(const struct perf_source *source, const struct counter_event *events,
			       size_t n, const struct counter_limits *limits,
			       const struct counter_options *options, struct counters **counters)
{
	if (n == 0 || n > EVENT_GROUPS_MAX)
		return rf_error_create(RF_EINPUT, "ask for fewer events",
				       "%zu events cannot be counted, 1 to %d can", n,
				       EVENT_GROUPS_MAX);
	struct counters *made = create(source, events, n, options);
	if (!made)
		return rf_error_no_memory();
	struct rf_error *error = open_clock(made);
	if (!error)
		error = open_groups(made, limits);
	if (!error && made->sampled)
		error = open_rings(made);
	if (error)
		counters_destroy(made);
	else
		*counters = made;
	return error;
}

void counters_destroy(struct counters *counters)
{
	if (!counters)
		return;
	close_all(counters);
	if (counters->clock >= 0)
		counters->source->close(counters->source->context, counters->clock);
	free(counters->opened);
	free(counters->rings);
	free(counters->events);
	free(counters->sums);
	free(counters);
}

/* Leaders are opened before the others of their group; what the leader does, they do. */
static void disable_leaders(struct counters *counters)
{
	const struct perf_source *source = counters->source;
	const struct counter_opened *last = NULL;
	for (size_t i = 0; i < counters->n_opened; i++) {
		const struct counter_opened *opened = &counters->opened[i];
		if (!last || last->group != opened->group || last->cpu != opened->cpu)
			source->control(source->context, opened->fd, PERF_EVENT_IOC_DISABLE, 0);
		last = opened;
	}
}

/* The clock stops first, so that nothing is called scaled because it stopped a moment sooner. */
void counters_disable(struct counters *counters)
{
	counters->source->control(counters->source->context, counters->clock,
				  PERF_EVENT_IOC_DISABLE, 0);
	disable_leaders(counters);
}

/* --- how many counters are free now --- */

enum { MAX_GENERAL = 16, N_FIXED = 3, MAX_GROUP = MAX_GENERAL + N_FIXED, SPINS = 100000 };
enum { SOME_TICKS_NS = 15000000 };

static const uint64_t fixed_events[N_FIXED] = {
	PERF_COUNT_HW_INSTRUCTIONS,
	PERF_COUNT_HW_CPU_CYCLES,
	PERF_COUNT_HW_REF_CPU_CYCLES,
};

struct trial {
	const struct perf_source *source;
	int fds[MAX_GROUP];
	size_t n;
};

static bool add_trial(struct trial *trial, uint64_t config)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = trial->n == 0,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = trial->source->open(trial->source->context, &attr, 0, -1,
				     trial->n ? trial->fds[0] : -1);
	if (fd < 0)
		return false;
	trial->fds[trial->n++] = fd;
	return true;
}

static void end_trial(struct trial *trial)
{
	while (trial->n > 0)
		trial->source->close(trial->source->context, trial->fds[--trial->n]);
}

/* Whether what all of the group count is the same, within a fiftieth: `n` counters of one event. */
static bool trial_alike(const struct trial *trial, unsigned n)
{
	uint64_t least = UINT64_MAX, most = 0;
	for (unsigned i = 0; i < n; i++) {
		uint64_t reading[3] = {0};
		if (trial->source->read(trial->source->context, trial->fds[i], reading,
					sizeof(reading)) != sizeof(reading) ||
		    reading[2] == 0)
			return false;
		least = reading[0] < least ? reading[0] : least;
		most = reading[0] > most ? reading[0] : most;
	}
	return most - least <= most / 50;
}

/* Whether the group counts when it runs for `ns`; the first `general` of it count the same event.
 */
static bool trial_counts(const struct trial *trial, unsigned general, uint64_t ns)
{
	const struct perf_source *source = trial->source;
	const uint64_t start = clock_now_ns();
	source->control(source->context, trial->fds[0], PERF_EVENT_IOC_ENABLE, 0);
	do
		for (volatile int i = 0; i < SPINS; i++)
			;
	while (clock_now_ns() - start < ns);
	source->control(source->context, trial->fds[0], PERF_EVENT_IOC_DISABLE, 0);
	return trial_alike(trial, general);
}

/* Whether `general` branches and the fixed events of the set `fixed` can be counted at once, for
 * `ns`; `errnum` is why not, 0: they are taken, but do not all count. */
static bool can_count(const struct perf_source *source, unsigned general, unsigned fixed,
		      uint64_t ns, int *errnum)
{
	struct trial trial = {.source = source};
	bool opened = true;
	for (unsigned i = 0; i < general && opened; i++)
		opened = add_trial(&trial, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	for (unsigned i = 0; i < N_FIXED && opened; i++)
		if (fixed & 1u << i)
			opened = add_trial(&trial, fixed_events[i]);
	*errnum = opened ? 0 : errno;
	bool good = opened && trial_counts(&trial, general, ns);
	end_trial(&trial);
	return good;
}

/* A hypervisor that shows more counters than its host has free gives them in turns, of which it
 * says nothing: so many are counted for some ticks of the host, twice where something disturbed. */
static unsigned really_counted(const struct perf_source *source, unsigned general)
{
	int errnum;
	while (general > 1 && !can_count(source, general, 0, SOME_TICKS_NS, &errnum) &&
	       !can_count(source, general, 0, SOME_TICKS_NS, &errnum))
		general--;
	return general;
}

struct rf_error *counter_limits_find(const struct perf_source *source,
				     struct counter_limits *limits)
{
	struct counter_limits found = {0};
	int errnum = 0, first = 0;
	while (found.general < MAX_GENERAL && can_count(source, found.general + 1, 0, 0, &errnum))
		found.general++;
	first = errnum;
	if (found.general == 0)
		return refusal_here(first ? first : EBUSY, REFUSED_HARDWARE, "the event branches");
	found.general = really_counted(source, found.general);
	for (unsigned i = 0; i < N_FIXED; i++)
		if (can_count(source, found.general, found.fixed | 1u << i, 0, &errnum))
			found.fixed |= 1u << i;
	*limits = found;
	return NULL;
}
