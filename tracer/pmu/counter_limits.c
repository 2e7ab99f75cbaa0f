/* How many counters are free now: tried by opening events. */
#include "tracer/pmu/counter_limits.h"

#include "tracer/perf/refusal.h"

#include <errno.h>

enum { MAX_GENERAL = 16, N_FIXED = 3, MAX_GROUP = MAX_GENERAL + N_FIXED, SPINS = 100000 };

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

static bool add(struct trial *trial, uint64_t config)
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

static void end(struct trial *trial)
{
	while (trial->n > 0)
		trial->source->close(trial->source->context, trial->fds[--trial->n]);
}

/* Whether the group counts when it runs. */
static bool counts(const struct trial *trial)
{
	const struct perf_source *source = trial->source;
	uint64_t reading[3] = {0};
	source->control(source->context, trial->fds[0], PERF_EVENT_IOC_ENABLE, 0);
	for (volatile int i = 0; i < SPINS; i++)
		;
	source->control(source->context, trial->fds[0], PERF_EVENT_IOC_DISABLE, 0);
	ssize_t n = source->read(source->context, trial->fds[0], reading, sizeof(reading));
	return n == sizeof(reading) && reading[2] > 0;
}

/* Whether `general` branches and the fixed events of the set `fixed` can be counted at once;
 * `errnum` is why not, 0: they are taken, but never run. */
static bool can_count(const struct perf_source *source, unsigned general, unsigned fixed,
		      int *errnum)
{
	struct trial trial = {.source = source};
	bool opened = true;
	for (unsigned i = 0; i < general && opened; i++)
		opened = add(&trial, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	for (unsigned i = 0; i < N_FIXED && opened; i++)
		if (fixed & 1u << i)
			opened = add(&trial, fixed_events[i]);
	*errnum = opened ? 0 : errno;
	bool good = opened && counts(&trial);
	end(&trial);
	return good;
}

struct rf_error *counter_limits_find(const struct perf_source *source,
				     struct counter_limits *limits)
{
	struct counter_limits found = {0};
	int errnum = 0, first = 0;
	while (found.general < MAX_GENERAL && can_count(source, found.general + 1, 0, &errnum))
		found.general++;
	first = errnum;
	if (found.general == 0)
		return refusal_here(first ? first : EBUSY, REFUSED_HARDWARE, "the event branches");
	for (unsigned i = 0; i < N_FIXED; i++)
		if (can_count(source, found.general, found.fixed | 1u << i, &errnum))
			found.fixed |= 1u << i;
	*limits = found;
	return NULL;
}
