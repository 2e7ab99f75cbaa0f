/* Everything as JSON; docs/profile-format.md is the schema. */

#include "report/json/json.h"

#include "report/json/json_counters.h"
#include "report/json/json_traffic.h"
#include "report/json/json_values.h"
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

static json_t *roofs_json(const struct profile *profile)
{
	json_t *array = json_array();
	for (size_t i = 0; i < profile->n_roofs; i++) {
		const struct roof *r = &profile->roofs[i];
		bool compute = r->kind == ROOF_COMPUTE;
		json_array_append_new(
			array,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, "
				  "s:o, s:o, s:o, s:b, s:b}",
				  "kind", compute ? "compute" : "bandwidth", "isa",
				  report_json_string(roof_isa_name(r->isa)), "precision",
				  report_json_string(roof_precision_name(r->precision)), "op",
				  report_json_string(roof_op_name(r->op)), "level",
				  report_json_string(roof_level_name(r->level)), "threads",
				  r->threads, "cpu_node",
				  r->by_node ? json_integer(r->cpu_node) : json_null(),
				  "memory_node",
				  r->by_node ? json_integer(r->memory_node) : json_null(), "best",
				  report_json_real(r->best), "theory",
				  report_json_real(r->theory > 0 ? r->theory : NAN), "median",
				  report_json_real(r->median), "q1", report_json_real(r->q1), "q3",
				  report_json_real(r->q3), "unit", report_json_string(r->unit),
				  "bytes_convention", report_json_string(r->bytes_convention),
				  "distinguishable", (int)r->distinguishable, "noisy",
				  (int)r->noisy));
	}
	return array;
}

static json_t *custom_roofs_json(const struct profile *profile)
{
	json_t *array = json_array();
	for (size_t i = 0; i < profile->n_custom_roofs; i++) {
		const struct custom_roof *r = &profile->custom_roofs[i];
		json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:o}", "name",
						       report_json_string(r->name), "value",
						       report_json_real(r->value), "unit",
						       report_json_string(r->unit), "source",
						       report_json_string(r->source)));
	}
	return array;
}

static json_t *fact(const struct profile *profile, const char *key)
{
	return report_json_string(profile_get_fact(profile, key));
}

static json_t *number_fact(const struct profile *profile, const char *key)
{
	return report_json_real(profile_number_fact(profile, key, NAN));
}

/* A whole number stays one in the JSON. */
static json_t *integer_fact(const struct profile *profile, const char *key)
{
	long long value;
	return profile_count_fact(profile, key, &value) ? json_integer(value)
							: number_fact(profile, key);
}

static json_t *machine_json(const struct profile *profile)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o}", "cpu_model",
			 fact(profile, "cpu_model"), "microarchitecture",
			 fact(profile, "microarchitecture"), "usable_threads",
			 integer_fact(profile, "usable_threads"), "clock_ghz",
			 number_fact(profile, "clock_ghz"), "clock_fp_ghz",
			 number_fact(profile, "clock_fp_ghz"), "kernel", fact(profile, "kernel"),
			 "hostname", fact(profile, "hostname"), "issue_width",
			 model_issue_width(profile), "roofs", roofs_json(profile), "custom_roofs",
			 custom_roofs_json(profile));
}

static json_t *uncounted_part(const struct report_view *view, const char *kind, const char *name,
			      const char *reason, uint64_t time_ns)
{
	const double all = (double)view->model->time_ns;
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "kind", kind, "name",
			 report_json_string(name && *name ? name : NULL), "module",
			 report_json_string(strcmp(kind, "module") == 0 ? name : NULL), "reason",
			 report_json_string(reason), "time_s",
			 report_json_real((double)time_ns * 1e-9), "share",
			 report_json_real(all > 0 ? (double)time_ns / all : 0));
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

static json_t *pid_json(const struct profile *profile, uint32_t row)
{
	return row == PROFILE_NONE ? json_null() : json_integer(profile->processes[row].pid);
}

/* Start and end in the timed run. */
static void add_times(json_t *object, const struct profile *profile,
		      const struct model_process *process)
{
	const struct profile_process *timed =
		process->timed == PROFILE_NONE ? NULL : &profile->processes[process->timed];
	json_object_set_new(object, "start_s",
			    report_json_real(timed ? (double)timed->start_ns * 1e-9 : NAN));
	json_object_set_new(object, "end_s",
			    report_json_real(timed && timed->end_ns ? (double)timed->end_ns * 1e-9
								    : NAN));
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
	json_object_set_new(object, "command", report_json_string(row->command));
	json_object_set_new(object, "executable",
			    report_json_string(row->module == PROFILE_NONE
						       ? NULL
						       : profile->modules[row->module].path));
	json_object_set_new(object, "parent",
			    process->parent == PROFILE_NONE ? json_null()
							    : json_integer(process->parent));
	json_object_set_new(object, "pid", pid_json(profile, process->timed));
	json_object_set_new(object, "counted_pid", pid_json(profile, process->counted));
	json_object_set_new(object, "birth", report_json_string(births[row->birth]));
	json_object_set_new(object, "execs", report_json_count(row->execs));
	json_object_set_new(object, "exit_status", exit_json(row->exit_status));
	add_times(object, profile, process);
	json_object_set_new(object, "time_s", report_json_real((double)process->time_ns * 1e-9));
	json_object_set_new(object, "share",
			    report_json_real(all > 0 ? (double)process->time_ns / all : 0));
	json_object_set_new(object, "samples", report_json_count(process->n_samples));
	json_object_set_new(object, "uncounted_s",
			    report_json_real((double)process->uncounted_ns * 1e-9));
	json_object_set_new(object, "native_reason",
			    report_json_string(row->native_reason[0] ? row->native_reason : NULL));
	json_object_set_new(object, "flop", report_json_count(process->flop));
	json_object_set_new(object, "load_bytes", report_json_count(process->load_bytes));
	json_object_set_new(object, "store_bytes", report_json_count(process->store_bytes));
	json_object_set_new(object, "instructions", report_json_count(process->instructions));
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
	return json_pack("{s:o, s:o, s:o, s:s, s:s}", "time",
			 report_json_string(time ? time : "unknown"), "work",
			 report_json_string(work ? work : "unknown"), "bytes",
			 report_json_string(work ? work : "unknown"), "concurrency",
			 "estimated from samples, each standing for the time before it", "level",
			 view->model->memory != MEMORY_UNKNOWN
				 ? report_memory_words(view->model->memory)
				 : "inferred: the slowest level whose roof is not below the point");
}

/* What the rows of "functions" are. */
static json_t *rows_json(const struct report_view *view)
{
	const struct report_options none = {0}, *options = view->shaped ? view->options : &none;
	return json_pack("{s:s, s:o, s:o, s:o}", "by", rf_word_of(report_by_words, options->by),
			 "focus", options->focus ? report_json_string(options->focus) : json_null(),
			 "ignore",
			 options->ignore ? report_json_string(options->ignore) : json_null(),
			 "min_share", report_json_real(options->min_share));
}

static json_t *run_json(const struct report_view *view)
{
	static const char *const texts[] = {
		"command",     "program",   "exit_status", "work_source",    "time_source",
		"stdout_same", "exit_same", "date",        "rfprof_version",
	};
	static const char *const numbers[] = {"wall_s", "counted_wall_s", "translation_s"};
	static const char *const integers[] = {"threads",           "lost_samples",
					       "sample_period_ns",  "sample_cost_ns",
					       "translated_blocks", "translated_instructions"};
	const struct profile *profile = view->profile;
	const struct model *model = view->model;
	json_t *run = json_object();
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		json_object_set_new(run, texts[i], fact(profile, texts[i]));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		json_object_set_new(run, numbers[i], number_fact(profile, numbers[i]));
	for (size_t i = 0; i < sizeof(integers) / sizeof(*integers); i++)
		json_object_set_new(run, integers[i], integer_fact(profile, integers[i]));
	json_object_set_new(run, "once", json_boolean(profile_flag_fact(profile, "once")));
	json_object_set_new(run, "no_children",
			    json_boolean(profile_flag_fact(profile, "no_children")));
	json_object_set_new(run, "rows", rows_json(view));
	json_object_set_new(run, "samples", report_json_count(model->n_samples));
	json_object_set_new(run, "cpu_time_s", report_json_real((double)model->time_ns * 1e-9));
	json_object_set_new(run, "uncounted_s",
			    report_json_real((double)model->uncounted_ns * 1e-9));
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
				json_object_set_new(kinds, name,
						    report_json_count(
							    tally->flop_by_kind[k][p][w]));
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
			json_object_set_new(classes, names[c],
					    report_json_count(tally->class_instructions[c]));
	return classes;
}

static json_t *threads_json(const struct profile *profile, const struct model_function *f)
{
	json_t *array = json_array();
	for (size_t i = 0; i < f->n_threads; i++) {
		const struct model_thread *t = &f->threads[i];
		const struct profile_thread *thread = &profile->threads[t->thread];
		json_array_append_new(
			array,
			json_pack("{s:I, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "thread",
				  (json_int_t)t->thread, "pid", thread->pid, "tid", thread->tid,
				  "name", report_json_string(thread->name ? thread->name : ""),
				  "flop", report_json_count(t->flop), "load_bytes",
				  report_json_count(t->load_bytes), "store_bytes",
				  report_json_count(t->store_bytes), "instructions",
				  report_json_count(t->instructions)));
	}
	return array;
}

static void add_work(json_t *object, const struct profile *profile, const struct model_function *f)
{
	const struct tally *tally = &f->tally;
	json_object_set_new(object, "flop", report_json_count(tally->flop));
	json_object_set_new(object, "flop_unmasked", report_json_count(tally->flop_unmasked));
	json_object_set_new(object, "flop_by_kind", kinds_json(tally));
	json_object_set_new(object, "precision",
			    tally->flop ? json_string(model_precision_name(f->precision))
					: json_null());
	json_object_set_new(object, "load_bytes", report_json_count(tally->load_bytes));
	json_object_set_new(object, "store_bytes", report_json_count(tally->store_bytes));
	json_object_set_new(object, "nt_store_bytes", report_json_count(tally->nt_store_bytes));
	json_object_set_new(object, "string_bytes", report_json_count(tally->string_bytes));
	json_object_set_new(object, "load_instructions", report_json_count(tally->loads));
	json_object_set_new(object, "store_instructions", report_json_count(tally->stores));
	json_object_set_new(object, "instructions", report_json_count(tally->instructions));
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
	static const char *const units[] = {
		[AXIS_NONE] = NULL,
		[AXIS_FLOP] = "GFLOP/s",
		[AXIS_BYTES] = "GB/s",
		[AXIS_INSTRUCTIONS] = "Ginstructions/s",
	};
	const struct model_place *place = &f->place;
	bool timed = f->elapsed_s > 0, roofed = place->axis != AXIS_NONE && place->roof > 0;
	bool flop = place->axis == AXIS_FLOP && roofed;
	double bytes = (double)f->tally.load_bytes + (double)f->tally.store_bytes;
	bool counted = f->tally.instructions > 0;
	json_object_set_new(object, "gflops",
			    report_json_real(timed && counted
						     ? (double)f->tally.flop * 1e-9 / f->elapsed_s
						     : NAN));
	json_object_set_new(object, "gbytes_per_s",
			    report_json_real(timed && counted ? bytes * 1e-9 / f->elapsed_s : NAN));
	json_object_set_new(object, "intensity", report_json_real(counted ? f->intensity : NAN));
	json_object_set_new(object, "bound", json_string(report_bound_name(place->bound)));
	json_object_set_new(object, "level",
			    place->level[0] ? json_string(place->level) : json_null());
	json_object_set_new(object, "level_inferred",
			    json_boolean(place->level[0] && !place->traced));
	json_object_set_new(object, "roof_stores", report_json_string(place->stores));
	json_object_set_new(object, "roof_interpolated", json_boolean(place->interpolated));
	json_object_set_new(object, "roof_gflops", report_json_real(flop ? place->roof : NAN));
	json_object_set_new(object, "roof_l1_gflops",
			    report_json_real(flop ? place->roof_l1 : NAN));
	json_object_set_new(object, "ceiling_gflops",
			    report_json_real(flop ? place->ceiling : NAN));
	json_object_set_new(object, "roof_precision",
			    report_json_string(!flop ? NULL
					       : place->borrowed
						       ? place->borrowed
						       : model_precision_name(f->precision)));
	json_object_set_new(object, "point",
			    report_json_real(place->axis == AXIS_NONE ? NAN : place->point));
	json_object_set_new(object, "roof", report_json_real(roofed ? place->roof : NAN));
	json_object_set_new(object, "point_unit", report_json_string(units[place->axis]));
	json_object_set_new(object, "distance", report_json_real(place->distance));
	json_object_set_new(object, "headroom_s", report_json_real(place->headroom_s));
	json_object_set_new(object, "at_most", json_boolean(place->at_most));
	json_object_set_new(object, "above_roof", json_boolean(place->above));
	json_object_set_new(object, "why", why_json(view, f));
}

json_t *report_json_function(const struct report_view *view, const struct model_function *f)
{
	const struct profile *profile = view->profile;
	const struct profile_function *source =
		f->function == PROFILE_NONE ? NULL : &profile->functions[f->function];
	json_t *object = json_object();
	json_object_set_new(object, "name", report_json_string(f->name));
	json_object_set_new(object, "module", report_json_string(f->module));
	json_object_set_new(object, "file",
			    report_json_string(source && source->file && source->file[0]
						       ? source->file
						       : NULL));
	json_object_set_new(object, "line",
			    source && source->line ? report_json_count(source->line) : json_null());
	json_object_set_new(object, "time_s", report_json_real((double)f->time_ns * 1e-9));
	json_object_set_new(object, "time_halfwidth_s",
			    report_json_real(f->n_samples ? f->halfwidth_s : NAN));
	json_object_set_new(object, "elapsed_s", report_json_real(f->elapsed_s));
	json_object_set_new(object, "samples", report_json_count(f->n_samples));
	json_object_set_new(object, "share", report_json_real(f->share));
	json_object_set_new(object, "threads", report_json_real(f->concurrency));
	add_work(object, profile, f);
	add_place(object, view, f);
	report_json_traffic(object, view, f);
	json_object_set_new(object, "metrics", report_json_metrics(view, f));
	json_object_set_new(object, "counters", report_json_quantities(view, f));
	report_json_ratios(object, view, f);
	json_object_set_new(object, "loops", report_json_loops(view, f));
	return object;
}

json_t *report_json_head(const struct report_view *view)
{
	return json_pack("{s:i, s:o, s:o, s:o, s:o}", "schema", 1, "machine",
			 machine_json(view->profile), "run", run_json(view), "processes",
			 processes_json(view), "counters", report_json_counters(view));
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
