/* Writing a profile to its file. */
#include "base/assert.h"
#include "profile/profile_schema.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACCESS_HINT "choose a directory that you can write to, or run with --no-save"
#define SPACE_HINT "free some space there, save elsewhere, or run with --no-save"

static int bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	return sqlite3_bind_text(statement, at, text ? text : "", -1, SQLITE_STATIC);
}

static int bind_column(sqlite3_stmt *statement, int at, const struct column *column,
		       const char *row)
{
	const void *field = row + column->offset;
	double number;
	switch (column->type) {
	case COLUMN_INT:
		return sqlite3_bind_int(statement, at, *(const int *)field);
	case COLUMN_BOOL:
		return sqlite3_bind_int(statement, at, *(const bool *)field);
	case COLUMN_U64:
	case COLUMN_I64:
		return sqlite3_bind_int64(statement, at, *(const int64_t *)field);
	case COLUMN_REAL:
	case COLUMN_DOUBLE: /* 0 is this field's "no such roof" */
		number = *(const double *)field;
		return sqlite3_bind_double(statement, at, isfinite(number) ? number : 0);
	case COLUMN_TEXT:
	case COLUMN_KEY:
		return bind_text(statement, at, *(char *const *)field);
	case COLUMN_CHARS:
		return sqlite3_bind_text(statement, at, field, (int)strnlen(field, column->size),
					 SQLITE_STATIC);
	case COLUMN_ROOF_TERM:
		return bind_text(statement, at,
				 roof_term_name(column->term, *(const unsigned *)field));
	case COLUMN_BLOB:
		if (*(const uint32_t *)(row + column->length) == 0)
			return sqlite3_bind_zeroblob(statement, at, 0);
		return sqlite3_bind_blob64(statement, at, *(uint8_t *const *)field,
					   *(const uint32_t *)(row + column->length),
					   SQLITE_STATIC);
	case COLUMN_REF_NULL:
		if (*(const uint32_t *)field == PROFILE_NONE)
			return sqlite3_bind_null(statement, at);
		break;
	default:
		break;
	}
	return sqlite3_bind_int64(statement, at, *(const uint32_t *)field);
}

static char *insert_sql(const struct table *table)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	sqlite3_str_appendf(sql, "INSERT INTO %s VALUES (?", table->name);
	for (size_t i = 0; i < table->n_columns; i++)
		sqlite3_str_appendall(sql, ", ?");
	sqlite3_str_appendall(sql, ")");
	return sqlite3_str_finish(sql);
}

static int insert_rows(sqlite3_stmt *statement, const struct table *table,
		       const struct profile *profile)
{
	const char *row = *profile_table_items(profile, table);
	size_t n = *profile_table_count(profile, table);
	for (size_t i = 0; i < n; i++, row += table->element) {
		int status = sqlite3_bind_int64(statement, 1, (int64_t)i);
		for (size_t c = 0; c < table->n_columns && status == SQLITE_OK; c++)
			status = bind_column(statement, (int)c + 2, &table->columns[c], row);
		if (status != SQLITE_OK)
			return status;
		sqlite3_step(statement);
		status = sqlite3_reset(statement);
		if (status != SQLITE_OK)
			return status;
	}
	return SQLITE_OK;
}

static int write_table(sqlite3 *db, const struct table *table, const struct profile *profile)
{
	char *create = profile_table_sql(table), *insert = insert_sql(table);
	sqlite3_stmt *statement = NULL;
	int status = create && insert ? sqlite3_exec(db, create, NULL, NULL, NULL) : SQLITE_NOMEM;
	if (status == SQLITE_OK)
		status = sqlite3_prepare_v2(db, insert, -1, &statement, NULL);
	if (status == SQLITE_OK)
		status = insert_rows(statement, table, profile);
	sqlite3_finalize(statement);
	sqlite3_free(create);
	sqlite3_free(insert);
	return status;
}

static int write_database(sqlite3 *db, const struct profile *profile)
{
	char pragmas[256];
	/* No journal: the file is temporary until it is whole. */
	sqlite3_snprintf(
		sizeof(pragmas), pragmas,
		"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
		"PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN",
		PROFILE_APPLICATION_ID, PROFILE_SCHEMA_VERSION);
	int status = sqlite3_exec(db, pragmas, NULL, NULL, NULL);
	for (int t = 0; t < N_TABLES && status == SQLITE_OK; t++)
		status = write_table(db, &profile_tables[t], profile);
	if (status == SQLITE_OK)
		status = sqlite3_exec(db, profile_views, NULL, NULL, NULL);
	return status == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : status;
}

static struct rf_error *save_error(int errnum, const char *path)
{
	const char *hint =
		errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG ? SPACE_HINT : ACCESS_HINT;
	return rf_error_errno(RF_EACCESS, errnum, hint, "cannot save the profile to %s", path);
}

static struct rf_error *database_error(sqlite3 *db, int status, const char *path)
{
	int errnum = db ? sqlite3_system_errno(db) : ENOMEM;
	if ((status & 0xff) == SQLITE_FULL)
		return save_error(errnum ? errnum : ENOSPC, path);
	if ((status & 0xff) == SQLITE_IOERR || (status & 0xff) == SQLITE_CANTOPEN)
		return save_error(errnum ? errnum : EIO, path);
	return rf_error_create(RF_EINTERNAL, NULL, "cannot save the profile to %s: %s", path,
			       db ? sqlite3_errmsg(db) : sqlite3_errstr(status));
}

static struct rf_error *write_file(const struct profile *profile, const char *temporary,
				   const char *path)
{
	sqlite3 *db = NULL;
	char *name = profile_sqlite_path(temporary);
	int status = name ? sqlite3_open_v2(name, &db, SQLITE_OPEN_READWRITE, NULL) : SQLITE_NOMEM;
	sqlite3_free(name);
	if (status == SQLITE_OK)
		status = write_database(db, profile);
	struct rf_error *error = status == SQLITE_OK ? NULL : database_error(db, status, path);
	status = sqlite3_close(db);
	if (!error && status != SQLITE_OK)
		error = database_error(NULL, status, path);
	return error;
}

/* Creates an empty file beside `path` (so that the rename stays in one file system). */
static struct rf_error *create_temporary(const char *path, char *temporary, size_t size)
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path) + 1 : 0;
	for (unsigned attempt = 0; attempt < 100; attempt++) {
		int length = snprintf(temporary, size, "%.*s.rfprof-%d-%u.tmp", directory, path,
				      (int)getpid(), attempt);
		if (length < 0 || (size_t)length >= size)
			return save_error(ENAMETOOLONG, path);
		int fd = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
		if (fd >= 0) {
			close(fd);
			return NULL;
		}
		if (errno != EEXIST)
			break;
	}
	return save_error(errno, path);
}

/* Puts the finished file in place, after its bytes are on the disk: a crash leaves the old file or
 * the new one, never half of one. */
static struct rf_error *move_into_place(const char *temporary, const char *path)
{
	int fd = open(temporary, O_RDONLY | O_CLOEXEC);
	int status = fd < 0 ? -1 : fsync(fd);
	int errnum = errno;
	if (fd >= 0)
		close(fd);
	if (status != 0 && errnum != EINVAL) /* EINVAL: this file system has nothing to sync */
		return save_error(errnum, path);
	return rename(temporary, path) == 0 ? NULL : save_error(errno, path);
}

struct rf_error *profile_save(const struct profile *profile, const char *path)
{
	char target[PATH_MAX], temporary[PATH_MAX];
	struct stat info;
	rf_assert_dear(profile_is_sound(profile));
	if (!realpath(path, target)) { /* follow links, so that a link to a profile stays a link */
		if (snprintf(target, sizeof(target), "%s", path) >= (int)sizeof(target))
			return save_error(ENAMETOOLONG, path);
	} else if (stat(target, &info) == 0 && !S_ISREG(info.st_mode)) {
		return rf_error_create(RF_EINPUT, "give the name of a file",
				       "cannot save the profile to %s: not a regular file", path);
	}
	struct rf_error *error = create_temporary(target, temporary, sizeof(temporary));
	if (error)
		return error;
	error = write_file(profile, temporary, path);
	if (!error)
		error = move_into_place(temporary, target);
	if (error)
		unlink(temporary);
	return error;
}
