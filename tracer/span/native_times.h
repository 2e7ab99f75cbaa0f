/* Native processor time by place in the code, before, within and behind a span: what the counted
 * run is held against where only the clock says when a span begins. */
#pragma once

#include "base/u64_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum span_part { SPAN_BEFORE, SPAN_IN, SPAN_AFTER, N_SPAN_PARTS };

/* Code of so many bytes is one place. */
#define NATIVE_PLACE_SHIFT 8

struct native_time {
	double ns[N_SPAN_PARTS];
	double executed; /* bytes of code that the counted run has executed there */
};

struct native_times {
	struct u64_map of_place;
	struct native_time *items;
	size_t n_items, cap_items;
};

void native_times_deinit(struct native_times *times);
/* Adds to the place of an offset in a module; false: no memory. */
bool native_times_add(struct native_times *times, uint32_t module, uint64_t offset,
		      enum span_part part, uint64_t ns);
/* The place of an offset, or NULL: no time was seen there. */
struct native_time *native_times_at(const struct native_times *times, uint32_t module,
				    uint64_t offset);
