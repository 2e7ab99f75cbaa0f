/* A row of threads and processes for each reason, not for each rank. */
#include "report/merge/rank_threads.h"

#include "base/array.h"
#include "report/model/model.h"

#include <stdlib.h>
#include <string.h>

#define NOT_COUNTED "the work of this rank was not counted (--ranks)"

/* Rows of a reason: in threads and in processes alike. */
static uint32_t timed_row(size_t reason)
{
	return (uint32_t)(2 * reason);
}

static uint32_t counted_row(size_t reason)
{
	return (uint32_t)(2 * reason + 1);
}

static struct rf_error *add_process(struct profile *into, enum profile_run run, size_t reason,
				    const char *why)
{
	const struct profile_process row = {
		.run = run,
		.pid = (int)reason + 1,
		.parent = PROFILE_NONE,
		.twin = run == RUN_COUNTED ? timed_row(reason) : PROFILE_NONE,
		.birth = BIRTH_FIRST,
		.execs = 1,
		.command = strdup(""),
		.module = PROFILE_NONE,
		.exit_status = -1,
		.native_reason = strdup(why),
	};
	if (row.command && row.native_reason &&
	    rf_array_push(into->processes, into->n_processes, into->cap_processes, row))
		return NULL;
	free(row.command);
	free(row.native_reason);
	return rf_error_no_memory();
}

static struct rf_error *add_reason(struct rank_threads *threads, struct profile *into,
				   const char *why, size_t *out)
{
	const size_t n = threads->n_reasons;
	const int pid = (int)n + 1;
	const struct profile_thread_time none = {.thread = timed_row(n)};
	char *copy = strdup(why);
	if (!copy ||
	    !rf_array_push(threads->reasons, threads->n_reasons, threads->cap_reasons, copy)) {
		free(copy);
		return rf_error_no_memory();
	}
	*out = n;
	if (profile_thread(into, RUN_TIMED, pid, pid, "all ranks") != timed_row(n) ||
	    profile_thread(into, RUN_COUNTED, pid, pid, "all ranks") != counted_row(n))
		return rf_error_no_memory();
	return add_process(into, RUN_TIMED, n, "") ?: add_process(into, RUN_COUNTED, n, why)
	       ?: rf_array_add(into->thread_times, into->n_thread_times, into->cap_thread_times, none);
}

static struct rf_error *reason_of(struct rank_threads *threads, struct profile *into,
				  const char *why, size_t *out)
{
	for (*out = 0; *out < threads->n_reasons; ++*out)
		if (strcmp(threads->reasons[*out], why) == 0)
			return NULL;
	return add_reason(threads, into, why, out);
}

/* ---- why a thread ran natively ---- */

static bool has_native(const struct profile *profile)
{
	bool native = profile->n_native_threads > 0;
	for (size_t i = 0; !native && i < profile->n_processes; i++)
		native = profile->processes[i].native_reason[0] != '\0';
	return native;
}

/* Of a thread of the counted run. */
static const char *counted_reason(const struct profile *profile, const struct model *model,
				  uint32_t thread)
{
	const uint32_t process = model->process_of_thread[thread];
	if (process != PROFILE_NONE && profile->processes[process].native_reason[0])
		return profile->processes[process].native_reason;
	for (size_t i = 0; i < profile->n_native_threads; i++)
		if (profile->native_threads[i].thread == thread)
			return profile->native_threads[i].reason;
	return "";
}

/* `model`: NULL where no thread ran natively. */
static const char *reason_for(const struct profile *profile, const struct model *model,
			      uint32_t thread)
{
	if (!model)
		return "";
	if (profile->threads[thread].run == RUN_COUNTED)
		return counted_reason(profile, model, thread);
	const uint32_t twin = model->twin_of_thread[thread];
	return twin == PROFILE_NONE ? "" : counted_reason(profile, model, twin);
}

static struct rf_error *map_threads(struct rank_threads *threads, const struct profile *profile,
				    const struct model *model, struct row_merger *merger,
				    bool counted)
{
	struct rf_error *error = NULL;
	for (uint32_t i = 0; !error && i < profile->n_threads; i++) {
		const bool timed = profile->threads[i].run == RUN_TIMED;
		size_t reason = 0;
		error = reason_of(threads, merger->into,
				  counted ? reason_for(profile, model, i) : NOT_COUNTED, &reason);
		merger->row_of[THREADS][i] = timed ? timed_row(reason) : counted_row(reason);
	}
	return error;
}

/* Row k of thread_times is that of reason k. */
static void add_clock(const struct profile *profile, const struct row_merger *merger)
{
	for (size_t i = 0; i < profile->n_thread_times; i++) {
		const struct profile_thread_time *time = &profile->thread_times[i];
		struct profile_thread_time *to =
			&merger->into->thread_times[merger->row_of[THREADS][time->thread] / 2];
		to->end_ns = time->end_ns > to->end_ns ? time->end_ns : to->end_ns;
		to->ran_ns += time->ran_ns;
		to->ready_ns += time->ready_ns;
		to->waited_ns += time->waited_ns;
		to->voluntary += time->voluntary;
		to->involuntary += time->involuntary;
		to->preempted_ns += time->preempted_ns;
	}
}

struct rf_error *rank_threads_add(struct rank_threads *threads, const struct profile *profile,
				  struct row_merger *merger, bool counted)
{
	struct model model = {0};
	const bool native = counted && has_native(profile);
	struct rf_error *error =
		native ? model_build_as(profile, &(struct model_choice){.sums = true}, &model)
		       : NULL;
	error = error ?: map_threads(threads, profile, native ? &model : NULL, merger, counted);
	if (!error)
		add_clock(profile, merger);
	model_deinit(&model);
	return error;
}

struct rf_error *rank_threads_finish(struct rank_threads *threads, struct profile *into)
{
	const char *program = profile_get_fact(into, "program");
	bool clocks = false;
	for (uint32_t i = 0; i < into->n_processes; i++)
		profile_process_command(into, i, program ? program : "?");
	for (size_t i = 0; i < into->n_thread_times; i++)
		clocks |= into->thread_times[i].ran_ns + into->thread_times[i].waited_ns > 0;
	if (!clocks)
		into->n_thread_times = 0; /* the ranks have none either */
	return threads->n_reasons || !into->n_sum_times
		       ? NULL
		       : rf_error_create(RF_EFORMAT, NULL, "the ranks have no threads");
}

void rank_threads_deinit(struct rank_threads *threads)
{
	for (size_t i = 0; i < threads->n_reasons; i++)
		free(threads->reasons[i]);
	free(threads->reasons);
}
