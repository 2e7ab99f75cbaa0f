/* The comparison as JSON; docs/exports.md is its description. */
#include "report/json/diff_json.h"

#include "report/json/json_values.h"
#include "report/reasons/diff_notes.h"
#include "report/reasons/words.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static const char *const keys[N_DIFF_METRICS] = {
	[DIFF_TIME] = "time_s", [DIFF_HEADROOM] = "headroom_s", [DIFF_DISTANCE] = "distance",
	[DIFF_FLOP] = "flop",   [DIFF_BYTES] = "bytes",         [DIFF_WALL] = "wall_s",
};

static json_t *value_json(const struct diff_value *value)
{
	const double change = value->b - value->a;
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "a", report_json_real(value->a), "b",
			 report_json_real(value->b), "change", report_json_real(change),
			 "change_halfwidth", report_json_real(value->halfwidth), "change_percent",
			 report_json_real(value->a > 0 ? 100 * change / value->a : NAN),
			 "within_noise", (int)value->same);
}

static void add_values(json_t *object, const struct diff *diff,
		       const struct diff_function *function)
{
	for (int m = 0; m < N_DIFF_METRICS; m++) {
		const struct diff_value value = diff_value(diff, function, (enum diff_metric)m);
		if (!function || m != DIFF_WALL)
			json_object_set_new(object, keys[m], value_json(&value));
	}
	json_object_set_new(object, "verdict", json_string(diff_verdict(diff, function)));
}

static json_t *functions_json(const struct diff *diff)
{
	json_t *array = json_array();
	for (size_t i = 0; i < diff->n_functions; i++) {
		const struct diff_function *function = &diff->functions[i];
		json_t *object = json_object();
		json_object_set_new(object, "name", report_json_string(diff_name(function)));
		json_object_set_new(object, "module", report_json_string(diff_module(function)));
		json_object_set_new(
			object, "bound_a",
			function->a ? json_string(report_bound_name(function->a->place.bound))
				    : json_null());
		json_object_set_new(
			object, "bound_b",
			function->b ? json_string(report_bound_name(function->b->place.bound))
				    : json_null());
		add_values(object, diff, function);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *side_json(const struct diff_side *side, const char *name)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "file", report_json_string(name), "command",
			 report_json_string(profile_get_fact(side->profile, "command")), "date",
			 report_json_string(profile_get_fact(side->profile, "date")), "cpu_model",
			 report_json_string(profile_get_fact(side->profile, "cpu_model")));
}

static json_t *notes_json(const struct diff *diff)
{
	const struct diff_notes notes = diff_notes(diff);
	json_t *array = json_array();
	for (size_t i = 0; i < notes.n; i++)
		json_array_append_new(array, report_json_string(notes.texts[i]));
	return array;
}

struct rf_error *diff_json(const struct diff *diff, const char *const names[2], FILE *stream)
{
	json_t *total = json_object();
	add_values(total, diff, NULL);
	json_t *root =
		json_pack("{s:i, s:o, s:o, s:s, s:o, s:o, s:o}", "schema", 1, "a",
			  side_json(&diff->a, names[0]), "b", side_json(&diff->b, names[1]),
			  "bytes_are", diff->memory ? "memory" : "loaded and stored", "total",
			  total, "functions", functions_json(diff), "notes", notes_json(diff));
	const bool done = root != NULL;
	if (done) {
		json_dumpf(root, stream,
			   JSON_INDENT(1) | JSON_REAL_PRECISION(12)); /* more is not known */
		putc('\n', stream);
	}
	json_decref(root);
	return done ? NULL : rf_error_no_memory();
}
