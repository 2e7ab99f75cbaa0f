/* JSON files that rfprof keeps for its user: how they are written whole. */
#include "machine/store/keep_file.h"

#include "base/trusted_file.h"
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

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
	keep_place_hint(place, hint, sizeof(hint));
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
