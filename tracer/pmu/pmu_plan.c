/* The plan for the PMU: events of the processor's table and those that the user names, proved,
 * given periods and chosen. */
#include "tracer/pmu/pmu_plan.h"

#include "base/array.h"
#include "tracer/pmu/pmu_memory.h"
#include "tracer/pmu/proof_loops.h"
#include "tracer/pmu/proof_together.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Events for a sample: some hundred samples a second of what happens several times a nanosecond,
 * and of what is rare enough to tell functions apart.  No round numbers, so that a loop is not
 * always sampled in the same place. */
#define PERIOD_FREQUENT 8000009
#define PERIOD_MISSES 100003
#define PERIOD_SOFTWARE 101

/* ---- what the user says ---- */

static bool quantity_parse(const char *word, enum event_quantity *quantity)
{
	for (int q = 0; q < N_EVENT_QUANTITIES; q++)
		if (!strcmp(word, event_quantity_name((enum event_quantity)q))) {
			*quantity = (enum event_quantity)q;
			return true;
		}
	return false;
}

static struct rf_error *bad_event(const char *what, const char *word)
{
	return rf_error_create(
		RF_EINPUT,
		"such as --counter='flop_dp=spr::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE*1@8000009'",
		"--counter: %s: %s", what, word);
}

uint64_t pmu_default_period(const struct perf_event_attr *attr, enum event_quantity quantity)
{
	if (attr->type == PERF_TYPE_SOFTWARE)
		return PERIOD_SOFTWARE;
	return quantity == EVENT_L2_BYTES || quantity == EVENT_LLC_MISS_BYTES ? PERIOD_MISSES
									      : PERIOD_FREQUENT;
}

struct rf_error *pmu_event_parse(char *text, struct pmu_event *event)
{
	char *equals = strchr(text, '='), *times, *at, *end;
	*event = (struct pmu_event){
		.row = {.multiplier = 1, .meaning = "named", .source = "--counter"}, .named = true};
	if (!equals)
		return bad_event("QUANTITY=EVENT is wanted", text);
	*equals = '\0';
	if (!quantity_parse(text, &event->row.quantity))
		return bad_event("no such quantity", text);
	event->row.event = equals + 1;
	if ((at = strrchr(equals + 1, '@'))) {
		*at = '\0';
		event->period = strtoull(at + 1, &end, 10);
		if (!at[1] || at[1] == '-' || *end || !event->period)
			return bad_event("no period", at + 1);
	}
	if ((times = strrchr(equals + 1, '*'))) {
		*times = '\0';
		event->row.multiplier = strtod(times + 1, &end);
		if (!times[1] || *end || !isfinite(event->row.multiplier) ||
		    event->row.multiplier <= 0)
			return bad_event("no multiplier", times + 1);
	}
	struct rf_error *error = event_encode(event->row.event, &event->attr);
	if (!error && !event->period)
		event->period = pmu_default_period(&event->attr, event->row.quantity);
	return error;
}

static size_t length_of(const char *const *words)
{
	size_t size = 1;
	for (; words && *words; words++)
		size += strlen(*words) + 1;
	return size;
}

static struct rf_error *add_named(struct pmu_plan *plan, const char *const *words)
{
	char *text = plan->texts = malloc(length_of(words));
	if (!text)
		return rf_error_no_memory();
	for (; words && *words; words++) {
		struct pmu_event event;
		const size_t size = strlen(*words) + 1;
		memcpy(text, *words, size);
		struct rf_error *error = pmu_event_parse(text, &event);
		if (error)
			return error;
		event.used = true;
		if (plan->n_events >= EVENT_GROUPS_MAX ||
		    !rf_array_push(plan->events, plan->n_events, plan->cap_events, event))
			return rf_error_no_memory();
		text += size;
	}
	return NULL;
}

/* ---- what the tables know ---- */

static bool is_named(const struct pmu_plan *plan, enum event_quantity quantity)
{
	for (size_t i = 0; i < plan->n_events; i++)
		if (plan->events[i].named && plan->events[i].row.quantity == quantity)
			return true;
	return false;
}

static bool is_memory(enum event_quantity quantity)
{
	return quantity == EVENT_LLC_MISS_BYTES || quantity == EVENT_MEMORY_READ_BYTES ||
	       quantity == EVENT_MEMORY_WRITE_BYTES;
}

/* Whether any events of the table would be used, were all of them proved. */
static bool is_table_wanted(const struct pmu_options *options)
{
	return !options->once && (options->work != WORK_COUNT || options->traffic == TRAFFIC_PMU);
}

/* Rows of the core that are asked for, that are not known to be wrong and that the user does not
 * replace. */
static struct rf_error *add_table(struct pmu_plan *plan, const struct event_table *table)
{
	for (size_t i = 0; i < table->n_rows && plan->n_events < EVENT_GROUPS_MAX; i++) {
		struct proof_event proved;
		const enum event_quantity quantity = table->rows[i].quantity;
		if (is_named(plan, quantity) ||
		    (plan->options.work == WORK_COUNT && !is_memory(quantity)) ||
		    !proof_event_init(&proved, &table->rows[i]))
			continue;
		const struct pmu_event event = {.row = table->rows[i],
						.attr = proved.attr,
						.period =
							pmu_default_period(&proved.attr, quantity)};
		if (!rf_array_push(plan->events, plan->n_events, plan->cap_events, event))
			return rf_error_no_memory();
	}
	return NULL;
}

/* ---- what is true of it ---- */

/* Those that are right alone, and what the user names, beside each other. */
static void prove_together(const struct perf_source *source, struct pmu_plan *plan,
			   const struct proof_loops *loops, bool hypervisor)
{
	struct together_event events[EVENT_GROUPS_MAX];
	struct proof_result results[EVENT_GROUPS_MAX];
	bool used[EVENT_GROUPS_MAX];
	for (size_t i = 0; i < plan->n_events; i++) {
		const struct pmu_event *event = &plan->events[i];
		events[i] = (struct together_event){event->attr, &event->row, event->period,
						    event->named};
		results[i] = event->proof;
		used[i] = event->used;
	}
	proof_keep_together(source, events, plan->n_events, &plan->limits, loops->loops, loops->n,
			    hypervisor, used, results);
	for (size_t i = 0; i < plan->n_events; i++) {
		plan->events[i].proof = results[i];
		plan->events[i].used = used[i];
	}
}

/* Those of the table, which come behind the named ones. */
static struct rf_error *prove(const struct perf_source *source, struct pmu_plan *plan)
{
	struct proof_event events[EVENT_GROUPS_MAX];
	struct proof_result results[EVENT_GROUPS_MAX];
	size_t first = 0;
	while (first < plan->n_events && plan->events[first].named)
		first++;
	struct pmu_event *const tried = plan->events + first;
	const size_t n = plan->n_events - first;
	if (n == 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		events[i] = (struct proof_event){tried[i].attr, &tried[i].row};
	struct proof_loops loops;
	struct proof_place place;
	proof_place_read("", &place);
	proof_loops_init(&loops);
	struct rf_error *error =
		proof_run(source, events, n, loops.loops, loops.n, &place, results);
	for (size_t i = 0; !error && i < n; i++) {
		const char *why;
		tried[i].proof = results[i];
		tried[i].used =
			proof_quantity_usable(events, results, n, tried[i].row.quantity, &why);
	}
	if (!error)
		prove_together(source, plan, &loops, place.facts.hypervisor);
	proof_loops_deinit(&loops);
	return error;
}

/* Whether a quantity is counted by events that are used; *why: the first reason against it. */
static bool has(const struct pmu_plan *plan, enum event_quantity quantity, const char **why)
{
	bool any = false;
	for (size_t i = 0; i < plan->n_events; i++)
		if (plan->events[i].row.quantity == quantity) {
			any |= plan->events[i].used;
			if (!plan->events[i].used && !*why && plan->events[i].proof.why[0])
				*why = plan->events[i].proof.why;
		}
	return any;
}

/* The states of flop and of memory, with the first reason against what they lack. */
static void find_states(const struct pmu_plan *plan, struct choice_input *input)
{
	static const enum event_quantity flop[] = {EVENT_FLOP_ANY, EVENT_FLOP_DP, EVENT_FLOP_SP,
						   EVENT_FLOP_HP};
	bool usable[N_EVENT_QUANTITIES] = {false};
	for (size_t i = 0; i < sizeof(flop) / sizeof(*flop); i++)
		usable[flop[i]] = has(plan, flop[i], &input->why_no_work);
	if (plan->why_no_memory[0])
		input->why_no_memory = plan->why_no_memory;
	for (int q = 0; q < N_EVENT_QUANTITIES; q++)
		if (is_memory((enum event_quantity)q))
			usable[q] = has(plan, (enum event_quantity)q, &input->why_no_memory);
	input->work_events = choice_work_state(usable);
	input->memory_events = choice_memory_state(usable, plan->memory);
}

/* What the user names takes the place of the controllers', too: the same quantity is not counted
 * twice. */
static void find_memory(struct pmu_plan *plan)
{
	if (is_named(plan, EVENT_MEMORY_READ_BYTES) || is_named(plan, EVENT_MEMORY_WRITE_BYTES))
		return;
	struct rf_error *error = pmu_memory_probe("");
	plan->memory = !error;
	if (error)
		snprintf(plan->why_no_memory, sizeof(plan->why_no_memory), "%s", error->message);
	rf_error_destroy(error);
}

static void decide(struct pmu_plan *plan)
{
	const struct pmu_options *options = &plan->options;
	struct choice_input input = {.work = options->work,
				     .traffic = options->traffic,
				     .once = options->once};
	find_states(plan, &input);
	if (plan->why[0])
		input.why_no_work = plan->why;
	plan->choice = choose(&input);
	for (size_t i = 0; i < plan->n_events;
	     i++) /* what is asked for by name is counted in any case */
		plan->choice.counters |= plan->events[i].named && !options->once;
}

/* Whether any events would be used, were all of them proved: the proof takes a while, before each
 * run. */
static bool could_matter(const struct pmu_options *options)
{
	const struct choice_input best = {.work = options->work,
					  .traffic = options->traffic,
					  .once = options->once,
					  .work_events = PMU_COMPLETE,
					  .memory_events = PMU_COMPLETE};
	return choose(&best).counters;
}

struct rf_error *pmu_plan_init(const struct perf_source *source, const struct pmu_options *options,
			       struct pmu_plan *plan)
{
	*plan = (struct pmu_plan){.options = *options};
	const bool wanted = is_table_wanted(options);
	struct rf_error *error = add_named(plan, options->named);
	struct rf_error *none =
		error || !wanted ? NULL : counter_limits_find(source, &plan->limits);
	if (none) {
		snprintf(plan->why, sizeof(plan->why), "%s", none->message);
		rf_error_destroy(none);
	} else if (!error && wanted && could_matter(options)) {
		const struct event_table *table = event_table_here();
		if (!table)
			snprintf(plan->why, sizeof(plan->why),
				 "no table of events for this processor");
		error = table ? add_table(plan, table) : NULL;
		if (!error)
			error = prove(source, plan);
	}
	if (!error && options->traffic == TRAFFIC_PMU && !options->once)
		find_memory(plan);
	if (!error)
		decide(plan);
	return error;
}

void pmu_plan_refuse(struct pmu_plan *plan)
{
	for (size_t i = 0; i < plan->n_events; i++)
		plan->events[i].used = false;
	snprintf(plan->why, sizeof(plan->why), "the kernel refused its counters");
	snprintf(plan->why_no_memory, sizeof(plan->why_no_memory),
		 "the kernel refused its counters");
	plan->n_events = 0;
	plan->memory = false;
	decide(plan);
}

void pmu_plan_deinit(struct pmu_plan *plan)
{
	free(plan->events);
	free(plan->texts);
	*plan = (struct pmu_plan){0};
}
