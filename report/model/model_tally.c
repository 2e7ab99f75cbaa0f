/* The counts of what instructions do, summed up exactly: integers all the way. */
#include "report/model/model_tally.h"

#include <stdbool.h>
#include <stddef.h>

/* A file can claim any number: stop at the largest that JSON readers keep exact as int64. */
void model_count_add(uint64_t *sum, uint64_t value, int64_t times)
{
	const uint64_t n = times < 0 ? -(uint64_t)times : (uint64_t)times;
	uint64_t product;
	const bool beyond = __builtin_mul_overflow(value, n, &product);
	if (times < 0)
		*sum = beyond || product > *sum ? 0 : *sum - product;
	else if (beyond || __builtin_add_overflow(*sum, product, sum) || *sum > INT64_MAX)
		*sum = INT64_MAX;
}

void model_tally_add(struct tally *sum, const struct tally *part, int64_t times)
{
	_Static_assert(sizeof(struct tally) % sizeof(uint64_t) == 0,
		       "a tally is an array of counts");
	const size_t kinds = offsetof(struct tally, flop_by_kind) / sizeof(uint64_t),
		     behind = kinds + sizeof(sum->flop_by_kind) / sizeof(uint64_t);
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)part;
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++) {
		if (i == kinds && !part->flop)
			i = behind; /* most code has none, of any kind */
		if (from[i])
			model_count_add(&to[i], from[i], times);
	}
}

static void add_flop(struct tally *tally, const struct work *work, uint64_t flop)
{
	tally->flop += flop;
	tally->flop_by_kind[work->flop_kind][work->flop_precision][work->flop_width] += flop;
}

static uint64_t flop_of(const struct work *work)
{
	return (uint64_t)work->flop_lanes * work->flop_per_lane;
}

/* What is known from the instruction alone. */
void model_tally_fixed(struct tally *tally, const struct work *work)
{
	const uint64_t flop = flop_of(work);
	tally->instructions++;
	tally->class_instructions[work->insn_class]++;
	tally->loads += work->is_load;
	tally->stores += work->is_store;
	tally->load_bytes += work->load_bytes;
	tally->store_bytes += work->store_bytes;
	tally->nt_store_bytes += work->non_temporal ? work->store_bytes : 0;
	tally->flop_unmasked += flop;
	if (!work->masked)
		add_flop(tally, work, flop);
}

/* What one run-time unit adds. */
void model_tally_unit(const struct work *work, struct tally *tally)
{
	*tally = (struct tally){.load_bytes = work->unit_load_bytes,
				.store_bytes = work->unit_store_bytes};
	if (work->non_temporal)
		tally->nt_store_bytes = work->unit_store_bytes;
	if (work->units == UNITS_REP)
		tally->string_bytes = work->unit_load_bytes + work->unit_store_bytes;
	if (work->masked && work->flop_lanes)
		add_flop(tally, work, work->flop_per_lane);
}

struct tally_main model_tally_main(const struct tally *tally)
{
	return (struct tally_main){.instructions = tally->instructions,
				   .flop = tally->flop,
				   .load_bytes = tally->load_bytes,
				   .store_bytes = tally->store_bytes,
				   .loads = tally->loads,
				   .stores = tally->stores};
}

void model_main_fixed(struct tally_main *tally, const struct work *work)
{
	tally->instructions++;
	tally->flop += work->masked ? 0 : flop_of(work);
	tally->load_bytes += work->load_bytes;
	tally->store_bytes += work->store_bytes;
	tally->loads += work->is_load;
	tally->stores += work->is_store;
}

void model_main_add(struct tally_main *sum, const struct tally_main *part, int64_t times)
{
	model_count_add(&sum->instructions, part->instructions, times);
	model_count_add(&sum->flop, part->flop, times);
	model_count_add(&sum->load_bytes, part->load_bytes, times);
	model_count_add(&sum->store_bytes, part->store_bytes, times);
	model_count_add(&sum->loads, part->loads, times);
	model_count_add(&sum->stores, part->stores, times);
}
