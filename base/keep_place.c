/* Where rfprof's files for its user are, by the XDG Base Directory Specification. */
#include "base/keep_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void keep_place_hint(const struct keep_place *place, char *hint, size_t size)
{
	snprintf(hint, size, "set %s to a directory that can be written", place->variable);
}

static struct rf_error *cannot_write(const struct keep_place *place, const char *path, int cause)
{
	char hint[96];
	keep_place_hint(place, hint, sizeof(hint));
	return rf_error_errno(RF_EACCESS, cause, hint, "cannot keep the %s in %s", place->what,
			      path);
}

struct rf_error *keep_place_directory(const struct keep_place *place, char **out)
{
	/* by the specification, an unset, empty or relative value is ignored */
	const char *base = getenv(place->variable), *home = getenv("HOME");
	char *path = NULL, hint[96];
	int length;
	if (base && base[0] == '/')
		length = asprintf(&path, "%s/rfprof", base);
	else if (home && home[0] == '/')
		length = asprintf(&path, "%s/%s/rfprof", home, place->below_home);
	else {
		snprintf(hint, sizeof(hint), "set %s to a directory", place->variable);
		return rf_error_create(RF_EACCESS, hint, "no home directory to keep the %s in",
				       place->what);
	}
	if (length < 0)
		return rf_error_no_memory();
	*out = path;
	return NULL;
}

/* Makes a directory and its parents like mkdir -p.  Writes to `path` for a while. */
static int make_directories(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		int status = mkdir(path, 0700);
		*at = '/';
		if (status && errno != EEXIST)
			return -1;
	}
	return mkdir(path, 0700) && errno != EEXIST ? -1 : 0;
}

struct rf_error *keep_place_prepare(const struct keep_place *place, const char *directory)
{
	char *path = strdup(directory);
	if (!path)
		return rf_error_no_memory();
	int failed = make_directories(path) || access(directory, W_OK | X_OK);
	int cause = errno;
	free(path);
	return failed ? cannot_write(place, directory, cause) : NULL;
}
