/* Playing the records of a timed run, in the order of their times. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/process/mappings.h"
#include "tracer/timed/sample_store.h"

#include <stdint.h>

enum event_kind {
	EVENT_SAMPLE,
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
		uint32_t sample; /* its number in the store */
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

/* Where hardware events happened. */
struct counter_place {
	uint64_t time_ns; /* since the first execve; before sample_copy: CLOCK_MONOTONIC */
	uint64_t offset;
	uint64_t period;         /* events that it stands for */
	uint32_t thread, module; /* rows of the profile */
	uint32_t event;          /* as in the counter_sample */
};

/* What has been played so far. */
struct played {
	struct profile *profile; /* times are CLOCK_MONOTONIC */
	struct counter_place *places;
	size_t n_places, cap_places;
};

struct perf_maps;
struct sample_player;
/* `names`: of code made at run time, not owned.  NULL when memory is short. */
struct sample_player *sample_player_create(struct perf_maps *names);
void sample_player_destroy(struct sample_player *player);

/* Plays one event; events come in the order of their times.  Samples are read from `store`.  An
 * error says that memory is short: something of the event is missing then. */
struct rf_error *sample_player_play(struct sample_player *player, const struct event *event,
				    const struct sample_store *store);

/* What has been played; valid until the player is destroyed. */
struct played *sample_player_result(struct sample_player *player);
