/* Puts pieces of several functions together. */
#include "report/ecm/joined_account.h"

#include "profile/function_index.h"
#include "report/ecm/account_sum.h"
#include "report/ecm/context.h"
#include "report/ecm/what_if.h"
#include "report/in_core/measured_core.h"
#include "report/model/model_loops.h"

#include <math.h>
#include <stdlib.h>

/* ---- a loop with what it calls ---- */

static const struct model_function *function_of_row(const struct model *model, uint32_t row)
{
	for (size_t i = 0; i < model->n_functions; i++)
		if (model->functions[i].function == row && !model->functions[i].uncounted_part)
			return &model->functions[i];
	return NULL;
}

static void add_piece(struct ecm_piece *sum, const struct ecm_piece *part, double times)
{
	for (int e = 0; e < N_TRAFFIC; e++)
		sum->events[e] += times * part->events[e];
	for (int level = 0; level < MODEL_LEVELS; level++) {
		struct model_irregular *to = &sum->irregular[level];
		const struct model_irregular *from = &part->irregular[level];
		to->lines += times * from->lines;
		to->longest += times * from->longest;
		to->brief += times * from->brief;
		to->guessed += times * from->guessed;
		sum->far.lines[level] += times * part->far.lines[level];
		sum->far.crowded[level] += times * part->far.crowded[level];
		sum->off[level] = fmax(sum->off[level], part->off[level]);
	}
}

/* A loop and what it calls, as far as it was added. */
struct joining {
	struct ecm_context with; /* what is in the loop is with what it calls */
	struct ecm_piece piece;
	double measured_ns, samples;
};

/* Adds what a function that has no loop does in `times` of its executions. */
static struct rf_error *add_function(struct joining *joining, uint32_t loop,
				     const struct model_function *f, double times)
{
	const struct ecm_context *with = &joining->with;
	struct ecm_context own;
	struct rf_error *error =
		ecm_context_init(&own, with->machine, with->profile, with->model, f, true);
	if (!error) {
		const struct ecm_piece piece = ecm_piece_of(&own, PROFILE_NONE);
		const struct mispredictions *wrong = &own.mispredicted[f->n_loops];
		const struct page_walks *walks = &own.walks[f->n_loops];
		add_piece(&joining->piece, &piece, times);
		with->mispredicted[loop].n += times * wrong->n;
		with->mispredicted[loop].variance += times * times * wrong->variance;
		with->mispredicted[loop].seconds += times * wrong->seconds;
		with->walks[loop].accesses += times * walks->accesses;
		with->walks[loop].near_misses += times * walks->near_misses;
		with->walks[loop].walks += times * walks->walks;
		joining->measured_ns += times * (double)f->time_ns;
		joining->samples += times * (double)f->n_samples;
	}
	ecm_context_deinit(&own);
	return error;
}

static struct rf_error *add_functions(struct joining *joining, const struct ecm_context *context,
				      uint32_t loop)
{
	const struct in_core *core = &context->cores[loop];
	struct rf_error *error = NULL;
	for (size_t i = 0; i < core->n_joined && !error; i++) {
		const struct model_function *f =
			function_of_row(context->model, core->joined[i].row);
		joining->piece.instructions += core->joined[i].instructions;
		if (f)
			error = add_function(joining, loop, f, core->joined[i].share);
	}
	return error;
}

struct rf_error *ecm_joined_account(const struct ecm_context *context, uint32_t loop,
				    struct ecm_account *all, double *own)
{
	const struct model_loop *of = &context->f->loops[loop];
	const size_t n = context->f->n_loops + 1;
	const double instructions = (double)of->tally.instructions;
	struct joining joining = {.with = *context,
				  .piece = ecm_piece_of(context, loop),
				  .measured_ns = (double)of->time_ns,
				  .samples = (double)of->n_samples};
	struct ecm_context *with = &joining.with;
	with->mispredicted = calloc(n, sizeof(*with->mispredicted));
	with->walks = calloc(n, sizeof(*with->walks));
	struct rf_error *error = with->mispredicted && with->walks ? NULL : rf_error_no_memory();
	if (!error) {
		with->mispredicted[loop] = context->mispredicted[loop];
		with->walks[loop] = context->walks[loop];
		error = add_functions(&joining, context, loop);
	}
	if (!error) {
		joining.piece.run_through *= joining.piece.instructions / instructions;
		*all = (struct ecm_account){.turns = (double)of->turns, .lacks = context->lacks};
		ecm_predict_piece_in_full(with, &joining.piece, all);
		ecm_set_measured(all, 1e-9 * joining.measured_ns, joining.samples);
		*own = joining.measured_ns > 0 ? (double)of->time_ns / joining.measured_ns
					       : instructions / joining.piece.instructions;
	}
	free(with->mispredicted);
	free(with->walks);
	return error;
}

/* ---- a function that loops call ---- */

#define MOST_CALLERS 16
#define LEAST_SHARE 0.1 /* of a function's executions, that a caller calls for */
#define LEAST_TIME 0.01 /* of the program's: of a function whose callers are looked for */

/* Functions that call one, in an innermost loop or in code without loops, and those that call
 * these, and so on. */
struct callers {
	uint32_t rows[MOST_CALLERS];
	size_t n;
};

/* A call in another loop, or beside loops, is a part of no loop that was joined. */
static bool may_be_joined(const struct model_function *caller, uint64_t offset)
{
	size_t n;
	const size_t loop = caller ? model_loops_at(caller, offset) : 0;
	if (!caller || loop == caller->n_loops)
		return caller && !caller->n_loops;
	(void)model_loops_within(caller, (uint32_t)loop, &n);
	return n == 0;
}

static void add_caller(struct callers *callers, uint32_t row)
{
	for (size_t i = 0; i < callers->n; i++)
		if (callers->rows[i] == row)
			return;
	if (row != PROFILE_NONE && callers->n < MOST_CALLERS)
		callers->rows[callers->n++] = row;
}

/* Those that call the function `row` for a good part of its executions. */
static void add_callers(struct callers *callers, const struct ecm_context *context, uint32_t row)
{
	const struct profile *profile = context->profile;
	const struct call_targets *targets = &context->machine->core->targets;
	double all = 0;
	for (size_t i = 0; i < targets->n_sites; i++) {
		const struct call_site *site = &targets->sites[i];
		all += call_reaches(profile, site, row) ? (double)site->n : 0;
	}
	for (size_t i = 0; i < targets->n_sites; i++) {
		const struct call_site *site = &targets->sites[i];
		if (!call_reaches(profile, site, row) || (double)site->n < LEAST_SHARE * all)
			continue;
		const uint32_t caller =
			profile_function_at(profile, site->module, site->offset, NULL);
		if (may_be_joined(function_of_row(context->model, caller), site->offset))
			add_caller(callers, caller);
	}
}

/* What `row` takes of the account of a loop that it is part of. */
static double share_of(const struct ecm_context *context, uint32_t loop, uint32_t row,
		       const struct model_function *f, const struct ecm_account *all,
		       double *covered)
{
	const struct in_core *core = &context->cores[loop];
	for (size_t i = 0; i < core->n_joined; i++) {
		if (core->joined[i].row != row)
			continue;
		*covered += core->joined[i].share;
		return all->measured_s > 0
			       ? core->joined[i].share * 1e-9 * (double)f->time_ns / all->measured_s
			       : 0;
	}
	return 0;
}

static struct rf_error *add_from(const struct ecm_context *of, const struct model_function *caller,
				 struct ecm_account *sum, double *covered)
{
	struct ecm_context context;
	struct rf_error *error =
		ecm_context_init(&context, of->machine, of->profile, of->model, caller, false);
	for (uint32_t i = 0; i < caller->n_loops && !error; i++) {
		struct ecm_account all;
		double own;
		if (!ecm_is_joined(&context, i))
			continue;
		error = ecm_joined_account(&context, i, &all, &own);
		if (error)
			break;
		all.lacks &= ~(unsigned)ECM_LACKS_SAMPLES;
		ecm_add_account(sum, &all,
				share_of(&context, i, of->f->function, of->f, &all, covered));
	}
	ecm_context_deinit(&context);
	return error;
}

struct rf_error *ecm_add_from_loops(const struct ecm_context *context, struct ecm_account *sum,
				    double *covered)
{
	const struct model_function *f = context->f;
	struct callers callers = {.n = 0};
	struct rf_error *error = NULL;
	*covered = 0;
	if (!context->machine->core || f->n_loops || f->function == PROFILE_NONE || !f->time_ns ||
	    (double)f->time_ns < LEAST_TIME * (double)context->model->time_ns)
		return NULL;
	add_callers(&callers, context, f->function);
	for (size_t i = 0; i < callers.n && !error; i++) { /* which adds callers */
		const struct model_function *caller =
			function_of_row(context->model, callers.rows[i]);
		if (caller && caller->n_loops)
			error = add_from(context, caller, sum, covered);
		else
			add_callers(&callers, context, callers.rows[i]);
	}
	*covered = fmin(1, *covered);
	return error;
}
