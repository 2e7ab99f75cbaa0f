/* The names of functions that allocate memory. */
#include "tracer/process/allocators.h"

#include <string.h>

#define NO NO_ARGUMENT
/* clang-format off */
#define GIVES(name, n, size, times) {name, ALLOCATOR_GIVES, n, NO, size, times, false}
#define TAKES(name) {name, ALLOCATOR_TAKES, 1, 0, NO, NO, false}
#define WRAPS(name) {name, ALLOCATOR_WRAPS, 0, NO, NO, NO, false}
/* clang-format on */

/* ISO C and POSIX; the Itanium C++ ABI's names of operators new and delete; Linux. */
const struct allocator allocators[] = {
	GIVES("malloc", 1, 0, NO),
	GIVES("calloc", 2, 0, 1),
	GIVES("aligned_alloc", 2, 1, NO),
	GIVES("memalign", 2, 1, NO),
	GIVES("valloc", 1, 0, NO),
	GIVES("pvalloc", 1, 0, NO),
	{"posix_memalign", ALLOCATOR_GIVES, 3, NO, 2, NO, true},
	{"realloc", ALLOCATOR_CHANGES, 2, 0, 1, NO, false},
	{"reallocarray", ALLOCATOR_CHANGES, 3, 0, 1, 2, false},
	TAKES("free"),
	TAKES("cfree"),
	GIVES("_Znwm", 1, 0, NO), /* new */
	GIVES("_Znam", 1, 0, NO), /* new[] */
	GIVES("_ZnwmRKSt9nothrow_t", 1, 0, NO),
	GIVES("_ZnamRKSt9nothrow_t", 1, 0, NO),
	GIVES("_ZnwmSt11align_val_t", 1, 0, NO),
	GIVES("_ZnamSt11align_val_t", 1, 0, NO),
	GIVES("_ZnwmSt11align_val_tRKSt9nothrow_t", 1, 0, NO),
	GIVES("_ZnamSt11align_val_tRKSt9nothrow_t", 1, 0, NO),
	TAKES("_ZdlPv"), /* delete */
	TAKES("_ZdaPv"), /* delete[] */
	TAKES("_ZdlPvm"),
	TAKES("_ZdaPvm"),
	TAKES("_ZdlPvSt11align_val_t"),
	TAKES("_ZdaPvSt11align_val_t"),
	TAKES("_ZdlPvmSt11align_val_t"),
	TAKES("_ZdaPvmSt11align_val_t"),
	{"mmap", ALLOCATOR_MAPS, 2, NO, 1, NO, false},
	{"mmap64", ALLOCATOR_MAPS, 2, NO, 1, NO, false},
	{"munmap", ALLOCATOR_UNMAPS, 2, 0, 1, NO, false},
	{"mremap", ALLOCATOR_REMAPS, 3, 0, 1, 2, false},
	WRAPS("strdup"),
	WRAPS("strndup"),
	WRAPS("wcsdup"),
	WRAPS("asprintf"),
	WRAPS("vasprintf"),
	WRAPS("getline"),
	WRAPS("getdelim"),
};
const size_t n_allocators = sizeof(allocators) / sizeof(allocators[0]);

static bool is_named(const void *context, int number, const char *symbol)
{
	const size_t length = strcspn(symbol, "@");
	return strncmp(allocators[number].name, symbol, length) == 0 &&
	       !allocators[number].name[length];
}

struct named_functions *allocators_in_files(struct kept_store *kept)
{
	const struct function_names names = {.n = (int)n_allocators,
					     .is_named = is_named,
					     .untyped = true,
					     .kept = kept,
					     .kind = KEPT_ALLOCATORS};
	return named_functions_create(&names);
}
