/* The hardware counters of a timed run: the plan's events are opened, their samples go to the
 * sampler's log, and totals and places into the profile. */
#include "tracer/timed/pmu_run.h"

#include "base/array.h"
#include "tracer/pmu/pmu_memory.h"
#include "tracer/pmu/proof_together.h"
#include "tracer/timed/sample_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pmu_run {
	const struct pmu_plan *plan;
	struct counters *counters; /* NULL: only the memory's bytes are counted */
	struct pmu_memory *memory; /* or NULL */
	const struct sampler *sampler;
	uint32_t event_of[EVENT_GROUPS_MAX]; /* of the plan, by the index in `counters` */
	size_t n;
};

/* ---- the run ---- */

static size_t list_events(struct pmu_run *run, struct counter_event events[EVENT_GROUPS_MAX])
{
	for (size_t i = 0; i < run->plan->n_events && run->n < EVENT_GROUPS_MAX; i++) {
		const struct pmu_event *event = &run->plan->events[i];
		if (!event->used)
			continue;
		events[run->n] = (struct counter_event){
			.attr = event->attr,
			.name = event->row.event,
			.period = event->period,
			.wish = event_wish(event->row.quantity),
		};
		run->event_of[run->n++] = (uint32_t)i;
	}
	return run->n;
}

static void drain(void *context, struct sampler *sampler)
{
	struct pmu_run *run = context;
	if (run->counters)
		counters_drain(run->counters, sample_log_counter, sampler);
	pmu_memory_tick(run->memory);
}

struct rf_error *pmu_run_start(const struct perf_source *source, const struct pmu_plan *plan,
			       pid_t pid, bool first_only, struct sampler *sampler,
			       struct pmu_run **out)
{
	struct counter_event events[EVENT_GROUPS_MAX];
	struct pmu_run *run = calloc(1, sizeof(*run));
	*out = NULL;
	if (!run)
		return rf_error_no_memory();
	run->plan = plan;
	run->sampler = sampler;
	const struct counter_options options = {.pid = pid,
						.n_cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF),
						.first_only = first_only};
	const size_t n = list_events(run, events);
	struct rf_error *error =
		n ? counters_open(source, events, n, &plan->limits, &options, &run->counters)
		  : NULL;
	if (!error && plan->memory)
		error = pmu_memory_start(source, "", pid, &run->memory);
	if (error) {
		pmu_run_destroy(run);
		return error;
	}
	for (size_t i = 0; i < n; i++)
		sampler->skips_faults |= events[i].attr.type == PERF_TYPE_SOFTWARE;
	sampler->drain = drain;
	sampler->drain_context = run;
	*out = run;
	return NULL;
}

void pmu_run_stop(struct pmu_run *run)
{
	if (run && run->counters)
		counters_disable(run->counters);
}

void pmu_run_destroy(struct pmu_run *run)
{
	if (!run)
		return;
	counters_destroy(run->counters);
	pmu_memory_destroy(run->memory);
	free(run);
}

/* ---- into the profile ---- */

static struct rf_error *add_counter(struct profile *profile, const struct pmu_event *event,
				    const struct profile_counter *given, const char *why)
{
	struct profile_counter counter = *given;
	counter.multiplier = event->row.multiplier;
	return profile_add_counter(profile, event_quantity_name(event->row.quantity),
				   event->row.event, &counter, why);
}

/* Events that were not opened, and why they are not used. */
static struct rf_error *save_unused(const struct pmu_plan *plan, struct profile *profile)
{
	const struct profile_counter unused = {.use = COUNTER_UNUSED};
	struct rf_error *error = NULL;
	for (size_t i = 0; i < plan->n_events && !error; i++) {
		const struct pmu_event *event = &plan->events[i];
		const char *why = event->proof.why[0]
					  ? event->proof.why
					  : "another event of the same quantity was not proved";
		if (!event->used)
			error = add_counter(profile, event, &unused, why);
	}
	return error;
}

static const char *what_is_said(const struct pmu_event *event, const struct counter_total *total,
				char *text, size_t size)
{
	const char *proof = event->named ? "named with --counter, not proved" : event->proof.why;
	if (total->state == COUNTER_TOO_LOW)
		snprintf(text, size,
			 "stopped %" PRIu64
			 " times because samples came too fast: a lower bound%s%s",
			 total->throttled, proof[0] ? "; " : "", proof);
	else if (total->state == COUNTER_SCALED)
		snprintf(text, size, "counted in turns with others, %.0f %% of the time%s%s",
			 100 * total->share, proof[0] ? "; " : "", proof);
	else
		snprintf(text, size, "%s", proof);
	return text;
}

static double between(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

/* What the kernel counts itself does not jump. */
static bool is_plausible(const struct pmu_run *run, size_t k, const struct counter_total *total,
			 const struct profile *profile)
{
	const struct counter_losses losses = counters_losses(run->counters);
	const struct pmu_event *event = &run->plan->events[run->event_of[k]];
	return event->attr.type == PERF_TYPE_SOFTWARE ||
	       counter_is_plausible(total, event->period,
				    counters_contexts(run->counters) * (profile->n_threads + 1),
				    losses.lost + losses.broken + losses.unknown);
}

/* Adds the total of event `k`; *scale: events for each of its samples' periods. */
static struct rf_error *save_total(struct pmu_run *run, size_t k, struct profile *profile,
				   double *scale)
{
	static const enum counter_use uses[] = {[COUNTER_EXACT] = COUNTER_USED,
						[COUNTER_SCALED] = COUNTER_IN_TURNS,
						[COUNTER_TOO_LOW] = COUNTER_BELOW,
						[COUNTER_NOT_COUNTED] = COUNTER_UNUSED};
	const struct pmu_event *event = &run->plan->events[run->event_of[k]];
	struct counter_total total;
	char text[512];
	*scale = 0;
	struct rf_error *error = counters_total(run->counters, k, &total);
	if (error) {
		struct rf_error *added =
			add_counter(profile, event, &(struct profile_counter){0}, error->message);
		rf_error_destroy(error);
		return added;
	}
	if (!is_plausible(run, k, &total, profile))
		return add_counter(profile, event, &(struct profile_counter){0},
				   "its total and its samples contradict each other: the counter "
				   "was disturbed");
	const struct counter_weight weight = counter_weight(&total);
	const struct profile_counter counter = {
		.use = uses[total.state],
		.events = between(total.value, 0, 1e300),
		.share = between(total.share, 0, 1),
		.missing = between(weight.missing, 0, 1),
		.samples = total.n_samples,
	};
	*scale = weight.scale;
	what_is_said(event, &total, text, sizeof(text));
	if (total.state == COUNTER_NOT_COUNTED)
		snprintf(text, sizeof(text),
			 "it was not counted for a moment: others held the counters");
	return add_counter(profile, event, &counter, text);
}

static int compare_places(const void *a, const void *b)
{
	const struct counter_place *x = a, *y = b;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* One row for all samples of an event in a thread at an instruction. */
static struct rf_error *save_places(struct pmu_run *run, uint32_t first, const double *scales,
				    struct profile *profile)
{
	size_t n;
	const struct counter_place *places = sample_log_counters(run->sampler->log, &n);
	struct counter_place *sorted = malloc((n + 1) * sizeof(*sorted));
	bool done = sorted;
	if (done && n)
		memcpy(sorted, places, n * sizeof(*sorted));
	if (done)
		qsort(sorted, n, sizeof(*sorted), compare_places);
	for (size_t i = 0; done && i < n;) {
		const struct counter_place *place = &sorted[i];
		struct profile_counter_place row = {
			first + place->event, place->thread, place->module, place->offset, 0, 0};
		for (; i < n && compare_places(place, &sorted[i]) == 0; i++) {
			row.samples++;
			row.events += scales[place->event] * (double)sorted[i].period;
		}
		done = rf_array_push(profile->counter_places, profile->n_counter_places,
				     profile->cap_counter_places, row);
	}
	free(sorted);
	return done ? NULL : rf_error_no_memory();
}

struct rf_error *pmu_run_save(struct pmu_run *run, struct profile *profile)
{
	double scales[EVENT_GROUPS_MAX];
	struct rf_error *error = NULL;
	if (!run)
		return NULL;
	const uint32_t first = (uint32_t)profile->n_counters;
	for (size_t k = 0; !error && k < run->n; k++)
		error = save_total(run, k, profile, &scales[k]);
	if (!error)
		error = save_places(run, first, scales, profile);
	if (!error)
		error = pmu_memory_save(run->memory, profile);
	if (error || !run->counters)
		return error;
	const struct counter_losses losses = counters_losses(run->counters);
	if (losses.lost || losses.broken || losses.unknown)
		profile_set_fact(profile, "counter_samples_lost", "%" PRIu64,
				 losses.lost + losses.broken + losses.unknown);
	profile_set_fact(profile, "counter_groups", "%zu", run->counters->groups.n);
	return save_unused(run->plan, profile);
}
