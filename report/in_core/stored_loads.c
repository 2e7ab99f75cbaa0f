/* Sums over the rows of an instruction, which lie one behind the other. */
#include "report/in_core/stored_loads.h"

#include <math.h>

static uint64_t key_of(uint32_t module, uint64_t offset)
{
	return (((uint64_t)module << 48) ^ offset) + 1;
}

struct rf_error *stored_loads_init(const struct profile *profile, struct stored_loads *loads)
{
	*loads = (struct stored_loads){.profile = profile};
	for (size_t i = 0; i < profile->n_store_loads; i++) {
		const struct profile_store_load *row = &profile->store_loads[i];
		const uint64_t key = key_of(row->module, row->offset);
		if (key && !u64_map_find(&loads->first_of, key) &&
		    !u64_map_set(&loads->first_of, key, (uint32_t)i + 1))
			return rf_error_no_memory();
	}
	return NULL;
}

void stored_loads_deinit(struct stored_loads *loads)
{
	u64_map_deinit(&loads->first_of);
}

static double with_bytes(const struct profile_store_load *row)
{
	return (double)row->forwarded + (double)row->shifted + (double)row->blocked;
}

static void take_store(const struct profile_store_load *row, struct stored_load *load)
{
	const double all = with_bytes(row) + (double)row->aliased;
	load->store_module = row->store_module;
	load->store_offset = row->store_offset;
	load->blocks = 2 * (double)row->blocked > with_bytes(row);
	load->shifts = 2 * (double)row->shifted > with_bytes(row);
	load->since = (unsigned)fmin(1e6, rint((double)row->since / all));
}

struct stored_load stored_load_at(const struct stored_loads *loads, uint32_t module,
				  uint64_t offset)
{
	struct stored_load load = {.store_module = PROFILE_NONE};
	const uint64_t key = key_of(module, offset);
	const uint32_t *first = loads && key ? u64_map_find(&loads->first_of, key) : NULL;
	const struct profile *profile = loads ? loads->profile : NULL;
	for (size_t i = first ? *first - 1 : 0; first && i < profile->n_store_loads; i++) {
		const struct profile_store_load *row = &profile->store_loads[i];
		const double looked = (double)row->looked;
		if (row->module != module || row->offset != offset)
			break;
		if (!(looked > 0))
			continue;
		load.blocked += (double)row->blocked / looked;
		load.aliased += (double)row->aliased / looked;
		if (with_bytes(row) >= 0.5 * looked)
			take_store(row, &load);
	}
	load.blocked = fmin(1, load.blocked);
	load.aliased = fmin(1, load.aliased);
	return load;
}
