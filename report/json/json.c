/* Everything as JSON; docs/profile-format.md is the schema. */

#include "report/json/json.h"

#include "report/json/json_roofs.h"
#include "report/json/json_traffic.h"
#include "report/json/json_values.h"
#include "report/model/model_counters.h"
#include "report/reasons/notes.h"
#include "report/reasons/reasons.h"
#include "report/reasons/words.h"
#include "report/rows/ranking.h"
#include "report/rows/report_options.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void set_facts(json_t *object, const struct profile *profile, const char *const *keys,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const enum fact_type type = fact_kind(keys[i])->type;
		long long count;
		if (type == FACT_TEXT)
			set_text(object, keys[i], profile_get_fact(profile, keys[i]));
		else if ((type == FACT_COUNT || type == FACT_FEW) &&
			 profile_count_fact(profile, keys[i], &count))
			set_integer(object, keys[i], true, count); /* a whole number stays one */
		else if (type == FACT_FLAG)
			set_flag(object, keys[i], profile_flag_fact(profile, keys[i]));
		else
			set_real(object, keys[i], profile_number_fact(profile, keys[i], NAN));
	}
}

static json_t *machine_json(const struct profile *profile)
{
	static const char *const facts[] = {
		"cpu_model", "microarchitecture", "usable_threads", "clock_ghz", "clock_fp_ghz",
		"kernel",    "hostname",
	};
	json_t *object = json_object();
	set_facts(object, profile, facts, sizeof(facts) / sizeof(*facts));
	set_real(object, "issue_width", model_issue_width(profile));
	json_object_set_new(object, "roofs", report_json_roofs(profile));
	json_object_set_new(object, "custom_roofs", report_json_custom_roofs(profile));
	return object;
}

static json_t *uncounted_part(const struct report_view *view, const char *kind, const char *name,
			      const char *reason, uint64_t time_ns)
{
	const double all = (double)view->model->time_ns;
	json_t *object = json_object();
	set_text(object, "kind", kind);
	set_text(object, "name", name && *name ? name : NULL);
	set_text(object, "module", strcmp(kind, "module") == 0 ? name : NULL);
	set_text(object, "reason", reason);
	set_real(object, "time_s", (double)time_ns * 1e-9);
	set_real(object, "share", all > 0 ? (double)time_ns / all : 0);
	return object;
}

/* The causes with time, then reasons for which no time was seen. */
static json_t *uncounted_json(const struct report_view *view)
{
	const struct profile *profile = view->profile;
	json_t *array = json_array();
	for (size_t i = 0; i < view->model->n_uncounted; i++) {
		const struct model_uncounted *part = &view->model->uncounted[i];
		json_array_append_new(array, uncounted_part(view, part->kind, part->name,
							    part->reason, part->time_ns));
	}
	for (size_t i = 0; i < profile->n_uncounted; i++) {
		const struct profile_uncounted *row = &profile->uncounted[i];
		bool known = row->module != PROFILE_NONE;
		if (report_has_time(view->model, row->reason))
			continue;
		json_array_append_new(
			array, uncounted_part(view, known ? "module" : "program",
					      known ? profile->modules[row->module].name : NULL,
					      row->reason, 0));
	}
	return array;
}

/* The counted run tells more about a process than the timed one: its row, where there is one. */
static const struct profile_process *known_row(const struct profile *profile,
					       const struct model_process *process)
{
	return &profile->processes[process->counted != PROFILE_NONE ? process->counted
								    : process->timed];
}

static void set_pid(json_t *object, const char *key, const struct profile *profile, uint32_t row)
{
	const bool known = row != PROFILE_NONE;
	set_integer(object, key, known, known ? profile->processes[row].pid : 0);
}

/* Start and end in the timed run. */
static void add_times(json_t *object, const struct profile *profile,
		      const struct model_process *process)
{
	const struct profile_process *timed =
		process->timed == PROFILE_NONE ? NULL : &profile->processes[process->timed];
	set_real(object, "start_s", timed ? (double)timed->start_ns * 1e-9 : NAN);
	set_real(object, "end_s", timed && timed->end_ns ? (double)timed->end_ns * 1e-9 : NAN);
}

static json_t *exit_json(int status)
{
	if (status == -1)
		return json_null();
	if (WIFSIGNALED(status))
		return json_sprintf("signal %d", WTERMSIG(status));
	return json_sprintf("%d", WEXITSTATUS(status));
}

static json_t *process_json(const struct report_view *view, const struct model_process *process)
{
	static const char *const births[] = {
		[BIRTH_UNKNOWN] = NULL,  [BIRTH_FIRST] = "first", [BIRTH_FORK] = "fork",
		[BIRTH_VFORK] = "vfork", [BIRTH_SPAWN] = "spawn",
	};
	const struct profile *profile = view->profile;
	const struct profile_process *row = known_row(profile, process);
	const double all = (double)view->model->time_ns;
	json_t *object = json_object();
	set_text(object, "command", row->command);
	set_text(object, "executable",
		 row->module == PROFILE_NONE ? NULL : profile->modules[row->module].path);
	set_integer(object, "parent", process->parent != PROFILE_NONE, process->parent);
	set_pid(object, "pid", profile, process->timed);
	set_pid(object, "counted_pid", profile, process->counted);
	set_text(object, "birth", births[row->birth]);
	set_count(object, "execs", row->execs);
	json_object_set_new(object, "exit_status", exit_json(row->exit_status));
	add_times(object, profile, process);
	set_real(object, "time_s", (double)process->time_ns * 1e-9);
	set_real(object, "share", all > 0 ? (double)process->time_ns / all : 0);
	set_count(object, "samples", process->n_samples);
	set_real(object, "uncounted_s", (double)process->uncounted_ns * 1e-9);
	set_text(object, "native_reason", row->native_reason[0] ? row->native_reason : NULL);
	set_count(object, "flop", process->flop);
	set_count(object, "load_bytes", process->load_bytes);
	set_count(object, "store_bytes", process->store_bytes);
	set_count(object, "instructions", process->instructions);
	return object;
}

static json_t *processes_json(const struct report_view *view)
{
	json_t *array = json_array();
	for (size_t i = 0; i < view->model->n_processes; i++)
		json_array_append_new(array, process_json(view, &view->model->processes[i]));
	return array;
}

static json_t *notes_json(const struct report_view *view)
{
	json_t *array = json_array();
	for (size_t i = 0; i < view->n_notes; i++)
		json_array_append_new(array, report_json_string(view->notes[i]));
	return array;
}

static json_t *obtained_json(const struct report_view *view)
{
	const char *work = profile_get_fact(view->profile, "work_source");
	const char *time = profile_get_fact(view->profile, "time_source");
	json_t *object = json_object();
	set_text(object, "time", time ? time : "unknown");
	set_text(object, "work", work ? work : "unknown");
	set_text(object, "bytes", work ? work : "unknown");
	set_text(object, "concurrency",
		 "estimated from samples, each standing for the time before it");
	set_text(object, "level",
		 view->model->memory != MEMORY_UNKNOWN
			 ? report_memory_words(view->model->memory)
			 : "inferred: the slowest level whose roof is not below the point");
	return object;
}

/* What the rows of "functions" are. */
static json_t *rows_json(const struct report_view *view)
{
	const struct report_options none = {0}, *options = view->shaped ? view->options : &none;
	json_t *object = json_object();
	set_text(object, "by", rf_word_of(report_by_words, options->by));
	set_text(object, "focus", options->focus);
	set_text(object, "ignore", options->ignore);
	set_real(object, "min_share", options->min_share);
	return object;
}

/* Seconds; null where there was one run. */
static json_t *runs_json(const struct model_runs *runs)
{
	if (!runs->n)
		return json_null();
	json_t *object = json_object();
	set_real(object, "least", runs->s.least);
	set_real(object, "q1", runs->s.q1);
	set_real(object, "median", runs->s.median);
	set_real(object, "q3", runs->s.q3);
	set_real(object, "most", runs->s.most);
	return object;
}

static json_t *repeated_json(const struct model *model)
{
	if (!model->runs.n)
		return json_null();
	json_t *object = json_object();
	set_count(object, "runs", model->runs.n);
	json_object_set_new(object, "cpu_time_s", runs_json(&model->runs));
	json_object_set_new(object, "wall_s", runs_json(&model->wall));
	return object;
}

static json_t *timed_runs_json(const struct profile *profile)
{
	json_t *array = json_array();
	for (size_t i = 0; i < profile->n_timed_runs; i++) {
		const struct profile_timed_run *run = &profile->timed_runs[i];
		json_t *object = json_object();
		set_real(object, "wall_s", run->wall_s);
		set_real(object, "user_s", run->user_s);
		set_real(object, "system_s", run->system_s);
		set_count(object, "samples", run->samples);
		json_object_set_new(object, "exit_status", exit_json(run->exit_status));
		set_flag(object, "shown", run->shown);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *run_json(const struct report_view *view)
{
	static const char *const facts[] = {
		"command",
		"program",
		"exit_status",
		"work_source",
		"time_source",
		"stdout_same",
		"exit_same",
		"date",
		"rfprof_version",
		"wall_s",
		"counted_wall_s",
		"translation_s",
		"threads",
		"lost_samples",
		"sample_period_ns",
		"sample_cost_ns",
		"translated_blocks",
		"translated_instructions",
		"once",
		"no_children",
	};
	const struct model *model = view->model;
	json_t *run = json_object();
	set_facts(run, view->profile, facts, sizeof(facts) / sizeof(*facts));
	json_object_set_new(run, "rows", rows_json(view));
	set_count(run, "samples", model->n_samples);
	set_real(run, "cpu_time_s", (double)model->time_ns * 1e-9);
	set_real(run, "cpu_time_halfwidth_s", model->halfwidth_s);
	json_object_set_new(run, "repeated", repeated_json(model));
	json_object_set_new(run, "timed_runs", timed_runs_json(view->profile));
	set_real(run, "uncounted_s", (double)model->uncounted_ns * 1e-9);
	json_object_set_new(run, "uncounted", uncounted_json(view));
	json_object_set_new(run, "traffic", report_json_run_traffic(view));
	json_object_set_new(run, "obtained", obtained_json(view));
	json_object_set_new(run, "notes", notes_json(view));
	return run;
}

static json_t *kinds_json(const struct tally *tally)
{
	json_t *kinds = json_object();
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int p = 0; p < FLOP_PRECISIONS; p++)
			for (int w = 0; w < FLOP_WIDTHS; w++) {
				char name[48];
				if (!tally->flop_by_kind[k][p][w])
					continue;
				model_kind_name(k, p, w, name, sizeof(name));
				set_count(kinds, name, tally->flop_by_kind[k][p][w]);
			}
	return kinds;
}

static json_t *classes_json(const struct tally *tally)
{
	static const char *const names[INSN_CLASSES] = {
		[INSN_OTHER] = "other",     [INSN_MOVE] = "move",
		[INSN_INTEGER] = "integer", [INSN_FP_ARITH] = "fp_arith",
		[INSN_FP_MOVE] = "fp_move", [INSN_BRANCH] = "branch",
		[INSN_CALL] = "call",       [INSN_RETURN] = "return",
		[INSN_STRING] = "string",   [INSN_NOP] = "nop",
		[INSN_SYSTEM] = "system",
	};
	json_t *classes = json_object();
	for (int c = 0; c < INSN_CLASSES; c++)
		if (tally->class_instructions[c])
			set_count(classes, names[c], tally->class_instructions[c]);
	return classes;
}

static json_t *threads_json(const struct profile *profile, const struct model_function *f)
{
	json_t *array = json_array();
	for (size_t i = 0; i < f->n_threads; i++) {
		const struct profile_sum_thread *t = &f->threads[i];
		const struct profile_thread *thread = &profile->threads[t->thread];
		json_t *object = json_object();
		set_count(object, "thread", t->thread);
		set_integer(object, "pid", true, thread->pid);
		set_integer(object, "tid", true, thread->tid);
		set_text(object, "name", thread->name ? thread->name : "");
		set_count(object, "flop", t->flop);
		set_count(object, "load_bytes", t->load_bytes);
		set_count(object, "store_bytes", t->store_bytes);
		set_count(object, "instructions", t->instructions);
		json_array_append_new(array, object);
	}
	return array;
}

static void add_work(json_t *object, const struct profile *profile, const struct model_function *f)
{
	const struct tally *tally = &f->tally;
	set_count(object, "flop", tally->flop);
	set_count(object, "flop_unmasked", tally->flop_unmasked);
	json_object_set_new(object, "flop_by_kind", kinds_json(tally));
	set_text(object, "precision", tally->flop ? model_precision_name(f->precision) : NULL);
	set_count(object, "load_bytes", tally->load_bytes);
	set_count(object, "store_bytes", tally->store_bytes);
	set_count(object, "nt_store_bytes", tally->nt_store_bytes);
	set_count(object, "string_bytes", tally->string_bytes);
	set_count(object, "load_instructions", tally->loads);
	set_count(object, "store_instructions", tally->stores);
	set_count(object, "instructions", tally->instructions);
	json_object_set_new(object, "instructions_by_class", classes_json(tally));
	json_object_set_new(object, "per_thread", threads_json(profile, f));
}

static json_t *why_json(const struct report_view *view, const struct model_function *f)
{
	char *text;
	struct rf_error *error = report_reasons_text(view, f, &text);
	json_t *why = error ? NULL : report_json_string(text);
	rf_error_destroy(error);
	free(text);
	return why;
}

static void add_place(json_t *object, const struct report_view *view,
		      const struct model_function *f)
{
	const struct model_place *place = &f->place;
	bool timed = f->elapsed_s > 0, roofed = place->axis != AXIS_NONE && place->roof > 0;
	bool flop = place->axis == AXIS_FLOP && roofed;
	double bytes = (double)f->tally.load_bytes + (double)f->tally.store_bytes;
	bool counted = f->tally.instructions > 0;
	set_real(object, "gflops",
		 timed && counted ? (double)f->tally.flop * 1e-9 / f->elapsed_s : NAN);
	set_real(object, "gbytes_per_s", timed && counted ? bytes * 1e-9 / f->elapsed_s : NAN);
	set_real(object, "intensity", counted ? f->intensity : NAN);
	set_text(object, "bound", report_bound_name(place->bound));
	set_text(object, "bound_or", place->bound_or ? report_bound_name(place->bound_or) : NULL);
	set_text(object, "level", place->level[0] ? place->level : NULL);
	set_flag(object, "level_inferred", place->level[0] && !place->traced);
	set_text(object, "roof_stores", place->stores);
	set_text(object, "roof_pattern",
		 place->level[0] && place->traced ? report_pattern_name(place->pattern) : NULL);
	set_real(object, "roof_chains", place->chains > 0 ? place->chains : NAN);
	set_real(object, "roof_streamed", place->roof_streamed > 0 ? place->roof_streamed : NAN);
	set_text(object, "roof_lacks", place->lacks ? roof_op_name(place->lacks) : NULL);
	set_flag(object, "roof_interpolated", place->interpolated);
	set_real(object, "roof_gflops", flop ? place->roof : NAN);
	set_real(object, "roof_l1_gflops", flop ? place->roof_l1 : NAN);
	set_real(object, "ceiling_gflops", flop ? place->ceiling : NAN);
	set_text(object, "roof_precision",
		 !flop             ? NULL
		 : place->borrowed ? place->borrowed
				   : model_precision_name(f->precision));
	set_real(object, "point", place->axis == AXIS_NONE ? NAN : place->point);
	set_real(object, "roof", roofed ? place->roof : NAN);
	set_text(object, "point_unit",
		 place->axis == AXIS_NONE ? NULL : report_point_unit(place->axis));
	set_real(object, "distance", place->distance);
	set_real(object, "distance_halfwidth", place->distance * place->spread);
	set_real(object, "headroom_s", place->headroom_s);
	set_flag(object, "at_most", place->at_most);
	set_flag(object, "above_roof", place->above);
	json_object_set_new(object, "why", why_json(view, f));
}

static json_t *counters_json(const struct report_view *view)
{
	static const char *const uses[N_COUNTER_USES] = {[COUNTER_UNUSED] = "unused",
							 [COUNTER_USED] = "exact",
							 [COUNTER_IN_TURNS] = "in turns",
							 [COUNTER_BELOW] = "lower bound"};
	json_t *array = json_array();
	for (size_t i = 0; i < view->profile->n_counters; i++) {
		const struct profile_counter *counter = &view->profile->counters[i];
		json_t *object = json_object();
		set_text(object, "quantity", counter->quantity);
		set_text(object, "event", counter->event);
		set_real(object, "multiplier", counter->multiplier);
		set_text(object, "use", uses[counter->use]);
		set_real(object, "events", counter->events);
		set_real(object, "counted_share", counter->share);
		set_real(object, "missing_share", counter->missing);
		set_count(object, "samples", counter->samples);
		set_text(object, "why", counter->why);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *quantities_json(const struct report_view *view, const struct model_function *f)
{
	json_t *array = json_array();
	for (size_t i = 0; f->quantities && i < view->model->n_quantities; i++) {
		const struct model_quantity *quantity = &f->quantities[i];
		if (quantity->samples == 0)
			continue;
		json_t *object = json_object();
		set_text(object, "quantity", quantity->name);
		set_real(object, "value", quantity->value);
		set_real(object, "stderr", sqrt(quantity->variance));
		set_count(object, "samples", quantity->samples);
		json_array_append_new(array, object);
	}
	return array;
}

static void add_ratios(json_t *object, const struct report_view *view,
		       const struct model_function *f)
{
	const bool both = model_has_both(view->profile);
	set_real(object, "pmu_per_counted_flop", both ? model_flop_ratio(view->model, f) : NAN);
	set_real(object, "pmu_per_counted_instructions",
		 both ? model_instruction_ratio(view->model, f) : NAN);
}

json_t *report_json_function(const struct report_view *view, const struct model_function *f)
{
	const struct profile *profile = view->profile;
	const struct profile_function *source =
		f->function == PROFILE_NONE ? NULL : &profile->functions[f->function];
	json_t *object = json_object();
	set_text(object, "name", f->name);
	set_text(object, "module", f->module);
	set_text(object, "file", source && source->file && source->file[0] ? source->file : NULL);
	set_integer(object, "line", source && source->line, source ? source->line : 0);
	set_real(object, "time_s", (double)f->time_ns * 1e-9);
	set_real(object, "time_halfwidth_s", f->n_samples ? f->halfwidth_s : NAN);
	json_object_set_new(object, "time_runs_s", runs_json(&f->runs));
	set_real(object, "elapsed_s", f->elapsed_s);
	set_count(object, "samples", f->n_samples);
	set_real(object, "share", f->share);
	set_real(object, "threads", f->concurrency);
	add_work(object, profile, f);
	add_place(object, view, f);
	report_json_traffic(object, view, f);
	json_object_set_new(object, "metrics", report_json_metrics(view, f));
	json_object_set_new(object, "counters", quantities_json(view, f));
	add_ratios(object, view, f);
	json_object_set_new(object, "loops", report_json_loops(view, f));
	return object;
}

json_t *report_json_head(const struct report_view *view)
{
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:i, s:o, s:o}", "schema", 1, "machine",
			 machine_json(view->profile), "run", run_json(view), "processes",
			 processes_json(view), "counters", counters_json(view), "roof_threads",
			 report_roof_threads(view), "bandwidths",
			 report_json_bandwidths(view->profile), "peaks",
			 report_json_peaks(view->profile));
}

struct rf_error *report_json(const struct report_view *view, FILE *stream)
{
	json_t *functions = json_array();
	size_t n = 0;
	for (size_t i = 0; i < view->n_rank; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (!report_is_small(view, f) && ++n)
			json_array_append_new(functions, report_json_function(view, f));
	}
	json_t *root = report_json_head(view);
	/* Writing errors show in the stream. */
	bool complete = root && json_array_size(functions) == n &&
			json_object_set(root, "functions", functions) == 0;
	if (complete) {
		json_dumpf(root, stream, JSON_INDENT(1));
		putc('\n', stream);
	}
	json_decref(functions);
	json_decref(root);
	return complete ? NULL : rf_error_no_memory();
}
