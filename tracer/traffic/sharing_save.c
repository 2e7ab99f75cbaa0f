/* Adds shared lines and the places that touch them to the profile. */
#include "tracer/traffic/sharing_save.h"

#include "base/array.h"

#include <math.h>
#include <string.h>

static uint64_t whole(double number)
{
	return (uint64_t)llround(number);
}

static struct profile_shared_place place_row(const struct sharing_place *place, uint32_t line,
					     uint32_t object)
{
	const bool has_offset = object != PROFILE_NONE && place->place.has_offset;
	return (struct profile_shared_place){
		.line = line,
		.module = place->module,
		.offset = place->offset,
		.thread = place->thread,
		.object = object,
		.has_object_offset = has_offset,
		.object_offset = has_offset ? place->place.offset : 0,
		.loaded = place->loaded,
		.stored = place->stored,
		.accesses = whole(place->accesses),
		.loads = whole(place->loads),
		.stores = whole(place->stores),
		.halfwidth = place->halfwidth,
	};
}

struct rf_error *sharing_save(const struct shared_lines *lines, struct profile *profile,
			      uint32_t (*row_of)(void *context, uint32_t space, uint32_t object),
			      void *context)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < lines->n_items && !error; i++) {
		const struct shared_line *line = &lines->items[i];
		const struct profile_shared_line row = {
			.kind = shared_line_is_true(line) ? SHARING_TRUE : SHARING_FALSE,
			.accesses = whole(line->accesses),
			.halfwidth = line->halfwidth,
			.transfers_at_most = whole(line->transfers_at_most),
			.true_at_most = whole(line->true_at_most),
			.transfers_seen = line->turns,
			.mixed = line->mixed,
		};
		const uint32_t at = (uint32_t)profile->n_shared_lines;
		error = rf_array_add(profile->shared_lines, profile->n_shared_lines,
				     profile->cap_shared_lines, row);
		for (size_t k = 0; k < line->n_places && !error; k++) {
			const struct sharing_place *place = &line->places[k];
			struct profile_shared_place new =
				place_row(place, at,
					  row_of(context, line->space, place->place.object));
			new.file = strdup(""); /* names_resolve knows it */
			error = new.file ? rf_array_add(profile->shared_places,
							profile->n_shared_places,
							profile->cap_shared_places, new)
					 : rf_error_no_memory();
			if (error)
				free(new.file);
		}
	}
	return error;
}
