/* The part of a run that is measured: from some moment to another (--delay, --duration), or from
 * the first entry of a function to its return (--start-at, --stop-at).  docs/spans.md says what is
 * measured outside of it, and how both runs come to the same part.
 *
 * In the timed run a span is two moments of CLOCK_MONOTONIC.  In the counted run it is a range of
 * slices: all threads' counts are cut at the same events, or at regular times, and each piece
 * belongs to a slice (slices.h). */
#pragma once

#include "profile/profile.h"
#include "tracer/process/marks.h"
#include "tracer/span/native_times.h"
#include "tracer/span/slices.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What was asked for; all 0: the whole run. */
struct span_options {
	double delay_s, duration_s;     /* s; 0: from the start, to the end */
	const char *start_at, *stop_at; /* functions, by their names; or NULL */
};

/* Moments that have not come. */
#define SPAN_NEVER UINT64_MAX

/* The slices of a span that begins and ends with an event that both runs see. */
enum { SLICE_BEFORE, SLICE_IN, SLICE_AFTER };

struct span {
	struct span_options options;
	/* Moments, ns; written by one thread, read by others. */
	uint64_t from_ns, until_ns;
	uint64_t released_ns;
	bool same_run; /* the counted run is the timed one (--once) */
	/* An interrupted timed run: the counted one ends when its first process has made so many
	 * calls (progress.h); 0: not so. */
	uint64_t calls;
	int ends_by;        /* the signal that ends it then */
	pid_t calls_of;     /* its first process */
	uint64_t looked_ns; /* at it; and when it was sent that signal; 0: not yet */
	uint64_t told_ns;
	struct marks marks;
	struct native_times times;
	/* Of the counted run, under its lock: */
	struct slices slices;
	uint32_t number;      /* of the slice that all threads are to fill now */
	uint64_t next_cut_ns; /* by the clock */
	uint64_t interval_ns;
};

bool span_is_asked_for(const struct span_options *options);
/* Whether functions say where it begins. */
bool span_is_by_function(const struct span *span);

/* `options` must outlive it; NULL when memory is short. */
struct span *span_create(const struct span_options *options);
void span_destroy(struct span *span);

/* A run of the program begins at that moment: a span by the clock is known from now on. */
void span_released(struct span *span, uint64_t now);
/* Its first and its last moment are now (ns); what comes later of the same kind changes nothing. */
void span_begins(struct span *span, uint64_t now);
void span_ends(struct span *span, uint64_t now);
uint64_t span_from(const struct span *span);
uint64_t span_until(const struct span *span);
bool span_has_begun(const struct span *span);
bool span_has_ended(const struct span *span);
/* In which part of the timed run a moment lies. */
enum span_part span_part_of(const struct span *span, uint64_t time);

/* The counted run begins now, whose timed run took `native_s` (0: not known).  The slices of before
 * are forgotten. */
void span_counted_begins(struct span *span, uint64_t now, double native_s, bool same_run);
/* An event of the program begins a slice: SLICE_IN or SLICE_AFTER. */
void span_counted_enters(struct span *span, uint32_t slice, uint64_t now);
/* The slice that all threads are to fill now. */
uint32_t span_slice(const struct span *span);
/* Begins the next slice when the clock says so. */
void span_advance(struct span *span, uint64_t now);
/* ns until it may change; UINT64_MAX: never by the clock. */
uint64_t span_patience(const struct span *span, uint64_t now);

/* Looks whether the first process of the counted run has made span->calls; true: not yet. */
bool span_is_on_its_way(struct span *span, uint64_t now);
/* Ends it by span->ends_by, once, and some seconds later for good. */
void span_end_process(struct span *span, uint64_t now);

/* All that was counted is in the profile: what was not counted within the span is taken out, but
 * for `checked`, and facts say how the span was found. */
struct rf_error *span_settle(struct span *span, struct profile *profile);
/* Behind the simulation of caches, which has needed them: rows that count nothing go. */
void span_drop_empty(struct profile *profile);
/* Facts of the timed run, whose program ended at `end_ns`; the length of the span in s. */
double span_save(const struct span *span, uint64_t end_ns, struct profile *profile);
