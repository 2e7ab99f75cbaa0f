/* Where a span begins and ends in each run, and what the report says of it. */
#include "tracer/span/span.h"

#include "tracer/span/progress.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

/* Slices of a span that the clock gives: so many of its own length, but not shorter than that, and
 * not more than so many of all that the program takes natively. */
#define SLICES_OF_SPAN 50
#define SHORTEST_NS 4e6
#define SLICES_OF_RUN 1000

/* Between two looks at how far an interrupted program has come, and how long it may take to end. */
#define LOOK_NS 1000000
#define PATIENCE_NS 5000000000

bool span_is_asked_for(const struct span_options *options)
{
	return options->delay_s > 0 || options->duration_s > 0 || options->start_at ||
	       options->stop_at;
}

bool span_is_by_function(const struct span *span)
{
	return span->options.start_at || span->options.stop_at;
}

struct span *span_create(const struct span_options *options)
{
	struct span *span = calloc(1, sizeof(*span));
	if (!span)
		return NULL;
	span->options = *options;
	span->marks.names[MARK_START] = options->start_at;
	span->marks.names[MARK_STOP] = options->stop_at;
	span->from_ns = span->until_ns = SPAN_NEVER;
	return span;
}

void span_destroy(struct span *span)
{
	if (!span)
		return;
	marks_deinit(&span->marks);
	native_times_deinit(&span->times);
	slices_deinit(&span->slices);
	free(span);
}

/* ---- moments ---- */

static uint64_t load(const uint64_t *moment)
{
	return __atomic_load_n(moment, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *moment, uint64_t time)
{
	__atomic_store_n(moment, time, __ATOMIC_RELEASE);
}

void span_released(struct span *span, uint64_t now)
{
	const struct span_options *options = &span->options;
	const uint64_t from = now + (uint64_t)llround(options->delay_s * 1e9);
	const uint64_t length = (uint64_t)llround(options->duration_s * 1e9);
	span->released_ns = now;
	store(&span->until_ns, length ? from + length : SPAN_NEVER);
	store(&span->from_ns, options->start_at ? SPAN_NEVER : from);
}

void span_begins(struct span *span, uint64_t now)
{
	if (!span_has_begun(span))
		store(&span->from_ns, now);
}

void span_ends(struct span *span, uint64_t now)
{
	if (span_has_begun(span) && !span_has_ended(span))
		store(&span->until_ns, now);
}

uint64_t span_from(const struct span *span)
{
	return load(&span->from_ns);
}

uint64_t span_until(const struct span *span)
{
	return load(&span->until_ns);
}

bool span_has_begun(const struct span *span)
{
	return span_from(span) != SPAN_NEVER;
}

bool span_has_ended(const struct span *span)
{
	return span_until(span) != SPAN_NEVER;
}

enum span_part span_part_of(const struct span *span, uint64_t time)
{
	return time < span_from(span)    ? SPAN_BEFORE
	       : time < span_until(span) ? SPAN_IN
					 : SPAN_AFTER;
}

/* ---- slices of the counted run ---- */

/* Whether it is known only at the end which slices are the span. */
static bool is_searched(const struct span *span)
{
	return !span_is_by_function(span) && !span->same_run && !span->calls;
}

void span_counted_begins(struct span *span, uint64_t now, double native_s, bool same_run)
{
	const double wanted = span->options.duration_s * 1e9 / SLICES_OF_SPAN;
	const double least = fmax(native_s * 1e9 / SLICES_OF_RUN, SHORTEST_NS);
	slices_deinit(&span->slices);
	span->same_run = same_run;
	const bool at_once = span_is_by_function(span) ? !span->options.start_at : span->calls > 0;
	span->number = at_once ? SLICE_IN : SLICE_BEFORE;
	span->interval_ns = (uint64_t)fmax(wanted, least);
	span->next_cut_ns = now + span->interval_ns;
	if (same_run)
		span_released(span, now);
}

void span_counted_enters(struct span *span, uint32_t slice, uint64_t now)
{
	__atomic_store_n(&span->number, slice, __ATOMIC_RELEASE);
	if (span->same_run && slice == SLICE_IN)
		span_begins(span, now);
	else if (span->same_run)
		span_ends(span, now);
}

uint32_t span_slice(const struct span *span)
{
	return __atomic_load_n(&span->number, __ATOMIC_ACQUIRE);
}

/* When the clock begins the next slice. */
static uint64_t next_cut(const struct span *span)
{
	if (span_is_by_function(span) || span->calls)
		return SPAN_NEVER;
	if (!span->same_run)
		return span->next_cut_ns;
	return span->number == SLICE_BEFORE ? span_from(span)
	       : span->number == SLICE_IN   ? span_until(span)
					    : SPAN_NEVER;
}

void span_advance(struct span *span, uint64_t now)
{
	if (now < next_cut(span))
		return;
	span_counted_enters(span, span->number + 1, now);
	span->next_cut_ns = now + span->interval_ns;
	if (span->number % SLICES_OF_RUN == 0) /* it takes much longer than natively */
		span->interval_ns *= 2;
}

uint64_t span_patience(const struct span *span, uint64_t now)
{
	const uint64_t next = next_cut(span);
	return next == SPAN_NEVER ? UINT64_MAX : next > now ? next - now : 1;
}

/* ---- an interrupted run ---- */

bool span_is_on_its_way(struct span *span, uint64_t now)
{
	if (now - span->looked_ns < LOOK_NS)
		return true;
	span->looked_ns = now;
	return progress_calls(span->calls_of) < span->calls;
}

void span_end_process(struct span *span, uint64_t now)
{
	if (!span->told_ns) {
		span->told_ns = now;
		kill(span->calls_of, span->ends_by);
	} else if (now - span->told_ns > PATIENCE_NS) {
		kill(span->calls_of, SIGKILL);
	}
}

/* ---- the end ---- */

static const char *how_counted(const struct span *span)
{
	if (span->same_run)
		return "the same run";
	if (span->calls)
		return "calls that read and write";
	return span_is_by_function(span) ? "entries and returns of functions"
					 : "processor time of the code that ran";
}

struct rf_error *span_settle(struct span *span, struct profile *profile)
{
	struct slice_range range = {SLICE_IN, SLICE_AFTER, 0, 0};
	struct rf_error *error = NULL;
	if (is_searched(span))
		error = slices_choose(&span->slices, profile, span->number + 1, &span->times,
				      &range);
	if (error)
		return error;
	profile_set_fact(profile, "span_counted_by", "%s", how_counted(span));
	if (is_searched(span)) {
		profile_set_fact(profile, "span_start_error_s", "%.6f", range.first_error_s);
		profile_set_fact(profile, "span_end_error_s", "%.6f", range.end_error_s);
	} else if (span->number < SLICE_IN) {
		profile_add_note(profile, "in the counted run the span never began: nothing of it "
					  "is counted");
	}
	return slices_keep(&span->slices, profile, &range);
}

void span_drop_empty(struct profile *profile)
{
	size_t kept = 0;
	for (size_t i = 0; i < profile->n_counts; i++)
		if (profile->counts[i].n)
			profile->counts[kept++] = profile->counts[i];
	profile->n_counts = kept;
}

static double seconds_since(uint64_t start, uint64_t time)
{
	return time > start ? (double)(time - start) * 1e-9 : 0;
}

double span_save(const struct span *span, uint64_t end_ns, struct profile *profile)
{
	const uint64_t from = span_from(span), until = span_until(span);
	const double run_s = seconds_since(span->released_ns, end_ns);
	const uint64_t last = until < end_ns ? until : end_ns;
	const uint64_t first = from < last ? from : last;
	profile_set_fact(profile, "run_s", "%.6f", run_s);
	profile_set_fact(profile, "span_start_s", "%.6f", seconds_since(span->released_ns, first));
	profile_set_fact(profile, "span_end_s", "%.6f", seconds_since(span->released_ns, last));
	profile_set_fact(profile, "span_timed_by", "%s",
			 span->calls                 ? "an interruption"
			 : span_is_by_function(span) ? "entries and returns of functions"
						     : "the clock");
	if (from >= end_ns)
		profile_add_note(profile,
				 "the program ended after %.3g s, before the span began: nothing "
				 "was measured",
				 run_s);
	return seconds_since(first, last);
}
