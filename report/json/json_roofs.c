/* The roofs as JSON; docs/profile-format.md is the schema. */
#include "report/json/json_roofs.h"

#include "report/json/json_values.h"
#include "report/model/model_bandwidths.h"

#include <math.h>

/* ---- the rows that were measured, and those that somebody states ---- */

static double per_cycle(const struct profile *profile, const struct roof *roof)
{
	return roof_per_cycle(roof, profile_number_fact(profile, "clock_ghz", 0),
			      profile_number_fact(profile, "clock_fp_ghz", 0));
}

static json_t *roof_json(const struct profile *profile, const struct roof *roof)
{
	json_t *object = json_object();
	set_text(object, "kind", roof_kind_name(roof->kind));
	set_text(object, "isa", roof_isa_name(roof->isa));
	set_text(object, "precision", roof_precision_name(roof->precision));
	set_text(object, "op", roof_op_name(roof->op));
	set_text(object, "level", roof_level_name(roof->level));
	set_integer(object, "threads", true, roof->threads);
	set_integer(object, "cpu_node", roof->by_node, roof->cpu_node);
	set_integer(object, "memory_node", roof->by_node, roof->memory_node);
	set_real(object, "best", roof->best);
	set_real(object, "per_cycle", per_cycle(profile, roof));
	set_real(object, "theory", roof->theory > 0 ? roof->theory : NAN);
	set_real(object, "median", roof->median);
	set_real(object, "q1", roof->q1);
	set_real(object, "q3", roof->q3);
	set_text(object, "unit", roof->unit);
	set_text(object, "bytes_convention", roof->bytes_convention);
	set_flag(object, "distinguishable", roof->distinguishable);
	set_flag(object, "noisy", roof->noisy);
	return object;
}

json_t *report_json_roofs(const struct profile *profile)
{
	json_t *array = json_array();
	for (size_t i = 0; i < profile->n_roofs; i++)
		json_array_append_new(array, roof_json(profile, &profile->roofs[i]));
	return array;
}

json_t *report_json_custom_roofs(const struct profile *profile)
{
	json_t *array = json_array();
	for (size_t i = 0; i < profile->n_custom_roofs; i++) {
		const struct custom_roof *roof = &profile->custom_roofs[i];
		json_t *object = json_object();
		set_text(object, "name", roof->name);
		set_real(object, "value", roof->value);
		set_text(object, "unit", roof->unit);
		set_text(object, "source", roof->source);
		json_array_append_new(array, object);
	}
	return array;
}

/* ---- roofs by name ---- */

/* The next higher count of threads that roofs were measured at; 0: none. */
static int more_threads(const struct profile *profile, int than)
{
	int next = 0;
	for (size_t i = 0; i < profile->n_roofs; i++) {
		const int threads = profile->roofs[i].threads;
		if (!profile->roofs[i].by_node && threads > than && (!next || threads < next))
			next = threads;
	}
	return next;
}

static void add_bandwidth(json_t *array, const struct profile *profile, enum roof_level level,
			  enum traffic_direction direction, int threads)
{
	const double most = model_level_most(profile, level, threads, direction);
	const double theory = model_level_theory(profile, level, threads);
	if (!(most > 0))
		return;
	json_t *object = json_object();
	set_text(object, "level", roof_level_name(level));
	set_text(object, "direction", rf_word_of(report_direction_words, direction));
	set_text(object, "mix", report_mix_words(direction));
	set_integer(object, "threads", true, threads);
	set_real(object, "gbytes_per_s", most);
	set_real(object, "theory", direction == DIRECTION_READ && theory > 0 ? theory : NAN);
	json_array_append_new(array, object);
}

json_t *report_json_bandwidths(const struct profile *profile)
{
	json_t *array = json_array();
	enum roof_level levels[MODEL_LEVELS];
	const size_t n = model_levels(profile, levels);
	for (int threads = 0; (threads = more_threads(profile, threads));)
		for (size_t i = 0; i < n; i++)
			for (int d = 0; d < TRAFFIC_DIRECTIONS; d++)
				add_bandwidth(array, profile, levels[i], (enum traffic_direction)d,
					      threads);
	return array;
}

static void add_peak(json_t *array, const struct profile *profile, enum flop_precision of,
		     int threads)
{
	const enum roof_precision precision = model_roof_precision(of);
	const struct roof *row = model_peak_row(profile, precision, threads);
	if (!row)
		return;
	json_t *object = json_object();
	set_text(object, "precision", roof_precision_name(precision));
	set_integer(object, "threads", true, threads);
	set_real(object, "gflops", row->best);
	set_real(object, "per_cycle", per_cycle(profile, row));
	set_real(object, "theory", row->theory > 0 ? row->theory : NAN);
	set_text(object, "isa", roof_isa_name(row->isa));
	set_text(object, "isa_name", report_isa_name(row->isa));
	set_text(object, "op", roof_op_name(row->op));
	json_array_append_new(array, object);
}

json_t *report_json_peaks(const struct profile *profile)
{
	json_t *array = json_array();
	for (int threads = 0; (threads = more_threads(profile, threads));)
		for (int p = 0; p < FLOP_PRECISIONS; p++)
			add_peak(array, profile, (enum flop_precision)p, threads);
	return array;
}
