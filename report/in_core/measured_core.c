/* Looks at the code of one function at a time. */
#include "report/in_core/measured_core.h"

#include "report/in_core/in_core_source.h"
#include "report/in_core/joined_calls.h"
#include "report/model/model_loops.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Of the instructions: with more, what is known of the others is a lower bound, as is what is told
 * of code of which nothing was measured. */
#define MOST_UNKNOWN 0.1

/* What was found of functions: a function is asked for by its own account, by those of what it
 * calls, and by what would be saved in all of them. */
struct core_result {
	struct in_core *cores; /* by loop; NULL: not looked at */
	size_t n;
};
struct core_results {
	pthread_mutex_t lock;
	struct core_result *of; /* by row in profile->functions */
	size_t n;
};

static struct core_results *results_create(size_t n)
{
	struct core_results *results = calloc(1, sizeof(*results));
	if (!results)
		return NULL;
	results->of = calloc(n + 1, sizeof(*results->of));
	results->n = n;
	if (!results->of || pthread_mutex_init(&results->lock, NULL)) {
		free(results->of);
		free(results);
		return NULL;
	}
	return results;
}

static void results_destroy(struct core_results *results)
{
	for (size_t i = 0; results && i < results->n; i++)
		free(results->of[i].cores);
	if (results) {
		pthread_mutex_destroy(&results->lock);
		free(results->of);
	}
	free(results);
}

/* Copies those of a function with `n` loops; false: there are none. */
static bool results_find(struct core_results *results, uint32_t row, struct in_core *cores,
			 size_t n)
{
	pthread_mutex_lock(&results->lock);
	const struct core_result *result = &results->of[row];
	const bool found = result->cores && result->n == n;
	if (found)
		memcpy(cores, result->cores, n * sizeof(*cores));
	pthread_mutex_unlock(&results->lock);
	return found;
}

/* Where memory is short it is looked at again the next time. */
static void results_keep(struct core_results *results, uint32_t row, const struct in_core *cores,
			 size_t n)
{
	struct in_core *copy = malloc(n * sizeof(*copy));
	if (copy)
		memcpy(copy, cores, n * sizeof(*copy));
	pthread_mutex_lock(&results->lock);
	if (!results->of[row].cores) {
		results->of[row] = (struct core_result){copy, n};
		copy = NULL;
	}
	pthread_mutex_unlock(&results->lock);
	free(copy);
}

struct rf_error *measured_core_init(const struct profile *profile, struct measured_core *measured)
{
	memset(measured, 0, sizeof(*measured));
	measured->results = results_create(profile->n_functions);
	if (!measured->results)
		return rf_error_no_memory();
	return in_core_facts(profile, &measured->facts)
		       ?: function_code_init(profile, &measured->code)
		       ?: call_targets_init(&measured->code, &measured->targets)
		       ?: line_crossings_init(profile, &measured->crossings)
		       ?: stored_loads_init(profile, &measured->stored);
}

void measured_core_deinit(struct measured_core *measured)
{
	results_destroy(measured->results);
	core_facts_deinit(&measured->facts);
	function_code_deinit(&measured->code);
	call_targets_deinit(&measured->targets);
	line_crossings_deinit(&measured->crossings);
	stored_loads_deinit(&measured->stored);
}

static bool is_innermost(const struct model_function *f, uint32_t loop)
{
	size_t n;
	(void)model_loops_within(f, loop, &n);
	return !n;
}

/* Whether the graph has the loops that the function has. */
static bool are_same(const struct model_function *seen, const struct model_function *f)
{
	bool same = seen->n_loops == f->n_loops;
	for (size_t i = 0; i < f->n_loops && same; i++)
		same = seen->loops[i].start == f->loops[i].start &&
		       seen->loops[i].header == f->loops[i].header;
	return same;
}

/* The larger of two lower bounds, part by part. */
static void take_larger(struct in_core *core, const struct in_core *bound)
{
	for (int i = 0; i < IN_CORE_PARTS; i++)
		core->part[i] = fmax(core->part[i], bound->part[i]);
	core->t_ol = fmax(core->t_ol, bound->t_ol);
	core->t_nol = fmax(core->t_nol, bound->t_nol);
	core->shared_ol = fmax(core->shared_ol, core->t_ol);
	core->shared_nol = fmax(core->shared_nol, core->t_nol);
	core->lcd = fmax(core->lcd, bound->lcd);
}

/* Of a function's instructions: a loop that executes less is looked at without what it calls, which
 * takes as long to find. */
#define LEAST_JOINED 0.01

/* With what the loop calls, where that is short. */
static struct rf_error *look_at(const struct measured_core *measured,
				const struct in_core_code *code, const struct model_function *f,
				uint32_t loop, struct in_core *core)
{
	struct in_core called = {0};
	struct in_core_code with = *code;
	struct flow_graph graph = {0};
	struct rf_error *error = NULL;
	if ((double)f->loops[loop].tally.instructions >=
	    LEAST_JOINED * (double)f->tally.instructions)
		error = joined_calls_put_in(&measured->code, &measured->targets, code, loop, &graph,
					    &called);
	if (graph.n_nodes)
		with.graph = &graph;
	error = error ?: in_core_of_loop(&measured->facts, &with, loop, core);
	core->calls = called.calls;
	memcpy(core->joined, called.joined, sizeof(core->joined));
	core->n_joined = called.n_joined;
	flow_graph_deinit(&graph);
	return error;
}

static struct rf_error *fill(const struct measured_core *measured, const struct in_core_code *code,
			     const struct model_function *f, struct in_core *cores)
{
	struct rf_error *error = NULL;
	for (uint32_t i = 0; i < f->n_loops && !error; i++) {
		struct in_core core, bound;
		if (!is_innermost(f, i) || f->loops[i].turns <= 0)
			continue;
		error = look_at(measured, code, f, i, &core);
		if (error)
			break;
		if (core.unknown > MOST_UNKNOWN &&
		    ecm_in_core(measured->code.profile, f, i, &bound))
			take_larger(&core, &bound);
		cores[i] = core;
	}
	return error;
}

struct rf_error *measured_core_of(const struct measured_core *measured,
				  const struct model_function *f, struct in_core *cores)
{
	const struct profile *profile = measured->code.profile;
	struct flow_graph graph = {0};
	struct model_function seen = {0};
	struct rf_error *error = NULL;
	for (size_t i = 0; i < f->n_loops; i++)
		cores[i] = (struct in_core){.t_ol = -1};
	if (!f->n_loops || f->function == PROFILE_NONE || !core_facts_known(&measured->facts) ||
	    results_find(measured->results, f->function, cores, f->n_loops))
		return NULL;
	struct insn_cache *insns = insn_cache_create();
	error = insns ? function_code_graph(&measured->code, f->function, &graph, &seen)
		      : rf_error_no_memory();
	const struct in_core_code code = {profile,
					  insns,
					  &graph,
					  &profile->functions[f->function],
					  &seen,
					  &measured->crossings,
					  &measured->stored};
	if (!error && are_same(&seen, f)) {
		error = fill(measured, &code, f, cores);
		if (!error)
			results_keep(measured->results, f->function, cores, f->n_loops);
	}
	flow_graph_deinit(&graph);
	free(seen.loops);
	insn_cache_destroy(insns);
	return error;
}
