/* Processes and threads of both runs side by side, and what of the timed run the counted run did
 * not count. */
#include "report/model/model_processes.h"

#include "base/array.h"
#include "base/search.h"
#include "report/model/model_counters.h"

#include <stdlib.h>
#include <string.h>

/* ---- which is which ---- */

static int compare_ids(const struct profile_process *process, enum profile_run run, int pid)
{
	if (process->run != run)
		return process->run < run ? -1 : 1;
	return process->pid < pid ? -1 : process->pid > pid;
}

static int compare_processes(const void *a, const void *b, void *processes)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct profile_process *all = processes;
	int order = compare_ids(&all[x], all[y].run, all[y].pid);
	return order ? order : x < y ? -1 : x > y;
}

/* Row of the process of a thread; `sorted`: rows by (run, pid). */
static uint32_t find_process(const struct profile *profile, const uint32_t *sorted,
			     const struct profile_thread *thread)
{
	const struct profile_process *all = profile->processes;
	const size_t n = profile->n_processes;
	const size_t at =
		rf_search(n, i, compare_ids(&all[sorted[i]], thread->run, thread->pid) < 0);
	return at < n && compare_ids(&all[sorted[at]], thread->run, thread->pid) == 0
		       ? sorted[at]
		       : PROFILE_NONE;
}

static struct rf_error *find_processes(struct model_threads *threads, const struct profile *profile)
{
	uint32_t *sorted = malloc((profile->n_processes + 1) * sizeof(*sorted));
	for (size_t i = 0; sorted && i < profile->n_processes; i++)
		sorted[i] = (uint32_t)i;
	if (sorted && profile->n_processes)
		qsort_r(sorted, profile->n_processes, sizeof(*sorted), compare_processes,
			profile->processes);
	for (size_t i = 0; sorted && i < profile->n_threads; i++)
		threads->process_of[i] = find_process(profile, sorted, &profile->threads[i]);
	struct rf_error *error = sorted ? NULL : rf_error_no_memory();
	free(sorted);
	return error;
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

/* Threads by process, counting sort: those of process p from first[p] on. */
static void group_threads(struct model_threads *threads, const struct profile *profile,
			  size_t *first)
{
	for (size_t i = 0; i < profile->n_threads; i++)
		if (threads->process_of[i] != PROFILE_NONE)
			first[threads->process_of[i] + 1]++;
	for (size_t p = 0; p < profile->n_processes; p++)
		first[p + 1] += first[p];
	for (size_t i = profile->n_threads; i-- > 0;)
		if (threads->process_of[i] != PROFILE_NONE)
			threads->by_process[--first[threads->process_of[i] + 1]] = (uint32_t)i;
	/* first[p + 1] is now where process p starts */
	memmove(first, first + 1, profile->n_processes * sizeof(*first));
}

/* The n-th thread of a process is the n-th of its twin. */
static struct rf_error *find_twin_threads(struct model_threads *threads,
					  const struct profile *profile)
{
	const size_t n = profile->n_processes;
	size_t *first = calloc(n + 2, sizeof(*first));
	memset(threads->twin_thread, 0xff, profile->n_threads * sizeof(*threads->twin_thread));
	if (!first)
		return rf_error_no_memory();
	group_threads(threads, profile, first);
	size_t all = 0;
	for (size_t i = 0; i < profile->n_threads; i++)
		all += threads->process_of[i] != PROFILE_NONE;
	first[n] = all;
	for (size_t p = 0; p < n; p++) {
		const uint32_t twin = threads->twin_process[p];
		for (size_t i = first[p]; twin != PROFILE_NONE && i < first[p + 1]; i++) {
			size_t other = first[twin] + (i - first[p]);
			if (other < first[twin + 1])
				threads->twin_thread[threads->by_process[i]] =
					threads->by_process[other];
		}
	}
	free(first);
	return NULL;
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

struct rf_error *model_threads_init(struct model_threads *threads, const struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	const size_t n = profile->n_threads + 1, n_processes = profile->n_processes + 1;
	*threads = (struct model_threads){
		.rows = rows,
		.process_of = calloc(n, sizeof(*threads->process_of)),
		.twin_thread = calloc(n, sizeof(*threads->twin_thread)),
		.native = calloc(n, sizeof(*threads->native)),
		.by_process = calloc(n, sizeof(*threads->by_process)),
		.twin_process = calloc(n_processes, sizeof(*threads->twin_process)),
		.unmatched = calloc(n_processes, sizeof(*threads->unmatched)),
		.shown = calloc(n_processes, sizeof(*threads->shown)),
	};
	if (!threads->process_of || !threads->twin_thread || !threads->native ||
	    !threads->by_process || !threads->twin_process || !threads->unmatched ||
	    !threads->shown)
		return rf_error_no_memory();
	struct rf_error *error = find_processes(threads, profile);
	find_twin_processes(threads, profile);
	for (size_t i = 0; i < profile->n_native_threads; i++)
		threads->native[profile->native_threads[i].thread] =
			profile->native_threads[i].reason;
	if (!error)
		error = find_unmatched(threads, profile);
	return error ? error : find_twin_threads(threads, profile);
}

void model_threads_deinit(struct model_threads *threads)
{
	free(threads->process_of);
	free(threads->twin_thread);
	free(threads->native);
	free(threads->by_process);
	free(threads->twin_process);
	free(threads->unmatched);
	free(threads->shown);
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

/* A process or thread that ran natively from some moment on: of the counted run; `timed` is its
 * twin, whose name is the one that the program has given it. */
static bool native_cause(const struct model_threads *threads, uint32_t process, uint32_t thread,
			 uint32_t timed, struct model_uncounted *cause)
{
	const struct profile *profile = threads->rows->profile;
	if (process != PROFILE_NONE && profile->processes[process].native_reason[0]) {
		*cause =
			(struct model_uncounted){.kind = "process",
						 .name = profile->processes[process].command,
						 .reason =
							 profile->processes[process].native_reason};
		return true;
	}
	if (thread == PROFILE_NONE || !threads->native[thread])
		return false;
	*cause = (struct model_uncounted){.kind = "thread",
					  .name = profile->threads[timed].name,
					  .reason = threads->native[thread]};
	return true;
}

/* Why code of a module was refused.  Named JIT code lies in memory without a file. */
static bool module_cause(const struct profile *profile, const char *module,
			 struct model_uncounted *cause)
{
	const char *memory = strcmp(module, "[jit]") == 0 ? "[anon]" : module;
	for (size_t i = 0; i < profile->n_uncounted; i++) {
		const struct profile_uncounted *row = &profile->uncounted[i];
		if (row->module == PROFILE_NONE ||
		    strcmp(profile->modules[row->module].name, memory) != 0)
			continue;
		*cause = (struct model_uncounted){.kind = "module",
						  .name = module,
						  .reason = row->reason};
		return true;
	}
	return false;
}

static const char *module_of_row(const struct model_rows *rows, size_t row)
{
	const struct profile *profile = rows->profile;
	if (row < profile->n_functions)
		return profile->modules[profile->functions[row].module].name;
	row -= profile->n_functions;
	return row < profile->n_modules ? profile->modules[row].name : "";
}

/* Whether time of `thread` in `row` was not counted, and why. */
static bool is_uncounted(const struct model_threads *threads, size_t row, uint32_t thread,
			 struct model_uncounted *cause)
{
	const struct model_rows *rows = threads->rows;
	const struct model_function *function = &rows->rows[row];
	const uint32_t timed = threads->process_of[thread];
	const uint32_t process =
		timed == PROFILE_NONE ? PROFILE_NONE : threads->twin_process[timed];
	const uint32_t twin = threads->twin_thread[thread];
	const bool nowhere = function->tally.instructions == 0;
	if (model_from_counters(rows->profile))
		return false;
	if (strcmp(module_of_row(rows, row), PROFILE_OWN_MODULE) == 0) {
		*cause = (struct model_uncounted){
			.kind = "rfprof",
			.name = "",
			.reason = "rfprof's own part of a run that is timed and counted at once"};
		return true;
	}
	if (nowhere && module_cause(rows->profile, module_of_row(rows, row), cause))
		return true;
	if (native_cause(threads, process, twin, thread, cause))
		return !has_counts(threads, function, process, twin);
	if (timed != PROFILE_NONE && threads->unmatched[timed]) {
		*cause = (struct model_uncounted){.kind = "process",
						  .name = rows->profile->processes[timed].command,
						  .reason = "the counted run had no such process"};
		return true;
	}
	*cause = (struct model_uncounted){.kind = "function",
					  .name = "",
					  .reason = "functions that the counted run did not count"};
	return nowhere;
}

/* Adds to the part of the uncounted time that has this cause. */
static struct rf_error *add_uncounted(struct model *model, const struct model_uncounted *cause,
				      const struct model_time_sum *time)
{
	size_t i = 0;
	while (i < model->n_uncounted && (strcmp(model->uncounted[i].kind, cause->kind) != 0 ||
					  strcmp(model->uncounted[i].name, cause->name) != 0 ||
					  strcmp(model->uncounted[i].reason, cause->reason) != 0))
		i++;
	if (i == model->n_uncounted &&
	    !rf_array_push(model->uncounted, model->n_uncounted, model->cap_uncounted, *cause))
		return rf_error_no_memory();
	model->uncounted[i].n_samples += time->samples;
	model_add_ns(&model->uncounted[i].time_ns, time->time_ns);
	model_add_ns(&model->uncounted_ns, time->time_ns);
	return NULL;
}

static int compare_uncounted(const void *a, const void *b)
{
	const struct model_uncounted *x = a, *y = b;
	int order = (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
	order = order ? order : strcmp(x->kind, y->kind);
	order = order ? order : strcmp(x->name, y->name);
	return order ? order : strcmp(x->reason, y->reason);
}

struct rf_error *model_find_uncounted(struct model_rows *rows, const struct model_threads *threads,
				      struct model *model)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < rows->n_times; i++) {
		struct model_time_sum *time = &rows->times[i];
		struct model_uncounted cause = {0};
		if (!rows->groups && model->counted) {
			time->uncounted = is_uncounted(threads, time->row, time->thread, &cause);
			error = time->uncounted ? add_uncounted(model, &cause, time) : NULL;
		}
		rows->has_part[time->row] |= model_row_of_time(rows, time) != time->row;
	}
	if (model->n_uncounted)
		qsort(model->uncounted, model->n_uncounted, sizeof(*model->uncounted),
		      compare_uncounted);
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
		     const struct model_thread *work)
{
	uint32_t row = threads->process_of[work->thread];
	if (row == PROFILE_NONE)
		return;
	struct model_process *process = &model->processes[threads->shown[row]];
	/* each part is at most INT64_MAX (add_scaled); a sum that is more is a file's invention */
	process->flop += work->flop;
	process->load_bytes += work->load_bytes;
	process->store_bytes += work->store_bytes;
	process->instructions += work->instructions;
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
