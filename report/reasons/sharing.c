/* From shared lines to functions: how many moves are theirs, and for how long these can hold them
 * up. */
#include "report/reasons/sharing.h"

#include "base/search.h"
#include "profile/function_index.h"
#include "report/reasons/words.h"
#include "report/rows/code_names.h"

#include <math.h>
#include <stdio.h>

double sharing_move_ns(const struct profile *profile)
{
	static const char *const facts[] = {"line_transfer_cache_ns", "line_transfer_core_ns",
					    "line_transfer_beyond_ns"};
	double ns = 0;
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts) && !(ns > 0); i++)
		ns = profile_number_fact(profile, facts[i], 0);
	return ns;
}

/* Threads that mix less at a line have it one after the other. */
#define HANDED_ON 0.25

/* Moves of a line by code with so many of its accesses: at most, but where threads have the line
 * one after the other, each for long, it moves between their times only: as was seen. */
static double moves_of(const struct profile_shared_line *line, double accesses)
{
	const double moves = line->mixed < HANDED_ON
				     ? (double)line->transfers_seen
				     : line->mixed * (double)line->transfers_at_most;
	return line->accesses ? moves * accesses / (double)line->accesses : 0;
}

static bool is_of(const struct profile *profile, const struct model_function *f,
		  const struct profile_shared_place *place)
{
	if (f->function == PROFILE_NONE)
		return false;
	const struct profile_function *function = &profile->functions[f->function];
	return place->module == function->module && place->offset >= function->start &&
	       place->offset < function->end;
}

struct sharing_part sharing_of_function(const struct profile *profile,
					const struct model_function *f, enum sharing_kind kind)
{
	struct sharing_part part = {.line = PROFILE_NONE};
	double most = 0, here = 0;
	uint32_t line = PROFILE_NONE;
	/* the places of a line are neighbours */
	for (size_t i = 0; i < profile->n_shared_places; i++) {
		const struct profile_shared_place *place = &profile->shared_places[i];
		const struct profile_shared_line *of = &profile->shared_lines[place->line];
		if (of->kind != kind || !is_of(profile, f, place))
			continue;
		const double moves = moves_of(of, (double)place->accesses);
		here = place->line == line ? here + moves : moves;
		line = place->line;
		part.moves += moves;
		if (here > most) {
			most = here;
			part.line = line;
		}
	}
	part.cpu_s = fmin(part.moves * sharing_move_ns(profile) * 1e-9, (double)f->time_ns * 1e-9);
	return part;
}

size_t sharing_places_of(const struct profile *profile, uint32_t line, size_t *first)
{
	const struct profile_shared_place *places = profile->shared_places; /* by line */
	const size_t n = profile->n_shared_places;
	*first = rf_search(n, i, places[i].line < line);
	return rf_search(n, i, places[i].line <= line);
}

static uint32_t function_of(const struct profile *profile, size_t place)
{
	const struct profile_shared_place *of = &profile->shared_places[place];
	uint64_t end;
	return profile_function_at(profile, of->module, of->offset, &end);
}

/* Accesses of a place's function; 0: an earlier place has it, too. */
static double accesses_from(const struct profile *profile, size_t first, size_t place, size_t end)
{
	const uint32_t function = function_of(profile, place);
	double accesses = 0;
	for (size_t i = first; i < end; i++) {
		if (function_of(profile, i) != function)
			continue;
		if (i < place)
			return 0;
		accesses += (double)profile->shared_places[i].accesses;
	}
	return accesses;
}

double sharing_cost(const struct profile *profile, uint32_t line, const uint64_t *time_ns)
{
	const double ns = sharing_move_ns(profile);
	size_t first;
	const size_t end = sharing_places_of(profile, line, &first);
	double cost = 0;
	if (!(ns > 0) || !time_ns)
		return NAN;
	for (size_t i = first; i < end; i++) {
		const uint32_t function = function_of(profile, i);
		const bool known = function != PROFILE_NONE && time_ns[function] != UINT64_MAX;
		const double moves = moves_of(&profile->shared_lines[line],
					      accesses_from(profile, first, i, end));
		cost += known ? fmin((double)time_ns[function] * 1e-9, moves * ns * 1e-9) : 0;
	}
	return cost;
}

bool sharing_sides(const struct profile *profile, uint32_t line, const struct model_function *f,
		   uint32_t sides[2])
{
	const struct profile_shared_place *places = profile->shared_places;
	size_t first;
	const size_t end = sharing_places_of(profile, line, &first);
	/* those with most accesses come first */
	for (size_t i = first; i < end; i++) {
		if (f && !is_of(profile, f, &places[i]))
			continue;
		for (size_t k = first; k < end; k++)
			if (places[k].thread != places[i].thread &&
			    (places[i].stored || places[k].stored)) {
				sides[0] = (uint32_t)i;
				sides[1] = (uint32_t)k;
				return true;
			}
	}
	return false;
}

void sharing_bytes(const struct profile_shared_place *place, unsigned *from, unsigned *to)
{
	const uint64_t bytes = place->loaded | place->stored;
	*from = bytes ? (unsigned)__builtin_ctzll(bytes) : 0;
	*to = bytes ? 63 - (unsigned)__builtin_clzll(bytes) : 0;
}

/* "bytes 8 to 15 written by count (main.c:12)": where a place is in its object, or, where that is
 * not known, in the line. */
static void place_words(const struct profile *profile, const struct profile_shared_place *place,
			char *text, size_t size)
{
	unsigned from, to;
	char line[160] = "";
	const uint32_t function = function_of(profile, (size_t)(place - profile->shared_places));
	const char *name =
		function == PROFILE_NONE ? "unknown code" : profile->functions[function].name;
	if (place->file[0])
		snprintf(line, sizeof(line), " (%.100s:%u)", report_base_name(place->file),
			 place->source_line);
	sharing_bytes(place, &from, &to);
	const uint64_t first = place->has_object_offset ? place->object_offset : from;
	snprintf(text, size, "bytes %llu to %llu%s %s by %.80s%s", (unsigned long long)first,
		 (unsigned long long)(first + to - from),
		 place->has_object_offset ? "" : " of the line",
		 !place->stored   ? "read"
		 : !place->loaded ? "written"
				  : "read and written",
		 name, line);
}

void sharing_line_words(const struct profile *profile, uint32_t line,
			const struct model_function *f, char *text, size_t size)
{
	char object[320], other[320] = "", own[320], there[320];
	uint32_t sides[2];
	if (!sharing_sides(profile, line, f, sides)) {
		snprintf(text, size, "data of unknown origin");
		return;
	}
	const struct profile_shared_place *a = &profile->shared_places[sides[0]],
					  *b = &profile->shared_places[sides[1]];
	snprintf(object, sizeof(object), "data of unknown origin");
	if (a->object != PROFILE_NONE)
		report_object_words(profile, &profile->objects[a->object], object, sizeof(object));
	if (b->object != a->object && b->object != PROFILE_NONE) {
		report_object_words(profile, &profile->objects[b->object], there, sizeof(there));
		snprintf(other, sizeof(other), " of %.300s", there);
	}
	place_words(profile, a, own, sizeof(own));
	place_words(profile, b, there, sizeof(there));
	snprintf(text, size, "%s: %s, %s%s in another thread", object, own, there, other);
}
