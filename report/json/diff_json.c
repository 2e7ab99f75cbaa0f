/* The comparison as JSON; docs/exports.md is its description. */
#include "report/json/diff_json.h"

#include "report/account/account.h"
#include "report/json/json_writer.h"
#include "report/reasons/diff_notes.h"
#include "report/reasons/words.h"

#include <math.h>

static const char *const keys[N_DIFF_METRICS] = {
	[DIFF_TIME] = "time_s", [DIFF_HEADROOM] = "headroom_s", [DIFF_DISTANCE] = "distance",
	[DIFF_FLOP] = "flop",   [DIFF_BYTES] = "bytes",         [DIFF_WALL] = "wall_s",
};

static void put_value(struct json_writer *out, const char *key, const struct diff_value *value)
{
	const double change = value->b - value->a;
	put_object(out, key);
	put_real(out, "a", value->a);
	put_real(out, "b", value->b);
	put_real(out, "change", change);
	put_real(out, "change_halfwidth", value->halfwidth);
	put_real(out, "change_percent", value->a > 0 ? 100 * change / value->a : NAN);
	put_flag(out, "within_noise", value->same);
	put_end(out);
}

static void put_values(struct json_writer *out, const struct diff *diff,
		       const struct diff_function *function)
{
	for (int m = 0; m < N_DIFF_METRICS; m++) {
		const struct diff_value value = diff_value(diff, function, (enum diff_metric)m);
		if (!function || m != DIFF_WALL)
			put_value(out, keys[m], &value);
	}
	put_text(out, "verdict", diff_verdict(diff, function));
}

static void put_functions(struct json_writer *out, const char *key, const struct diff *diff)
{
	put_array(out, key);
	for (size_t i = 0; i < diff->n_functions; i++) {
		const struct diff_function *function = &diff->functions[i];
		put_object(out, NULL);
		put_text(out, "name", diff_name(function));
		put_text(out, "module", diff_module(function));
		put_text(out, "bound_a",
			 function->a ? report_bound_name(function->a->place.bound) : NULL);
		put_text(out, "bound_b",
			 function->b ? report_bound_name(function->b->place.bound) : NULL);
		put_values(out, diff, function);
		put_end(out);
	}
	put_end(out);
}

static void put_side(struct json_writer *out, const char *key, const struct diff_side *side,
		     const char *name)
{
	put_object(out, key);
	put_text(out, "file", name);
	put_text(out, "command", profile_get_fact(side->profile, "command"));
	put_text(out, "date", profile_get_fact(side->profile, "date"));
	put_text(out, "cpu_model", profile_get_fact(side->profile, "cpu_model"));
	const struct account account = account_of(side->profile, &side->model);
	put_object(out, "account");
	put_real(out, "user_s", account.user_s);
	put_real(out, "kernel_s", account.kernel_s);
	put_real(out, "waiting_s", account.waiting_s);
	put_real(out, "runnable_s", account.runnable_s);
	put_end(out);
	put_end(out);
}

static void put_notes(struct json_writer *out, const char *key, const struct diff *diff)
{
	const struct diff_notes notes = diff_notes(diff);
	put_array(out, key);
	for (size_t i = 0; i < notes.n; i++)
		put_text(out, NULL, notes.texts[i]);
	put_end(out);
}

struct rf_error *diff_json(const struct diff *diff, const char *const names[2], FILE *stream)
{
	struct json_writer *out = json_writer_create(stream, JSON_LINES);
	if (!out)
		return rf_error_no_memory();
	json_writer_set_digits(out, 12); /* more is not known */
	put_object(out, NULL);
	put_integer(out, "schema", 1);
	put_side(out, "a", &diff->a, names[0]);
	put_side(out, "b", &diff->b, names[1]);
	put_text(out, "bytes_are", diff->memory ? "memory" : "loaded and stored");
	put_object(out, "total");
	put_values(out, diff, NULL);
	put_end(out);
	put_functions(out, "functions", diff);
	put_notes(out, "notes", diff);
	put_end(out);
	const bool done = json_writer_destroy(out); /* writing errors show in the stream */
	putc('\n', stream);
	return done ? NULL : rf_error_no_memory();
}
