/* What is known of a function's code, by loop. */
#include "report/ecm/context.h"

#include "report/ecm/transfers.h"
#include "report/in_core/measured_core.h"
#include "report/model/model_place.h"

#include <math.h>
#include <stdlib.h>

static unsigned lacks_of(const struct ecm_machine *machine, const struct model *model,
			 const struct model_function *f, bool branches)
{
	const bool counted = f->tally.instructions > 0 && !f->waits &&
			     f->place.bound != BOUND_KERNEL && f->place.bound != BOUND_UNCOUNTED;
	return (counted ? 0 : ECM_LACKS_COUNTS) |
	       (isnan(machine->clock_ghz) ? ECM_LACKS_CLOCK : 0) |
	       (model->traced && f->traffic && f->traffic->source == MEMORY_TRACED
			? 0
			: ECM_LACKS_TRAFFIC) |
	       (machine->source == ECM_NO_ROOFS ? ECM_LACKS_ROOFS : 0) |
	       (!branches || f->function == PROFILE_NONE ? ECM_LACKS_BRANCHES : 0);
}

static struct rf_error *measure(const struct ecm_context *context, bool sampled)
{
	const struct model_function *f = context->f;
	if (context->machine->core && (f->n_samples || !sampled))
		return measured_core_of(context->machine->core, f, context->cores);
	for (size_t i = 0; i < f->n_loops; i++)
		context->cores[i].t_ol = -1;
	return NULL;
}

struct rf_error *ecm_context_init(struct ecm_context *context, const struct ecm_machine *machine,
				  const struct profile *profile, const struct model *model,
				  const struct model_function *f, bool sampled)
{
	const size_t n = f->n_loops + 1;
	*context = (struct ecm_context){.machine = machine,
					.profile = profile,
					.model = model,
					.f = f,
					.threads = f->concurrency,
					.lacks = lacks_of(machine, model, f,
							  mispredictions_known(profile)),
					.memory_share = ecm_memory_share(profile),
					.cores = calloc(n, sizeof(*context->cores)),
					.mispredicted = calloc(n, sizeof(*context->mispredicted)),
					.far = calloc(n, sizeof(*context->far)),
					.walks = calloc(n, sizeof(*context->walks))};
	if (!context->cores || !context->mispredicted || !context->far || !context->walks)
		return rf_error_no_memory();
	far_lines_by_loop(machine->far, profile, f, context->far);
	page_walks_by_loop(profile, f, context->walks);
	mispredictions_by_loop(profile, f, context->mispredicted);
	return measure(context, sampled);
}

void ecm_context_deinit(struct ecm_context *context)
{
	free(context->cores);
	free(context->mispredicted);
	free(context->far);
	free(context->walks);
	*context = (struct ecm_context){0};
}
