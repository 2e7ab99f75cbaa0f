/* Playing the records of a timed run in the order of their times: mappings, names and processes
 * change, and samples are unwound in what was mapped at their time. */
#include "tracer/timed/sample_player.h"

#include "base/array.h"
#include "profile/kernel_names.h"
#include "tracer/process/perf_maps.h"
#include "tracer/span/span.h"
#include "tracer/timed/jit_places.h"
#include "tracer/timed/kernel_chains.h"
#include "tracer/timed/python_samples.h"
#include "tracer/timed/stack_reader.h"
#include "tracer/timed/wait_rows.h"
#include "tracer/timed/wait_runners.h"

#include <string.h>

enum { MAX_FRAMES = 128, MAX_STACK = 1 << 16 };

struct sample_player {
	struct sample_sources sources;
	uint64_t now; /* time of the event that is played */
	struct jit_places jit;
	struct wait_rows waits;
	struct u64_map fault_rows; /* frame and 1 → row of the profile's faults */
	struct wait_runners *runners;
	struct mappings *mappings;
	struct stack_reader *stacks; /* or NULL: not known */
	struct profile *profile;
	struct python_samples python;
	struct span *span; /* that is measured; NULL: all is */
	bool (*is_ours)(const void *context, uint32_t pid, uint64_t address, bool in_kernel);
	const void *ours_context;
	struct counter_place *places;
	size_t n_places, cap_places;
	uint8_t stack[MAX_STACK];
};

struct sample_player *sample_player_create(const struct sample_sources *sources,
					   struct profile *profile)
{
	struct sample_player *player = calloc(1, sizeof(*player));
	if (!player)
		return NULL;
	player->sources = *sources;
	player->mappings = mappings_create();
	player->runners = wait_runners_create(sources->schedule);
	player->profile = profile;
	player->python = (struct python_samples){.stacks = sources->python, .profile = profile};
	if (player->mappings && player->runners)
		return player;
	sample_player_destroy(player);
	return NULL;
}

void sample_player_destroy(struct sample_player *player)
{
	if (!player)
		return;
	mappings_destroy(player->mappings);
	stack_reader_destroy(player->stacks);
	jit_places_deinit(&player->jit);
	wait_rows_deinit(&player->waits);
	u64_map_deinit(&player->fault_rows);
	wait_runners_destroy(player->runners);
	python_samples_deinit(&player->python);
	free(player->places);
	free(player);
}

void sample_player_set_span(struct sample_player *player, struct span *span)
{
	player->span = span;
}

void sample_player_set_ours(struct sample_player *player,
			    bool (*is_ours)(const void *context, uint32_t pid, uint64_t address,
					    bool in_kernel),
			    const void *context)
{
	player->is_ours = is_ours;
	player->ours_context = context;
}

static enum span_part part_of(const struct sample_player *player, uint64_t time)
{
	return player->span ? span_part_of(player->span, time) : SPAN_IN;
}

/* What is missing when stacks cannot be unwound. */
static const char stacks_name[] = "the callers of samples";

void sample_player_begin(struct sample_player *player, const struct event *events, size_t n,
			 const struct sample_store *store, const struct module_files *files)
{
	const struct stack_batch batch = {events, n, store, player->mappings, files};
	struct rf_error *error = stack_reader_create(&batch, &player->stacks);
	if (error)
		profile_note_unread(player->profile, stacks_name, error->message);
	rf_error_destroy(error);
}

void sample_player_end(struct sample_player *player)
{
	const char *why = player->stacks ? stack_reader_failure(player->stacks) : NULL;
	if (why)
		profile_note_unread(player->profile, stacks_name, why);
	stack_reader_destroy(player->stacks);
	player->stacks = NULL;
}

struct rf_error *sample_player_join_python(struct sample_player *player)
{
	return python_samples_join(&player->python);
}

static uint64_t since(uint64_t start, uint64_t time)
{
	return time > start ? time - start : 0;
}

void sample_player_finish(struct sample_player *player, uint64_t start)
{
	struct profile *profile = player->profile;
	uint32_t first = PROFILE_NONE;
	for (uint32_t i = 0; i < profile->n_processes; i++) {
		struct profile_process *process = &profile->processes[i];
		if (process->run != RUN_TIMED)
			continue;
		process->birth = first == PROFILE_NONE ? BIRTH_FIRST : BIRTH_UNKNOWN;
		/* the fall-back sampler does not see every birth: under the first, then */
		if (process->parent == PROFILE_NONE)
			process->parent = first;
		process->start_ns = since(start, process->start_ns);
		process->end_ns = since(start, process->end_ns);
		first = first == PROFILE_NONE ? i : first;
	}
	for (size_t i = 0; i < profile->n_samples; i++)
		profile->samples[i].time_ns = since(start, profile->samples[i].time_ns);
	for (size_t i = 0; i < player->n_places; i++)
		player->places[i].time_ns = since(start, player->places[i].time_ns);
}

struct rf_error *sample_player_finish_waits(struct sample_player *player)
{
	const struct wait_rows *rows = &player->waits;
	return wait_rows_finish(&player->waits, player->profile, player->sources.schedule)
		       ?: wait_runners_finish(player->runners, player->profile, rows->row_of_wait,
					      rows->n_row_of_wait);
}

const struct counter_place *sample_player_places(const struct sample_player *player, size_t *n)
{
	*n = player->n_places;
	return player->places;
}

/* --- processes and threads --- */

/* Names of threads go by the last one seen; a new thread has its parent's. */
static struct rf_error *name_thread(struct profile *profile, uint32_t pid, uint32_t tid,
				    const char *name)
{
	const uint32_t row = profile_thread(profile, RUN_TIMED, (int)pid, (int)tid, name);
	if (row == PROFILE_NONE)
		return rf_error_no_memory();
	struct profile_thread *thread = &profile->threads[row];
	if (strcmp(thread->name, name) == 0)
		return NULL;
	char *copy = strdup(name);
	if (!copy)
		return rf_error_no_memory();
	free(thread->name);
	thread->name = copy;
	return NULL;
}

static struct rf_error *play_name(struct profile *profile, const struct event *event)
{
	struct rf_error *error = name_thread(profile, event->pid, event->tid, event->name);
	if (!error && event->pid == event->tid)
		profile_process_command(profile,
					profile_find_process(profile, RUN_TIMED, (int)event->pid),
					event->name);
	return error;
}

/* A process that was born before sampling began is new here, too, and has no parent. */
static struct rf_error *play_birth(struct profile *profile, const struct event *event)
{
	const uint32_t parent =
		profile_process(profile, RUN_TIMED, (int)event->parent.pid, PROFILE_NONE);
	if (parent == PROFILE_NONE)
		return rf_error_no_memory();
	const size_t before = profile->n_processes;
	const uint32_t row = profile_process(profile, RUN_TIMED, (int)event->pid, parent);
	if (row == PROFILE_NONE)
		return rf_error_no_memory();
	if (profile->n_processes == before)
		return NULL;
	struct profile_process *process = &profile->processes[row];
	process->start_ns = event->time;
	process->module = profile->processes[parent].module;
	profile_process_command(profile, row, profile->processes[parent].command);
	return NULL;
}

static struct rf_error *play_exec(struct sample_player *player, const struct event *event)
{
	struct profile *profile = player->profile;
	const uint32_t row = profile_process(profile, RUN_TIMED, (int)event->pid, PROFILE_NONE);
	(void)mappings_play(player->mappings, event);
	if (row == PROFILE_NONE)
		return rf_error_no_memory();
	struct profile_process *process = &profile->processes[row];
	process->execs++;
	process->module = PROFILE_NONE; /* until its first mapping is seen */
	if (!process->start_ns)
		process->start_ns = event->time;
	return play_name(profile, event);
}

/* The kernel maps the executable before anything else (load_elf_binary in fs/binfmt_elf.c). */
static struct rf_error *play_mapping(struct sample_player *player, const struct event *event)
{
	struct profile *profile = player->profile;
	const struct module_file *file = event->mapping.file;
	const uint32_t row = profile_find_process(profile, RUN_TIMED, (int)event->pid);
	if (row != PROFILE_NONE && file->has_file && profile->processes[row].module == PROFILE_NONE)
		profile->processes[row].module =
			profile_module(profile, file->path, file->build_id);
	return mappings_play(player->mappings, event);
}

static struct rf_error *play_fork(struct sample_player *player, const struct event *event)
{
	struct profile *profile = player->profile;
	struct rf_error *error = mappings_play(player->mappings, event);
	if (!error && event->pid != event->parent.pid)
		error = play_birth(profile, event);
	if (error)
		return error;
	const uint32_t parent = profile_thread(profile, RUN_TIMED, (int)event->parent.pid,
					       (int)event->parent.tid, "");
	if (parent == PROFILE_NONE)
		return rf_error_no_memory();
	return name_thread(profile, event->pid, event->tid, profile->threads[parent].name);
}

/* Of each thread; the last one is the process's. */
static void play_exit(struct profile *profile, const struct event *event)
{
	const uint32_t row = profile_find_process(profile, RUN_TIMED, (int)event->pid);
	if (row != PROFILE_NONE)
		profile->processes[row].end_ns = event->time;
}

/* --- places --- */

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
static uint32_t made_at_run_time(struct sample_player *player, uint32_t pid, uint64_t address,
				 uint64_t *offset)
{
	struct jit_code code;
	if (!perf_maps_find(player->sources.names, pid, address, player->now, &code))
		return profile_module(player->profile, "[anon]", "");
	return jit_place(&player->jit, player->profile, pid, &code, address, offset);
}

/* The module of an address and where in it; PROFILE_NONE when memory is short. */
static uint32_t place_of(struct sample_player *player, uint32_t pid, uint64_t address,
			 uint64_t *offset)
{
	struct profile *profile = player->profile;
	const struct mapping *mapping = mappings_find(player->mappings, pid, address);
	*offset = mapping ? mapping_offset(mapping, address) : address;
	if (!mapping)
		return profile_module(profile, unmapped_name(address), "");
	if (mapping->file->is_anonymous)
		return made_at_run_time(player, pid, address, offset);
	return profile_module(profile, mapping->file->path, mapping->file->build_id);
}

static uint32_t frame_of(struct sample_player *player, uint32_t parent, uint32_t pid,
			 uint64_t address)
{
	uint64_t offset;
	const uint32_t module = place_of(player, pid, address, &offset);
	if (module == PROFILE_NONE)
		return PROFILE_NONE;
	return profile_frame(player->profile, parent, module, offset);
}

static bool is_ours(const struct sample_player *player, uint32_t pid, uint64_t address,
		    bool in_kernel)
{
	return player->is_ours && player->is_ours(player->ours_context, pid, address, in_kernel);
}

/* The innermost frame of a sample in the program; PROFILE_NONE when memory is short. */
static uint32_t unwind(struct sample_player *player, uint32_t pid, const struct raw_sample *sample)
{
	uint64_t addresses[MAX_FRAMES];
	size_t n = player->stacks ? stack_reader_next(player->stacks, addresses, MAX_FRAMES) : 0;
	uint32_t frame = PROFILE_NONE;
	n = n ? n : 1;
	addresses[0] = sample->regs.ip; /* whatever a child says */
	if (is_ours(player, pid, addresses[0], sample->chain || sample->offset)) {
		const uint32_t module = profile_module(player->profile, PROFILE_OWN_MODULE, "");
		return module == PROFILE_NONE ? PROFILE_NONE
					      : profile_frame(player->profile, frame, module, 0);
	}
	for (size_t i = n; i > 0; i--) {
		frame = frame_of(player, frame, pid, addresses[i - 1]);
		if (frame == PROFILE_NONE)
			return PROFILE_NONE;
	}
	return frame;
}

/* The innermost frame of all, which is the kernel's where that ran.  `place`: what it did; of a
 * sample in the program not set. */
static uint32_t leaf(struct sample_player *player, uint32_t pid, const struct raw_sample *raw,
		     struct kernel_place *place)
{
	uint64_t none[MAX_FRAMES];
	uint32_t frame = PROFILE_NONE;
	const bool kernel = raw->chain || raw->offset;
	if (raw->has_stack || !kernel)
		frame = unwind(player, pid, raw);
	else if (player->stacks) /* its answer is there all the same */
		(void)stack_reader_next(player->stacks, none, MAX_FRAMES);
	if (!kernel || (raw->has_stack && frame == PROFILE_NONE))
		return frame;
	*place = raw->offset
			 ? (struct kernel_place){raw->offset, raw->cause}
			 : kernel_chains_place(player->sources.chains, raw->chain, raw->in_call);
	return profile_kernel_frame(player->profile, frame, place->offset);
}

/* The same of a sample.  What the kernel does where caches are flushed is no time of its own, but
 * of what flushes them. */
static uint32_t sampled(struct sample_player *player, uint32_t pid, const struct raw_sample *raw)
{
	struct kernel_place place;
	const struct profile *profile = player->profile;
	const uint32_t frame = leaf(player, pid, raw, &place);
	const bool kernel = raw->chain || raw->offset;
	return frame != PROFILE_NONE && kernel && raw->has_stack &&
			       is_ours(player, pid, raw->regs.ip, true)
		       ? profile->frames[frame].parent
		       : frame;
}

/* A wait gets its row in the table of waits, which is summed up when all of them have ended.  Of
 * waits for other threads it is told who ran. */
static struct rf_error *play_wait(struct sample_player *player, const struct event *event,
				  const struct sample_store *store)
{
	struct raw_sample raw;
	struct kernel_place place = {KERNEL_OTHER, WAIT_OTHER};
	const uint32_t number = event->sample.wait;
	const struct schedule_wait *wait = schedule_get_wait(player->sources.schedule, number);
	sample_store_get(store, event->sample.number, &raw, player->stack);
	struct profile_wait fresh = {
		.thread = profile_thread(player->profile, RUN_TIMED, (int)event->pid,
					 (int)event->tid, ""),
		.frame = leaf(player, event->pid, &raw, &place),
	};
	fresh.cause = is_ours(player, event->pid, raw.regs.ip, true) ? WAIT_OURS : place.cause;
	if (fresh.thread == PROFILE_NONE || fresh.frame == PROFILE_NONE)
		return rf_error_no_memory();
	if (!wait || !wait->start) /* it could have gone on */
		return NULL;
	if (player->span && wait->end && !wait->time_ns) /* it was not in the span */
		return NULL;
	const uint32_t row = wait_rows_add(&player->waits, player->profile, number, &fresh);
	if (row == PROFILE_NONE)
		return rf_error_no_memory();
	return fresh.cause != WAIT_FUTEX
		       ? NULL
		       : wait_runners_begin(player->runners, player->profile, event->time,
					    event->pid, event->tid, number, row);
}

/* Where the program itself was. */
static struct rf_error *add_native_time(struct sample_player *player,
					const struct profile_sample *sample, enum span_part part)
{
	const struct profile *profile = player->profile;
	uint32_t frame = sample->frame;
	while (frame != PROFILE_NONE && profile_is_kernel(profile, profile->frames[frame].module))
		frame = profile->frames[frame].parent;
	if (frame == PROFILE_NONE || profile->frames[frame].module == PROFILE_NONE)
		return NULL;
	return native_times_add(&player->span->times, profile->frames[frame].module,
				profile->frames[frame].offset, part, sample->weight_ns)
		       ? NULL
		       : rf_error_no_memory();
}

static struct rf_error *play_sample(struct sample_player *player, const struct event *event,
				    const struct sample_store *store)
{
	struct raw_sample raw;
	struct profile *to = player->profile;
	sample_store_get(store, event->sample.number, &raw, player->stack);
	const struct profile_sample sample = {
		.thread = profile_thread(to, RUN_TIMED, (int)event->pid, (int)event->tid, ""),
		.time_ns = event->time,
		.weight_ns = raw.weight_ns,
		.frame = sampled(player, event->pid, &raw),
	};
	const enum span_part part = part_of(player, event->time);
	if (sample.thread == PROFILE_NONE || sample.frame == PROFILE_NONE)
		return rf_error_no_memory();
	struct rf_error *error = player->span ? add_native_time(player, &sample, part) : NULL;
	if (error || part != SPAN_IN)
		return error;
	if (!rf_array_push(to->samples, to->n_samples, to->cap_samples, sample))
		return rf_error_no_memory();
	return wait_runners_sample(player->runners, to, event->pid, event->tid, &sample)
		       ?: python_samples_add(&player->python, event->pid, event->tid, event->time,
					     raw.weight_ns);
}

static struct rf_error *add_faults(struct sample_player *player, uint32_t frame, uint64_t n)
{
	struct profile *to = player->profile;
	const struct profile_fault row = {frame, n};
	const uint32_t *known = u64_map_find(&player->fault_rows, frame + 1ull);
	if (known) {
		to->faults[*known].n += n;
		return NULL;
	}
	if (!rf_array_push(to->faults, to->n_faults, to->cap_faults, row) ||
	    !u64_map_set(&player->fault_rows, frame + 1ull, (uint32_t)to->n_faults - 1))
		return rf_error_no_memory();
	return NULL;
}

static struct rf_error *play_fault(struct sample_player *player, const struct event *event,
				   const struct sample_store *store)
{
	struct raw_sample raw;
	sample_store_get(store, event->sample.number, &raw, player->stack);
	const uint32_t frame = unwind(player, event->pid, &raw);
	if (part_of(player, event->time) != SPAN_IN)
		return NULL;
	return frame == PROFILE_NONE ? rf_error_no_memory()
				     : add_faults(player, frame, raw.weight_ns);
}

struct rf_error *sample_player_finish_faults(struct sample_player *player, uint64_t n)
{
	const struct profile *profile = player->profile;
	uint64_t told = 0;
	for (size_t i = 0; i < profile->n_faults; i++)
		told += profile->faults[i].n;
	return n > told ? add_faults(player, PROFILE_NONE, n - told) : NULL;
}

static struct rf_error *play_counter(struct sample_player *player, const struct event *event)
{
	struct profile *profile = player->profile;
	struct counter_place place = {
		.time_ns = event->time,
		.period = event->counter.period,
		.thread = profile_thread(profile, RUN_TIMED, (int)event->pid, (int)event->tid, ""),
		.event = event->counter.event,
	};
	place.module = place_of(player, event->pid, event->counter.ip, &place.offset);
	if (place.thread == PROFILE_NONE || place.module == PROFILE_NONE ||
	    !rf_array_push(player->places, player->n_places, player->cap_places, place))
		return rf_error_no_memory();
	return NULL;
}

struct rf_error *sample_player_play(struct sample_player *player, const struct event *event,
				    const struct sample_store *store)
{
	player->now = event->time;
	switch ((enum event_kind)event->kind) {
	case EVENT_SAMPLE:
		return play_sample(player, event, store);
	case EVENT_WAIT:
		return play_wait(player, event, store);
	case EVENT_FAULT:
		return play_fault(player, event, store);
	case EVENT_COUNTER:
		return play_counter(player, event);
	case EVENT_MAPPING:
		return play_mapping(player, event);
	case EVENT_EXEC:
		return play_exec(player, event);
	case EVENT_COMM:
		return play_name(player->profile, event);
	case EVENT_FORK:
		return play_fork(player, event);
	case EVENT_EXIT:
		play_exit(player->profile, event);
		break;
	}
	return NULL;
}
