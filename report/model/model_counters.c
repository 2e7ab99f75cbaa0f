/* Samples of hardware counters → quantities of functions. */
#include "report/model/model_parts.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct model_quantity *quantity_of(struct model *model, const char *name)
{
	for (size_t i = 0; i < model->n_quantities; i++)
		if (!strcmp(model->quantities[i].name, name))
			return &model->quantities[i];
	const struct model_quantity fresh = {.name = name};
	if (!rf_array_push(model->quantities, model->n_quantities, model->cap_quantities, fresh))
		return NULL;
	return &model->quantities[model->n_quantities - 1];
}

/* The totals, and which quantity each counter adds to. */
static bool add_totals(const struct profile *profile, struct model *model, size_t *quantity)
{
	for (size_t i = 0; i < profile->n_counters; i++) {
		const struct profile_counter *counter = &profile->counters[i];
		struct model_quantity *sum = quantity_of(model, counter->quantity);
		if (!sum)
			return false;
		quantity[i] = (size_t)(sum - model->quantities);
		if (counter->use == COUNTER_UNUSED)
			continue;
		sum->used = true;
		sum->estimate |= counter->use != COUNTER_USED;
		sum->below |= counter->use == COUNTER_BELOW;
		sum->value += counter->multiplier * counter->events;
		sum->events += counter->events;
	}
	return true;
}

/* Variance of a place with `n` of a counter's samples, in events: a draw of N with p = n / N. */
static double variance_of(const struct profile_counter *counter, uint64_t n)
{
	if (n > counter->samples || counter->samples == 0)
		return 0;
	const double all = (double)counter->samples, p = (double)n / all;
	return p * (1 - p) / all * counter->events * counter->events;
}

static bool add_place(struct model_rows *rows, const struct model *model, const size_t *quantity,
		      const struct profile_counter_place *place)
{
	const struct profile_counter *counter = &rows->profile->counters[place->counter];
	const size_t row = model_row_at(rows, place->module, place->offset, NULL);
	struct model_function *function =
		&rows->rows[model_row_of_thread(rows, row, place->thread)];
	if (!function->quantities)
		function->quantities = calloc(model->n_quantities, sizeof(*function->quantities));
	if (!function->quantities)
		return false;
	struct model_quantity *sum = &function->quantities[quantity[place->counter]];
	sum->value += counter->multiplier * place->events;
	sum->events += place->events;
	sum->samples += place->samples;
	sum->variance +=
		counter->multiplier * counter->multiplier * variance_of(counter, place->samples);
	return true;
}

/* The same from a sum. */
static bool take_sum(struct model_rows *rows, const struct model *model, const size_t *quantity,
		     const struct profile_sum_quantity *sum)
{
	struct model_function *function = &rows->rows[model_row_of_sum(rows, sum->sum)];
	if (!function->quantities)
		function->quantities = calloc(model->n_quantities, sizeof(*function->quantities));
	if (!function->quantities)
		return false;
	function->quantities[quantity[sum->counter]] =
		(struct model_quantity){.value = sum->value,
					.events = sum->events,
					.samples = sum->samples,
					.variance = sum->variance};
	return true;
}

static void name_quantities(struct model_rows *rows, const struct model *model)
{
	for (size_t row = 0; row < rows->n_places; row++)
		for (size_t i = 0; rows->rows[row].quantities && i < model->n_quantities; i++)
			rows->rows[row].quantities[i].name = model->quantities[i].name;
}

/* ---- work from counters ---- */

static double value_of(const struct model *model, const struct model_function *function,
		       const char *name)
{
	for (size_t i = 0; i < model->n_quantities; i++)
		if (!strcmp(model->quantities[i].name, name))
			return fmin(fmax(function->quantities[i].value, 0), 9e18);
	return 0;
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
	for (size_t i = 0; i < sizeof(flops) / sizeof(flops[0]); i++)
		for (size_t k = 0; k < model->n_quantities; k++)
			if (!strcmp(model->quantities[k].name, flops[i].name)) {
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
	const char *source = profile_get_fact(profile, "work_source");
	return source && !strcmp(source, "PMU");
}

bool model_counters(struct model_rows *rows, struct model *model)
{
	const struct profile *profile = rows->profile;
	size_t *quantity = calloc(profile->n_counters + 1, sizeof(*quantity));
	bool done = quantity && add_totals(profile, model, quantity);
	for (size_t i = 0; done && !rows->sums && i < profile->n_counter_places; i++)
		done = add_place(rows, model, quantity, &profile->counter_places[i]);
	for (size_t i = 0; done && rows->sums && i < profile->n_sum_quantities; i++)
		done = take_sum(rows, model, quantity, &profile->sum_quantities[i]);
	if (done)
		name_quantities(rows, model);
	/* sums have that work already */
	for (size_t row = 0;
	     done && !rows->sums && model_from_counters(profile) && row < rows->n_places; row++)
		if (rows->rows[row].quantities)
			take_work(model, &rows->rows[row]);
	free(quantity);
	return done;
}
