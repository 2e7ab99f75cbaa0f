/* Joins stops to the kernel's records of switches. */
#include "tracer/flush/stopped_calls.h"

#include "base/array.h"
#include "base/clock.h"
#include "statistics/summary.h"
#include "tracer/calls/call_sums.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct stopped_calls *stopped_calls_create(void)
{
	void *memory = mmap(NULL, sizeof(struct stopped_calls), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

void stopped_calls_destroy(struct stopped_calls *calls)
{
	if (calls)
		munmap(calls, sizeof(*calls));
}

size_t stopped_calls_add(struct stopped_calls *calls, pid_t tid, uint32_t kernel)
{
	if (calls->n >= MOST_STOPPED)
		return MOST_STOPPED;
	calls->items[calls->n] =
		(struct stopped_call){.go = clock_now_ns(), .tid = (uint32_t)tid, .kernel = kernel};
	return calls->n++;
}

void stopped_calls_end(struct stopped_calls *calls, size_t number)
{
	if (number < calls->n)
		calls->items[number].stop = clock_now_ns();
}

static uint64_t ns_of(const struct stopped_call *call, const struct switch_record *records,
		      size_t n)
{
	return call->stop ? switch_log_between(records, n, call->tid, call->go, call->stop) : 0;
}

/* Of what lies between the switches of a thread that does nothing, the median. */
static double cost_of_stops(const struct stopped_calls *calls, const struct switch_record *records,
			    size_t n_records)
{
	double costs[64];
	size_t n = 0;
	for (size_t i = 0; i < calls->n && n < sizeof(costs) / sizeof(*costs); i++) {
		const struct stopped_call *call = &calls->items[i];
		const uint64_t ns =
			call->kernel == STOPPED_NOTHING ? ns_of(call, records, n_records) : 0;
		if (ns)
			costs[n++] = (double)ns;
	}
	return n ? rf_summary(costs, n).median : 0;
}

struct gathered {
	struct timed_call *calls;
	size_t n_calls, cap_calls;
	struct window_calls started;
	uint32_t kernels[MOST_TIMED_KERNELS];
	size_t n_kernels;
};

/* The number of a row of the profile's among those that were stopped at; MOST_TIMED_KERNELS: there
 * is no place for it. */
static uint32_t number_of(struct gathered *gathered, uint32_t row)
{
	for (uint32_t k = 0; k < gathered->n_kernels; k++)
		if (gathered->kernels[k] == row)
			return k;
	if (gathered->n_kernels == MOST_TIMED_KERNELS)
		return MOST_TIMED_KERNELS;
	gathered->kernels[gathered->n_kernels] = row;
	return (uint32_t)gathered->n_kernels++;
}

static bool gather(const struct stopped_calls *calls, const struct switch_record *records, size_t n,
		   struct gathered *gathered)
{
	for (size_t i = 0; i < calls->n; i++) {
		const struct stopped_call *call = &calls->items[i];
		if (call->kernel == STOPPED_NOTHING)
			continue;
		const uint32_t kernel = number_of(gathered, call->kernel);
		const uint64_t ns = ns_of(call, records, n);
		if (kernel == MOST_TIMED_KERNELS)
			continue;
		gathered->started.n[kernel]++;
		const struct timed_call new = {.start = call->go, .ns = ns, .kernel = kernel};
		if (ns &&
		    !rf_array_push(gathered->calls, gathered->n_calls, gathered->cap_calls, new))
			return false;
	}
	return true;
}

struct rf_error *stopped_calls_save(const struct stopped_calls *calls, struct switch_log *log,
				    struct profile *profile)
{
	size_t n;
	const struct switch_record *records = switch_log_finish(log, &n);
	const double cost = records ? cost_of_stops(calls, records, n) : 0;
	if (cost <= 0) {
		profile_set_fact(profile, "call_times_why",
				 records ? "what stopping a call costs could not be measured"
					 : "the kernel has lost records of switches");
		return NULL;
	}
	struct gathered gathered = {0};
	const struct call_window window = {.end = 1, .is_whole = calls->n < MOST_STOPPED};
	if (!gather(calls, records, n, &gathered)) {
		free(gathered.calls);
		return rf_error_no_memory();
	}
	const struct call_sources sources = {
		.calls = gathered.calls,
		.n_calls = gathered.n_calls,
		.started = &gathered.started,
		.windows = &window,
		.n_windows = 1,
		.end = window.end,
		.kernels = gathered.kernels,
		.n_kernels = gathered.n_kernels,
		.cost_ns = cost,
		.cost_spread_ns = cost,
	};
	struct rf_error *error = call_sums_save(&sources, profile);
	free(gathered.calls);
	return error;
}
