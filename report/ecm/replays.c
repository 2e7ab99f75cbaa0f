/* Chooses hot loops by the model and finds their code. */
#include "report/ecm/replays.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/search.h"
#include "report/in_core/function_code.h"
#include "report/model/model_loops.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SHARE 0.01 /* of the program's time */
#define MOST_STEPS 2048  /* instructions of a way */

struct hot_loop {
	const struct model_function *f;
	uint32_t loop;
	uint64_t time_ns;
};

struct hot_loops {
	struct hot_loop *items;
	size_t n, cap;
};

/* The one with most time first; of equal ones in the order of the code. */
static int compare(const void *a, const void *b)
{
	const struct hot_loop *x = a, *y = b;
	return rf_compare(y->time_ns, x->time_ns) ?: rf_compare(x->f, y->f)
						  ?: rf_compare(x->loop, y->loop);
}

static struct rf_error *find_hot(const struct model *model, struct hot_loops *hot)
{
	struct rf_error *error = NULL;
	uint64_t all_ns = 0;
	for (size_t i = 0; i < model->n_functions; i++)
		all_ns += model->functions[i].time_ns;
	for (size_t i = 0; i < model->n_functions && !error; i++) {
		const struct model_function *f = &model->functions[i];
		for (uint32_t k = 0; k < f->n_loops && !error; k++) {
			size_t within;
			const struct model_loop *loop = &f->loops[k];
			(void)model_loops_within(f, k, &within);
			if (!within && loop->turns > 0 && loop->n_samples &&
			    f->function != PROFILE_NONE &&
			    (double)loop->time_ns >= LEAST_SHARE * (double)all_ns)
				error = rf_array_add(hot->items, hot->n, hot->cap,
						     ((struct hot_loop){f, k, loop->time_ns}));
		}
	}
	if (hot->n)
		qsort(hot->items, hot->n, sizeof(*hot->items), compare);
	return error;
}

/* What a profile and a report know a module by. */
static const char *module_key(const struct profile *profile, uint32_t module)
{
	const struct profile_module *of = &profile->modules[module];
	return of->build_id[0] ? of->build_id : of->path;
}

static struct rf_error *replay_one(const struct function_code *code, const struct hot_loop *hot,
				   loop_replayer *replay, struct way_step *steps,
				   struct loop_replays *out)
{
	const struct profile *profile = code->profile;
	struct flow_graph graph = {0};
	struct model_function seen = {0};
	const uint64_t header = hot->f->loops[hot->loop].header;
	struct loop_replay found = {
		.module = (char *)module_key(profile, profile->functions[hot->f->function].module),
		.header = header,
		.why = REPLAY_NO_WAY};
	for (int i = 0; i < REPLAY_VARIANTS; i++)
		found.cycles[i] = NAN;
	struct rf_error *error = function_code_graph(code, hot->f->function, &graph, &seen);
	const bool same = hot->loop < seen.n_loops && seen.loops[hot->loop].header == header;
	const size_t n =
		!error && same ? loop_way(profile, &graph, &seen, hot->loop, steps, MOST_STEPS) : 0;
	if (n)
		error = replay(steps, n, &found);
	flow_graph_deinit(&graph);
	free(seen.loops);
	return error ? error : loop_replays_add(out, &found);
}

static struct rf_error *replay_hot(const struct profile *profile, const struct hot_loops *hot,
				   loop_replayer *replay, struct loop_replays *out)
{
	const uint64_t end = clock_now_ns() + REPLAYS_NS;
	struct way_step *steps = malloc(MOST_STEPS * sizeof(*steps));
	struct function_code code = {0};
	struct rf_error *error = steps ? function_code_init(profile, &code) : rf_error_no_memory();
	for (size_t i = 0; i < hot->n && i < REPLAYS_MOST && clock_now_ns() < end && !error; i++)
		error = replay_one(&code, &hot->items[i], replay, steps, out);
	function_code_deinit(&code);
	free(steps);
	return error;
}

struct rf_error *replays_take(struct profile *profile, loop_replayer *replay)
{
	struct model model;
	struct hot_loops hot = {0};
	struct loop_replays replays = {0};
	struct rf_error *error =
		model_build_as(profile, &(struct model_choice){.loops = true}, &model);
	if (error)
		return error;
	error = find_hot(&model, &hot) ?: replay_hot(profile, &hot, replay, &replays);
	json_t *json = error ? NULL : loop_replays_to_json(&replays);
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
	if (text)
		profile_set_fact(profile, "replays", "%s", text);
	else if (!error)
		error = rf_error_no_memory();
	free(text);
	json_decref(json);
	loop_replays_deinit(&replays);
	free(hot.items);
	model_deinit(&model);
	return error;
}

struct rf_error *replays_of(const struct profile *profile, struct loop_replays *replays)
{
	const char *text = profile_get_fact(profile, "replays");
	json_t *json = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	*replays = (struct loop_replays){0};
	struct rf_error *error = loop_replays_from_json(json, replays);
	json_decref(json);
	return error;
}

const struct loop_replay *replays_find(const struct loop_replays *replays,
				       const struct profile *profile, uint32_t module,
				       uint64_t header)
{
	return loop_replays_find(replays, module_key(profile, module), header);
}
