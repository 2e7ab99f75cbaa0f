/* Groups of functions by their names. */
#include "report/account/groups.h"

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

const char *account_group_caller(const struct profile *profile, enum account_group group)
{
	const struct profile_sum_kernel *most = NULL;
	for (size_t i = 0; i < profile->n_sum_kernel; i++) {
		const struct profile_sum_kernel *row = &profile->sum_kernel[i];
		if (row->call == PROFILE_GROUPS + group && row->function != PROFILE_NONE &&
		    (!most || row->time_ns > most->time_ns))
			most = row;
	}
	return most ? profile->functions[most->function].name : NULL;
}
