/* Sums of native time by place. */
#include "tracer/span/native_times.h"

#include "base/array.h"

static uint64_t key_of(uint32_t module, uint64_t offset)
{
	return ((uint64_t)module << 40 | (offset >> NATIVE_PLACE_SHIFT & 0xffffffffff)) + 1;
}

void native_times_deinit(struct native_times *times)
{
	u64_map_deinit(&times->of_place);
	free(times->items);
	*times = (struct native_times){0};
}

struct native_time *native_times_at(const struct native_times *times, uint32_t module,
				    uint64_t offset)
{
	const uint32_t *index = u64_map_find(&times->of_place, key_of(module, offset));
	return index ? &times->items[*index] : NULL;
}

bool native_times_add(struct native_times *times, uint32_t module, uint64_t offset,
		      enum span_part part, uint64_t ns)
{
	struct native_time *known = native_times_at(times, module, offset);
	struct native_time fresh = {{0}, 0};
	if (known) {
		known->ns[part] += (double)ns;
		return true;
	}
	fresh.ns[part] = (double)ns;
	return rf_array_push(times->items, times->n_items, times->cap_items, fresh) &&
	       u64_map_set(&times->of_place, key_of(module, offset), (uint32_t)times->n_items - 1);
}
