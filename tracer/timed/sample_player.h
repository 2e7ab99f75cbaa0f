/* Playing the records of a timed run, in the order of their times. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/process/mappings.h"
#include "tracer/timed/sample_store.h"

#include <stdint.h>

enum event_kind {
	EVENT_SAMPLE,
	EVENT_WAIT,  /* a sample before a thread stops running */
	EVENT_FAULT, /* a sample of a page fault */
	EVENT_COUNTER,
	EVENT_MAPPING,
	EVENT_COMM,
	EVENT_EXEC,
	EVENT_FORK,
	EVENT_EXIT
};

struct event {
	uint64_t time;  /* CLOCK_MONOTONIC, ns */
	uint32_t order; /* of arrival: decides between equal times */
	uint32_t pid, tid;
	uint8_t kind; /* enum event_kind */
	union {
		struct {
			uint32_t number; /* in the store */
			uint32_t wait;   /* EVENT_WAIT: in the schedule */
		} sample;
		struct {
			uint64_t ip, period;
			uint32_t event;
		} counter;
		struct mapping mapping;
		char name[16]; /* TASK_COMM_LEN */
		struct {
			uint32_t pid, tid;
		} parent;
	};
};

/* Whether the event has a sample in the store. */
static inline bool event_has_sample(const struct event *event)
{
	return event->kind == EVENT_SAMPLE || event->kind == EVENT_WAIT ||
	       event->kind == EVENT_FAULT;
}

/* Where hardware events happened. */
struct counter_place {
	uint64_t time_ns; /* as those of samples */
	uint64_t offset;
	uint64_t period;         /* events that it stands for */
	uint32_t thread, module; /* rows of the profile */
	uint32_t event;          /* as in the counter_sample */
};

struct perf_maps;
struct kernel_chains;
struct python_stacks;
struct schedule;
struct sample_player;
/* What is played from, none of it owned. */
struct sample_sources {
	struct perf_maps *names;      /* of code made at run time */
	struct kernel_chains *chains; /* where samples were in the kernel */
	struct schedule *schedule;    /* how long waits took */
	struct python_stacks *python; /* of interpreted code */
};
/* Plays into `profile`.  NULL when memory is short. */
struct sample_player *sample_player_create(const struct sample_sources *sources,
					   struct profile *profile);
void sample_player_destroy(struct sample_player *player);

/* Only what falls into the span gets into the profile; of the time of other samples it is told
 * where they were (span->times).  NULL: all gets there. */
struct span;
void sample_player_set_span(struct sample_player *player, struct span *span);

/* Threads that are at such an address (sampler->is_ours) flush caches: that is where their time is.
 */
void sample_player_set_ours(struct sample_player *player,
			    bool (*is_ours)(const void *context, uint32_t pid, uint64_t address,
					    bool in_kernel),
			    const void *context);

/* The next events are these, in the order of their times, and sample_player_end follows them: their
 * stacks are unwound meanwhile, which reads `files`.  All is borrowed until then.  Where that fails
 * samples have no callers, which the profile notes. */
void sample_player_begin(struct sample_player *player, const struct event *events, size_t n,
			 const struct sample_store *store, const struct module_files *files);
void sample_player_end(struct sample_player *player);

/* Plays one event; events come in the order of their times.  Samples are read from `store`.  An
 * error says that memory is short: something of the event is missing then. */
struct rf_error *sample_player_play(struct sample_player *player, const struct event *event,
				    const struct sample_store *store);

/* The table of waits is complete: all has been played, and the schedule is finished.  Fails only
 * when memory is short. */
struct rf_error *sample_player_finish_waits(struct sample_player *player);
/* All has been played: of `n` page faults those that no sample stands for have no frame.  Fails
 * only when memory is short. */
struct rf_error *sample_player_finish_faults(struct sample_player *player, uint64_t n);
/* Joins what Python was at to the samples that were played.  An error says that memory is short. */
struct rf_error *sample_player_join_python(struct sample_player *player);

/* All has been played: times, which were those of CLOCK_MONOTONIC, become those since `start`. */
void sample_player_finish(struct sample_player *player, uint64_t start);

/* Where hardware events happened, in order of time; valid until the player is destroyed. */
const struct counter_place *sample_player_places(const struct sample_player *player, size_t *n);
