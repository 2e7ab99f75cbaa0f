/* Replayed loops become JSON, and are read from it. */
#include "machine/data/loop_replay.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define MOST_CYCLES 1e7 /* that a turn can take */

void loop_replays_deinit(struct loop_replays *replays)
{
	for (size_t i = 0; i < replays->n; i++)
		free(replays->items[i].module);
	free(replays->items);
	*replays = (struct loop_replays){0};
}

struct rf_error *loop_replays_add(struct loop_replays *replays, const struct loop_replay *replay)
{
	struct loop_replay kept = *replay;
	kept.module = strdup(replay->module);
	if (kept.module && rf_array_push(replays->items, replays->n, replays->cap, kept))
		return NULL;
	free(kept.module);
	return rf_error_no_memory();
}

const struct loop_replay *loop_replays_find(const struct loop_replays *replays, const char *module,
					    uint64_t header)
{
	for (size_t i = 0; replays && i < replays->n; i++)
		if (replays->items[i].header == header &&
		    strcmp(replays->items[i].module, module) == 0)
			return &replays->items[i];
	return NULL;
}

const char *replay_variant_name(enum replay_variant variant)
{
	static const char *const names[REPLAY_VARIANTS] = {
		[REPLAY_WHOLE] = "cycles",
		[REPLAY_MEMORY] = "memory",
		[REPLAY_ARITHMETIC] = "arithmetic",
		[REPLAY_ONE_LINE] = "one_line",
	};
	return names[variant];
}

/* As they stand in a profile, and as they are told. */
static const struct {
	const char *name, *words;
} whys[REPLAY_WHYS] = {
	[REPLAY_DONE] = {"done", "it was"},
	[REPLAY_LONG] = {"long", "it has too many instructions"},
	[REPLAY_UNDECODED] = {"undecoded", "it has bytes that are not known as instructions"},
	[REPLAY_CALLS] = {"calls", "it calls, returns or jumps by an address in a register"},
	[REPLAY_REFUSED] = {"refused", "it has an instruction that may do more than compute, or "
				       "that this processor does not have"},
	[REPLAY_SEGMENT] = {"segment", "it uses data of its thread (fs or gs)"},
	[REPLAY_SCATTERED] = {"scattered",
			      "it gathers or scatters, by addresses that are not known"},
	[REPLAY_NO_VARIANT] = {"no variant", "there is no such variant of it"},
	[REPLAY_ADDRESS] = {"address", "it made an address that cannot be, or is not aligned, of "
				       "registers that hold other values than in the program"},
	[REPLAY_FAULT] = {"fault", "an instruction failed, such as a division of other values "
				   "than in the program"},
	[REPLAY_PAGES] = {"pages", "it touches too many pages"},
	[REPLAY_UNSTEADY] = {"unsteady", "its time did not repeat within 1 %"},
	[REPLAY_CHILD] = {"child", "the process that ran it ended"},
	[REPLAY_NO_WAY] = {"no way", "no way through a turn is known"},
};

const char *replay_why_words(enum replay_why why)
{
	return whys[why].words;
}

/* ---- JSON ---- */

static json_t *to_json(const struct loop_replay *replay)
{
	json_t *json = json_pack("{s:s, s:I, s:s, s:b}", "module", replay->module, "header",
				 (json_int_t)replay->header, "why", whys[replay->why].name,
				 "folded", replay->folded);
	int failed = !json;
	for (int i = 0; i < REPLAY_VARIANTS && !failed; i++)
		failed = json_object_set_new(json, replay_variant_name((enum replay_variant)i),
					     isfinite(replay->cycles[i])
						     ? json_real(replay->cycles[i])
						     : json_null());
	if (!failed)
		return json;
	json_decref(json);
	return NULL;
}

json_t *loop_replays_to_json(const struct loop_replays *replays)
{
	json_t *json = json_array();
	int failed = !json;
	for (size_t i = 0; i < replays->n && !failed; i++)
		failed = json_array_append_new(json, to_json(&replays->items[i]));
	if (!failed)
		return json;
	json_decref(json);
	return NULL;
}

/* A loop without a time has a reason; with one it has none. */
static bool from_json(const json_t *json, struct loop_replay *out)
{
	const char *module = json_string_value(json_object_get(json, "module")),
		   *why = json_string_value(json_object_get(json, "why"));
	*out = (struct loop_replay){
		.module = (char *)module,
		.header = (uint64_t)json_integer_value(json_object_get(json, "header")),
		.why = REPLAY_WHYS,
		.folded = json_is_true(json_object_get(json, "folded")),
	};
	for (int i = 0; i < REPLAY_WHYS && why; i++)
		if (strcmp(whys[i].name, why) == 0)
			out->why = (enum replay_why)i;
	for (int i = 0; i < REPLAY_VARIANTS; i++) {
		const double cycles = json_number_value(
			json_object_get(json, replay_variant_name((enum replay_variant)i)));
		out->cycles[i] = cycles > 0 && cycles < MOST_CYCLES ? cycles : NAN;
	}
	return module && out->why < REPLAY_WHYS &&
	       (out->why == REPLAY_DONE) == !isnan(out->cycles[REPLAY_WHOLE]);
}

struct rf_error *loop_replays_from_json(const json_t *json, struct loop_replays *out)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < json_array_size(json) && !error; i++) {
		struct loop_replay replay;
		if (from_json(json_array_get(json, i), &replay))
			error = loop_replays_add(out, &replay);
	}
	return error;
}
