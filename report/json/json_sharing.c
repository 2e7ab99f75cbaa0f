/* Shared lines, each with its places: what one instruction does there is one place, in all threads
 * that touch the same bytes by it. */
#include "report/json/json_sharing.h"

#include "profile/function_index.h"
#include "report/json/json_traffic.h"
#include "report/reasons/sharing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64

/* The time of each function of the profile, by row; NULL: rows are no functions, or no memory. */
static uint64_t *times_of(const struct report_view *view)
{
	const struct model *model = view->model;
	const size_t n = view->profile->n_functions;
	uint64_t *times = malloc((n + 1) * sizeof(*times));
	bool any = false;
	for (size_t i = 0; times && i < n; i++)
		times[i] = UINT64_MAX;
	for (size_t i = 0; times && i < model->n_functions; i++) {
		const struct model_function *f = &model->functions[i];
		if (f->function == PROFILE_NONE)
			continue;
		any = true;
		times[f->function] =
			f->time_ns + (times[f->function] == UINT64_MAX ? 0 : times[f->function]);
	}
	if (any)
		return times;
	free(times);
	return NULL;
}

/* Whether two places are one, but for the thread. */
static bool is_same(const struct profile_shared_place *a, const struct profile_shared_place *b)
{
	return a->line == b->line && a->module == b->module && a->offset == b->offset &&
	       a->loaded == b->loaded && a->stored == b->stored && a->object == b->object &&
	       a->object_offset == b->object_offset;
}

static void put_code(struct json_writer *out, const struct profile *profile,
		     const struct profile_shared_place *place)
{
	uint64_t end;
	const uint32_t row = profile_function_at(profile, place->module, place->offset, &end);
	put_text(out, "function", row == PROFILE_NONE ? NULL : profile->functions[row].name);
	put_text(out, "module", profile->modules[place->module].name);
	put_count(out, "code_offset", place->offset);
	put_text(out, "file", place->file[0] ? place->file : NULL);
	put_known(out, "line", place->source_line, place->source_line);
}

/* The place and those up to `end` that are the same in other threads. */
static void put_place(struct json_writer *out, const struct profile *profile, size_t first,
		      size_t end)
{
	const struct profile_shared_place *place = &profile->shared_places[first];
	double accesses = 0, variance = 0, loads = 0, stores = 0;
	unsigned from, to;
	sharing_bytes(place, &from, &to);
	put_object(out, NULL);
	put_code(out, profile, place);
	report_json_object(out, "object", profile, place->object);
	put_known(out, "offset", place->has_object_offset, (int64_t)place->object_offset);
	put_array(out, "threads");
	for (size_t i = first; i < end; i++) {
		const struct profile_shared_place *same = &profile->shared_places[i];
		if (!is_same(place, same))
			continue;
		put_integer(out, NULL, profile->threads[same->thread].tid);
		accesses += (double)same->accesses;
		loads += (double)same->loads;
		stores += (double)same->stores;
		variance += same->halfwidth * same->halfwidth;
	}
	put_end(out);
	put_array(out, "bytes");
	put_integer(out, NULL, from);
	put_integer(out, NULL, to);
	put_end(out);
	put_flag(out, "reads", loads > 0);
	put_flag(out, "writes", stores > 0);
	put_count(out, "accesses", (uint64_t)accesses);
	put_real(out, "accesses_halfwidth", sqrt(variance));
	put_end(out);
}

static void put_places(struct json_writer *out, const char *key, const struct profile *profile,
		       uint32_t line)
{
	size_t first;
	const size_t end = sharing_places_of(profile, line, &first);
	put_array(out, key);
	for (size_t i = first; i < end; i++) {
		bool is_new = true;
		for (size_t k = first; k < i && is_new; k++)
			is_new = !is_same(&profile->shared_places[k], &profile->shared_places[i]);
		if (is_new)
			put_place(out, profile, i, end);
	}
	put_end(out);
}

/* The object of the place with most accesses, and where the line begins in it: below 0 where that
 * is in front of it. */
static void put_data(struct json_writer *out, const struct profile *profile, uint32_t line)
{
	size_t first;
	const size_t end = sharing_places_of(profile, line, &first);
	const struct profile_shared_place *place =
		first < end ? &profile->shared_places[first] : NULL;
	const bool known = place && place->has_object_offset;
	unsigned from = 0, to;
	if (place)
		sharing_bytes(place, &from, &to);
	report_json_object(out, "object", profile, place ? place->object : PROFILE_NONE);
	put_known(out, "offset", known, known ? (int64_t)place->object_offset - from : 0);
}

void report_json_sharing(struct json_writer *out, const char *key, const struct report_view *view)
{
	const struct profile *profile = view->profile;
	uint64_t *times = profile->n_shared_lines ? times_of(view) : NULL;
	put_array(out, key);
	for (uint32_t i = 0; i < profile->n_shared_lines; i++) {
		const struct profile_shared_line *line = &profile->shared_lines[i];
		put_object(out, NULL);
		put_text(out, "kind", line->kind == SHARING_TRUE ? "true" : "false");
		put_data(out, profile, i);
		put_integer(out, "line_bytes", LINE_BYTES);
		put_count(out, "accesses", line->accesses);
		put_real(out, "accesses_halfwidth", line->halfwidth);
		put_count(out, "transfers_at_most", line->transfers_at_most);
		put_count(out, "true_transfers_at_most", line->true_at_most);
		put_count(out, "transfers_seen", line->transfers_seen);
		put_real(out, "mixed", line->mixed);
		put_real(out, "cost_s", sharing_cost(profile, i, times));
		put_places(out, "places", profile, i);
		put_end(out);
	}
	put_end(out);
	free(times);
}
