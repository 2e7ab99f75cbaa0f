/* Everything as JSON; docs/profile-format.md is the schema. */

#include "report/json/json.h"

#include "report/json/json_account.h"
#include "report/json/json_ecm.h"
#include "report/json/json_function.h"
#include "report/json/json_items.h"
#include "report/json/json_kernels.h"
#include "report/json/json_other.h"
#include "report/json/json_python.h"
#include "report/json/json_ranks.h"
#include "report/json/json_roofs.h"
#include "report/json/json_sharing.h"
#include "report/json/json_tlb.h"
#include "report/json/json_traffic.h"
#include "report/json/json_writer.h"
#include "report/reasons/advice.h"
#include "report/reasons/notes.h"
#include "report/reasons/words.h"
#include "report/rows/ranking.h"
#include "report/rows/report_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void put_facts(struct json_writer *out, const struct profile *profile,
		      const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const enum fact_type type = fact_kind(keys[i])->type;
		long long count;
		if (type == FACT_TEXT)
			put_text(out, keys[i], profile_get_fact(profile, keys[i]));
		else if ((type == FACT_COUNT || type == FACT_FEW) &&
			 profile_count_fact(profile, keys[i], &count))
			put_integer(out, keys[i], count); /* a whole number stays one */
		else if (type == FACT_FLAG)
			put_flag(out, keys[i], profile_flag_fact(profile, keys[i]));
		else
			put_real(out, keys[i], profile_number_fact(profile, keys[i], NAN));
	}
}

static void put_machine(struct json_writer *out, const char *key, const struct report_view *view)
{
	const struct profile *profile = view->profile;
	static const char *const facts[] = {
		"cpu_model",
		"microarchitecture",
		"usable_threads",
		"clock_ghz",
		"clock_fp_ghz",
		"clock_held_ghz",
		"core_looks",
		"left_slots",
		"left_integer",
		"left_vector",
		"left_loads",
		"left_stores",
		"left_branches",
		"line_transfer_core_ns",
		"line_transfer_cache_ns",
		"line_transfer_beyond_ns",
		"kernel",
		"hostname",
	};
	put_object(out, key);
	put_facts(out, profile, facts, sizeof(facts) / sizeof(*facts));
	put_real(out, "issue_width", model_issue_width(profile));
	report_json_roofs(out, "roofs", profile);
	report_json_custom_roofs(out, "custom_roofs", profile);
	report_json_ecm_machine(out, "ecm", view);
	put_end(out);
}

static void put_part(struct json_writer *out, const struct report_view *view, const char *kind,
		     const char *name, const char *reason, uint64_t time_ns)
{
	const double all = (double)view->model->time_ns;
	put_object(out, NULL);
	put_text(out, "kind", kind);
	put_text(out, "name", name && *name ? name : NULL);
	put_text(out, "module", strcmp(kind, "module") == 0 ? name : NULL);
	put_text(out, "reason", reason);
	put_real(out, "time_s", (double)time_ns * 1e-9);
	put_real(out, "share", all > 0 ? (double)time_ns / all : 0);
	put_end(out);
}

/* The causes with time, then reasons for which no time was seen. */
static void put_uncounted(struct json_writer *out, const char *key, const struct report_view *view)
{
	const struct profile *profile = view->profile;
	put_array(out, key);
	for (size_t i = 0; i < view->model->n_uncounted; i++) {
		const struct model_uncounted *part = &view->model->uncounted[i];
		put_part(out, view, part->kind, part->name, part->reason, part->time_ns);
	}
	for (size_t i = 0; i < profile->n_uncounted; i++) {
		const struct profile_uncounted *row = &profile->uncounted[i];
		bool known = row->module != PROFILE_NONE;
		if (report_has_time(view->model, row->reason))
			continue;
		put_part(out, view, known ? "module" : "program",
			 known ? profile->modules[row->module].name : NULL, row->reason, 0);
	}
	put_end(out);
}

/* The counted run tells more about a process than the timed one: its row, where there is one. */
static const struct profile_process *known_row(const struct profile *profile,
					       const struct model_process *process)
{
	return &profile->processes[process->counted != PROFILE_NONE ? process->counted
								    : process->timed];
}

static void put_pid(struct json_writer *out, const char *key, const struct profile *profile,
		    uint32_t row)
{
	const bool known = row != PROFILE_NONE;
	put_known(out, key, known, known ? profile->processes[row].pid : 0);
}

/* Start and end in the timed run. */
static void put_times(struct json_writer *out, const struct profile *profile,
		      const struct model_process *process)
{
	const struct profile_process *timed =
		process->timed == PROFILE_NONE ? NULL : &profile->processes[process->timed];
	put_real(out, "start_s", timed ? (double)timed->start_ns * 1e-9 : NAN);
	put_real(out, "end_s", timed && timed->end_ns ? (double)timed->end_ns * 1e-9 : NAN);
}

static void put_exit(struct json_writer *out, const char *key, int status)
{
	char text[32];
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "signal %d", WTERMSIG(status));
	else
		snprintf(text, sizeof(text), "%d", WEXITSTATUS(status));
	put_text(out, key, status == -1 ? NULL : text);
}

static void put_process(struct json_writer *out, const struct report_view *view,
			const struct model_process *process)
{
	static const char *const births[] = {
		[BIRTH_UNKNOWN] = NULL,  [BIRTH_FIRST] = "first", [BIRTH_FORK] = "fork",
		[BIRTH_VFORK] = "vfork", [BIRTH_SPAWN] = "spawn",
	};
	const struct profile *profile = view->profile;
	const struct profile_process *row = known_row(profile, process);
	const double all = (double)view->model->time_ns;
	put_object(out, NULL);
	put_text(out, "command", row->command);
	put_text(out, "executable",
		 row->module == PROFILE_NONE ? NULL : profile->modules[row->module].path);
	put_known(out, "parent", process->parent != PROFILE_NONE, process->parent);
	put_pid(out, "pid", profile, process->timed);
	put_pid(out, "counted_pid", profile, process->counted);
	put_text(out, "birth", births[row->birth]);
	put_count(out, "execs", row->execs);
	put_known(out, "rank", row->rank_plus_1 > 0, row->rank_plus_1 - 1);
	put_exit(out, "exit_status", row->exit_status);
	put_times(out, profile, process);
	put_real(out, "time_s", (double)process->time_ns * 1e-9);
	put_real(out, "share", all > 0 ? (double)process->time_ns / all : 0);
	put_count(out, "samples", process->n_samples);
	put_real(out, "uncounted_s", (double)process->uncounted_ns * 1e-9);
	put_text(out, "native_reason", row->native_reason[0] ? row->native_reason : NULL);
	put_count(out, "flop", process->flop);
	put_count(out, "load_bytes", process->load_bytes);
	put_count(out, "store_bytes", process->store_bytes);
	put_count(out, "instructions", process->instructions);
	put_end(out);
}

static void put_processes(struct json_writer *out, const char *key, const struct report_view *view)
{
	put_array(out, key);
	for (size_t i = 0; i < view->model->n_processes; i++)
		put_process(out, view, &view->model->processes[i]);
	put_end(out);
}

static void put_notes(struct json_writer *out, const char *key, const struct report_view *view)
{
	put_array(out, key);
	for (size_t i = 0; i < view->n_notes; i++)
		put_text(out, NULL, view->notes[i].text);
	put_end(out);
}

static void put_obtained(struct json_writer *out, const char *key, const struct report_view *view)
{
	const char *work = profile_get_fact(view->profile, "work_source");
	const char *time = profile_get_fact(view->profile, "time_source");
	put_object(out, key);
	put_text(out, "time", time ? time : "unknown");
	put_text(out, "work", work ? work : "unknown");
	put_text(out, "bytes", work ? work : "unknown");
	put_text(out, "concurrency",
		 "estimated from samples, each standing for the time before it");
	put_text(out, "level",
		 view->model->memory != MEMORY_UNKNOWN
			 ? report_memory_words(view->model->memory)
			 : "inferred: the slowest level whose roof is not below the point");
	put_end(out);
}

/* What the rows of "functions" are. */
static void put_rows(struct json_writer *out, const char *key, const struct report_view *view)
{
	const struct report_options none = {0}, *options = view->shaped ? view->options : &none;
	put_object(out, key);
	put_text(out, "by", rf_word_of(report_by_words, options->by));
	put_text(out, "focus", options->focus);
	put_text(out, "ignore", options->ignore);
	put_real(out, "min_share", options->min_share);
	put_end(out);
}

static void put_repeated(struct json_writer *out, const char *key, const struct model *model)
{
	if (!model->runs.n) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_count(out, "runs", model->runs.n);
	report_json_runs(out, "cpu_time_s", &model->runs);
	report_json_runs(out, "wall_s", &model->wall);
	put_end(out);
}

static void put_timed_runs(struct json_writer *out, const char *key, const struct profile *profile)
{
	put_array(out, key);
	for (size_t i = 0; i < profile->n_timed_runs; i++) {
		const struct profile_timed_run *run = &profile->timed_runs[i];
		put_object(out, NULL);
		put_real(out, "wall_s", run->wall_s);
		put_real(out, "user_s", run->user_s);
		put_real(out, "system_s", run->system_s);
		put_count(out, "samples", run->samples);
		put_exit(out, "exit_status", run->exit_status);
		put_flag(out, "shown", run->shown);
		put_end(out);
	}
	put_end(out);
}

/* null where memory is short, too. */
static void put_advice(struct json_writer *out, const char *key, const struct report_view *view)
{
	char *text = NULL;
	rf_error_destroy(report_advice(view, &text, NULL));
	put_text(out, key, text);
	free(text);
}

/* The part of the run that was measured; null: all of it. */
static void put_span(struct json_writer *out, const char *key, const struct profile *profile)
{
	if (!profile_get_fact(profile, "run_s")) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_real(out, "start_s", profile_number_fact(profile, "span_start_s", NAN));
	put_real(out, "end_s", profile_number_fact(profile, "span_end_s", NAN));
	put_real(out, "run_s", profile_number_fact(profile, "run_s", NAN));
	put_text(out, "timed_by", profile_get_fact(profile, "span_timed_by"));
	put_text(out, "counted_by", profile_get_fact(profile, "span_counted_by"));
	put_real(out, "start_error_s", profile_number_fact(profile, "span_start_error_s", NAN));
	put_real(out, "end_error_s", profile_number_fact(profile, "span_end_error_s", NAN));
	put_end(out);
}

static void put_run(struct json_writer *out, const char *key, const struct report_view *view)
{
	static const char *const facts[] = {
		"command",           "program",
		"exit_status",       "work_source",
		"time_source",       "stdout_same",
		"exit_same",         "date",
		"rfprof_version",    "wall_s",
		"counted_wall_s",    "translation_s",
		"threads",           "lost_samples",
		"sample_period_ns",  "sample_cost_ns",
		"translated_blocks", "translated_instructions",
		"hot_blocks",        "once",
		"no_children",
	};
	const struct model *model = view->model;
	put_object(out, key);
	put_facts(out, view->profile, facts, sizeof(facts) / sizeof(*facts));
	put_span(out, "span", view->profile);
	put_rows(out, "rows", view);
	put_count(out, "samples", model->n_samples);
	put_real(out, "cpu_time_s", (double)model->time_ns * 1e-9);
	put_real(out, "cpu_time_halfwidth_s", model->halfwidth_s);
	put_repeated(out, "repeated", model);
	put_timed_runs(out, "timed_runs", view->profile);
	put_real(out, "uncounted_s", (double)model->uncounted_ns * 1e-9);
	put_uncounted(out, "uncounted", view);
	report_json_run_traffic(out, "traffic", view);
	put_obtained(out, "obtained", view);
	report_json_account(out, "account", view);
	put_advice(out, "advice", view);
	put_notes(out, "notes", view);
	put_end(out);
}

static void put_counters(struct json_writer *out, const char *key, const struct report_view *view)
{
	static const char *const uses[N_COUNTER_USES] = {[COUNTER_UNUSED] = "unused",
							 [COUNTER_USED] = "exact",
							 [COUNTER_IN_TURNS] = "in turns",
							 [COUNTER_BELOW] = "lower bound"};
	put_array(out, key);
	for (size_t i = 0; i < view->profile->n_counters; i++) {
		const struct profile_counter *counter = &view->profile->counters[i];
		put_object(out, NULL);
		put_text(out, "quantity", counter->quantity);
		put_text(out, "event", counter->event);
		put_real(out, "multiplier", counter->multiplier);
		put_text(out, "use", uses[counter->use]);
		put_real(out, "events", counter->events);
		put_real(out, "counted_share", counter->share);
		put_real(out, "missing_share", counter->missing);
		put_count(out, "samples", counter->samples);
		put_text(out, "why", counter->why);
		put_end(out);
	}
	put_end(out);
}

void report_json_head(struct json_writer *out, const struct report_view *view)
{
	put_integer(out, "schema", 1);
	put_machine(out, "machine", view);
	put_run(out, "run", view);
	put_processes(out, "processes", view);
	report_json_threads(out, "threads", view);
	report_json_waits(out, "waits", view);
	report_json_regions(out, "regions", view);
	report_json_calls(out, "system_calls", view);
	put_counters(out, "counters", view);
	put_integer(out, "roof_threads", report_roof_threads(view));
	report_json_bandwidths(out, "bandwidths", view->profile);
	report_json_peaks(out, "peaks", view->profile);
	report_json_sharing(out, "sharing", view);
	report_json_ranks(out, view);
	report_json_kernels(out, "kernels", view->profile);
}

static struct rf_error *put_function(struct json_writer *const *to, size_t i, void *context)
{
	const struct report_view *view = context;
	const struct model_function *f = &view->model->functions[view->rank[i]];
	if (report_is_small(view, f))
		return NULL;
	put_object(to[0], NULL);
	struct rf_error *error = report_json_function(
		&(struct json_function_out){.listed = to[0], .rest = to[0], .whole = true}, view,
		f);
	put_end(to[0]);
	return error;
}

struct rf_error *report_json(const struct report_view *view, FILE *stream)
{
	struct json_writer *out = json_writer_create(stream, JSON_LINES);
	if (!out)
		return rf_error_no_memory();
	put_object(out, NULL);
	report_json_head(out, view);
	put_array(out, "functions");
	struct rf_error *error =
		json_put_items(&out, 1, view->n_rank, put_function, (void *)view, view);
	put_end(out);
	error = error ?: report_json_python(out, "python", view);
	error = error ?: report_json_potentials(out, "potentials", view);
	error = error ?: report_json_other_caches(out, "other_caches", view);
	error = error ?: report_json_tlb(out, "tlb", view);
	put_end(out);
	const bool done = json_writer_destroy(out); /* writing errors show in the stream */
	putc('\n', stream);
	return done || error ? error : rf_error_no_memory();
}
