/* Tells the parts of regions by modules and names, from the outermost frame inward. */
#include "report/account/region_frames.h"

#include "profile/system_modules.h"

#include <stdlib.h>
#include <string.h>

static bool begins_with_any(const char *text, const char *const *beginnings, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

static const char *name_of(const struct profile *profile, uint32_t place)
{
	return place < profile->n_functions ? profile->functions[place].name : "";
}

static bool is_runtime(const struct profile *profile, uint32_t module, uint32_t place)
{
	static const char *const modules[] = {"libgomp", "libomp", "libiomp"};
	static const char *const names[] = {"GOMP_", "gomp_", "__kmp", "omp_"};
	return (module != PROFILE_NONE &&
		begins_with_any(profile->modules[module].name, modules, 3)) ||
	       begins_with_any(name_of(profile, place), names, 4);
}

bool region_is_outlined(const struct profile *profile, uint32_t place)
{
	const char *name = name_of(profile, place);
	return strstr(name, "._omp_fn.") || strstr(name, "omp_outlined");
}

/* A region's calls of the run-time library that wait for one thread, not for all. */
static bool is_turn(const char *name)
{
	static const char *const parts[] = {"critical", "lock", "atomic", "ordered"};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/* Whether a call of the run-time library from here can begin a region: it is not the system's,
 * which begins the threads of the library itself. */
static bool begins_regions(const struct profile *profile, const uint32_t *places, uint32_t frame)
{
	if (frame == PROFILE_NONE || profile->frames[frame].module == PROFILE_NONE)
		return false;
	const char *module = profile->modules[profile->frames[frame].module].name;
	return !profile_is_system_module(module) &&
	       strcmp(name_of(profile, places[frame]), "start_thread") != 0;
}

static struct region_frame inner_frame(const struct profile *profile, const uint32_t *places,
				       const struct region_frame *outer, uint32_t at)
{
	const struct profile_frame *frame = &profile->frames[at];
	const char *name = name_of(profile, places[at]);
	if (!is_runtime(profile, frame->module, places[at]))
		return *outer;
	if (outer->part == REGION_WORK && !is_turn(name))
		return (struct region_frame){REGION_WAIT, outer->region, outer->site};
	if (outer->part == REGION_NONE && begins_regions(profile, places, frame->parent))
		return (struct region_frame){REGION_CALLER, PROFILE_NONE, frame->parent};
	return *outer;
}

struct region_frame *region_frames(const struct profile *profile, const uint32_t *places,
				   const bool *barriers)
{
	const struct region_frame none = {REGION_NONE, PROFILE_NONE, PROFILE_NONE};
	struct region_frame *frames = calloc(profile->n_frames + 1, sizeof(*frames));
	for (uint32_t i = 0; frames && i < profile->n_frames; i++) {
		const uint32_t parent = profile->frames[i].parent, place = places[i];
		const struct region_frame *outer = parent == PROFILE_NONE ? &none : &frames[parent];
		const bool inside = outer->region != PROFILE_NONE;
		if (inside && region_is_outlined(profile, place)) /* a task of the region */
			frames[i] = (struct region_frame){REGION_WORK, outer->region, outer->site};
		else if (!inside && (region_is_outlined(profile, place) || barriers[place]))
			frames[i] = (struct region_frame){REGION_WORK, place, outer->site};
		else
			frames[i] = inner_frame(profile, places, outer, i);
	}
	return frames;
}
