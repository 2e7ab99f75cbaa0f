/* Samples of hardware counters → quantities of rows; and their work, where it is from these. */
#include "report/model/model_counters.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t model_find_quantity(const struct model *model, const char *name)
{
	size_t i = 0;
	while (i < model->n_quantities && strcmp(model->quantities[i].name, name) != 0)
		i++;
	return i;
}

struct rf_error *model_quantities(struct model_rows *rows, struct model *model)
{
	const struct profile *profile = rows->profile;
	for (size_t i = 0; i < profile->n_counters; i++) {
		const struct profile_counter *counter = &profile->counters[i];
		const struct model_quantity fresh = {.name = counter->quantity};
		const size_t at = rows->quantity_of[i] =
			model_find_quantity(model, counter->quantity);
		if (at == model->n_quantities &&
		    !rf_array_push(model->quantities, model->n_quantities, model->cap_quantities,
				   fresh))
			return rf_error_no_memory();
		struct model_quantity *sum = &model->quantities[at];
		if (counter->use == COUNTER_UNUSED)
			continue;
		sum->used = true;
		sum->below |= counter->use == COUNTER_BELOW;
		sum->value += counter->multiplier * counter->events;
		sum->events += counter->events;
	}
	return NULL;
}

struct model_quantity *model_quantity_of(struct model_rows *rows, const struct model *model,
					 size_t row, uint32_t counter)
{
	struct model_function *function = &rows->rows[row];
	if (!function->quantities) {
		function->quantities = calloc(model->n_quantities, sizeof(*function->quantities));
		for (size_t i = 0; function->quantities && i < model->n_quantities; i++)
			function->quantities[i].name = model->quantities[i].name;
	}
	return function->quantities ? &function->quantities[rows->quantity_of[counter]] : NULL;
}

/* Variance of a place with `n` of a counter's samples, in events: a draw of N with p = n / N. */
static double variance_of(const struct profile_counter *counter, uint64_t n)
{
	if (n > counter->samples || counter->samples == 0)
		return 0;
	const double all = (double)counter->samples, p = (double)n / all;
	return p * (1 - p) / all * counter->events * counter->events;
}

static struct rf_error *add_place(struct model_rows *rows, const struct model *model,
				  const struct profile_counter_place *place)
{
	const struct profile_counter *counter = &rows->profile->counters[place->counter];
	const size_t row =
		model_row_of_thread(rows, model_row_at(rows, place->module, place->offset, NULL),
				    place->thread);
	struct model_quantity *sum = model_quantity_of(rows, model, row, place->counter);
	if (!sum)
		return rf_error_no_memory();
	sum->value += counter->multiplier * place->events;
	sum->events += place->events;
	sum->samples += place->samples;
	sum->variance +=
		counter->multiplier * counter->multiplier * variance_of(counter, place->samples);
	return NULL;
}

/* ---- work from counters ---- */

/* 0 of what was not counted. */
static double value_of(const struct model *model, const struct model_function *function,
		       const char *name)
{
	const size_t i = model_find_quantity(model, name);
	return i < model->n_quantities ? fmin(fmax(function->quantities[i].value, 0), 9e18) : 0;
}

static const struct {
	const char *name;
	enum flop_precision precision;
	double lane_bytes;
} flops[] = {{"flop_hp", PRECISION_HALF, 2},
	     {"flop_sp", PRECISION_SINGLE, 4},
	     {"flop_dp", PRECISION_DOUBLE, 8},
	     {"flop_any", PRECISION_DOUBLE, 8}};

/* Bytes between registers and L1: counted, or else loads and stores times the mean width of the
 * floating-point instructions (Gravelle et al. 2022, algorithms 10 and 13).  0: not known. */
static double ls_bytes(const struct model *model, const struct model_function *function)
{
	const double counted = value_of(model, function, "ls_bytes");
	double width = 0, instructions = 0;
	for (size_t i = 0; i < sizeof(flops) / sizeof(flops[0]); i++) {
		const size_t k = model_find_quantity(model, flops[i].name);
		if (k == model->n_quantities)
			continue;
		width += function->quantities[k].value * flops[i].lane_bytes;
		instructions += function->quantities[k].events;
	}
	if (counted > 0 || instructions <= 0)
		return counted;
	return (value_of(model, function, "loads") + value_of(model, function, "stores")) * width /
	       instructions;
}

/* Counters do not tell kinds and widths of flop apart. */
static void take_work(const struct model *model, struct model_function *function)
{
	struct tally *tally = &function->tally;
	for (size_t i = 0; i < sizeof(flops) / sizeof(flops[0]); i++) {
		const uint64_t flop = (uint64_t)value_of(model, function, flops[i].name);
		tally->flop += flop;
		tally->flop_unmasked += flop;
		tally->flop_by_kind[FLOP_OTHER][flops[i].precision][WIDTH_SCALAR] += flop;
	}
	tally->instructions = (uint64_t)value_of(model, function, "instructions");
	tally->loads = (uint64_t)value_of(model, function, "loads");
	tally->stores = (uint64_t)value_of(model, function, "stores");
	tally->load_bytes = (uint64_t)fmin(fmax(ls_bytes(model, function), 0), 9e18);
}

bool model_from_counters(const struct profile *profile)
{
	return profile_fact_is(profile, "work_source", "PMU");
}

struct rf_error *model_sum_counters(struct model_rows *rows, const struct model *model)
{
	const struct profile *profile = rows->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_counter_places; i++)
		error = add_place(rows, model, &profile->counter_places[i]);
	for (size_t row = 0; !error && model_from_counters(profile) && row < rows->n_places; row++)
		if (rows->rows[row].quantities)
			take_work(model, &rows->rows[row]);
	return error;
}

/* ---- beside counted work ---- */

/* A PMU counts all lanes, so does the other side of the ratio.  NAN where one of them has nothing.
 */
double model_flop_ratio(const struct model *model, const struct model_function *f)
{
	double flop = 0;
	for (size_t i = 0; f->quantities && i < model->n_quantities; i++)
		if (!strncmp(model->quantities[i].name, "flop_", 5))
			flop += f->quantities[i].value;
	return flop > 0 && f->tally.flop_unmasked ? flop / (double)f->tally.flop_unmasked : NAN;
}

double model_instruction_ratio(const struct model *model, const struct model_function *f)
{
	const size_t i = model_find_quantity(model, "instructions");
	const bool counted = f->quantities && i < model->n_quantities && model->quantities[i].used;
	return counted && f->quantities[i].value > 0 && f->tally.instructions
		       ? f->quantities[i].value / (double)f->tally.instructions
		       : NAN;
}

bool model_has_both(const struct profile *profile)
{
	return profile_fact_is(profile, "work_source", "counted execution and PMU");
}
