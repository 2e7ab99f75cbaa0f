/* Groups of functions by their names. */
#include "report/account/groups.h"

#include "profile/function_index.h"
#include "report/account/own_function.h"

#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static const struct {
	const char *name; /* of one, or its beginning where it ends in "*" */
	enum account_group group;
} names[] = {
	{"malloc", GROUP_ALLOCATION},
	{"free", GROUP_ALLOCATION},
	{"cfree", GROUP_ALLOCATION},
	{"calloc", GROUP_ALLOCATION},
	{"realloc", GROUP_ALLOCATION},
	{"_int_malloc*", GROUP_ALLOCATION},
	{"_int_free*", GROUP_ALLOCATION},
	{"_int_realloc", GROUP_ALLOCATION},
	{"_int_memalign", GROUP_ALLOCATION},
	{"sysmalloc*", GROUP_ALLOCATION},
	{"systrim*", GROUP_ALLOCATION},
	{"unlink_chunk*", GROUP_ALLOCATION},
	{"tcache_*", GROUP_ALLOCATION},
	{"operator new*", GROUP_ALLOCATION},
	{"operator delete*", GROUP_ALLOCATION},
	{"__libc_malloc", GROUP_ALLOCATION},
	{"__libc_calloc", GROUP_ALLOCATION},
	{"__libc_realloc", GROUP_ALLOCATION},
	{"__libc_free", GROUP_ALLOCATION},
	{"posix_memalign", GROUP_ALLOCATION},
	{"aligned_alloc", GROUP_ALLOCATION},
	{"je_*", GROUP_ALLOCATION},
	{"mi_*", GROUP_ALLOCATION},
	{"tc_*", GROUP_ALLOCATION},
	{"memset", GROUP_MEMORY},
	{"memcpy", GROUP_MEMORY},
	{"memmove", GROUP_MEMORY},
	{"__memset_*", GROUP_MEMORY},
	{"__memcpy_*", GROUP_MEMORY},
	{"__memmove_*", GROUP_MEMORY},
	{"__mempcpy*", GROUP_MEMORY},
	{"bzero", GROUP_MEMORY},
	{"strlen", GROUP_STRINGS},
	{"strcmp", GROUP_STRINGS},
	{"strncmp", GROUP_STRINGS},
	{"strcpy", GROUP_STRINGS},
	{"strncpy", GROUP_STRINGS},
	{"strcat", GROUP_STRINGS},
	{"strchr", GROUP_STRINGS},
	{"strrchr", GROUP_STRINGS},
	{"strstr", GROUP_STRINGS},
	{"strcasecmp", GROUP_STRINGS},
	{"strspn", GROUP_STRINGS},
	{"strcspn", GROUP_STRINGS},
	{"strtok", GROUP_STRINGS},
	{"strnlen", GROUP_STRINGS},
	{"memchr", GROUP_STRINGS},
	{"memcmp", GROUP_STRINGS},
	{"__str*", GROUP_STRINGS},
	{"__memchr*", GROUP_STRINGS},
	{"__memcmp*", GROUP_STRINGS},
	{"rawmemchr", GROUP_STRINGS},
	{"gc_collect", GROUP_COLLECTION},
	{"GC_*", GROUP_COLLECTION},
	{"runtime.gc*", GROUP_COLLECTION},
	{"runtime.scan*", GROUP_COLLECTION},
	{"runtime.mark*", GROUP_COLLECTION},
	{"runtime.sweep*", GROUP_COLLECTION},
	{"deduce_unreachable", GROUP_COLLECTION},
	{"subtract_refs", GROUP_COLLECTION},
	{"visit_reachable", GROUP_COLLECTION},
	{"propagatemark", GROUP_COLLECTION},
	{"caml_major*", GROUP_COLLECTION},
	{"caml_empty_minor*", GROUP_COLLECTION},
};

/* As in the list. */
static bool fits(const char *name, const char *listed)
{
	const size_t n = strlen(listed);
	return listed[n - 1] == '*' ? strncmp(name, listed, n - 1) == 0 : strcmp(name, listed) == 0;
}

/* "mi_" and the like begin other names, too: allocators have libraries of their own. */
static bool is_of_allocator(const char *name, const char *module)
{
	static const char *const libraries[][2] = {{"je_*", "jemalloc"},
						   {"mi_*", "mimalloc"},
						   {"tc_*", "tcmalloc"}};
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (strcmp(name, libraries[i][0]) == 0)
			return strstr(module, libraries[i][1]);
	return true;
}

enum account_group account_group_of(const char *name, const char *module)
{
	if (begins(module, "ld-linux") || begins(module, "ld-musl"))
		return GROUP_LINKER;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (fits(name, names[i].name) && is_of_allocator(names[i].name, module))
			return names[i].group;
	return GROUP_NONE;
}

static enum account_group group_at(const struct profile *profile, uint32_t place, uint32_t frame)
{
	const uint32_t module = profile->frames[frame].module;
	if (place >= profile->n_functions || module == PROFILE_NONE)
		return GROUP_NONE;
	return account_group_of(profile->functions[place].name, profile->modules[module].name);
}

const char *account_group_caller(const struct profile *profile, enum account_group group)
{
	uint32_t *places = profile->n_samples ? profile_places_of_frames(profile) : NULL;
	uint64_t *times = places ? calloc(profile_n_places(profile) + 1, sizeof(*times)) : NULL;
	uint32_t best = PROFILE_NONE;
	for (size_t i = 0; times && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		if (sample->frame == PROFILE_NONE ||
		    group_at(profile, places[sample->frame], sample->frame) != group)
			continue;
		const uint32_t own = places[own_frame(profile, places, sample->frame)];
		times[own] += sample->weight_ns;
		if (best == PROFILE_NONE || times[own] > times[best])
			best = own;
	}
	free(places);
	free(times);
	return best < profile->n_functions ? profile->functions[best].name : NULL;
}
