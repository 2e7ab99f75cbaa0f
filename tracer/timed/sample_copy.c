/* What was played goes into the profile of the run, where its rows have other numbers, and times
 * begin at the first execve. */
#include "tracer/timed/sample_copy.h"

#include "base/array.h"

#include <assert.h>
#include <string.h>

/* For each row of what was played the row in the caller's profile. */
struct rows {
	uint32_t *modules, *threads, *frames;
};

static uint64_t since(uint64_t start, uint64_t time)
{
	return time > start ? time - start : 0;
}

/* A function made at run time has another place in each profile.  *module is PROFILE_NONE when
 * memory is short. */
static uint64_t move_jit(const struct profile *from, uint64_t offset, struct profile *to,
			 uint32_t *module)
{
	assert(offset >= PROFILE_JIT_STRIDE && offset / PROFILE_JIT_STRIDE <= from->n_functions);
	const char *name = from->functions[offset / PROFILE_JIT_STRIDE - 1].name;
	return profile_jit_function(to, name, module) + offset % PROFILE_JIT_STRIDE;
}

/* The place in `to` of an offset in a module. */
static uint32_t move_place(const struct profile *from, uint32_t module, uint64_t *offset,
			   struct profile *to, const struct rows *rows)
{
	uint32_t moved = rows->modules[module];
	if (strcmp(from->modules[module].path, "[jit]") == 0)
		*offset = move_jit(from, *offset, to, &moved);
	return moved;
}

static struct rf_error *copy_names(const struct profile *from, struct profile *to,
				   struct rows *rows)
{
	bool done = true;
	for (size_t i = 0; i < from->n_modules && done; i++) {
		const struct profile_module *row = &from->modules[i];
		rows->modules[i] = profile_module(to, row->path, row->build_id);
		done = rows->modules[i] != PROFILE_NONE;
	}
	for (size_t i = 0; i < from->n_threads && done; i++) {
		const struct profile_thread *row = &from->threads[i];
		rows->threads[i] = profile_thread(to, RUN_TIMED, row->pid, row->tid, row->name);
		done = rows->threads[i] != PROFILE_NONE;
	}
	return done ? NULL : rf_error_no_memory();
}

static struct rf_error *copy_process(const struct profile *from, const struct profile_process *row,
				     struct profile *to, const struct rows *rows, uint64_t start)
{
	const bool first = row == from->processes;
	/* the fall-back sampler does not see every birth: such a process stands under the first */
	const struct profile_process *above =
		row->parent == PROFILE_NONE ? from->processes : &from->processes[row->parent];
	uint32_t parent = first ? PROFILE_NONE : profile_find_process(to, RUN_TIMED, above->pid);
	uint32_t copy = profile_process(to, RUN_TIMED, row->pid, parent);
	if (copy == PROFILE_NONE)
		return rf_error_no_memory();
	struct profile_process *process = &to->processes[copy];
	process->birth = first ? BIRTH_FIRST : BIRTH_UNKNOWN;
	process->execs = row->execs;
	process->module = row->module == PROFILE_NONE ? PROFILE_NONE : rows->modules[row->module];
	process->start_ns = since(start, row->start_ns);
	process->end_ns = since(start, row->end_ns);
	profile_process_command(to, copy, row->command);
	return NULL;
}

static struct rf_error *copy_frames(const struct profile *from, struct profile *to,
				    struct rows *rows)
{
	for (size_t i = 0; i < from->n_frames; i++) {
		const struct profile_frame *row = &from->frames[i];
		assert(row->parent == PROFILE_NONE || row->parent < i);
		uint32_t parent =
			row->parent == PROFILE_NONE ? PROFILE_NONE : rows->frames[row->parent];
		uint64_t offset = row->offset;
		const uint32_t module = move_place(from, row->module, &offset, to, rows);
		rows->frames[i] = module == PROFILE_NONE
					  ? PROFILE_NONE
					  : profile_frame(to, parent, module, offset);
		if (rows->frames[i] == PROFILE_NONE)
			return rf_error_no_memory();
	}
	return NULL;
}

static struct rf_error *copy_samples(const struct profile *from, struct profile *to,
				     const struct rows *rows, uint64_t start)
{
	for (size_t i = 0; i < from->n_samples; i++) {
		struct profile_sample sample = from->samples[i];
		sample.thread = rows->threads[sample.thread];
		sample.frame = rows->frames[sample.frame];
		sample.time_ns = since(start, sample.time_ns);
		if (!rf_array_push(to->samples, to->n_samples, to->cap_samples, sample))
			return rf_error_no_memory();
	}
	return NULL;
}

static struct rf_error *move_places(struct played *played, struct profile *to,
				    const struct rows *rows, uint64_t start)
{
	for (size_t i = 0; i < played->n_places; i++) {
		struct counter_place *place = &played->places[i];
		place->module =
			move_place(played->profile, place->module, &place->offset, to, rows);
		if (place->module == PROFILE_NONE)
			return rf_error_no_memory();
		place->thread = rows->threads[place->thread];
		place->time_ns = since(start, place->time_ns);
	}
	return NULL;
}

/* Each kind of rows refers to those before it. */
static struct rf_error *copy_all(struct played *played, uint64_t start, struct profile *to,
				 struct rows *rows)
{
	const struct profile *from = played->profile;
	if (!rows->modules || !rows->threads || !rows->frames)
		return rf_error_no_memory();
	struct rf_error *error = copy_names(from, to, rows);
	for (size_t i = 0; i < from->n_processes && !error; i++)
		error = copy_process(from, &from->processes[i], to, rows, start);
	if (!error)
		error = copy_frames(from, to, rows);
	if (!error)
		error = copy_samples(from, to, rows, start);
	return error ? error : move_places(played, to, rows, start);
}

struct rf_error *sample_copy(struct played *played, uint64_t start, struct profile *to)
{
	struct rows rows = {
		calloc(played->profile->n_modules + 1, sizeof(uint32_t)),
		calloc(played->profile->n_threads + 1, sizeof(uint32_t)),
		calloc(played->profile->n_frames + 1, sizeof(uint32_t)),
	};
	struct rf_error *error = copy_all(played, start, to, &rows);
	free(rows.modules);
	free(rows.threads);
	free(rows.frames);
	return error;
}
