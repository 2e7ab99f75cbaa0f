/* Processes and threads of both runs side by side, and what of the timed run the counted run did
 * not count. */
#include "report/model/model_processes.h"

#include "base/array.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/u64_map.h"
#include "report/model/model_tally.h"

#include <stdlib.h>
#include <string.h>

/* ---- which is which ---- */

static uint64_t process_key(enum profile_run run, int pid)
{
	return ((uint64_t)run << 32 | (uint32_t)pid) + 1;
}

/* Of processes that have one number the first counts. */
static struct rf_error *find_processes(struct model_threads *threads, const struct profile *profile)
{
	struct u64_map rows = {0};
	bool ok = true;
	for (uint32_t i = 0; ok && i < profile->n_processes; i++) {
		const struct profile_process *process = &profile->processes[i];
		const uint64_t key = process_key(process->run, process->pid);
		ok = u64_map_find(&rows, key) || u64_map_set(&rows, key, i);
	}
	for (size_t i = 0; ok && i < profile->n_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		const uint32_t *row = u64_map_find(&rows, process_key(thread->run, thread->pid));
		threads->process_of[i] = row ? *row : PROFILE_NONE;
	}
	u64_map_deinit(&rows);
	return ok ? NULL : rf_error_no_memory();
}

static void find_twin_processes(struct model_threads *threads, const struct profile *profile)
{
	memset(threads->twin_process, 0xff, profile->n_processes * sizeof(*threads->twin_process));
	for (size_t i = 0; i < profile->n_processes; i++) {
		uint32_t twin = profile->processes[i].twin;
		if (twin == PROFILE_NONE ||
		    profile->processes[twin].run == profile->processes[i].run)
			continue;
		threads->twin_process[i] = twin;
		threads->twin_process[twin] = (uint32_t)i;
	}
}

/* The n-th thread of a process is the n-th of its twin. */
static struct rf_error *find_twin_threads(struct model_threads *threads,
					  const struct profile *profile)
{
	const size_t n = profile->n_processes;
	struct by_key by = {0};
	struct rf_error *error = by_key_init(&by, n, threads->process_of,
					     sizeof(*threads->process_of), profile->n_threads);
	memset(threads->twin_thread, 0xff, profile->n_threads * sizeof(*threads->twin_thread));
	for (size_t p = 0; !error && p < n; p++) {
		const uint32_t twin = threads->twin_process[p];
		for (size_t i = by.first[p]; twin != PROFILE_NONE && i < by.first[p + 1]; i++) {
			const size_t other = by.first[twin] + (i - by.first[p]);
			if (other < by.first[twin + 1])
				threads->twin_thread[by.items[i]] = by.items[other];
		}
	}
	by_key_deinit(&by);
	return error;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A timed process without a twin, when no counted one of its name is left that could be it. */
static struct rf_error *find_unmatched(struct model_threads *threads, const struct profile *profile)
{
	const size_t n = profile->n_processes;
	char **left = malloc((n + 1) * sizeof(*left));
	size_t n_left = 0, n_counted = 0;
	for (size_t i = 0; left && i < n; i++) {
		const struct profile_process *process = &profile->processes[i];
		n_counted += process->run == RUN_COUNTED;
		if (process->run == RUN_COUNTED && threads->twin_process[i] == PROFILE_NONE)
			left[n_left++] = process->command;
	}
	if (n_left)
		qsort(left, n_left, sizeof(*left), compare_names);
	for (size_t i = 0; left && n_counted && i < n; i++) {
		const struct profile_process *process = &profile->processes[i];
		threads->unmatched[i] =
			process->run == RUN_TIMED && threads->twin_process[i] == PROFILE_NONE &&
			!bsearch(&process->command, left, n_left, sizeof(*left), compare_names);
	}
	struct rf_error *error = left ? NULL : rf_error_no_memory();
	free(left);
	return error;
}

static const char *refused_module(const struct profile *profile, uint32_t row)
{
	return profile->modules[profile->uncounted[row].module].name;
}

static int compare_refused(const void *a, const void *b, void *profile)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return strcmp(refused_module(profile, x), refused_module(profile, y)) ?: rf_compare(x, y);
}

static void find_refused(struct model_threads *threads, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->n_uncounted; i++)
		if (profile->uncounted[i].module != PROFILE_NONE)
			threads->refused[threads->n_refused++] = i;
	if (threads->n_refused)
		qsort_r(threads->refused, threads->n_refused, sizeof(*threads->refused),
			compare_refused, (void *)profile);
}

struct rf_error *model_threads_init(struct model_threads *threads, const struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	const size_t n = profile->n_threads + 1, n_processes = profile->n_processes + 1;
	*threads = (struct model_threads){
		.rows = rows,
		.process_of = calloc(n, sizeof(*threads->process_of)),
		.twin_thread = calloc(n, sizeof(*threads->twin_thread)),
		.native = calloc(n, sizeof(*threads->native)),
		.native_ns = calloc(n, sizeof(*threads->native_ns)),
		.twin_process = calloc(n_processes, sizeof(*threads->twin_process)),
		.unmatched = calloc(n_processes, sizeof(*threads->unmatched)),
		.shown = calloc(n_processes, sizeof(*threads->shown)),
		.refused = calloc(profile->n_uncounted + 1, sizeof(*threads->refused)),
	};
	if (!threads->process_of || !threads->twin_thread || !threads->native ||
	    !threads->native_ns || !threads->twin_process || !threads->unmatched ||
	    !threads->shown || !threads->refused)
		return rf_error_no_memory();
	struct rf_error *error = find_processes(threads, profile);
	find_refused(threads, profile);
	find_twin_processes(threads, profile);
	for (size_t i = 0; i < profile->n_native_threads; i++) {
		const struct profile_native_thread *row = &profile->native_threads[i];
		threads->native[row->thread] = row->reason[0] ? row->reason : NULL;
		threads->native_ns[row->thread] = row->native_ns;
		threads->any_native_ns |= row->native_ns > 0;
	}
	return error ?: find_unmatched(threads, profile) ?: find_twin_threads(threads, profile);
}

void model_threads_deinit(struct model_threads *threads)
{
	free(threads->process_of);
	free(threads->twin_thread);
	free(threads->native);
	free(threads->native_ns);
	free(threads->twin_process);
	free(threads->unmatched);
	free(threads->shown);
	free(threads->refused);
}

/* ---- what was not counted ---- */

/* Whether a thread, or for PROFILE_NONE any thread of the process, has counts in this function. */
static bool has_counts(const struct model_threads *threads, const struct model_function *function,
		       uint32_t process, uint32_t thread)
{
	for (size_t i = 0; i < function->n_threads; i++) {
		uint32_t counted = function->threads[i].thread;
		if (thread != PROFILE_NONE ? counted == thread
					   : threads->process_of[counted] == process)
			return true;
	}
	return false;
}

static bool set_cause(struct model_uncounted *cause, const char *kind, const char *name,
		      const char *reason)
{
	*cause = (struct model_uncounted){.kind = kind, .name = name, .reason = reason};
	return true;
}

/* A process or thread that ran natively from some moment on: of the counted run; `timed` is its
 * twin, whose name is the one that the program has given it. */
static bool native_cause(const struct model_threads *threads, uint32_t process, uint32_t thread,
			 uint32_t timed, struct model_uncounted *cause)
{
	const struct profile *profile = threads->rows->profile;
	const struct profile_process *of =
		process != PROFILE_NONE ? &profile->processes[process] : NULL;
	if (of && of->native_reason[0])
		return set_cause(cause, "process", of->command, of->native_reason);
	return thread != PROFILE_NONE && threads->native[thread] &&
	       set_cause(cause, "thread", profile->threads[timed].name, threads->native[thread]);
}

/* Why code of a module was refused.  Named JIT code lies in memory without a file. */
static bool module_cause(const struct model_threads *threads, const char *module,
			 struct model_uncounted *cause)
{
	const struct profile *profile = threads->rows->profile;
	const char *memory = strcmp(module, "[jit]") == 0 ? "[anon]" : module;
	const size_t at =
		rf_search(threads->n_refused, i,
			  strcmp(refused_module(profile, threads->refused[i]), memory) < 0);
	return at < threads->n_refused &&
	       strcmp(refused_module(profile, threads->refused[at]), memory) == 0 &&
	       set_cause(cause, "module", module, profile->uncounted[threads->refused[at]].reason);
}

/* Where some of the program ran natively, its threads may have shared out the rest otherwise: what
 * has next to no counts beside its time was not counted.  Nothing waits as long for an instruction.
 */
#define MOST_NS_AN_INSTRUCTION 10000

static bool is_counted(const struct model_threads *threads, const struct model_function *function,
		       const struct model_time_sum *time)
{
	return function->tally.instructions > 0 &&
	       (!threads->any_native_ns ||
		function->tally.instructions * MOST_NS_AN_INSTRUCTION >= (double)time->time_ns);
}

/* Work of a part of the time would make a speed of the whole: with more of it behind the moment at
 * which its thread went on natively, or near that, a function was not counted. */
#define MOST_NATIVE 0.1

/* Whether a time was not counted, and why. */
static bool is_uncounted(const struct model_threads *threads, const struct model_time_sum *time,
			 struct model_uncounted *cause)
{
	const size_t row = time->row;
	const uint32_t thread = time->thread;
	const struct profile *profile = threads->rows->profile;
	const struct model_function *function = &threads->rows->rows[row];
	const char *module = model_place_module(profile, row);
	const uint32_t timed = threads->process_of[thread], twin = threads->twin_thread[thread];
	const uint32_t process =
		timed == PROFILE_NONE ? PROFILE_NONE : threads->twin_process[timed];
	const bool nowhere = !is_counted(threads, function, time);
	if (model_from_counters(profile))
		return false;
	if (strcmp(module, PROFILE_OWN_MODULE) == 0)
		return set_cause(
			cause, "rfprof", "",
			"rfprof's own part of a run that is timed and counted at once, or flushes "
			"caches");
	if (strcmp(module, PROFILE_KERNEL_MODULE) == 0)
		return false;
	if (nowhere && module_cause(threads, module, cause))
		return true;
	if (native_cause(threads, process, twin, thread, cause))
		return (double)time->native_ns > MOST_NATIVE * (double)time->time_ns ||
		       !has_counts(threads, function, process, twin);
	if (timed != PROFILE_NONE && threads->unmatched[timed])
		return set_cause(cause, "process", profile->processes[timed].command,
				 "the counted run had no such process");
	set_cause(cause, "function", "", "functions that the counted run did not count");
	return nowhere;
}

static struct rf_error *add_uncounted(struct model *model, struct model_uncounted cause,
				      const struct model_time_sum *time)
{
	cause.n_samples = time->samples;
	cause.time_ns = time->time_ns;
	model_add_ns(&model->uncounted_ns, time->time_ns);
	return rf_array_add(model->uncounted, model->n_uncounted, model->cap_uncounted, cause);
}

static int compare_causes(const void *a, const void *b)
{
	const struct model_uncounted *x = a, *y = b;
	return strcmp(x->kind, y->kind) ?: strcmp(x->name, y->name) ?: strcmp(x->reason, y->reason);
}

static int compare_uncounted(const void *a, const void *b)
{
	const struct model_uncounted *x = a, *y = b;
	return rf_compare(y->time_ns, x->time_ns) ?: compare_causes(a, b);
}

/* Makes one part of all that have one cause; the longest comes first. */
static void merge_causes(struct model *model)
{
	struct model_uncounted *parts = model->uncounted;
	size_t n = 0;
	if (!model->n_uncounted)
		return;
	qsort(parts, model->n_uncounted, sizeof(*parts), compare_causes);
	for (size_t i = 1; i < model->n_uncounted; i++) {
		if (compare_causes(&parts[n], &parts[i]) != 0) {
			parts[++n] = parts[i];
			continue;
		}
		parts[n].n_samples += parts[i].n_samples;
		model_add_ns(&parts[n].time_ns, parts[i].time_ns);
	}
	model->n_uncounted = n + 1;
	qsort(parts, model->n_uncounted, sizeof(*parts), compare_uncounted);
}

struct rf_error *model_find_uncounted(struct model_rows *rows, const struct model_threads *threads,
				      struct model *model)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < rows->n_times; i++) {
		struct model_time_sum *time = &rows->times[i];
		struct model_uncounted cause = {0};
		if (!rows->groups && model->counted) {
			time->uncounted = is_uncounted(threads, time, &cause);
			error = time->uncounted ? add_uncounted(model, cause, time) : NULL;
		}
		rows->has_part[time->row] |= model_row_of_time(rows, time) != time->row;
	}
	merge_causes(model);
	return error;
}

/* ---- the processes of the report ---- */

static void add_process(const struct model_threads *threads, struct model *model, uint32_t row)
{
	const struct profile_process *process = &threads->rows->profile->processes[row];
	const uint32_t twin = threads->twin_process[row];
	struct model_process *fresh = &model->processes[model->n_processes];
	const bool timed = process->run == RUN_TIMED;
	*fresh = (struct model_process){.timed = timed ? row : PROFILE_NONE,
					.counted = timed ? twin : row,
					.parent = PROFILE_NONE};
	/* a file may name any earlier row: only one that has its place already is a parent */
	if (process->parent != PROFILE_NONE && threads->shown[process->parent] < model->n_processes)
		fresh->parent = threads->shown[process->parent];
	threads->shown[row] = (uint32_t)model->n_processes++;
	if (twin != PROFILE_NONE)
		threads->shown[twin] = threads->shown[row];
}

static void add_work(const struct model_threads *threads, struct model *model,
		     const struct profile_sum_thread *work)
{
	uint32_t row = threads->process_of[work->thread];
	if (row == PROFILE_NONE)
		return;
	struct model_process *process = &model->processes[threads->shown[row]];
	model_count_add(&process->flop, work->flop, 1);
	model_count_add(&process->load_bytes, work->load_bytes, 1);
	model_count_add(&process->store_bytes, work->store_bytes, 1);
	model_count_add(&process->instructions, work->instructions, 1);
}

struct rf_error *model_processes(const struct model_threads *threads, struct model *model)
{
	const struct model_rows *rows = threads->rows;
	const struct profile *profile = rows->profile;
	model->processes = calloc(profile->n_processes + 1, sizeof(*model->processes));
	if (!model->processes)
		return rf_error_no_memory();
	/* parents stand before their children, and timed rows show with their twins */
	for (uint32_t i = 0; i < profile->n_processes; i++)
		if (profile->processes[i].run == RUN_TIMED)
			add_process(threads, model, i);
	for (uint32_t i = 0; i < profile->n_processes; i++)
		if (profile->processes[i].run == RUN_COUNTED &&
		    threads->twin_process[i] == PROFILE_NONE)
			add_process(threads, model, i);
	for (size_t row = 0; row < rows->n_places; row++)
		for (size_t i = 0; i < rows->rows[row].n_threads; i++)
			add_work(threads, model, &rows->rows[row].threads[i]);
	return NULL;
}
