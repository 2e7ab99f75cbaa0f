/* A file that a command writes, or a stream in its place; closing tells whether all was written. */
#include "cli/output_file.h"

#include "profile/profile_open.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WRITE_HINT "choose another file, or make room there"

static struct whole_file_wish wish_for(const char *path)
{
	return (struct whole_file_wish){path, "cannot write", WRITE_HINT, 0};
}

struct rf_error *output_file_open(const char *path, FILE *instead, struct output_file *file)
{
	const struct whole_file_wish wish = wish_for(path);
	*file = (struct output_file){.stream = instead, .is_file = path != NULL};
	if (!path)
		return NULL;
	struct rf_error *error = profile_file_spare(path) ?: whole_file_stream(&wish, &file->whole);
	file->stream = error ? NULL : file->whole.stream;
	return error;
}

/* A pipe whose reader has gone, as of `rfprof ./app | head`. */
static bool has_no_reader(FILE *stream)
{
	struct pollfd end = {.fd = fileno(stream), .events = POLLOUT};
	return poll(&end, 1, 0) == 1 && end.revents & POLLERR;
}

/* Why nothing more can be written to a stream that has failed before: one more byte tells. */
static int cause_of_failure(FILE *stream)
{
	clearerr(stream);
	errno = 0;
	return fputc('\n', stream) == EOF || fflush(stream) != 0 ? errno : 0;
}

struct rf_error *output_stream_flush(FILE *stream, struct rf_error *error)
{
	errno = 0;
	const bool failed = fflush(stream) != 0 || ferror(stream);
	const int cause = failed && !errno ? cause_of_failure(stream) : errno;
	if (error || !failed || has_no_reader(stream))
		return error;
	return rf_error_errno(RF_EACCESS, cause, WRITE_HINT, "cannot write the table");
}

struct rf_error *output_file_close(struct output_file *file, struct rf_error *error)
{
	return file->is_file ? whole_file_close(&file->whole, error)
			     : output_stream_flush(file->stream, error);
}

struct rf_error *output_file_check(const char *path)
{
	const struct whole_file_wish wish = wish_for(path);
	if (!path || strcmp(path, "-") == 0)
		return NULL;
	return profile_file_spare(path) ?: whole_file_check(&wish);
}

char *output_file_snapshot(const char *path, const char *program, unsigned number)
{
	static const char ending[] = ".rfp";
	char *text = NULL;
	const size_t length = path ? strlen(path) : 0, end = sizeof(ending) - 1;
	const bool has_ending = length > end && strcmp(path + length - end, ending) == 0;
	if ((path ? asprintf(&text, "%.*s.%u%s", (int)(has_ending ? length - end : length), path,
			     number, ending)
		  : asprintf(&text, "rfprof-%s.%u%s", program, number, ending)) < 0)
		return NULL;
	return text;
}
