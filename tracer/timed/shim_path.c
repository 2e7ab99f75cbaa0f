/* Where the library to preload is looked for. */
#include "tracer/timed/shim_path.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct rf_error *found(const char *candidate, char **path)
{
	*path = strdup(candidate);
	return *path ? NULL : rf_error_no_memory();
}

/* Looks for `name` in the folder of this program and the two above. */
static bool find_above(const char *name, char *candidate, size_t size)
{
	char folder[4096];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	if (n <= 0)
		return false;
	folder[n] = '\0';
	for (int i = 0; i < 3; i++) {
		char *slash = strrchr(folder, '/');
		if (!slash)
			return false;
		*slash = '\0';
		snprintf(candidate, size, "%s/%s", folder, name);
		if (access(candidate, R_OK) == 0)
			return true;
	}
	return false;
}

struct rf_error *shim_path_find(char **path)
{
	char candidate[4200];
	const char *given = getenv("RFPROF_SHIM");
	if (given && *given)
		return found(given, path);
	if (find_above("preload/librfprof_shim.so", candidate, sizeof(candidate)))
		return found(candidate, path);
	if (access(SHIM_INSTALLED, R_OK) == 0)
		return found(SHIM_INSTALLED, path);
	return rf_error_create(RF_EUNAVAILABLE, "set RFPROF_SHIM to its path",
			       "librfprof_shim.so is not installed in %s", SHIM_INSTALLED);
}
