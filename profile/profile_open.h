/* Opening a profile's file, of which nothing is trusted: neither what it holds nor what lies beside
 * it. */
#pragma once

#include "base/error.h"

#include <sqlite3.h>
#include <stdint.h>

struct profile_file {
	const char *path;
	sqlite3 *db;
	uint64_t size;    /* bytes */
	uint32_t version; /* of the schema */
	uint64_t ends_ns; /* processor time of this thread at which reading is given up */
	int64_t heap;     /* the process's limit of SQLite's heap before */
};

/* Opens the file for reading: it is a whole file of rfprof's, of a version that can be read.  No
 * other file is read, created or locked.  Until profile_file_close SQLite's memory, and the
 * processor time that it may take, are limited.  To be closed also after an error. */
struct rf_error *profile_file_open(const char *path, struct profile_file *file);
void profile_file_close(struct profile_file *file);
/* An error where `path` (not NULL) is a profile already, whole or not: a report is not to be
 * written over one, as by `rfprof report --json NAME.rfp`, where NAME.rfp was meant to be read. */
struct rf_error *profile_file_spare(const char *path);
/* Whether the pages of one table, and of its indexes, hold together. */
struct rf_error *profile_file_check(const struct profile_file *file, const char *table);

/* The error that SQLite has met; that a file is damaged, and how. */
struct rf_error *profile_file_error(const struct profile_file *file);
struct rf_error *profile_file_damaged(const char *path, const char *what);
