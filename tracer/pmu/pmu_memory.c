/* Bytes of memory that the program moves: by a group of resctrl, or as its share of what the memory
 * controllers count in each slice of time. */
#include "tracer/pmu/pmu_memory.h"

#include "tracer/pmu/counters_read.h"
#include "tracer/pmu/resctrl.h"
#include "tracer/pmu/uncore.h"

#include <stdio.h>
#include <stdlib.h>

struct pmu_memory {
	const char *root;
	struct resctrl_group *group; /* NULL: by the controllers */
	struct uncore_counters *controllers;
	struct counters *clock;    /* CPU time of the program and its children */
	struct uncore_bytes bytes; /* at the end of the last slice */
	uint64_t busy_ns;
	double program_ns;
	struct uncore_share read, written;
	double least_share;
	struct rf_error *error; /* the first, of reading */
};

/* ---- what there is ---- */

struct rf_error *pmu_memory_probe(const char *root)
{
	struct uncore uncore = {0};
	struct rf_error *no_group = resctrl_probe(root);
	if (!no_group)
		return NULL;
	struct rf_error *error = uncore_find(root, &uncore);
	if (!error && !uncore_is_complete(&uncore))
		error = rf_error_create(RF_EUNAVAILABLE, NULL,
					"the memory controllers' PMUs have no events for bytes");
	uncore_deinit(&uncore);
	struct rf_error *both = error ? rf_error_create(RF_EUNAVAILABLE, NULL, "%s; %s",
							no_group->message, error->message)
				      : NULL;
	rf_error_destroy(no_group);
	rf_error_destroy(error);
	return both;
}

/* ---- the controllers ---- */

static struct rf_error *open_clock(struct pmu_memory *memory, const struct perf_source *source,
				   pid_t pid)
{
	const struct counter_event clock = {
		.attr = {.type = PERF_TYPE_SOFTWARE,
			 .size = sizeof(clock.attr),
			 .config = PERF_COUNT_SW_TASK_CLOCK},
		.name = "the program's CPU time",
		.wish = {.fixed = -1},
	};
	const struct counter_limits none = {0};
	const struct counter_options options = {.pid = pid, .n_cpus = 1};
	return counters_open(source, &clock, 1, &none, &options, &memory->clock);
}

static struct rf_error *start_controllers(struct pmu_memory *memory,
					  const struct perf_source *source, pid_t pid)
{
	struct uncore uncore = {0};
	struct rf_error *error = uncore_find(memory->root, &uncore);
	if (!error)
		error = uncore_open(source, &uncore, &memory->controllers);
	uncore_deinit(&uncore);
	if (!error)
		error = uncore_read(memory->controllers, &memory->bytes);
	if (!error && !uncore_busy_ns(memory->root, &memory->busy_ns))
		error = rf_error_create(RF_EUNAVAILABLE, NULL,
					"/proc/stat does not tell the CPU time of all");
	return error ? error : open_clock(memory, source, pid);
}

struct rf_error *pmu_memory_start(const struct perf_source *source, const char *root, pid_t pid,
				  struct pmu_memory **out)
{
	struct pmu_memory *memory = calloc(1, sizeof(*memory));
	*out = NULL;
	if (!memory)
		return rf_error_no_memory();
	memory->root = root;
	memory->least_share = 1;
	struct rf_error *error = resctrl_probe(root);
	if (!error)
		error = resctrl_group_create(root, pid, &memory->group);
	if (error) {
		rf_error_destroy(error);
		error = start_controllers(memory, source, pid);
	}
	if (error)
		pmu_memory_destroy(memory);
	else
		*out = memory;
	return error;
}

void pmu_memory_tick(struct pmu_memory *memory)
{
	struct uncore_bytes now;
	struct counter_total clock;
	uint64_t busy_ns;
	if (!memory || memory->group || memory->error)
		return;
	memory->error = uncore_read(memory->controllers, &now);
	if (!memory->error)
		memory->error = counters_total(memory->clock, 0, &clock);
	if (memory->error || !uncore_busy_ns(memory->root, &busy_ns))
		return;
	const double program_ns = clock.value - memory->program_ns;
	/* ticks of the system's clock are 10 ms apart: a slice has to be longer */
	const double all_ns = (double)(busy_ns - memory->busy_ns);
	if (busy_ns <= memory->busy_ns)
		return;
	uncore_share_add(&memory->read, now.read - memory->bytes.read, program_ns, all_ns);
	uncore_share_add(&memory->written, now.written - memory->bytes.written, program_ns, all_ns);
	memory->least_share = now.share < memory->least_share ? now.share : memory->least_share;
	memory->bytes = now;
	memory->busy_ns = busy_ns;
	memory->program_ns = clock.value;
}

/* ---- into the profile ---- */

static struct rf_error *save_group(struct pmu_memory *memory, struct profile *profile)
{
	struct resctrl_bytes bytes;
	struct rf_error *error = resctrl_group_read(memory->group, &bytes);
	if (error)
		return error;
	const struct profile_counter counter = {
		.multiplier = 1,
		.use = bytes.unavailable ? COUNTER_BELOW : COUNTER_USED,
		.events = (double)bytes.total,
		.share = 1,
		.missing = 1,
	};
	return profile_add_counter(profile, "memory_bytes", "resctrl mbm_total_bytes", &counter,
				   bytes.unavailable ? "some caches gave no number" : "");
}

static struct rf_error *save_share(const struct pmu_memory *memory,
				   const struct uncore_share *share, const char *quantity,
				   struct profile *profile)
{
	char why[160];
	const struct profile_counter counter = {
		.multiplier = 1,
		.use = COUNTER_IN_TURNS,
		.events = share->bytes > 0 ? share->bytes : 0,
		.share = memory->least_share,
		.missing = 1,
	};
	snprintf(why, sizeof(why),
		 "the program's share by time slices of what the machine moved; for %.0f %% of it "
		 "the program was alone",
		 share->all > 0 ? 100 * share->alone / share->all : 0);
	return profile_add_counter(profile, quantity, "memory controllers", &counter, why);
}

struct rf_error *pmu_memory_save(struct pmu_memory *memory, struct profile *profile)
{
	if (!memory)
		return NULL;
	if (memory->group)
		return save_group(memory, profile);
	pmu_memory_tick(memory);
	if (memory->error) {
		struct rf_error *error = memory->error;
		memory->error = NULL;
		return error;
	}
	struct rf_error *error = save_share(memory, &memory->read, "memory_read_bytes", profile);
	return error ? error : save_share(memory, &memory->written, "memory_write_bytes", profile);
}

void pmu_memory_destroy(struct pmu_memory *memory)
{
	if (!memory)
		return;
	resctrl_group_destroy(memory->group);
	uncore_close(memory->controllers);
	counters_destroy(memory->clock);
	rf_error_destroy(memory->error);
	free(memory);
}
