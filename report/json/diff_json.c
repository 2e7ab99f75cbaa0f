/* The comparison as JSON; docs/exports.md is its description. */
#include "report/json/diff_json.h"

#include "report/json/json_values.h"
#include "report/reasons/notes.h"
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
	json_t *object = json_object();
	set_real(object, "a", value->a);
	set_real(object, "b", value->b);
	set_real(object, "change", change);
	set_real(object, "change_halfwidth", value->halfwidth);
	set_real(object, "change_percent", value->a > 0 ? 100 * change / value->a : NAN);
	set_flag(object, "within_noise", value->same);
	return object;
}

static void add_values(json_t *object, const struct diff *diff,
		       const struct diff_function *function)
{
	for (int m = 0; m < N_DIFF_METRICS; m++) {
		const struct diff_value value = diff_value(diff, function, (enum diff_metric)m);
		if (!function || m != DIFF_WALL)
			json_object_set_new(object, keys[m], value_json(&value));
	}
	set_text(object, "verdict", diff_verdict(diff, function));
}

static json_t *functions_json(const struct diff *diff)
{
	json_t *array = json_array();
	for (size_t i = 0; i < diff->n_functions; i++) {
		const struct diff_function *function = &diff->functions[i];
		json_t *object = json_object();
		set_text(object, "name", diff_name(function));
		set_text(object, "module", diff_module(function));
		set_text(object, "bound_a",
			 function->a ? report_bound_name(function->a->place.bound) : NULL);
		set_text(object, "bound_b",
			 function->b ? report_bound_name(function->b->place.bound) : NULL);
		add_values(object, diff, function);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *side_json(const struct diff_side *side, const char *name)
{
	json_t *object = json_object();
	set_text(object, "file", name);
	set_text(object, "command", profile_get_fact(side->profile, "command"));
	set_text(object, "date", profile_get_fact(side->profile, "date"));
	set_text(object, "cpu_model", profile_get_fact(side->profile, "cpu_model"));
	return object;
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
