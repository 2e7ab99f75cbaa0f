/* The one way in which rfprof writes files: whole or not at all.  A file is written without a name
 * (or, where the file system cannot do that, under a temporary one) in the directory that it will
 * be in, synced, and takes its name in one step; until then a file of that name stays as it is.
 *
 * What cannot be replaced so is written as it is: pipes, devices, /dev/stdout and the like, a file
 * that something is mounted over, and a file in a directory that cannot be written to. */
#pragma once

#include "base/error.h"
#include "base/file_place.h"

#include <signal.h>
#include <stdio.h>

enum whole_file_flags {
	WHOLE_FILE_PRIVATE = 1,   /* for nobody else to read: mode 0600 */
	WHOLE_FILE_KEEP_OLD = 2,  /* the file that was there becomes NAME.old */
	WHOLE_FILE_REGULAR = 4,   /* nothing but a regular file, replaced and not written to */
	WHOLE_FILE_AT_ONCE = 8,   /* a log: what is written is in the named file at once */
	WHOLE_FILE_UNSYNCED = 16, /* a power cut may leave it empty: for what can be made again */
};

struct whole_file_wish {
	const char *path;
	const char *failure; /* what messages begin with: "cannot write" */
	const char *hint;    /* the next step in messages */
	unsigned flags;      /* enum whole_file_flags */
};

struct whole_file {
	struct whole_file_wish wish; /* its texts are the caller's */
	struct file_place place;
	int fd;             /* to write to, for what needs no stream */
	FILE *stream;       /* to write to; whole_file_stream */
	char temporary[48]; /* its name for now; "": it has none */
	bool direct;        /* it is written as it is */
	sigset_t before;    /* a name that a signal would leave behind: signals wait */
};

/* Says whether the file can be written, as far as this can be known; creates and changes nothing.
 */
struct rf_error *whole_file_check(const struct whole_file_wish *wish);

/* Opens it.  The mode of a new file is 0666 less the umask, or WHOLE_FILE_PRIVATE; that of one that
 * is replaced stays. */
struct rf_error *whole_file_open(const struct whole_file_wish *wish, struct whole_file *file);
/* The same, as a stream: file->stream. */
struct rf_error *whole_file_stream(const struct whole_file_wish *wish, struct whole_file *file);
/* Puts it in place.  Where `error` is one already it is passed on, and the file is not made. */
struct rf_error *whole_file_close(struct whole_file *file, struct rf_error *error);
