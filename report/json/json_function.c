/* One function of the report as JSON; docs/profile-format.md is the schema. */
#include "report/json/json_function.h"

#include "profile/function_index.h"
#include "report/account/account.h"
#include "report/json/json_ecm.h"
#include "report/json/json_traffic.h"
#include "report/model/model_counters.h"
#include "report/reasons/reasons.h"
#include "report/reasons/words.h"

#include <math.h>
#include <stdlib.h>

/* Seconds; null where there was one run. */
void report_json_runs(struct json_writer *out, const char *key, const struct model_runs *runs)
{
	if (!runs->n) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_real(out, "least", runs->s.least);
	put_real(out, "q1", runs->s.q1);
	put_real(out, "median", runs->s.median);
	put_real(out, "q3", runs->s.q3);
	put_real(out, "most", runs->s.most);
	put_end(out);
}

static void put_kinds(struct json_writer *out, const char *key, const struct tally *tally)
{
	put_object(out, key);
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int p = 0; p < FLOP_PRECISIONS; p++)
			for (int w = 0; w < FLOP_WIDTHS; w++) {
				char name[48];
				if (!tally->flop_by_kind[k][p][w])
					continue;
				model_kind_name(k, p, w, name, sizeof(name));
				put_count(out, name, tally->flop_by_kind[k][p][w]);
			}
	put_end(out);
}

static void put_classes(struct json_writer *out, const char *key, const struct tally *tally)
{
	static const char *const names[INSN_CLASSES] = {
		[INSN_OTHER] = "other",     [INSN_MOVE] = "move",
		[INSN_INTEGER] = "integer", [INSN_FP_ARITH] = "fp_arith",
		[INSN_FP_MOVE] = "fp_move", [INSN_BRANCH] = "branch",
		[INSN_CALL] = "call",       [INSN_RETURN] = "return",
		[INSN_STRING] = "string",   [INSN_NOP] = "nop",
		[INSN_SYSTEM] = "system",
	};
	put_object(out, key);
	for (int c = 0; c < INSN_CLASSES; c++)
		if (tally->class_instructions[c])
			put_count(out, names[c], tally->class_instructions[c]);
	put_end(out);
}

static void put_threads(struct json_writer *out, const char *key, const struct profile *profile,
			const struct model_function *f)
{
	put_array(out, key);
	for (size_t i = 0; i < f->n_threads; i++) {
		const struct profile_sum_thread *t = &f->threads[i];
		const struct profile_thread *thread = &profile->threads[t->thread];
		put_object(out, NULL);
		put_count(out, "thread", t->thread);
		put_integer(out, "pid", thread->pid);
		put_integer(out, "tid", thread->tid);
		put_text(out, "name", thread->name ? thread->name : "");
		put_count(out, "flop", t->flop);
		put_count(out, "load_bytes", t->load_bytes);
		put_count(out, "store_bytes", t->store_bytes);
		put_count(out, "instructions", t->instructions);
		put_end(out);
	}
	put_end(out);
}

static void put_work(const struct json_function_out *to, const struct profile *profile,
		     const struct model_function *f)
{
	struct json_writer *out = to->listed, *rest = to->rest;
	const struct tally *tally = &f->tally;
	put_count(out, "flop", tally->flop);
	put_count(rest, "flop_unmasked", tally->flop_unmasked);
	put_kinds(rest, "flop_by_kind", tally);
	put_text(out, "precision", tally->flop ? model_precision_name(f->precision) : NULL);
	put_count(out, "load_bytes", tally->load_bytes);
	put_count(out, "store_bytes", tally->store_bytes);
	put_count(rest, "nt_store_bytes", tally->nt_store_bytes);
	put_count(rest, "string_bytes", tally->string_bytes);
	put_count(rest, "load_instructions", tally->loads);
	put_count(rest, "store_instructions", tally->stores);
	put_count(out, "instructions", tally->instructions);
	put_classes(rest, "instructions_by_class", tally);
	put_threads(rest, "per_thread", profile, f);
}

/* What keeps it below its roof, in a sentence, and the name of the first of these reasons. */
static struct rf_error *put_why(struct json_writer *out, const struct report_view *view,
				const struct model_function *f)
{
	char *text, *held_by;
	struct rf_error *error = report_reasons_text(view, f, &text, &held_by);
	put_text(out, "why", text);
	put_text(out, "held_back_by", held_by);
	free(text);
	free(held_by);
	return error;
}

/* What of the run's account is the function's; of rows that are no functions it is not told. */
static void put_account(struct json_writer *out, const struct report_view *view,
			const struct model_function *f)
{
	const struct profile *profile = view->profile;
	const size_t n = profile_n_places(profile);
	const bool whole = !view->shaped || view->options->by == BY_FUNCTION;
	const bool told = whole && view->kernel_times && f->row % n == f->row && !f->uncounted_part;
	const bool kernel = f->place.bound == BOUND_KERNEL;
	const double time_s = (double)f->time_ns * 1e-9,
		     per_kernel = view->account->per_kernel_time;
	/* without samples of the kernel that of page faults alone */
	const bool kernel_told =
		told && (view->account->samples_kernel || view->kernel_times[f->row] > 0);
	put_real(out, "user_s", kernel ? 0 : time_s * view->account->per_user_time);
	put_real(out, "kernel_s",
		 kernel        ? time_s * per_kernel
		 : kernel_told ? view->kernel_times[f->row] * per_kernel
			       : NAN);
	put_real(out, "waiting_s", kernel ? 0 : told ? view->wait_times[f->row] : NAN);
	put_real(out, "page_faults",
		 !profile->n_sum_faults ? NAN
		 : kernel               ? 0
		 : told                 ? view->page_faults[f->row]
					: NAN);
}

static void put_place(const struct json_function_out *to, const struct model_function *f)
{
	struct json_writer *out = to->listed, *rest = to->rest;
	const struct model_place *place = &f->place;
	bool timed = f->elapsed_s > 0, roofed = place->axis != AXIS_NONE && place->roof > 0;
	bool flop = place->axis == AXIS_FLOP && roofed;
	double bytes = (double)f->tally.load_bytes + (double)f->tally.store_bytes;
	bool counted = f->tally.instructions > 0;
	put_real(out, "gflops",
		 timed && counted ? (double)f->tally.flop * 1e-9 / f->elapsed_s : NAN);
	put_real(out, "gbytes_per_s", timed && counted ? bytes * 1e-9 / f->elapsed_s : NAN);
	put_real(out, "intensity", counted ? f->intensity : NAN);
	put_text(out, "bound", report_bound_name(place->bound));
	put_text(out, "bound_or", place->bound_or ? report_bound_name(place->bound_or) : NULL);
	put_text(out, "level", place->level[0] ? place->level : NULL);
	put_flag(out, "level_inferred", place->level[0] && !place->traced);
	put_text(rest, "roof_stores", place->stores);
	put_text(rest, "roof_pattern",
		 place->level[0] && place->traced ? report_pattern_name(place->pattern) : NULL);
	put_real(rest, "roof_chains", place->chains > 0 ? place->chains : NAN);
	put_real(rest, "roof_streamed", place->roof_streamed > 0 ? place->roof_streamed : NAN);
	put_text(rest, "roof_lacks", place->lacks ? roof_op_name(place->lacks) : NULL);
	put_flag(rest, "roof_interpolated", place->interpolated);
	put_real(out, "roof_gflops", flop ? place->roof : NAN);
	put_real(rest, "roof_l1_gflops", flop ? place->roof_l1 : NAN);
	put_real(out, "ceiling_gflops", flop ? place->ceiling : NAN);
	put_text(rest, "roof_precision",
		 !flop             ? NULL
		 : place->borrowed ? place->borrowed
				   : model_precision_name(f->precision));
	put_real(out, "point", place->axis == AXIS_NONE ? NAN : place->point);
	put_real(out, "roof", roofed ? place->roof : NAN);
	put_text(out, "point_unit",
		 place->axis == AXIS_NONE ? NULL : report_point_unit(place->axis));
	put_real(out, "distance", place->distance);
	put_real(rest, "distance_halfwidth", place->distance * place->spread);
	put_real(out, "headroom_s", place->headroom_s);
	put_flag(rest, "at_most", place->at_most);
	put_flag(out, "above_roof", place->above);
}

static void put_quantities(struct json_writer *out, const char *key, const struct report_view *view,
			   const struct model_function *f)
{
	put_array(out, key);
	for (size_t i = 0; f->quantities && i < view->model->n_quantities; i++) {
		const struct model_quantity *quantity = &f->quantities[i];
		if (quantity->samples == 0)
			continue;
		put_object(out, NULL);
		put_text(out, "quantity", quantity->name);
		put_real(out, "value", quantity->value);
		put_real(out, "stderr", sqrt(quantity->variance));
		put_count(out, "samples", quantity->samples);
		put_end(out);
	}
	put_end(out);
}

static void put_ratios(struct json_writer *out, const struct report_view *view,
		       const struct model_function *f)
{
	const bool both = model_has_both(view->profile);
	put_real(out, "pmu_per_counted_flop", both ? model_flop_ratio(view->model, f) : NAN);
	put_real(out, "pmu_per_counted_instructions",
		 both ? model_instruction_ratio(view->model, f) : NAN);
}

static void put_time(const struct json_function_out *to, const struct profile *profile,
		     const struct model_function *f)
{
	const struct profile_function *source =
		f->function == PROFILE_NONE ? NULL : &profile->functions[f->function];
	struct json_writer *out = to->listed, *rest = to->rest;
	put_text(out, "name", f->name);
	put_text(out, "module", f->module);
	put_text(rest, "file", source && source->file && source->file[0] ? source->file : NULL);
	put_known(rest, "line", source && source->line, source ? source->line : 0);
	put_real(out, "time_s", (double)f->time_ns * 1e-9);
	put_real(out, "time_halfwidth_s", f->n_samples ? f->halfwidth_s : NAN);
	report_json_runs(rest, "time_runs_s", &f->runs);
	put_real(out, "elapsed_s", f->elapsed_s);
	put_count(out, "samples", f->n_samples);
	put_real(out, "share", f->share);
	put_real(out, "threads", f->concurrency);
}

/* Why it takes its time, it and its loops. */
static struct rf_error *put_time_account(struct json_writer *out, const struct report_view *view,
					 const struct model_function *f)
{
	struct ecm_function ecm = {0};
	struct rf_error *error =
		view->ecm ? ecm_function_init(&ecm, view->ecm, view->profile, view->model, f)
			  : NULL;
	const bool told = view->ecm && !error;
	report_json_ecm(out, "ecm", view, told ? &ecm.whole : NULL, NULL);
	report_json_time_account(out, "account", told ? &ecm.whole : NULL);
	report_json_branches(out, "branches", view, f);
	error = error ?: report_json_loops(out, "loops", view, f, told ? &ecm : NULL);
	ecm_function_deinit(&ecm);
	return error;
}

struct rf_error *report_json_function(const struct json_function_out *to,
				      const struct report_view *view,
				      const struct model_function *f)
{
	struct json_writer *rest = to->rest;
	put_time(to, view->profile, f);
	put_work(to, view->profile, f);
	put_place(to, f);
	put_account(rest, view, f);
	struct rf_error *error = to->whole ? put_why(rest, view, f) : NULL;
	report_json_traffic(to->listed, rest, view, f);
	report_json_metrics(rest, "metrics", view, f);
	put_quantities(rest, "counters", view, f);
	put_ratios(rest, view, f);
	if (!error && to->whole)
		error = put_time_account(rest, view, f);
	return error;
}
