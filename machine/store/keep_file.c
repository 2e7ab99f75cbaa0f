/* Files that rfprof keeps for its user: where they are, and how they are written whole. */
#include "machine/store/keep_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct rf_error *cannot_write(const struct keep_place *place, const char *path, int cause)
{
	char hint[96];
	snprintf(hint, sizeof(hint), "set %s to a directory that can be written", place->variable);
	return rf_error_errno(RF_EACCESS, cause, hint, "cannot keep the %s in %s", place->what,
			      path);
}

struct rf_error *keep_file_directory(const struct keep_place *place, char **out)
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
		int status = mkdir(path, 0777);
		*at = '/';
		if (status && errno != EEXIST)
			return -1;
	}
	return mkdir(path, 0777) && errno != EEXIST ? -1 : 0;
}

struct rf_error *keep_file_prepare(const struct keep_place *place, const char *directory)
{
	char *path = strdup(directory);
	if (!path)
		return rf_error_no_memory();
	int failed = make_directories(path) || access(directory, W_OK | X_OK);
	int cause = errno;
	free(path);
	return failed ? cannot_write(place, directory, cause) : NULL;
}

/* Writes to a new file of mkostemp template `temporary` and renames it; returns 0 or an errno. */
static int write_and_rename(const json_t *json, char *temporary, const char *path)
{
	int cause = 0, fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return errno;
	FILE *file = fdopen(fd, "w");
	if (!file || json_dumpf(json, file, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) ||
	    putc('\n', file) == EOF)
		cause = errno ? errno : EIO;
	if ((file ? fclose(file) : close(fd)) && !cause)
		cause = errno;
	if (!cause && rename(temporary, path))
		cause = errno;
	if (cause)
		unlink(temporary);
	return cause;
}

struct rf_error *keep_file_save(const struct keep_place *place, const char *path,
				const json_t *json)
{
	sigset_t all, before;
	char *real = realpath(path, NULL), *temporary = NULL;
	const char *target = real ? real : path;
	if (asprintf(&temporary, "%s.XXXXXX", target) < 0) {
		free(real);
		return rf_error_no_memory();
	}
	/* a signal that ends the process must not leave the temporary file */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = 0;
	int cause = write_and_rename(json, temporary, target);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	free(temporary);
	free(real);
	return cause ? cannot_write(place, path, cause) : NULL;
}
