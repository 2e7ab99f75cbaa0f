/* Samples of hardware counters → quantities of rows; and their work, where it is from these.  And
 * where the bytes come from that functions move to and from memory: the one place that decides it.
 *
 * Traced ones are those of model_traffic.c.  Else, where the run took its traffic from the PMU, the
 * first of these that it has, for all functions alike:
 * - bytes at memory whose events were sampled: a function has the share of its samples;
 * - the program's bytes (controllers, resctrl), which know no function, shared out as the misses of
 * the last cache are: an estimate, for what is prefetched or written back need not be where the
 * misses are.  Not where they are fewer than what missed: then the sharing out among programs has
 * failed;
 * - lines that missed the last cache: a lower bound.
 *
 * A share is told by samples: its 95 % interval is the score interval of a binomial share (Wilson
 * 1927), which is no point even where no sample fell on a function. */
#include "report/model/model_counters.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The place of a quantity in model->quantities; n_quantities where it was not asked for. */
static size_t find_quantity(const struct model *model, const char *name)
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
		const size_t at = rows->quantity_of[i] = find_quantity(model, counter->quantity);
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
		model_row_of_work(rows, model_row_at(rows, place->module, place->offset, NULL),
				  place->thread, 0);
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
	const size_t i = find_quantity(model, name);
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
		const size_t k = find_quantity(model, flops[i].name);
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
	const size_t i = find_quantity(model, "instructions");
	const bool counted = f->quantities && i < model->n_quantities && model->quantities[i].used;
	return counted && f->quantities[i].value > 0 && f->tally.instructions
		       ? f->quantities[i].value / (double)f->tally.instructions
		       : NAN;
}

bool model_has_both(const struct profile *profile)
{
	return profile_fact_is(profile, "work_source", "counted execution and PMU");
}

/* ---- memory ---- */

/* The program's sum of a quantity. */
struct sum {
	size_t index;      /* in model->quantities */
	bool known, below; /* it was counted; it is a lower bound */
	double value;      /* bytes */
	double samples;    /* that tell its places; of several events those of one with the same
			    * spread,    (Σ total)² / Σ (total² / samples) (Kish 1965) */
};

static struct sum sum_of(const struct profile *profile, const struct model *model, const char *name)
{
	struct sum sum = {.index = find_quantity(model, name)};
	double spread = 0;
	if (sum.index == model->n_quantities || !model->quantities[sum.index].used)
		return sum;
	sum.known = true;
	sum.value = model->quantities[sum.index].value;
	sum.below = model->quantities[sum.index].below;
	for (size_t i = 0; i < profile->n_counters; i++) {
		const struct profile_counter *counter = &profile->counters[i];
		const double total = counter->multiplier * counter->events;
		if (counter->use == COUNTER_UNUSED || strcmp(counter->quantity, name) != 0 ||
		    total == 0)
			continue;
		spread += total * total / (double)counter->samples; /* without samples: infinite */
	}
	sum.samples = spread > 0 ? sum.value * sum.value / spread : 0;
	return sum;
}

static bool has_places(const struct sum *sum)
{
	return sum->known && sum->value > 0 && sum->samples > 0;
}

/* All that decides, and what a function's bytes are made of. */
struct memory {
	enum model_memory source;
	struct sum read, write, either, misses;
	double both; /* bytes, read or written */
};

static struct memory decide(const struct profile *profile, const struct model *model)
{
	struct memory memory = {
		.read = sum_of(profile, model, "memory_read_bytes"),
		.write = sum_of(profile, model, "memory_write_bytes"),
		.either = sum_of(profile, model, "memory_bytes"),
		.misses = sum_of(profile, model, "llc_miss_bytes"),
	};
	memory.both =
		memory.either.known ? memory.either.value : memory.read.value + memory.write.value;
	if (has_places(&memory.read) && (!memory.write.known || has_places(&memory.write)))
		memory.source = MEMORY_COUNTED;
	else if (has_places(&memory.misses))
		memory.source = memory.both >= memory.misses.value ? MEMORY_SHARED : MEMORY_MISSES;
	return memory;
}

static double clamp(double value, double high)
{
	return fmin(fmax(value, 0), high);
}

/* What samples say of a function's part of a sum, in bytes. */
static struct model_estimate part_of(const struct sum *sum, const struct model_function *function)
{
	const double z2 = 1.96 * 1.96, n = sum->samples;
	const double bytes = function->quantities
				     ? clamp(function->quantities[sum->index].value, sum->value)
				     : 0;
	const double p = bytes / sum->value;
	const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	const double half = sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n);
	return (struct model_estimate){
		.bytes = bytes,
		.stderr_bytes = sum->value * sqrt(p * (1 - p) / n),
		.halfwidth =
			sum->value * fmax(clamp(middle + half, 1) - p, p - clamp(middle - half, 1)),
	};
}

static struct model_estimate times(struct model_estimate estimate, double factor)
{
	return (struct model_estimate){factor * estimate.bytes, factor * estimate.stderr_bytes,
				       factor * estimate.halfwidth};
}

static struct model_estimate plus(struct model_estimate a, struct model_estimate b)
{
	return (struct model_estimate){a.bytes + b.bytes, hypot(a.stderr_bytes, b.stderr_bytes),
				       hypot(a.halfwidth, b.halfwidth)};
}

static const struct model_estimate not_known = {NAN, NAN, NAN};

/* By direction.  Where the program's bytes are shared out, reads and writes have one share, so
 * their errors are one, too. */
static void set_moved(const struct memory *memory, const struct model_function *function,
		      struct model_estimate *moved)
{
	const struct model_estimate first =
		part_of(memory->source == MEMORY_COUNTED ? &memory->read : &memory->misses,
			function);
	const double one = 1 / memory->misses.value;
	const bool apart = !memory->either.known && memory->read.known && memory->write.known;
	moved[DIRECTION_READ] = moved[DIRECTION_BOTH] = first;
	moved[DIRECTION_WRITE] = not_known;
	if (memory->source == MEMORY_COUNTED && memory->write.known) {
		moved[DIRECTION_WRITE] = part_of(&memory->write, function);
		moved[DIRECTION_BOTH] = plus(first, moved[DIRECTION_WRITE]);
	} else if (memory->source == MEMORY_SHARED) {
		moved[DIRECTION_BOTH] = times(first, one * memory->both);
		moved[DIRECTION_READ] = apart ? times(first, one * memory->read.value) : not_known;
		moved[DIRECTION_WRITE] =
			apart ? times(first, one * memory->write.value) : not_known;
	}
}

static bool is_lower_bound(const struct memory *memory)
{
	switch (memory->source) {
	case MEMORY_COUNTED:
		return !memory->write.known || memory->read.below || memory->write.below;
	case MEMORY_SHARED:
		return memory->either.known ? memory->either.below
					    : !memory->read.known || !memory->write.known ||
						      memory->read.below || memory->write.below;
	default:
		return true;
	}
}

static uint64_t samples_behind(const struct memory *memory, const struct model_function *function)
{
	const struct model_quantity *all = function->quantities;
	if (!all)
		return 0;
	return memory->source != MEMORY_COUNTED
		       ? all[memory->misses.index].samples
		       : all[memory->read.index].samples +
				 (memory->write.known ? all[memory->write.index].samples : 0);
}

static struct rf_error *fill_row(const struct memory *memory, bool estimated_work,
				 struct model_function *function)
{
	struct model_traffic *traffic = function->traffic = calloc(1, sizeof(*traffic));
	if (!traffic)
		return rf_error_no_memory();
	traffic->source = memory->source;
	traffic->samples = samples_behind(memory, function);
	model_add_registers(traffic, &function->tally);
	for (int d = 0; estimated_work && d < TRAFFIC_DIRECTIONS; d++)
		traffic->levels[0].moved[d].stderr_bytes = traffic->levels[0].moved[d].halfwidth =
			NAN;
	struct model_level *level = model_add_level(traffic, "DRAM");
	level->at_least = is_lower_bound(memory);
	set_moved(memory, function, level->moved);
	memcpy(traffic->bytes.mem, level->moved, sizeof(level->moved));
	return NULL;
}

/* The program's, without a spread: totals are no samples. */
static void set_total(const struct memory *memory, struct model *model)
{
	const bool misses = memory->source == MEMORY_MISSES;
	const double read = misses               ? memory->misses.value
			    : memory->read.known ? memory->read.value
						 : NAN;
	const double write = !misses && memory->write.known ? memory->write.value : NAN;
	const double both = misses                 ? read
			    : memory->either.known ? memory->either.value
			    : isnan(write)         ? read
						   : read + write;
	model->bytes.mem[DIRECTION_READ].bytes = read;
	model->bytes.mem[DIRECTION_WRITE].bytes = write;
	model->bytes.mem[DIRECTION_BOTH].bytes = both;
}

struct rf_error *model_memory(struct model_rows *rows, struct model *model)
{
	struct rf_error *error = model->traced ? model_trace(rows, model) : NULL;
	model->memory = model->traced ? MEMORY_TRACED : MEMORY_UNKNOWN;
	if (model->traced || !profile_fact_is(rows->profile, "traffic_source", "PMU"))
		return error;
	const struct memory memory = decide(rows->profile, model);
	model->memory = memory.source;
	if (memory.source == MEMORY_UNKNOWN)
		return NULL;
	set_total(&memory, model);
	for (size_t row = 0; !error && row < rows->n_places; row++) {
		struct model_function *function = &rows->rows[row];
		if (function->tally.instructions || function->tally.flop || function->quantities)
			error = fill_row(&memory, model_from_counters(rows->profile), function);
	}
	return error;
}
