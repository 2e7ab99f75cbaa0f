/* The roofs as JSON; docs/profile-format.md is the schema. */
#include "report/json/json_roofs.h"

#include "report/json/json_writer.h"
#include "report/model/model_bandwidths.h"

#include <math.h>

/* ---- the rows that were measured, and those that somebody states ---- */

static double per_cycle(const struct profile *profile, const struct roof *roof)
{
	return roof_per_cycle(roof, profile_number_fact(profile, "clock_ghz", 0),
			      profile_number_fact(profile, "clock_fp_ghz", 0));
}

static void put_roof(struct json_writer *out, const struct profile *profile,
		     const struct roof *roof)
{
	put_object(out, NULL);
	put_text(out, "kind", roof_kind_name(roof->kind));
	put_text(out, "isa", roof_isa_name(roof->isa));
	put_text(out, "precision", roof_precision_name(roof->precision));
	put_text(out, "op", roof_op_name(roof->op));
	put_text(out, "level", roof_level_name(roof->level));
	put_integer(out, "threads", roof->threads);
	put_known(out, "cpu_node", roof->by_node, roof->cpu_node);
	put_known(out, "memory_node", roof->by_node, roof->memory_node);
	put_real(out, "best", roof->best);
	put_real(out, "per_cycle", per_cycle(profile, roof));
	put_real(out, "theory", roof->theory > 0 ? roof->theory : NAN);
	put_real(out, "median", roof->median);
	put_real(out, "q1", roof->q1);
	put_real(out, "q3", roof->q3);
	put_text(out, "unit", roof->unit);
	put_text(out, "bytes_convention", roof->bytes_convention);
	put_flag(out, "distinguishable", roof->distinguishable);
	put_flag(out, "noisy", roof->noisy);
	put_end(out);
}

void report_json_roofs(struct json_writer *out, const char *key, const struct profile *profile)
{
	put_array(out, key);
	for (size_t i = 0; i < profile->n_roofs; i++)
		put_roof(out, profile, &profile->roofs[i]);
	put_end(out);
}

void report_json_custom_roofs(struct json_writer *out, const char *key,
			      const struct profile *profile)
{
	put_array(out, key);
	for (size_t i = 0; i < profile->n_custom_roofs; i++) {
		const struct custom_roof *roof = &profile->custom_roofs[i];
		put_object(out, NULL);
		put_text(out, "name", roof->name);
		put_real(out, "value", roof->value);
		put_text(out, "unit", roof->unit);
		put_text(out, "source", roof->source);
		put_end(out);
	}
	put_end(out);
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

static void put_bandwidth(struct json_writer *out, const struct profile *profile,
			  enum roof_level level, enum traffic_direction direction, int threads)
{
	const double most = model_level_most(profile, level, threads, direction);
	const double theory = model_level_theory(profile, level, threads);
	if (!(most > 0))
		return;
	put_object(out, NULL);
	put_text(out, "level", roof_level_name(level));
	put_text(out, "direction", rf_word_of(report_direction_words, direction));
	put_text(out, "mix", report_mix_words(direction));
	put_integer(out, "threads", threads);
	put_real(out, "gbytes_per_s", most);
	put_real(out, "theory", direction == DIRECTION_READ && theory > 0 ? theory : NAN);
	put_end(out);
}

void report_json_bandwidths(struct json_writer *out, const char *key, const struct profile *profile)
{
	put_array(out, key);
	enum roof_level levels[MODEL_LEVELS];
	const size_t n = model_levels(profile, levels);
	for (int threads = 0; (threads = more_threads(profile, threads));)
		for (size_t i = 0; i < n; i++)
			for (int d = 0; d < TRAFFIC_DIRECTIONS; d++)
				put_bandwidth(out, profile, levels[i], (enum traffic_direction)d,
					      threads);
	put_end(out);
}

static void put_peak(struct json_writer *out, const struct profile *profile, enum flop_precision of,
		     int threads)
{
	const enum roof_precision precision = model_roof_precision(of);
	const struct roof *row = model_peak_row(profile, precision, threads);
	if (!row)
		return;
	put_object(out, NULL);
	put_text(out, "precision", roof_precision_name(precision));
	put_integer(out, "threads", threads);
	put_real(out, "gflops", row->best);
	put_real(out, "per_cycle", per_cycle(profile, row));
	put_real(out, "theory", row->theory > 0 ? row->theory : NAN);
	put_text(out, "isa", roof_isa_name(row->isa));
	put_text(out, "isa_name", report_isa_name(row->isa));
	put_text(out, "op", roof_op_name(row->op));
	put_end(out);
}

void report_json_peaks(struct json_writer *out, const char *key, const struct profile *profile)
{
	put_array(out, key);
	for (int threads = 0; (threads = more_threads(profile, threads));)
		for (int p = 0; p < FLOP_PRECISIONS; p++)
			put_peak(out, profile, (enum flop_precision)p, threads);
	put_end(out);
}
