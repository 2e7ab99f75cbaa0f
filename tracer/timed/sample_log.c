/* The record log of a timed run: records come in from the samplers' rings, are kept, and are played
 * in the order of their times at the end, or before when they take too much memory. */
#include "tracer/timed/sample_log.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/search.h"
#include "profile/kernel_names.h"
#include "tracer/process/module_file.h"
#include "tracer/process/perf_maps.h"
#include "tracer/schedule/schedule_rows.h"
#include "tracer/span/breakpoints.h"
#include "tracer/timed/kernel_chains.h"
#include "tracer/timed/late_ticks.h"
#include "tracer/timed/python_samples.h"
#include "tracer/timed/sample_notes.h"
#include "tracer/timed/sample_store.h"
#include "tracer/timed/wait_looks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Beyond this the raw samples are played while the program runs. */
static const size_t SAMPLE_MEMORY = (size_t)512 << 20;

/* Records played at a time where others write to the profile, and the pause for them behind it. */
enum { TURN = 64, TURN_PAUSE_US = 100 };

/* Between two looks at what the kernel tells of threads and memory. */
enum { LOOK_NS = 9000000 };
/* Bytes of stack of a thread that is looked at. */
enum { LOOK_STACK = 4096 };
/* What a time or a sum can be in a profile (36 years of nanoseconds): the program can write any
 * number into the rings that it shares with rfprof. */
#define MOST (UINT64_C(1) << 60)

struct sample_log {
	struct profile *profile;
	struct event *events;
	size_t n_events, cap_events;
	uint32_t n_arrived;
	struct sample_store *store;
	struct module_files *files;
	struct perf_maps *names; /* of code made at run time */
	struct kernel_chains *chains;
	struct late_ticks *late;
	struct schedule *schedule;
	struct usage_memory *memory;
	struct python_stacks *python;
	struct sample_player *player;
	uint64_t start;  /* time of the first execve */
	uint64_t looked; /* when the files of processes were looked at last */
	uint64_t lost, throttled;
	uint64_t weight_ns, n_weights; /* of all samples, and how many they are */
	double squares;                /* the sum of their weights' squares */
	/* Memory was short when a record came or was played.  Nobody could be told then, in the
	 * reader's thread: sample_log_finish says so. */
	struct rf_error *failed;
	uint8_t stack[UINT16_MAX + 1];
};

static bool create_parts(struct sample_log *log, struct kept_store *kept)
{
	log->store = sample_store_create();
	log->files = module_files_create();
	log->names = perf_maps_create();
	log->chains = kernel_chains_create(kept);
	log->late = late_ticks_create();
	log->schedule = schedule_create();
	log->memory = usage_memory_create();
	log->python = python_stacks_create();
	return log->store && log->files && log->names && log->chains && log->late &&
	       log->schedule && log->memory && log->python;
}

struct sample_log *sample_log_create(struct profile *profile, struct kept_store *kept)
{
	struct sample_log *log = calloc(1, sizeof(*log));
	if (!log)
		return NULL;
	log->profile = profile;
	if (create_parts(log, kept)) {
		const struct sample_sources sources = {log->names, log->chains, log->schedule,
						       log->python};
		log->player = sample_player_create(&sources, profile);
	}
	if (log->player)
		return log;
	sample_log_destroy(log);
	return NULL;
}

void sample_log_destroy(struct sample_log *log)
{
	if (!log)
		return;
	free(log->events);
	sample_store_destroy(log->store);
	sample_player_destroy(log->player);
	module_files_destroy(log->files);
	perf_maps_destroy(log->names);
	kernel_chains_destroy(log->chains);
	late_ticks_destroy(log->late);
	schedule_destroy(log->schedule);
	usage_memory_destroy(log->memory);
	python_stacks_destroy(log->python);
	rf_error_destroy(log->failed);
	free(log);
}

static void note_failure(struct sample_log *log, struct rf_error *error)
{
	if (log->failed)
		rf_error_destroy(error);
	else
		log->failed = error;
}

void sample_log_lost(struct sample_log *log, uint64_t n)
{
	log->lost = n < MOST - log->lost ? log->lost + n : MOST;
}

/* --- arrival --- */

static void add_event(struct sample_log *log, const struct perf_record *record, struct event *event)
{
	event->time = record->time;
	event->order = log->n_arrived++;
	event->pid = record->pid;
	event->tid = record->tid;
	if (!rf_array_push(log->events, log->n_events, log->cap_events, *event))
		note_failure(log, rf_error_no_memory());
}

/* Now and not when it is played: the code cache changes while the program runs. */
static void map_place(const struct sampler *sampler, uint32_t tid, uint64_t *ip, uint64_t wait_sp)
{
	if (sampler->map)
		*ip = sampler->map(sampler->map_context, (pid_t)tid, *ip, wait_sp);
}

static struct raw_sample raw_sample_of(const struct sampler *sampler,
				       const struct perf_record *record)
{
	struct sample_log *log = sampler->log;
	const unsigned mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	const bool kernel = mode == PERF_RECORD_MISC_KERNEL;
	/* the fall-back sampler takes no part in the kernel's time */
	const enum late_tick late =
		kernel || !sampler->tells_switches ? LATE_NOT : late_ticks_tell(log->late, record);
	return (struct raw_sample){
		.regs = record->regs,
		.chain = kernel || late == LATE_CALL
				 ? kernel_chains_add(log->chains, record->chain, record->n_chain)
				 : 0,
		.offset = late == LATE_FAULT ? KERNEL_FAULT : 0,
		.in_call = record->has_regs && record->cx == record->regs.ip,
		.has_stack = record->has_regs,
		.stack_size = record->has_regs ? (uint16_t)record->stack_size : 0,
	};
}

static void arrive_sample(struct sample_log *log, const struct sampler *sampler,
			  const struct perf_record *record)
{
	struct raw_sample sample = raw_sample_of(sampler, record);
	if (sampler->skips_kernel && (sample.chain || sample.offset))
		return;
	sample.weight_ns = record->period;
	map_place(sampler, record->tid, &sample.regs.ip, 0);
	struct event event = {.kind = EVENT_SAMPLE, .sample = {.number = UINT32_MAX}};
	if (record->period <= MOST - log->weight_ns)
		event.sample.number = sample_store_add(log->store, &sample, record->stack);
	if (event.sample.number == UINT32_MAX) {
		sample_log_lost(log, 1);
		return;
	}
	log->weight_ns += record->period;
	log->n_weights++;
	log->squares += (double)record->period * (double)record->period;
	add_event(log, record, &event);
}

/* ---- switches ---- */

static void note_schedule(struct sample_log *log, enum schedule_kind kind,
			  const struct perf_record *record, uint32_t wait)
{
	if (!schedule_record(log->schedule, kind, record->time, record->pid, record->tid, wait))
		note_failure(log, rf_error_no_memory());
}

static void arrive_switch(struct sample_log *log, const struct perf_record *record)
{
	const bool out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
	const bool preempted = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	note_schedule(log,
		      !out        ? SCHEDULE_RUNS
		      : preempted ? SCHEDULE_READY
				  : SCHEDULE_WAITS,
		      record, 0);
}

void sample_log_windows(const struct sampler *sampler, bool gap)
{
	struct sample_log *log = sampler->log;
	/* what threads did in a window is known best if the kernel's sums are of its end */
	if (gap)
		schedule_look(log->schedule);
	const struct perf_record now = {.time = clock_now_ns()};
	note_schedule(log, gap ? SCHEDULE_GAP : SCHEDULE_WINDOW, &now, 0);
}

void sample_log_switch(const struct sampler *sampler, const struct perf_record *record)
{
	struct sample_log *log = sampler->log;
	struct raw_sample sample = raw_sample_of(sampler, record);
	struct event event = {.kind = EVENT_WAIT};
	if ((sampler->only_pid && record->pid != sampler->only_pid) || record->time > MOST)
		return;
	map_place(sampler, record->tid, &sample.regs.ip, sample.regs.sp);
	/* the kernel, which the event is in, is not always its place: it says that of the program
	 */
	if (!sample.chain)
		sample.chain = kernel_chains_add(log->chains, record->chain, record->n_chain);
	event.sample.wait = schedule_add_wait(log->schedule);
	event.sample.number = event.sample.wait == UINT32_MAX
				      ? UINT32_MAX
				      : sample_store_add(log->store, &sample, record->stack);
	if (event.sample.number == UINT32_MAX) {
		note_failure(log, rf_error_no_memory());
		return;
	}
	note_schedule(log, SCHEDULE_WAIT_SAMPLE, record, event.sample.wait);
	add_event(log, record, &event);
}

void sample_log_fault(const struct sampler *sampler, const struct perf_record *record, uint64_t n)
{
	struct sample_log *log = sampler->log;
	struct raw_sample sample = {
		.regs = record->regs,
		.weight_ns = n,
		.has_stack = record->has_regs,
		.stack_size = record->has_regs ? (uint16_t)record->stack_size : 0,
	};
	struct event event = {.kind = EVENT_FAULT};
	if ((sampler->only_pid && record->pid != sampler->only_pid) || record->time > MOST)
		return;
	if ((record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		late_ticks_add_fault(log->late, record);
	map_place(sampler, record->tid, &sample.regs.ip, 0);
	event.sample.number = sample_store_add(log->store, &sample, record->stack);
	if (event.sample.number == UINT32_MAX)
		note_failure(log, rf_error_no_memory());
	else
		add_event(log, record, &event);
}

void sample_log_counter(void *context, const struct counter_sample *sample)
{
	const struct sampler *sampler = context;
	const struct perf_record record = {.time = sample->time,
					   .pid = sample->pid,
					   .tid = sample->tid};
	struct event event = {.kind = EVENT_COUNTER};
	if (sampler->only_pid && sample->pid != sampler->only_pid)
		return;
	event.counter.ip = sample->ip;
	map_place(sampler, sample->tid, &event.counter.ip, 0);
	event.counter.period = sample->period;
	event.counter.event = sample->event;
	add_event(sampler->log, &record, &event);
}

/* Where the first byte of the file is follows from where its code is. */
static void watch_python(struct sample_log *log, const struct perf_record *record,
			 const struct module_file *file)
{
	if (!file || !file->has_file || !file->high)
		return;
	const uint64_t bias = record->start - module_file_vaddr(file, record->file_offset);
	python_stacks_watch(log->python, record->pid, file->path, bias + file->low, record->time);
}

static void arrive_mapping(struct sample_log *log, const struct perf_record *record)
{
	struct event event = {
		.kind = EVENT_MAPPING,
		.mapping = {record->start, record->start + record->length, record->file_offset,
			    module_files_get(log->files, record)},
	};
	if (event.mapping.file && event.mapping.file->is_anonymous)
		perf_maps_watch(log->names, record->pid);
	if (event.mapping.file && event.mapping.file->has_file)
		perf_maps_mapped(log->names, record->pid, event.mapping.file->path);
	watch_python(log, record, event.mapping.file);
	if (event.mapping.file)
		add_event(log, record, &event);
	else
		note_failure(log, rf_error_no_memory());
}

static void arrive_comm(struct sample_log *log, const struct sampler *sampler,
			const struct perf_record *record)
{
	bool exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
	struct event event = {.kind = exec ? EVENT_EXEC : EVENT_COMM};
	strncpy(event.name, record->path, sizeof(event.name) - 1);
	if (exec && !log->start && sampler->release_ns &&
	    record->pid == (uint32_t)sampler->first_pid) {
		struct perf_record release = *record;
		release.time = sampler->release_ns;
		note_schedule(log, SCHEDULE_BEGIN, &release, 0);
	}
	if (exec && (!log->start || record->time < log->start))
		log->start = record->time;
	if (exec) {
		python_stacks_exec(log->python, record->pid, record->time);
		note_schedule(log, SCHEDULE_BEGIN, record, 0);
		usage_memory_watch(log->memory, (pid_t)record->pid);
	}
	add_event(log, record, &event);
}

/* What says which process it is about. */
static bool is_of_process(uint32_t type)
{
	return type == PERF_RECORD_SAMPLE || type == PERF_RECORD_MMAP2 ||
	       type == PERF_RECORD_COMM || type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT ||
	       type == PERF_RECORD_SWITCH;
}

void sample_log_record(const struct sampler *sampler, const struct perf_record *record)
{
	struct sample_log *log = sampler->log;
	struct event event = {.kind = record->type == PERF_RECORD_EXIT ? EVENT_EXIT : EVENT_FORK};
	if (sampler->only_pid && record->pid != sampler->only_pid && is_of_process(record->type))
		return;
	if (record->time > MOST) {
		sample_log_lost(log, 1);
		return;
	}
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		arrive_sample(log, sampler, record);
		break;
	case PERF_RECORD_MMAP2:
		arrive_mapping(log, record);
		break;
	case PERF_RECORD_COMM:
		arrive_comm(log, sampler, record);
		break;
	case PERF_RECORD_FORK:
		perf_maps_fork(log->names, record->parent_pid, record->pid);
		python_stacks_fork(log->python, record->parent_pid, record->pid, record->time);
		event.parent.pid = record->parent_pid;
		event.parent.tid = record->parent_tid;
		note_schedule(log, SCHEDULE_BORN, record, 0);
		usage_memory_watch(log->memory, (pid_t)record->pid);
		add_event(log, record, &event);
		break;
	case PERF_RECORD_SWITCH:
		arrive_switch(log, record);
		break;
	case PERF_RECORD_EXIT:
		note_schedule(log, SCHEDULE_END, record, 0);
		add_event(log, record, &event);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		sample_log_lost(log, record->lost);
		break;
	case PERF_RECORD_THROTTLE:
		log->throttled++;
		break;
	default:
		break;
	}
}

/* --- playing --- */

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* Moves the samples that have not been played into a new store, so that the old one's memory
 * becomes free. */
static void renew_store(struct sample_log *log)
{
	struct sample_store *fresh = sample_store_create();
	if (!fresh)
		return;
	size_t n = 0;
	for (size_t i = 0; i < log->n_events; i++) {
		struct event event = log->events[i];
		if (event_has_sample(&event)) {
			struct raw_sample sample;
			sample_store_get(log->store, event.sample.number, &sample, log->stack);
			event.sample.number = sample_store_add(fresh, &sample, log->stack);
			if (event.sample.number == UINT32_MAX) {
				sample_log_lost(log, 1);
				continue;
			}
		}
		log->events[n++] = event;
	}
	log->n_events = n;
	sample_store_destroy(log->store);
	log->store = fresh;
}

/* Plays the records before `until`, in the order of their times.  Who else wants `lock` (or NULL)
 * gets it in between. */
static void play_until(struct sample_log *log, uint64_t until, pthread_mutex_t *lock)
{
	if (log->n_events)
		qsort(log->events, log->n_events, sizeof(*log->events), compare_events);
	size_t n = 0, n_ready = rf_search(log->n_events, i, log->events[i].time < until);
	perf_maps_refresh(log->names);
	if (n_ready)
		sample_player_begin(log->player, log->events, n_ready, log->store, log->files);
	while (n < log->n_events && log->events[n].time < until) {
		if (lock)
			pthread_mutex_lock(lock);
		for (int i = 0; i < TURN && n < log->n_events && log->events[n].time < until; i++)
			note_failure(log, sample_player_play(log->player, &log->events[n++],
							     log->store));
		if (lock) {
			pthread_mutex_unlock(lock);
			usleep(TURN_PAUSE_US); /* an unlocked mutex goes to who is awake */
		}
	}
	if (lock)
		pthread_mutex_lock(lock);
	note_failure(log, sample_player_join_python(log->player));
	if (lock)
		pthread_mutex_unlock(lock);
	sample_player_end(log->player);
	log->n_events -= n;
	if (log->n_events)
		memmove(log->events, log->events + n, log->n_events * sizeof(*log->events));
	renew_store(log);
}

/* Where switches are not sampled, long waits are looked at. */
static void look_at_waits(const struct sampler *sampler, uint64_t time)
{
	struct sample_log *log = sampler->log;
	uint32_t pid, tid;
	for (size_t at = 0; schedule_next_wait(log->schedule, &at, &pid, &tid);) {
		struct wait_look look;
		if (!wait_look_at(pid, tid, &look, log->stack, LOOK_STACK))
			continue;
		struct raw_sample sample = {.regs = look.regs,
					    .offset = look.place.offset,
					    .cause = look.place.cause,
					    .has_stack = true,
					    .stack_size = (uint16_t)look.stack_size};
		map_place(sampler, tid, &sample.regs.ip, sample.regs.sp);
		const struct perf_record record = {.pid = pid, .tid = tid, .time = time};
		struct event event = {.kind = EVENT_WAIT,
				      .sample = {.wait = schedule_add_wait(log->schedule)}};
		event.sample.number = event.sample.wait == UINT32_MAX
					      ? UINT32_MAX
					      : sample_store_add(log->store, &sample, log->stack);
		if (event.sample.number == UINT32_MAX)
			return;
		schedule_set_wait(log->schedule, at, event.sample.wait);
		add_event(log, &record, &event);
	}
}

static void clip(const struct sampler *sampler)
{
	if (sampler->span)
		schedule_clip(sampler->log->schedule, span_from(sampler->span),
			      span_until(sampler->span));
}

void sample_log_complete_until(const struct sampler *sampler, uint64_t until)
{
	struct sample_log *log = sampler->log;
	const uint64_t time = breakpoints_known_until(sampler->span, sampler->breakpoints, until);
	clip(sampler);
	perf_maps_look(log->names);
	schedule_play(log->schedule, time);
	if (time - log->looked > LOOK_NS) {
		schedule_look(log->schedule);
		if (sampler->skips_kernel)
			look_at_waits(sampler, time);
		usage_memory_look(log->memory);
		log->looked = time;
	}
	python_stacks_look(log->python);
	if (sample_store_size(log->store) + log->n_events * sizeof(*log->events) <= SAMPLE_MEMORY)
		return;
	sample_player_set_span(log->player, sampler->span);
	sample_player_set_ours(log->player, sampler->is_ours, sampler->ours_context);
	play_until(log, time, sampler->lock);
	python_stacks_forget(log->python, time > PYTHON_KEPT_NS ? time - PYTHON_KEPT_NS : 0);
}

bool sample_log_watches(const struct sampler *sampler)
{
	return python_stacks_watches(sampler->log->python);
}

/* --- the end --- */

/* A sum of samples has the root of the sum of their squares as its standard error. */
static void note_spread(const struct sample_log *log)
{
	const double n = (double)log->n_weights, sum = (double)log->weight_ns;
	const double spread = sum > 0 ? sqrt(n * log->squares) / sum : 1;
	if (spread > 1.005)
		profile_set_fact(log->profile, "sample_spread", "%.3f", spread);
}

/* The waits are known before they are played. */
static void finish_schedule(struct sample_log *log, const struct sampler *sampler)
{
	const struct schedule_first first = {
		.tid = (uint32_t)sampler->first_pid,
		.before = sampler->usage.before,
		.has_sums = sampler->usage.has_sums,
		.sums = sampler->usage.sums,
		.process_ns = sampler->usage.process_ns,
		.end_ns = sampler->end_ns,
	};
	schedule_finish(log->schedule, &first);
}

struct rf_error *sample_log_finish(const struct sampler *sampler, const char *source,
				   uint64_t period_ns)
{
	struct sample_log *log = sampler->log;
	struct profile *profile = log->profile;
	const bool later = sampler->span && span_from(sampler->span) > log->start;
	const uint64_t start = later ? span_from(sampler->span) : log->start;
	clip(sampler);
	finish_schedule(log, sampler);
	sample_player_set_span(log->player, sampler->span);
	sample_player_set_ours(log->player, sampler->is_ours, sampler->ours_context);
	play_until(log, UINT64_MAX, NULL);
	if (!sampler->span)
		note_failure(log, sample_player_finish_faults(log->player, sampler->n_faults));
	if (sampler->tells_switches) {
		note_failure(log, sample_player_finish_waits(log->player));
		note_failure(log, schedule_save(log->schedule, start, profile));
	}
	struct rf_error *error = log->failed;
	log->failed = NULL;
	if (error)
		return error;
	sample_notes_names(profile, log->names);
	sample_notes_python(profile, log->python);
	note_spread(log);
	sample_player_finish(log->player, start);
	if (usage_memory_peak(log->memory))
		profile_set_fact(profile, "peak_memory", "%" PRIu64,
				 usage_memory_peak(log->memory));
	profile_set_fact(profile, "time_source", "%s", source);
	profile_set_fact(profile, "lost_samples", "%" PRIu64, log->lost);
	profile_set_fact(profile, "throttled_samples", "%" PRIu64, log->throttled);
	sample_notes_period(profile, period_ns);
	return NULL;
}

uint64_t sample_log_start(const struct sample_log *log)
{
	return log->start;
}

const struct counter_place *sample_log_counters(const struct sample_log *log, size_t *n)
{
	return sample_player_places(log->player, n);
}

const char *sample_log_refused(const struct sample_log *log)
{
	return perf_maps_refused(log->names);
}
