/* A file that a command writes, or a stream in its place; closing tells whether all was written. */
#include "cli/output_file.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct rf_error *cannot_write(const char *path, int cause)
{
	return rf_error_errno(RF_EACCESS, cause, "choose another file, or make room there",
			      "cannot write %s", path);
}

struct rf_error *output_file_open(const char *path, FILE *instead, FILE **stream)
{
	*stream = path ? fopen(path, "we") : instead;
	return *stream ? NULL : cannot_write(path, errno);
}

/* A pipe whose reader has gone, as of `rfprof ./app | head`. */
static bool has_no_reader(FILE *stream)
{
	struct pollfd end = {.fd = fileno(stream), .events = POLLOUT};
	return poll(&end, 1, 0) == 1 && end.revents & POLLERR;
}

struct rf_error *output_file_close(const char *path, FILE *stream, struct rf_error *error)
{
	errno = 0;
	bool failed = fflush(stream) != 0 || ferror(stream);
	int cause = errno;
	if (path && fclose(stream) != 0) {
		failed = true;
		cause = errno;
	}
	if (error || !failed || (!path && has_no_reader(stream)))
		return error;
	return cannot_write(path ? path : "the table", cause);
}

struct rf_error *output_file_check(const char *path)
{
	if (!path || strcmp(path, "-") == 0)
		return NULL;
	if (access(path, F_OK) == 0)
		return access(path, W_OK) == 0 ? NULL : cannot_write(path, errno);
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int cause = folder && access(folder, W_OK | X_OK) < 0 ? errno : 0;
	free(folder);
	return cause ? cannot_write(path, cause) : NULL;
}
