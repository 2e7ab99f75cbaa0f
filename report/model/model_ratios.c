/* Work by hardware counters beside counted work. */
#include "report/model/model_ratios.h"

#include <math.h>
#include <string.h>

static double pmu_flop(const struct model *model, const struct model_quantity *quantities)
{
	double flop = 0;
	for (size_t i = 0; i < model->n_quantities; i++)
		if (!strncmp(model->quantities[i].name, "flop_", 5))
			flop += quantities[i].value;
	return flop;
}

static const struct model_quantity *quantity_named(const struct model *model,
						   const struct model_quantity *quantities,
						   const char *name)
{
	for (size_t i = 0; i < model->n_quantities; i++)
		if (!strcmp(model->quantities[i].name, name) && model->quantities[i].used)
			return &quantities[i];
	return NULL;
}

/* A PMU counts all lanes, so does the other side of the ratio.  NAN where one of them has nothing.
 */
double model_flop_ratio(const struct model *model, const struct model_function *f)
{
	const double flop = f->quantities ? pmu_flop(model, f->quantities) : 0;
	return flop > 0 && f->tally.flop_unmasked ? flop / (double)f->tally.flop_unmasked : NAN;
}

double model_instruction_ratio(const struct model *model, const struct model_function *f)
{
	const struct model_quantity *counted =
		f->quantities ? quantity_named(model, f->quantities, "instructions") : NULL;
	return counted && counted->value > 0 && f->tally.instructions
		       ? counted->value / (double)f->tally.instructions
		       : NAN;
}

bool model_has_both(const struct profile *profile)
{
	const char *source = profile_get_fact(profile, "work_source");
	return source && !strcmp(source, "counted execution and PMU");
}
