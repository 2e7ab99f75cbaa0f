/* Writing a profile to its file. */
#include "base/assert.h"
#include "base/thread.h"
#include "base/whole_file.h"
#include "profile/profile_schema.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A profile on its way into a file. */
struct profile_saving {
	const struct profile *profile;
	char *path;
	struct whole_file file;
	sem_t has_sums;
	pthread_t thread;
	bool runs;
	struct rf_error *error;
};

/* More take longer to compile. */
#define ROWS_AT_ONCE 16
#define SAVE_FAILED "cannot save the profile to"
#define SAVE_HINT "choose a directory that can be written to and has room, or run with --no-save"

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
	case COLUMN_STEP:
	case COLUMN_WHOLE:
	case COLUMN_AMOUNT:
		return sqlite3_bind_int64(statement, at, *(const int64_t *)field);
	case COLUMN_REAL:
	case COLUMN_RATE:
	case COLUMN_SQUARE:
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

/* One statement for `n` rows: what begins and ends a statement takes longer than a row. */
static char *insert_sql(const struct table *table, size_t n)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	sqlite3_str_appendf(sql, "INSERT INTO %s VALUES ", table->name);
	for (size_t row = 0; row < n; row++) {
		sqlite3_str_appendall(sql, row ? ", (?" : "(?");
		for (size_t i = 0; i < table->n_columns; i++)
			sqlite3_str_appendall(sql, ", ?");
		sqlite3_str_appendall(sql, ")");
	}
	return sqlite3_str_finish(sql);
}

static int bind_row(sqlite3_stmt *statement, int *at, const struct table *table, size_t id,
		    const char *row)
{
	int status = sqlite3_bind_int64(statement, ++*at, (int64_t)id);
	for (size_t c = 0; c < table->n_columns && status == SQLITE_OK; c++)
		status = bind_column(statement, ++*at, &table->columns[c], row);
	return status;
}

/* Rows from *done on, which the reader gives, `at_once` with each statement, as long as there are
 * so many. */
static int insert_rows(sqlite3 *db, const struct table *table, struct row_reader *reader, size_t n,
		       size_t at_once, size_t *done)
{
	sqlite3_stmt *statement = NULL;
	char *sql = n - *done >= at_once ? insert_sql(table, at_once) : NULL;
	if (n - *done < at_once)
		return SQLITE_OK;
	int status = sql ? sqlite3_prepare_v2(db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
	while (n - *done >= at_once && status == SQLITE_OK) {
		int at = 0;
		for (size_t i = 0; i < at_once && status == SQLITE_OK; i++, ++*done)
			status = bind_row(statement, &at, table, *done, row_reader_next(reader));
		if (status == SQLITE_OK) {
			sqlite3_step(statement);
			status = sqlite3_reset(statement);
		}
	}
	sqlite3_finalize(statement);
	sqlite3_free(sql);
	return status;
}

static int write_rows(sqlite3 *db, const struct table *table, const struct profile *profile)
{
	const size_t n = *profile_table_count(profile, table);
	struct row_reader reader = row_reader_of(profile, table);
	size_t done = 0;
	const int status = insert_rows(db, table, &reader, n, ROWS_AT_ONCE, &done);
	return status == SQLITE_OK ? insert_rows(db, table, &reader, n, 1, &done) : status;
}

/* Facts tell whether there are sums. */
static bool waits_for_sums(const struct table *table)
{
	return table->kind == TABLE_SUM || table == &profile_tables[FACTS];
}

static int begin_database(sqlite3 *db)
{
	char pragmas[256];
	/* No journal: the file is temporary until it is whole. */
	sqlite3_snprintf(
		sizeof(pragmas), pragmas,
		"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
		"PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN",
		PROFILE_APPLICATION_ID, PROFILE_SCHEMA_VERSION);
	int status = sqlite3_exec(db, pragmas, NULL, NULL, NULL);
	for (int t = 0; t < N_TABLES && status == SQLITE_OK; t++) {
		char *create = profile_table_sql(&profile_tables[t], PROFILE_SCHEMA_VERSION);
		status = create ? sqlite3_exec(db, create, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(create);
	}
	return status;
}

static int write_database(sqlite3 *db, struct profile_saving *saving)
{
	int status = begin_database(db);
	for (int t = 0; t < N_TABLES && status == SQLITE_OK; t++)
		if (!waits_for_sums(&profile_tables[t]))
			status = write_rows(db, &profile_tables[t], saving->profile);
	while (sem_wait(&saving->has_sums) != 0)
		;
	for (int t = 0; t < N_TABLES && status == SQLITE_OK; t++)
		if (waits_for_sums(&profile_tables[t]))
			status = write_rows(db, &profile_tables[t], saving->profile);
	if (status == SQLITE_OK)
		status = sqlite3_exec(db, profile_views, NULL, NULL, NULL);
	return status == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : status;
}

/* A save that SQLite could not finish; a full disk and the like are the system's words. */
static struct rf_error *database_error(sqlite3 *db, int status, const char *path)
{
	const int class = status & 0xff;
	int errnum = db ? sqlite3_system_errno(db) : ENOMEM;
	if (!errnum)
		errnum = class == SQLITE_FULL ? ENOSPC : EIO;
	if (class == SQLITE_FULL || class == SQLITE_IOERR || class == SQLITE_CANTOPEN)
		return rf_error_errno(RF_EACCESS, errnum, SAVE_HINT, SAVE_FAILED " %s", path);
	return rf_error_create(RF_EINTERNAL, NULL, SAVE_FAILED " %s: %s", path,
			       db ? sqlite3_errmsg(db) : sqlite3_errstr(status));
}

/* ---- SQLite writes to the descriptor that it is given ---- */

/* A name that no file can have: SQLite opens files by name, and whoever can write to a directory
 * could put another file under the name of the one that was just made. */
static const char open_name[] = "/proc/rfprof-profile";
static int open_fd = -1;

static int open_by_name(const char *path, int flags, int mode)
{
	return strcmp(path, open_name) == 0 ? fcntl(open_fd, F_DUPFD_CLOEXEC, 3)
					    : open(path, flags, mode);
}

static int open_database(int fd, sqlite3 **db)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	int status = vfs ? vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_by_name)
			 : SQLITE_ERROR;
	if (status != SQLITE_OK)
		return status;
	open_fd = fd;
	/* one thread uses it: no locks */
	status = sqlite3_open_v2(open_name, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	vfs->xSetSystemCall(vfs, "open", NULL);
	open_fd = -1;
	return status;
}

static struct rf_error *write_file(struct profile_saving *saving)
{
	sqlite3 *db = NULL;
	int status = open_database(saving->file.fd, &db);
	if (status == SQLITE_OK)
		status = write_database(db, saving);
	struct rf_error *error =
		status == SQLITE_OK ? NULL : database_error(db, status, saving->path);
	status = sqlite3_close(db);
	if (!error && status != SQLITE_OK)
		error = database_error(NULL, status, saving->path);
	return error;
}

/* What it syncs need not be waited for in the end. */
static void *run(void *context)
{
	struct profile_saving *saving = context;
	saving->error = write_file(saving);
	if (!saving->error)
		(void)fsync(saving->file.fd);
	return NULL;
}

/* ---- the file ---- */

static struct whole_file_wish wish_for(const char *path, enum profile_name name)
{
	const unsigned own =
		name == PROFILE_NAME_OWN ? WHOLE_FILE_PRIVATE | WHOLE_FILE_KEEP_OLD : 0;
	return (struct whole_file_wish){path, SAVE_FAILED, SAVE_HINT, WHOLE_FILE_REGULAR | own};
}

struct rf_error *profile_save_check(const char *path, enum profile_name name)
{
	const struct whole_file_wish wish = wish_for(path, name);
	return whole_file_check(&wish);
}

static void destroy(struct profile_saving *saving)
{
	sem_destroy(&saving->has_sums);
	free(saving->path);
	free(saving);
}

static struct rf_error *create(const struct profile *profile, const char *path,
			       enum profile_name name, struct profile_saving **out)
{
	struct profile_saving *saving = calloc(1, sizeof(*saving));
	if (!saving)
		return rf_error_no_memory();
	saving->profile = profile;
	saving->path = strdup(path);
	sem_init(&saving->has_sums, 0, 0);
	const struct whole_file_wish wish = wish_for(saving->path, name);
	struct rf_error *error =
		saving->path ? whole_file_open(&wish, &saving->file) : rf_error_no_memory();
	if (error)
		destroy(saving);
	else
		*out = saving;
	return error;
}

struct rf_error *profile_saving_start(const struct profile *profile, const char *path,
				      enum profile_name name, struct profile_saving **out)
{
	struct rf_error *error = create(profile, path, name, out);
	struct profile_saving *saving = *out;
	if (error)
		return error;
	/* Where the file has a name already, signals are held until it is in its place: then
	 * nothing else is done meanwhile. */
	saving->runs =
		!saving->file.temporary[0] && thread_start(&saving->thread, run, saving) == 0;
	return NULL;
}

void profile_saving_has_sums(struct profile_saving *saving)
{
	rf_assert_dear(profile_is_sound(saving->profile));
	sem_post(&saving->has_sums);
}

struct rf_error *profile_saving_end(struct profile_saving *saving, struct rf_error *error)
{
	sem_post(&saving->has_sums); /* once more where it was not told: it is waited for */
	if (saving->runs)
		pthread_join(saving->thread, NULL);
	else if (!error)
		saving->error = write_file(saving);
	if (error)
		rf_error_destroy(saving->error);
	error = whole_file_close(&saving->file, error ? error : saving->error);
	destroy(saving);
	return error;
}

struct rf_error *profile_save(const struct profile *profile, const char *path)
{
	struct profile_saving *saving;
	struct rf_error *error = create(profile, path, PROFILE_NAME_GIVEN, &saving);
	if (error)
		return error;
	profile_saving_has_sums(saving);
	return profile_saving_end(saving, NULL);
}
