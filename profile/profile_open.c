/* Opening a profile's file.  What is done here follows "Untrusted SQLite Database Files"
 * (www.sqlite.org/security.html). */
#include "profile/profile_open.h"

#include "base/clock.h"
#include "profile/profile_schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the schema, that can still be read; tables that came later stay empty. */
#define OLDEST_VERSION 2
/* Of SQLite's own memory.  It keeps 2 MB of pages, the texts of the schema and one row. */
#define HEAP_LIMIT (256ll << 20)
/* Processor time for SQLite's part of the reading: 100 MB take some 2 s. */
#define LIMIT_S 10
#define LIMIT_NS_PER_BYTE 200
#define STEPS_BETWEEN_LOOKS 100000

struct rf_error *profile_file_damaged(const char *path, const char *what)
{
	return rf_error_create(RF_EFORMAT, PROFILE_DAMAGED_HINT, "%s is damaged: %s", path, what);
}

static uint32_t big_endian(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static struct rf_error *foreign(const char *path, const char *why)
{
	return rf_error_create(RF_EFORMAT, "give a file that rfprof has saved (usually *.rfp)",
			       "%s is not an rfprof profile: %s", path, why);
}

static struct rf_error *check_version(const char *path, uint32_t version)
{
	if (version > PROFILE_SCHEMA_VERSION)
		return rf_error_create(
			RF_EFORMAT, "update rfprof",
			"%s has schema version %u, newer than the %d that this rfprof reads", path,
			version, PROFILE_SCHEMA_VERSION);
	if (version > 0 && version < OLDEST_VERSION)
		return rf_error_create(
			RF_EFORMAT, "profile the program again",
			"%s has schema version %u, older than the %d that this rfprof reads", path,
			version, OLDEST_VERSION);
	return version ? NULL : foreign(path, "it has no schema version");
}

static const char magic[16] = "SQLite format 3";

/* Checks the 100-byte header (www.sqlite.org/fileformat.html, section 1.3) before SQLite sees the
 * file, to say what is wrong in the user's words. */
static struct rf_error *check_header(const char *path, const uint8_t *header, size_t n,
				     uint64_t size)
{
	if (n == 0)
		return foreign(path, "it is empty");
	if (memcmp(header, magic, n < 16 ? n : 16) != 0)
		return foreign(path, "it is another kind of file");
	if (n < 100)
		return rf_error_create(RF_EFORMAT, PROFILE_DAMAGED_HINT, "%s is truncated", path);
	if (big_endian(header + 68) != PROFILE_APPLICATION_ID)
		return foreign(path, "it is an SQLite file of another program");
	struct rf_error *error = check_version(path, big_endian(header + 60));
	if (error)
		return error;
	if (header[18] != 1 || header[19] != 1)
		return rf_error_create(
			RF_EFORMAT, "sqlite3 FILE 'PRAGMA journal_mode=delete' puts all into it",
			"%s is not all of the profile: it was set to write-ahead logging", path);
	uint64_t page = header[16] << 8 | header[17];
	uint64_t wanted = (page == 1 ? 65536 : page) * big_endian(header + 28);
	bool count_valid = big_endian(header + 24) == big_endian(header + 92);
	if (count_valid && size < wanted)
		return rf_error_create(RF_EFORMAT, PROFILE_DAMAGED_HINT,
				       "%s is truncated: %llu of %llu bytes are there", path,
				       (unsigned long long)size, (unsigned long long)wanted);
	return NULL;
}

static struct rf_error *check_file(const char *path, uint64_t *size, uint32_t *version)
{
	uint8_t header[100];
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return rf_error_errno(RF_EINPUT, errno, "check the file's name", "cannot open %s",
				      path);
	ssize_t n = fstat(fd, &info) == 0 && !S_ISREG(info.st_mode) ? -2 : read(fd, header, 100);
	int errnum = errno;
	close(fd);
	if (n == -2)
		return rf_error_create(RF_EINPUT, "give the name of a file",
				       "%s is not a regular file", path);
	if (n < 0)
		return rf_error_errno(RF_EINPUT, errnum, NULL, "cannot read %s", path);
	*size = (uint64_t)info.st_size;
	struct rf_error *error = check_header(path, header, (size_t)n, *size);
	if (!error)
		*version = big_endian(header + 60);
	return error;
}

struct rf_error *profile_file_spare(const char *path)
{
	uint8_t header[72];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	if (fd < 0)
		return NULL;
	const bool is_profile = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
				read(fd, header, sizeof(header)) == sizeof(header) &&
				memcmp(header, magic, sizeof(magic)) == 0 &&
				big_endian(header + 68) == PROFILE_APPLICATION_ID;
	close(fd);
	if (!is_profile)
		return NULL;
	return rf_error_create(
		RF_EINPUT,
		"name another file for the report; a profile to read stands by itself: "
		"rfprof report --json out.json PROFILE",
		"%s is a profile, and would be lost", path);
}

/* SQLite takes '?', '#' and '%' in a URI for its own, and what follows "//" for a machine's name.
 */
static char *uri_of(const char *path)
{
	sqlite3_str *uri = sqlite3_str_new(NULL);
	sqlite3_str_appendall(uri, path[0] == '/' ? "file://" : "file:./");
	for (; *path; path++)
		if ((*path >= '0' && *path <= '9') || (*path >= 'A' && *path <= 'Z') ||
		    (*path >= 'a' && *path <= 'z') || strchr("/._-", *path))
			sqlite3_str_appendchar(uri, 1, *path);
		else
			sqlite3_str_appendf(uri, "%%%02x", (unsigned char)*path);
	/* immutable: no locks, and no journals, which are files of their own that change what is
	 * read */
	sqlite3_str_appendall(uri, "?mode=ro&immutable=1");
	return sqlite3_str_finish(uri);
}

static int is_late(void *file)
{
	return clock_thread_ns() > ((const struct profile_file *)file)->ends_ns;
}

/* What a profile, with views and indexes of a user's own, stays far below. */
static void set_limits(struct profile_file *file)
{
	static const int limits[][2] = {
		{SQLITE_LIMIT_LENGTH, 64 << 20},    {SQLITE_LIMIT_SQL_LENGTH, 100000},
		{SQLITE_LIMIT_COLUMN, 100},         {SQLITE_LIMIT_EXPR_DEPTH, 50},
		{SQLITE_LIMIT_COMPOUND_SELECT, 20}, {SQLITE_LIMIT_VDBE_OP, 25000},
		{SQLITE_LIMIT_FUNCTION_ARG, 8},     {SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_VARIABLE_NUMBER, 10}, {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
	};
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		sqlite3_limit(file->db, limits[i][0], limits[i][1]);
	file->ends_ns = clock_thread_ns() + LIMIT_S * 1000000000ll +
			(int64_t)(file->size * LIMIT_NS_PER_BYTE);
	sqlite3_progress_handler(file->db, STEPS_BETWEEN_LOOKS, is_late, file);
}

static struct rf_error *distrust(struct profile_file *file)
{
	static const int switches[][2] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},       {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},  {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
		{SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
	};
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		sqlite3_db_config(file->db, switches[i][0], switches[i][1], NULL);
	set_limits(file);
	if (sqlite3_exec(file->db, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0", NULL, NULL,
			 NULL) != SQLITE_OK)
		return profile_file_error(file);
	return profile_file_check(file, "sqlite_schema");
}

struct rf_error *profile_file_open(const char *path, struct profile_file *file)
{
	*file = (struct profile_file){.path = path, .heap = -1};
	struct rf_error *error = check_file(path, &file->size, &file->version);
	if (error)
		return error;
	char *uri = uri_of(path);
	file->heap = sqlite3_hard_heap_limit64(HEAP_LIMIT);
	const int status =
		uri ? sqlite3_open_v2(uri, &file->db,
				      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
				      NULL)
		    : SQLITE_NOMEM;
	sqlite3_free(uri);
	if (status != SQLITE_OK)
		return file->db ? profile_file_error(file) : rf_error_no_memory();
	return distrust(file);
}

void profile_file_close(struct profile_file *file)
{
	sqlite3_close(file->db);
	if (file->heap >= 0)
		sqlite3_hard_heap_limit64(file->heap);
}

struct rf_error *profile_file_check(const struct profile_file *file, const char *table)
{
	sqlite3_stmt *statement = NULL;
	char *sql = sqlite3_mprintf("PRAGMA quick_check(%s)", table);
	if (!sql || sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL) != SQLITE_OK) {
		sqlite3_free(sql);
		return profile_file_error(file);
	}
	sqlite3_free(sql);
	struct rf_error *error = NULL;
	const bool answered = sqlite3_step(statement) == SQLITE_ROW;
	const char *answer = answered ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	if (!answer)
		error = profile_file_error(file);
	else if (strcmp(answer, "ok") != 0)
		error = profile_file_damaged(file->path, answer);
	sqlite3_finalize(statement);
	return error;
}

struct rf_error *profile_file_error(const struct profile_file *file)
{
	const int status = sqlite3_errcode(file->db) & 0xff;
	if (status == SQLITE_NOMEM)
		return rf_error_errno(RF_EINTERNAL, ENOMEM, NULL, "cannot read %s", file->path);
	if (status == SQLITE_INTERRUPT)
		return profile_file_damaged(file->path,
					    "it takes longer to read than a file of its size can");
	return profile_file_damaged(file->path, sqlite3_errmsg(file->db));
}
