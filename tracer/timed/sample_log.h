/* What both samplers share: the record log of a timed run, and its way into a profile.
 *
 * Records arrive from several rings, each in order, the rings not.  They are kept raw, sorted by
 * time later, and then played: mappings change, samples are unwound and become frames.  Playing
 * waits for the end of the run, so that unwinding takes nothing from a program that wants every
 * core, unless the raw samples grow beyond a limit. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/perf/perf_ring.h"
#include "tracer/pmu/counters_read.h"
#include "tracer/timed/sample_player.h"
#include "tracer/timed/sampler.h"

#include <stdint.h>

struct sample_log;
/* `kept`: what was read of files, or NULL. */
struct sample_log *sample_log_create(struct profile *profile, struct kept_store *kept);
void sample_log_destroy(struct sample_log *log);

/* Takes a record into the log of `sampler`, which gives the address map of --once. */
void sample_log_record(const struct sampler *sampler, const struct perf_record *record);
/* Takes in a sample before a thread stops running (PERF_RING_SWITCH_TYPE). */
void sample_log_switch(const struct sampler *sampler, const struct perf_record *record);
/* Takes in a sample of a page fault (PERF_RING_FAULT_TYPE), which stands for `n` of them. */
void sample_log_fault(const struct sampler *sampler, const struct perf_record *record, uint64_t n);
/* Takes in a sample of a hardware counter: played among the others, so that its place is that of
 * the code which was mapped then; without its callers.  A counter_sample_fn; `sampler`: struct
 * sampler. */
void sample_log_counter(void *sampler, const struct counter_sample *sample);
/* Says that every record before `time` has arrived: a chance to play when memory is full. */
void sample_log_complete_until(const struct sampler *sampler, uint64_t time);
/* From now on switches are recorded, or not (`gap`), until this is called again (schedule.h). */
void sample_log_windows(const struct sampler *sampler, bool gap);
/* Whether there is something to look at each 10 ms: sample_log_complete_until does. */
bool sample_log_watches(const struct sampler *sampler);

/* Samples lost before they could be written, besides those of PERF_RECORD_LOST. */
void sample_log_lost(struct sample_log *log, uint64_t n);

/* Plays what is left, so that the profile has all threads, modules, frames and samples, and adds
 * the facts time_source (`source`), lost_samples, throttled_samples, sample_period_ns (`period_ns`,
 * or for 0 the mean weight of the samples). */
struct rf_error *sample_log_finish(const struct sampler *sampler, const char *source,
				   uint64_t period_ns);

/* When the first execve was: what the profile's times count from; 0: not seen. */
uint64_t sample_log_start(const struct sample_log *log);

/* Where hardware events happened, in order of time; after sample_log_finish, until
 * sample_log_destroy. */
const struct counter_place *sample_log_counters(const struct sample_log *log, size_t *n);

/* A file with names of code made at run time that is not to be trusted, and why, or NULL. */
const char *sample_log_refused(const struct sample_log *log);
