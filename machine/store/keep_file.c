/* Files that rfprof keeps for its user: where they are, and how they are written whole. */
#include "machine/store/keep_file.h"

#include "base/trusted_file.h"
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void put_hint(const struct keep_place *place, char *hint, size_t size)
{
	snprintf(hint, size, "set %s to a directory that can be written", place->variable);
}

static struct rf_error *cannot_write(const struct keep_place *place, const char *path, int cause)
{
	char hint[96];
	put_hint(place, hint, sizeof(hint));
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
		int status = mkdir(path, 0700);
		*at = '/';
		if (status && errno != EEXIST)
			return -1;
	}
	return mkdir(path, 0700) && errno != EEXIST ? -1 : 0;
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

static struct rf_error *write_json(const json_t *json, FILE *file)
{
	/* that a write failed shows when the file is closed */
	if (json_dumpf(json, file, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) && !ferror(file))
		return rf_error_no_memory();
	putc('\n', file);
	return NULL;
}

struct rf_error *keep_file_save(const struct keep_place *place, const char *path,
				const json_t *json)
{
	char hint[96], failure[96];
	const struct whole_file_wish wish = {path, failure, hint,
					     WHOLE_FILE_REGULAR | WHOLE_FILE_PRIVATE};
	struct whole_file file;
	put_hint(place, hint, sizeof(hint));
	snprintf(failure, sizeof(failure), "cannot keep the %s in", place->what);
	struct rf_error *error = whole_file_stream(&wish, &file);
	return error ? error : whole_file_close(&file, write_json(json, file.stream));
}

int keep_file_lock(const char *directory, int wait_ms)
{
	const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int waited = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB); waited += 50) {
		if (errno != EWOULDBLOCK || waited >= wait_ms) {
			close(fd);
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	return fd;
}

struct rf_error *keep_file_read(const char *path, size_t flags, json_t **json)
{
	const char *refusal;
	json_error_t cause;
	int fd = trusted_file_open(path, &refusal);
	if (refusal)
		return rf_error_create(RF_EACCESS, "remove it, or make it your own",
				       "%s is not used: it %s", path, refusal);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		const int errnum = errno;
		if (fd >= 0)
			close(fd);
		return rf_error_errno(errnum == ENOENT || errnum == ENOTDIR ? RF_EUNAVAILABLE
									    : RF_EACCESS,
				      errnum, NULL, "cannot open %s", path);
	}
	*json = json_loadf(file, flags, &cause);
	fclose(file);
	return *json ? NULL
		     : rf_error_create(RF_EFORMAT, "mend or remove it",
				       "%s is corrupt: line %d: %.120s", path, cause.line,
				       cause.text);
}
