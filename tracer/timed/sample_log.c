#include "tracer/timed/sample_log.h"

#include "base/array.h"
#include "tracer/process/mappings.h"
#include "tracer/process/perf_maps.h"
#include "tracer/timed/sample_store.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_FRAMES = 128, MAX_STACK = 1 << 16 };

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
	uint64_t time;
	uint32_t order; /* of arrival: decides between equal times */
	uint32_t pid, tid;
	uint8_t kind;
	union {
		uint32_t sample;
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

struct sample_log {
	size_t limit;
	struct event *events;
	size_t n_events, cap_events;
	uint32_t n_arrived;
	struct sample_store *store;
	struct module_files *files;
	struct mappings *mappings;
	struct unwinder *unwinder;
	struct perf_maps *names;      /* of code made at run time */
	struct counter_place *places; /* rows of `played` until they are copied, times absolute */
	size_t n_places, cap_places;
	struct profile *played; /* what has been played so far; times are absolute */
	uint64_t start;         /* time of the first execve */
	uint64_t n_samples, lost, throttled;
	bool out_of_memory;
	uint8_t stack[MAX_STACK];
};

struct sample_log *sample_log_create(size_t limit)
{
	struct sample_log *log = calloc(1, sizeof(*log));
	if (!log)
		return NULL;
	log->limit = limit;
	log->store = sample_store_create();
	log->files = module_files_create();
	log->mappings = mappings_create();
	log->unwinder = unwinder_create();
	log->names = perf_maps_create();
	log->played = profile_create();
	if (log->store && log->files && log->mappings && log->unwinder && log->names && log->played)
		return log;
	sample_log_destroy(log);
	return NULL;
}

void sample_log_destroy(struct sample_log *log)
{
	if (!log)
		return;
	free(log->events);
	free(log->places);
	sample_store_destroy(log->store);
	mappings_destroy(log->mappings);
	module_files_destroy(log->files);
	unwinder_destroy(log->unwinder);
	perf_maps_destroy(log->names);
	profile_destroy(log->played);
	free(log);
}

void sample_log_lost(struct sample_log *log, uint64_t n)
{
	log->lost += n;
}

uint64_t sample_log_n_samples(const struct sample_log *log)
{
	return log->n_samples;
}

/* --- arrival --- */

static void add_event(struct sample_log *log, const struct perf_record *record, struct event *event)
{
	event->time = record->time;
	event->order = log->n_arrived++;
	event->pid = record->pid;
	event->tid = record->tid;
	if (!rf_array_push(log->events, log->n_events, log->cap_events, *event))
		log->out_of_memory = true;
}

static void arrive_sample(struct sample_log *log, const struct sampler *sampler,
			  const struct perf_record *record)
{
	struct raw_sample sample = {
		.regs = record->regs,
		.weight_ns = record->period,
		.stack_size = record->has_regs ? (uint16_t)record->stack_size : 0,
	};
	/* Now and not when it is played: the code cache changes while the program runs. */
	if (sampler->map)
		sample.regs.ip =
			sampler->map(sampler->map_context, (pid_t)record->tid, sample.regs.ip);
	struct event event = {.kind = EVENT_SAMPLE};
	event.sample = sample_store_add(log->store, &sample, record->stack);
	if (event.sample == UINT32_MAX) {
		log->lost++;
		return;
	}
	log->n_samples++;
	add_event(log, record, &event);
}

void sample_log_counter(struct sample_log *log, const struct sampler *sampler,
			const struct counter_sample *sample)
{
	const struct perf_record record = {.time = sample->time,
					   .pid = sample->pid,
					   .tid = sample->tid};
	struct event event = {.kind = EVENT_COUNTER};
	if (sampler->only_pid && sample->pid != sampler->only_pid)
		return;
	event.counter.ip =
		sampler->map ? sampler->map(sampler->map_context, (pid_t)sample->tid, sample->ip)
			     : sample->ip;
	event.counter.period = sample->period;
	event.counter.event = sample->event;
	add_event(log, &record, &event);
}

static bool is_anonymous(const struct module_file *file)
{
	return strcmp(file->path, "[anon]") == 0;
}

static void arrive_mapping(struct sample_log *log, const struct perf_record *record)
{
	struct event event = {
		.kind = EVENT_MAPPING,
		.mapping = {record->start, record->start + record->length, record->file_offset,
			    module_files_get(log->files, record)},
	};
	if (event.mapping.file && is_anonymous(event.mapping.file))
		perf_maps_watch(log->names, record->pid);
	if (event.mapping.file)
		add_event(log, record, &event);
	else
		log->out_of_memory = true;
}

static void arrive_comm(struct sample_log *log, const struct perf_record *record)
{
	bool exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
	struct event event = {.kind = exec ? EVENT_EXEC : EVENT_COMM};
	strncpy(event.name, record->path, sizeof(event.name) - 1);
	if (exec && (!log->start || record->time < log->start))
		log->start = record->time;
	add_event(log, record, &event);
}

/* What says which process it is about. */
static bool is_of_process(uint32_t type)
{
	return type == PERF_RECORD_SAMPLE || type == PERF_RECORD_MMAP2 ||
	       type == PERF_RECORD_COMM || type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT;
}

void sample_log_record(struct sample_log *log, const struct sampler *sampler,
		       const struct perf_record *record)
{
	struct event event = {.kind = record->type == PERF_RECORD_EXIT ? EVENT_EXIT : EVENT_FORK};
	if (sampler->only_pid && record->pid != sampler->only_pid && is_of_process(record->type))
		return;
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		arrive_sample(log, sampler, record);
		break;
	case PERF_RECORD_MMAP2:
		arrive_mapping(log, record);
		break;
	case PERF_RECORD_COMM:
		arrive_comm(log, record);
		break;
	case PERF_RECORD_FORK:
		perf_maps_fork(log->names, record->parent_pid, record->pid);
		event.parent.pid = record->parent_pid;
		event.parent.tid = record->parent_tid;
		add_event(log, record, &event);
		break;
	case PERF_RECORD_EXIT:
		add_event(log, record, &event);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		log->lost += record->lost;
		break;
	case PERF_RECORD_THROTTLE:
		log->throttled++;
		break;
	default:
		break;
	}
}

/* --- playing --- */

/* Names of threads go by the last one seen; a new thread has its parent's. */
static void name_thread(struct sample_log *log, uint32_t pid, uint32_t tid, const char *name)
{
	uint32_t row = profile_thread(log->played, RUN_TIMED, (int)pid, (int)tid, name);
	if (row == PROFILE_NONE)
		return;
	struct profile_thread *thread = &log->played->threads[row];
	if (strcmp(thread->name, name) == 0)
		return;
	char *copy = strdup(name);
	if (!copy)
		return;
	free(thread->name);
	thread->name = copy;
}

/* The row of a process; a new one has no parent. */
static struct profile_process *process_of(struct sample_log *log, uint32_t pid)
{
	uint32_t row = profile_process(log->played, RUN_TIMED, (int)pid, PROFILE_NONE);
	if (row == PROFILE_NONE)
		log->out_of_memory = true;
	return row == PROFILE_NONE ? NULL : &log->played->processes[row];
}

static void name_process(struct sample_log *log, uint32_t pid, const char *name)
{
	profile_process_command(log->played, profile_find_process(log->played, RUN_TIMED, (int)pid),
				name);
}

static void play_birth(struct sample_log *log, const struct event *event)
{
	struct profile *profile = log->played;
	if (!process_of(log, event->parent.pid))
		return;
	uint32_t parent = profile_find_process(profile, RUN_TIMED, (int)event->parent.pid);
	size_t before = profile->n_processes;
	uint32_t row = profile_process(profile, RUN_TIMED, (int)event->pid, parent);
	if (row == PROFILE_NONE || profile->n_processes == before)
		return;
	struct profile_process *process = &profile->processes[row];
	process->start_ns = event->time;
	process->module = profile->processes[parent].module;
	profile_process_command(profile, row, profile->processes[parent].command);
}

static void play_exec(struct sample_log *log, const struct event *event)
{
	struct profile_process *process = process_of(log, event->pid);
	mappings_exec(log->mappings, event->pid);
	if (!process)
		return;
	process->execs++;
	process->module = PROFILE_NONE; /* until its first mapping is seen */
	if (!process->start_ns)
		process->start_ns = event->time;
}

/* The kernel maps the executable before anything else (load_elf_binary in fs/binfmt_elf.c). */
static void play_mapping(struct sample_log *log, const struct event *event)
{
	const struct module_file *file = event->mapping.file;
	uint32_t row = profile_find_process(log->played, RUN_TIMED, (int)event->pid);
	if (!mappings_add(log->mappings, event->pid, &event->mapping))
		log->out_of_memory = true;
	if (row != PROFILE_NONE && file->has_file &&
	    log->played->processes[row].module == PROFILE_NONE)
		log->played->processes[row].module =
			profile_module(log->played, file->path, file->build_id);
}

static void play_fork(struct sample_log *log, const struct event *event)
{
	if (event->pid != event->parent.pid) {
		if (!mappings_fork(log->mappings, event->parent.pid, event->pid))
			log->out_of_memory = true;
		play_birth(log, event);
	}
	uint32_t parent = profile_thread(log->played, RUN_TIMED, (int)event->parent.pid,
					 (int)event->parent.tid, "");
	if (parent != PROFILE_NONE)
		name_thread(log, event->pid, event->tid, log->played->threads[parent].name);
}

/* Names for code outside of every known mapping. */
static const char *unmapped_name(uint64_t address)
{
	/* Fixed by the ABI: Documentation/arch/x86/x86_64/mm.rst. */
	if ((address & ~(uint64_t)4095) == 0xffffffffff600000u)
		return "[vsyscall]";
	/* sampler_map_fn: code of rfprof's own in the program. */
	return address ? "[unknown]" : PROFILE_OWN_MODULE;
}

/* The module of code in memory without a file: by its function's name where the program has told
 * it. */
static uint32_t made_at_run_time(struct sample_log *log, uint32_t pid, uint64_t address,
				 uint64_t *offset)
{
	uint64_t start;
	uint32_t module;
	const char *name = perf_maps_find(log->names, pid, address, &start);
	if (!name)
		return profile_module(log->played, "[anon]", "");
	uint64_t inside = address - start;
	*offset = profile_jit_function(log->played, name, &module) +
		  (inside < PROFILE_JIT_STRIDE ? inside : PROFILE_JIT_STRIDE - 1);
	return module;
}

/* The module of an address and where in it. */
static uint32_t place_of(struct sample_log *log, uint32_t pid, uint64_t address, uint64_t *offset)
{
	const struct mapping *mapping = mappings_find(log->mappings, pid, address);
	*offset = mapping ? mapping_offset(mapping, address) : address;
	if (!mapping)
		return profile_module(log->played, unmapped_name(address), "");
	if (is_anonymous(mapping->file))
		return made_at_run_time(log, pid, address, offset);
	return profile_module(log->played, mapping->file->path, mapping->file->build_id);
}

static uint32_t frame_of(struct sample_log *log, uint32_t parent, uint32_t pid, uint64_t address)
{
	uint64_t offset;
	const uint32_t module = place_of(log, pid, address, &offset);
	if (module == PROFILE_NONE)
		return PROFILE_NONE;
	return profile_frame(log->played, parent, module, offset);
}

static uint32_t unwind(struct sample_log *log, uint32_t pid, const struct raw_sample *sample)
{
	uint64_t addresses[MAX_FRAMES] = {sample->regs.ip};
	size_t n = 1, n_view;
	const struct unwind_mapping *view = mappings_view(log->mappings, pid, &n_view);
	if (sample->stack_size && n_view)
		n = unwinder_walk(log->unwinder, &sample->regs, log->stack, sample->stack_size,
				  view, n_view, addresses, MAX_FRAMES);
	uint32_t frame = PROFILE_NONE;
	for (size_t i = n; i > 0; i--) {
		frame = frame_of(log, frame, pid, addresses[i - 1]);
		if (frame == PROFILE_NONE)
			return PROFILE_NONE;
	}
	return frame;
}

static void play_sample(struct sample_log *log, const struct event *event)
{
	struct raw_sample raw;
	sample_store_get(log->store, event->sample, &raw, log->stack);
	struct profile *to = log->played;
	struct profile_sample sample = {
		.thread = profile_thread(to, RUN_TIMED, (int)event->pid, (int)event->tid, ""),
		.time_ns = event->time,
		.weight_ns = raw.weight_ns,
		.frame = unwind(log, event->pid, &raw),
	};
	if (sample.thread == PROFILE_NONE || sample.frame == PROFILE_NONE ||
	    !rf_array_push(to->samples, to->n_samples, to->cap_samples, sample))
		log->out_of_memory = true;
}

static void play_counter(struct sample_log *log, const struct event *event)
{
	struct counter_place place = {
		.time_ns = event->time,
		.period = event->counter.period,
		.thread = profile_thread(log->played, RUN_TIMED, (int)event->pid, (int)event->tid,
					 ""),
		.event = event->counter.event,
	};
	place.module = place_of(log, event->pid, event->counter.ip, &place.offset);
	if (place.thread == PROFILE_NONE || place.module == PROFILE_NONE ||
	    !rf_array_push(log->places, log->n_places, log->cap_places, place))
		log->out_of_memory = true;
}

/* Of each thread; the last one is the process's. */
static void play_exit(struct sample_log *log, const struct event *event)
{
	uint32_t row = profile_find_process(log->played, RUN_TIMED, (int)event->pid);
	if (row != PROFILE_NONE)
		log->played->processes[row].end_ns = event->time;
}

static void play(struct sample_log *log, const struct event *event)
{
	switch (event->kind) {
	case EVENT_SAMPLE:
		play_sample(log, event);
		break;
	case EVENT_COUNTER:
		play_counter(log, event);
		break;
	case EVENT_MAPPING:
		play_mapping(log, event);
		break;
	case EVENT_EXEC:
		play_exec(log, event);
		/* fall through */
	case EVENT_COMM:
		name_thread(log, event->pid, event->tid, event->name);
		if (event->pid == event->tid)
			name_process(log, event->pid, event->name);
		break;
	case EVENT_EXIT:
		play_exit(log, event);
		break;
	case EVENT_FORK:
		play_fork(log, event);
		break;
	}
}

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
		if (event.kind == EVENT_SAMPLE) {
			struct raw_sample sample;
			sample_store_get(log->store, event.sample, &sample, log->stack);
			event.sample = sample_store_add(fresh, &sample, log->stack);
			if (event.sample == UINT32_MAX) {
				log->lost++;
				continue;
			}
		}
		log->events[n++] = event;
	}
	log->n_events = n;
	sample_store_destroy(log->store);
	log->store = fresh;
}

/* Plays the records before `until`, in the order of their times. */
static void play_until(struct sample_log *log, uint64_t until)
{
	if (log->n_events)
		qsort(log->events, log->n_events, sizeof(*log->events), compare_events);
	size_t n = 0;
	perf_maps_refresh(log->names);
	while (n < log->n_events && log->events[n].time < until)
		play(log, &log->events[n++]);
	log->n_events -= n;
	if (log->n_events)
		memmove(log->events, log->events + n, log->n_events * sizeof(*log->events));
	renew_store(log);
}

void sample_log_complete_until(struct sample_log *log, uint64_t time)
{
	perf_maps_look(log->names);
	if (sample_store_size(log->store) + log->n_events * sizeof(*log->events) > log->limit)
		play_until(log, time);
}

/* --- into the profile --- */

/* For each row of `log->played` the row in the caller's profile. */
struct rows {
	uint32_t *modules, *threads, *frames;
};

static uint64_t since(uint64_t start, uint64_t time)
{
	return time > start ? time - start : 0;
}

static bool copy_process(const struct profile *from, const struct profile_process *row,
			 struct profile *to, const struct rows *rows, uint64_t start)
{
	const bool first = row == from->processes;
	/* the fall-back sampler does not see every birth: such a process stands under the first */
	const struct profile_process *above =
		row->parent == PROFILE_NONE ? from->processes : &from->processes[row->parent];
	uint32_t parent = first ? PROFILE_NONE : profile_find_process(to, RUN_TIMED, above->pid);
	uint32_t copy = profile_process(to, RUN_TIMED, row->pid, parent);
	if (copy == PROFILE_NONE)
		return false;
	struct profile_process *process = &to->processes[copy];
	process->birth = first ? BIRTH_FIRST : BIRTH_UNKNOWN;
	process->execs = row->execs;
	process->module = row->module == PROFILE_NONE ? PROFILE_NONE : rows->modules[row->module];
	process->start_ns = since(start, row->start_ns);
	process->end_ns = since(start, row->end_ns);
	profile_process_command(to, copy, row->command);
	return true;
}

/* A function made at run time has another place in each profile. */
static uint64_t move_jit(const struct profile *from, uint64_t offset, struct profile *to,
			 uint32_t *module)
{
	const char *name = from->functions[offset / PROFILE_JIT_STRIDE - 1].name;
	return profile_jit_function(to, name, module) + offset % PROFILE_JIT_STRIDE;
}

static bool copy_rows(const struct profile *from, struct profile *to, struct rows *rows,
		      uint64_t start)
{
	for (size_t i = 0; i < from->n_modules; i++) {
		const struct profile_module *row = &from->modules[i];
		rows->modules[i] = profile_module(to, row->path, row->build_id);
		if (rows->modules[i] == PROFILE_NONE)
			return false;
	}
	for (size_t i = 0; i < from->n_threads; i++) {
		const struct profile_thread *row = &from->threads[i];
		rows->threads[i] = profile_thread(to, RUN_TIMED, row->pid, row->tid, row->name);
		if (rows->threads[i] == PROFILE_NONE)
			return false;
	}
	for (size_t i = 0; i < from->n_processes; i++)
		if (!copy_process(from, &from->processes[i], to, rows, start))
			return false;
	/* A frame's parent always comes before it. */
	for (size_t i = 0; i < from->n_frames; i++) {
		const struct profile_frame *row = &from->frames[i];
		uint32_t parent =
			row->parent == PROFILE_NONE ? PROFILE_NONE : rows->frames[row->parent];
		uint32_t module = rows->modules[row->module];
		uint64_t offset = row->offset;
		if (strcmp(from->modules[row->module].path, "[jit]") == 0)
			offset = move_jit(from, row->offset, to, &module);
		rows->frames[i] = module == PROFILE_NONE
					  ? PROFILE_NONE
					  : profile_frame(to, parent, module, offset);
		if (rows->frames[i] == PROFILE_NONE)
			return false;
	}
	return true;
}

static bool copy_samples(const struct profile *from, struct profile *to, const struct rows *rows,
			 uint64_t start)
{
	for (size_t i = 0; i < from->n_samples; i++) {
		struct profile_sample sample = from->samples[i];
		sample.thread = rows->threads[sample.thread];
		sample.frame = rows->frames[sample.frame];
		sample.time_ns = since(start, sample.time_ns);
		if (!rf_array_push(to->samples, to->n_samples, to->cap_samples, sample))
			return false;
	}
	return true;
}

static bool copy_places(struct sample_log *log, struct profile *to, const struct rows *rows)
{
	for (size_t i = 0; i < log->n_places; i++) {
		struct counter_place *place = &log->places[i];
		const bool jit = strcmp(log->played->modules[place->module].path, "[jit]") == 0;
		uint32_t module = rows->modules[place->module];
		if (jit)
			place->offset = move_jit(log->played, place->offset, to, &module);
		if (module == PROFILE_NONE)
			return false;
		place->module = module;
		place->thread = rows->threads[place->thread];
		place->time_ns = since(log->start, place->time_ns);
	}
	return true;
}

static bool copy_played(struct sample_log *log, struct profile *to)
{
	const struct profile *from = log->played;
	struct rows rows = {
		calloc(from->n_modules + 1, sizeof(uint32_t)),
		calloc(from->n_threads + 1, sizeof(uint32_t)),
		calloc(from->n_frames + 1, sizeof(uint32_t)),
	};
	bool done = rows.modules && rows.threads && rows.frames &&
		    copy_rows(from, to, &rows, log->start) &&
		    copy_samples(from, to, &rows, log->start) && copy_places(log, to, &rows);
	free(rows.modules);
	free(rows.threads);
	free(rows.frames);
	return done;
}

static uint64_t mean_weight(const struct profile *profile)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < profile->n_samples; i++)
		sum += profile->samples[i].weight_ns;
	return profile->n_samples ? sum / profile->n_samples : 0;
}

struct rf_error *sample_log_finish(struct sample_log *log, const char *source, uint64_t period_ns,
				   struct profile *profile)
{
	play_until(log, UINT64_MAX);
	if (!copy_played(log, profile) || log->out_of_memory)
		return rf_error_create(RF_EINTERNAL, "profile a shorter run",
				       "out of memory for the samples of the timed run");
	profile_set_fact(profile, "time_source", "%s", source);
	profile_set_fact(profile, "lost_samples", "%" PRIu64, log->lost);
	profile_set_fact(profile, "throttled_samples", "%" PRIu64, log->throttled);
	profile_set_fact(profile, "sample_period_ns", "%" PRIu64,
			 period_ns ? period_ns : mean_weight(log->played));
	return NULL;
}

const struct counter_place *sample_log_counters(const struct sample_log *log, size_t *n)
{
	*n = log->n_places;
	return log->places;
}
