/* Proving events: each is counted around loops of known truth, and believed only as far as it
 * agrees. */
#include "tracer/pmu/proof.h"

#include "base/small_file.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* An event that has at least this share of a wrong sum is to blame for it. */
static const double BLAME = 0.02;

struct proof {
	const struct perf_source *source;
	const struct proof_event *events;
	size_t n;
	struct proof_loop *const *loops;
	size_t n_loops;
	const struct proof_place *place;
	struct proof_result *results;
	double *counts; /* [event][loop], times the multiplier; NAN: not counted */
	bool *agreed;   /* [event]: took part in a sum that agreed */
};

void proof_place_read(const char *root, struct proof_place *place)
{
	refusal_facts_read(root, &place->facts);
	place->smt = small_file_number(root, "/sys/devices/system/cpu/smt/active") == 1;
}

bool proof_event_init(struct proof_event *event, const struct event_row *row)
{
	struct rf_error *error = NULL;
	event->row = row;
	const bool wanted = !(row->flags & (EVENT_UNCORE | EVENT_UNRELIABLE));
	if (wanted)
		error = event_encode(row->event, &event->attr);
	rf_error_destroy(error);
	return wanted && !error;
}

static double *count_of(const struct proof *proof, size_t event, size_t loop)
{
	return &proof->counts[event * proof->n_loops + loop];
}

/* The first reason stays. */
__attribute__((format(printf, 2, 3))) static void condemn(struct proof_result *result,
							  const char *format, ...)
{
	va_list arguments;
	if (result->verdict == PROOF_BAD)
		return;
	result->verdict = PROOF_BAD;
	va_start(arguments, format);
	vsnprintf(result->why, sizeof(result->why), format, arguments);
	va_end(arguments);
}

/* --- counting --- */

struct reading {
	uint64_t value, enabled, running;
};

static bool count_around(const struct perf_source *source, int fd, struct proof_loop *loop,
			 struct reading *reading)
{
	if (loop->prepare)
		loop->prepare(loop);
	if (source->control(source->context, fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
		return false;
	loop->run(loop);
	source->control(source->context, fd, PERF_EVENT_IOC_DISABLE, 0);
	*reading = (struct reading){0};
	return source->read(source->context, fd, reading, sizeof(*reading)) >= 0;
}

static void refuse(const struct proof *proof, size_t event, int errnum)
{
	const struct refusal_request request = {.kind = REFUSED_HARDWARE,
						.what = proof->events[event].row->event};
	struct rf_error *error = refusal_explain(errnum, &request, &proof->place->facts);
	condemn(&proof->results[event], "%s%s%s%s", error->message, error->hint ? " (" : "",
		error->hint ? error->hint : "", error->hint ? ")" : "");
	rf_error_destroy(error);
}

static void never_ran(const struct proof *proof, size_t event)
{
	const bool watchdog = proof->place->facts.nmi_watchdog > 0;
	condemn(&proof->results[event], "%s was given no counter: %s",
		proof->events[event].row->event,
		watchdog ? "the kernel's NMI watchdog holds one (as root: sysctl "
			   "kernel.nmi_watchdog=0)"
			 : "another profiler has pinned them");
}

static void multiplexed(const struct proof *proof, size_t event, const struct reading *reading)
{
	condemn(&proof->results[event],
		"%s was counted %.1f %% of the time although it was alone: "
		"others use the counters, end them%s",
		proof->events[event].row->event,
		100 * (double)reading->running / (double)reading->enabled,
		proof->place->facts.nmi_watchdog > 0
			? ", and the NMI watchdog (sysctl kernel.nmi_watchdog=0)"
			: "");
}

/* multiplier × count of one event around one loop; NAN: the event is condemned for how it ran. */
static double count_once(const struct proof *proof, size_t event, struct proof_loop *loop)
{
	struct perf_event_attr attr = proof->events[event].attr;
	struct reading reading;
	attr.size = sizeof(attr);
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.disabled = attr.exclude_kernel = attr.exclude_hv = 1;
	int fd = proof->source->open(proof->source->context, &attr, 0, -1, -1);
	if (fd < 0) {
		refuse(proof, event, errno);
		return NAN;
	}
	bool counted = count_around(proof->source, fd, loop, &reading);
	const int errnum = errno;
	proof->source->close(proof->source->context, fd);
	if (!counted)
		refuse(proof, event, errnum);
	else if (reading.running == 0)
		never_ran(proof, event);
	else if (reading.running < reading.enabled)
		multiplexed(proof, event, &reading);
	else
		return (double)reading.value * proof->events[event].row->multiplier;
	return NAN;
}

static bool is_part(const struct proof *proof, size_t event, enum event_quantity quantity)
{
	return proof->events[event].row->quantity == quantity &&
	       !(proof->events[event].row->flags & EVENT_UNCORE);
}

/* What is off by more is wrong: a share of the truth, or where that is 0, of all that is done. */
static double allowance(const struct proof_loop *loop, enum event_quantity quantity)
{
	double truth = loop->truth[quantity];
	if (truth == 0 && !isnan(loop->truth[EVENT_FLOP_ANY]))
		truth = loop->truth[EVENT_FLOP_ANY];
	return PROOF_TOLERANCE * truth;
}

static double sum_of(const struct proof *proof, size_t loop, enum event_quantity quantity)
{
	double sum = 0;
	for (size_t i = 0; i < proof->n; i++)
		if (is_part(proof, i, quantity))
			sum += *count_of(proof, i, loop);
	return sum; /* NAN: one of them did not run as it should */
}

static void attempt(const struct proof *proof, size_t loop, enum event_quantity quantity)
{
	for (size_t i = 0; i < proof->n; i++)
		if (is_part(proof, i, quantity) && proof->results[i].verdict != PROOF_BAD)
			*count_of(proof, i, loop) = count_once(proof, i, proof->loops[loop]);
}

static bool agrees(const struct proof *proof, size_t loop, enum event_quantity quantity)
{
	const double truth = proof->loops[loop]->truth[quantity];
	return fabs(sum_of(proof, loop, quantity) - truth) <=
	       allowance(proof->loops[loop], quantity);
}

static void count_quantity(const struct proof *proof, size_t loop, enum event_quantity quantity)
{
	for (int n = 0; n < PROOF_ATTEMPTS; n++) {
		attempt(proof, loop, quantity);
		if (agrees(proof, loop, quantity))
			return;
	}
}

/* --- judging --- */

static bool counted_anywhere(const struct proof *proof, size_t event)
{
	for (size_t loop = 0; loop < proof->n_loops; loop++)
		if (*count_of(proof, event, loop) > 0)
			return true;
	return false;
}

static void silent(const struct proof *proof, size_t event, const struct proof_loop *loop)
{
	condemn(&proof->results[event], "%s counted nothing in %s%s",
		proof->events[event].row->event, loop->name,
		proof->place->facts.hypervisor
			? ": a virtual machine whose PMU returns zeros (give it one: KVM, -cpu "
			  "host,pmu=on)"
			: ": the event does not do what its table says on this processor");
}

/* The events that should have counted: those that never do; if all do elsewhere, all. */
static void blame_silence(const struct proof *proof, size_t loop, enum event_quantity quantity)
{
	bool found = false;
	for (int pass = 0; pass < 2 && !found; pass++)
		for (size_t i = 0; i < proof->n; i++)
			if (is_part(proof, i, quantity) &&
			    (pass == 1 || !counted_anywhere(proof, i))) {
				silent(proof, i, proof->loops[loop]);
				found = true;
			}
}

static bool near(double ratio, double wanted)
{
	return fabs(ratio - wanted) <= wanted * PROOF_TOLERANCE;
}

/* What a ratio hints at. */
static const char *hint_of(const struct proof *proof, const struct proof_loop *loop, double ratio)
{
	if (near(ratio, 2) && loop->fma)
		return "a fused multiply-add counts twice, or the core's other hardware thread is "
		       "counted too";
	if (near(ratio, 2) && proof->place->smt)
		return "the core's other hardware thread is counted too (SMT)";
	if (near(ratio, 0.5) && loop->fma)
		return "a fused multiply-add counts once";
	return proof->place->facts.hypervisor ? "an erratum, or a virtual machine that loses counts"
					      : "an erratum";
}

static void blame_one(const struct proof *proof, size_t event, const struct proof_loop *loop,
		      double sum)
{
	const struct event_row *row = proof->events[event].row;
	const double truth = loop->truth[row->quantity];
	const double ratio = truth ? sum / truth : INFINITY;
	if (truth == 0) {
		condemn(&proof->results[event], "%s counts in %s, where it should not%s%s",
			row->event, loop->name, row->erratum ? "; known: " : "",
			row->erratum ? row->erratum : "");
		return;
	}
	condemn(&proof->results[event], "%s: %.3f times the truth in %s (%s)%s%s", row->event,
		ratio, loop->name, hint_of(proof, loop, ratio), row->erratum ? "; known: " : "",
		row->erratum ? row->erratum : "");
}

static void judge(const struct proof *proof, size_t loop, enum event_quantity quantity)
{
	const double sum = sum_of(proof, loop, quantity);
	const bool good = agrees(proof, loop, quantity);
	if (isnan(sum))
		return;
	if (!good && sum == 0) {
		blame_silence(proof, loop, quantity);
		return;
	}
	for (size_t i = 0; i < proof->n; i++) {
		if (!is_part(proof, i, quantity) || *count_of(proof, i, loop) < BLAME * sum ||
		    sum == 0)
			continue;
		if (good)
			proof->agreed[i] = true;
		else
			blame_one(proof, i, proof->loops[loop], sum);
	}
}

static void for_each_sum(const struct proof *proof,
			 void (*fn)(const struct proof *proof, size_t loop,
				    enum event_quantity quantity))
{
	for (size_t loop = 0; loop < proof->n_loops; loop++)
		for (enum event_quantity quantity = 0; quantity < N_EVENT_QUANTITIES; quantity++)
			if (!isnan(proof->loops[loop]->truth[quantity]))
				fn(proof, loop, quantity);
}

static void conclude(const struct proof *proof)
{
	for (size_t i = 0; i < proof->n; i++) {
		struct proof_result *result = &proof->results[i];
		if (result->verdict == PROOF_BAD)
			continue;
		if (proof->agreed[i])
			result->verdict = PROOF_GOOD;
		else
			snprintf(result->why, sizeof(result->why), "%s could not be proved: %s",
				 proof->events[i].row->event,
				 proof->events[i].row->flags & EVENT_UNCORE
					 ? "it counts the whole package"
					 : "no loop here makes it count");
	}
}

struct rf_error *proof_run(const struct perf_source *source, const struct proof_event *events,
			   size_t n, struct proof_loop *const *loops, size_t n_loops,
			   const struct proof_place *place, struct proof_result *results)
{
	struct proof proof = {source,
			      events,
			      n,
			      loops,
			      n_loops,
			      place,
			      results,
			      calloc(n * n_loops + 1, sizeof(double)),
			      calloc(n + 1, sizeof(bool))};
	struct rf_error *error = NULL;
	for (size_t i = 0; i < n; i++)
		results[i] = (struct proof_result){.verdict = PROOF_NOT_EXERCISED};
	if (proof.counts && proof.agreed) {
		for (size_t i = 0; i < n * n_loops; i++)
			proof.counts[i] = NAN;
		for_each_sum(&proof, count_quantity);
		for_each_sum(&proof, judge);
		conclude(&proof);
	} else {
		error = rf_error_no_memory();
	}
	free(proof.counts);
	free(proof.agreed);
	return error;
}

bool proof_quantity_usable(const struct proof_event *events, const struct proof_result *results,
			   size_t n, enum event_quantity quantity, const char **why)
{
	bool good = false;
	*why = "";
	for (size_t i = 0; i < n; i++) {
		if (events[i].row->quantity != quantity)
			continue;
		if (results[i].verdict == PROOF_BAD) {
			*why = results[i].why;
			return false;
		}
		good |= results[i].verdict == PROOF_GOOD;
		if (results[i].verdict == PROOF_NOT_EXERCISED && !**why)
			*why = results[i].why;
	}
	if (good)
		*why = "";
	else if (!**why)
		*why = "this processor has no event for it";
	return good;
}
