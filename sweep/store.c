/* The tables of a sweep's file. */
#include "sweep/store.h"

#include "sweep/store_db.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION_ID 0x72667077 /* "rfpw" */
#define VERSION 3
#define WAIT_MS 10000 /* for another rfprof that writes there */

static const char tables[] =
	"CREATE TABLE points (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE) STRICT;"
	"CREATE TABLE files (point_id INTEGER NOT NULL REFERENCES points (id), path TEXT NOT NULL, "
	"state TEXT NOT NULL, UNIQUE (point_id, path)) STRICT;"
	"CREATE TABLE repeats (id INTEGER PRIMARY KEY, point_id INTEGER NOT NULL REFERENCES "
	"points (id), number INTEGER NOT NULL, kernel TEXT NOT NULL, calls INTEGER NOT NULL, "
	"flop INTEGER NOT NULL, load_bytes INTEGER NOT NULL, store_bytes INTEGER NOT NULL, "
	"instructions INTEGER NOT NULL, mem_read_bytes REAL, mem_write_bytes REAL, time_s REAL, "
	"UNIQUE (point_id, number, kernel)) STRICT;"
	"CREATE TABLE calls (point_id INTEGER NOT NULL REFERENCES points (id), number INTEGER NOT "
	"NULL, kernel TEXT NOT NULL, time_s REAL NOT NULL) STRICT;"
	"CREATE INDEX calls_of_point ON calls (point_id, kernel);"
	"CREATE TABLE metrics (point_id INTEGER NOT NULL REFERENCES points (id), kernel TEXT NOT "
	"NULL, name TEXT NOT NULL, value REAL NOT NULL, UNIQUE (point_id, kernel, name)) STRICT;"
	"CREATE TABLE sweep (id INTEGER PRIMARY KEY CHECK (id = 1), words BLOB NOT NULL, kernels "
	"TEXT NOT NULL, machine TEXT NOT NULL) STRICT;"
	"CREATE TABLE sweep_points (number INTEGER PRIMARY KEY, point_id INTEGER NOT NULL "
	"REFERENCES points (id)) STRICT;";

static int64_t number_of(struct store *store, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	int64_t number = -1;
	if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

static bool is_empty(struct store *store)
{
	return number_of(store, "PRAGMA application_id") == 0 &&
	       number_of(store, "SELECT count(*) FROM sqlite_master") == 0;
}

/* Two processes may make the file at the same time: the one that comes to write second finds in its
 * turn that it is empty no more. */
static struct rf_error *make(struct store *store)
{
	char sql[sizeof(tables) + 160];
	if (!is_empty(store))
		return NULL;
	struct rf_error *error = store_execute(store, "BEGIN IMMEDIATE");
	if (error)
		return error;
	snprintf(sql, sizeof(sql), "%s PRAGMA application_id = %d; PRAGMA user_version = %d",
		 tables, APPLICATION_ID, VERSION);
	error = is_empty(store) ? store_execute(store, sql) : NULL;
	error = error ?: store_execute(store, "COMMIT");
	if (error)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return error;
}

static struct rf_error *check(struct store *store)
{
	const int64_t id = number_of(store, "PRAGMA application_id");
	if (id < 0)
		return store_failed(store);
	if (id == APPLICATION_ID && number_of(store, "PRAGMA user_version") == VERSION)
		return NULL;
	return rf_error_create(RF_EFORMAT, "choose another file with --save",
			       "%s is no file of a sweep by this version of rfprof", store->path);
}

struct rf_error *store_open(const char *path, bool writes, struct store **out)
{
	const int flags =
		writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
	*out = NULL;
	if (!writes && access(path, F_OK) != 0)
		return NULL;
	struct store *store = calloc(1, sizeof(*store));
	if (!store || !(store->path = strdup(path))) {
		store_close(store);
		return rf_error_no_memory();
	}
	struct rf_error *error = sqlite3_open_v2(path, &store->db, flags, NULL) == SQLITE_OK
					 ? NULL
					 : store_failed(store);
	if (!error) {
		sqlite3_busy_timeout(store->db, WAIT_MS);
		error = (writes ? make(store) : NULL) ?: check(store);
	}
	if (error)
		store_close(store);
	else
		*out = store;
	return error;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	sqlite3_close(store->db);
	free(store->path);
	free(store);
}

/* ---- reading ---- */

struct rf_error *store_find(struct store *store, const char *identity, int64_t *point)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(store->db, "SELECT id FROM points WHERE identity = ?", -1,
					&statement, NULL);
	*point = -1;
	if (status == SQLITE_OK) {
		sqlite3_bind_text(statement, 1, identity, -1, SQLITE_STATIC);
		status = sqlite3_step(statement);
	}
	if (status == SQLITE_ROW)
		*point = sqlite3_column_int64(statement, 0);
	struct rf_error *error =
		status == SQLITE_ROW || status == SQLITE_DONE ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

struct rf_error *store_files(struct store *store, int64_t point,
			     void (*each)(void *context, const struct used_file *file),
			     void *context)
{
	sqlite3_stmt *statement = NULL;
	int status =
		sqlite3_prepare_v2(store->db, "SELECT path, state FROM files WHERE point_id = ?",
				   -1, &statement, NULL);
	if (status == SQLITE_OK)
		sqlite3_bind_int64(statement, 1, point);
	while (status == SQLITE_OK && (status = sqlite3_step(statement)) == SQLITE_ROW) {
		const struct used_file file = {(char *)sqlite3_column_text(statement, 0),
					       (char *)sqlite3_column_text(statement, 1)};
		if (file.path && file.state)
			each(context, &file);
		status = SQLITE_OK;
	}
	struct rf_error *error = status == SQLITE_DONE ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

static double real_or_nan(sqlite3_stmt *statement, int column)
{
	return sqlite3_column_type(statement, column) == SQLITE_NULL
		       ? NAN
		       : sqlite3_column_double(statement, column);
}

static uint64_t amount(sqlite3_stmt *statement, int column)
{
	const int64_t n = sqlite3_column_int64(statement, column);
	return n > 0 ? (uint64_t)n : 0;
}

struct rf_error *store_repeats(struct store *store, int64_t point, const char *kernel,
			       void (*each)(void *context, const struct repeat *repeat),
			       void *context)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(
		store->db,
		"SELECT calls, flop, load_bytes, store_bytes, instructions, mem_read_bytes, "
		"mem_write_bytes, time_s FROM repeats WHERE point_id = ? AND kernel = ? ORDER BY "
		"number",
		-1, &statement, NULL);
	if (status == SQLITE_OK) {
		sqlite3_bind_int64(statement, 1, point);
		sqlite3_bind_text(statement, 2, kernel, -1, SQLITE_STATIC);
	}
	while (status == SQLITE_OK && (status = sqlite3_step(statement)) == SQLITE_ROW) {
		const struct repeat repeat = {(char *)kernel,
					      amount(statement, 0),
					      amount(statement, 1),
					      amount(statement, 2),
					      amount(statement, 3),
					      amount(statement, 4),
					      real_or_nan(statement, 5),
					      real_or_nan(statement, 6),
					      real_or_nan(statement, 7)};
		each(context, &repeat);
		status = SQLITE_OK;
	}
	struct rf_error *error = status == SQLITE_DONE ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

struct rf_error *store_calls(struct store *store, int64_t point, const char *kernel,
			     void (*each)(void *context, size_t repeat, double time_s),
			     void *context)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(store->db,
					"SELECT number, time_s FROM calls WHERE point_id = ? AND "
					"kernel = ? ORDER BY number",
					-1, &statement, NULL);
	if (status == SQLITE_OK) {
		sqlite3_bind_int64(statement, 1, point);
		sqlite3_bind_text(statement, 2, kernel, -1, SQLITE_STATIC);
	}
	while (status == SQLITE_OK && (status = sqlite3_step(statement)) == SQLITE_ROW) {
		each(context, (size_t)amount(statement, 0), sqlite3_column_double(statement, 1));
		status = SQLITE_OK;
	}
	struct rf_error *error = status == SQLITE_DONE ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

struct rf_error *store_count(struct store *store, int64_t point, size_t *n)
{
	char sql[120];
	snprintf(sql, sizeof(sql),
		 "SELECT count(DISTINCT number) FROM repeats WHERE point_id = %lld",
		 (long long)point);
	const int64_t count = number_of(store, sql);
	*n = count > 0 ? (size_t)count : 0;
	return count < 0 ? store_failed(store) : NULL;
}

struct rf_error *store_metrics(struct store *store, int64_t point, const char *kernel,
			       void (*each)(void *context, const struct metric *metric),
			       void *context)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(
		store->db, "SELECT name, value FROM metrics WHERE point_id = ? AND kernel = ?", -1,
		&statement, NULL);
	if (status == SQLITE_OK) {
		sqlite3_bind_int64(statement, 1, point);
		sqlite3_bind_text(statement, 2, kernel, -1, SQLITE_STATIC);
	}
	while (status == SQLITE_OK && (status = sqlite3_step(statement)) == SQLITE_ROW) {
		const struct metric metric = {(char *)kernel,
					      (char *)sqlite3_column_text(statement, 0),
					      sqlite3_column_double(statement, 1)};
		if (metric.name)
			each(context, &metric);
		status = SQLITE_OK;
	}
	struct rf_error *error = status == SQLITE_DONE ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

/* ---- writing ---- */

static struct rf_error *insert_files(struct store *store, int64_t point,
				     const struct used_file *files, size_t n)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(store->db, "INSERT OR REPLACE INTO files VALUES (?, ?, ?)",
					-1, &statement, NULL);
	for (size_t i = 0; status == SQLITE_OK && i < n; i++) {
		sqlite3_bind_int64(statement, 1, point);
		sqlite3_bind_text(statement, 2, files[i].path, -1, SQLITE_STATIC);
		sqlite3_bind_text(statement, 3, files[i].state, -1, SQLITE_STATIC);
		if (sqlite3_step(statement) != SQLITE_DONE)
			status = SQLITE_ERROR;
		else
			sqlite3_reset(statement);
	}
	struct rf_error *error = status == SQLITE_OK ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

static struct rf_error *insert_metrics(struct store *store, int64_t point,
				       const struct metric *metrics, size_t n)
{
	sqlite3_stmt *statement = NULL;
	int status =
		sqlite3_prepare_v2(store->db, "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?)",
				   -1, &statement, NULL);
	for (size_t i = 0; status == SQLITE_OK && i < n; i++) {
		sqlite3_bind_int64(statement, 1, point);
		sqlite3_bind_text(statement, 2, metrics[i].kernel, -1, SQLITE_STATIC);
		sqlite3_bind_text(statement, 3, metrics[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_double(statement, 4, metrics[i].value);
		status = sqlite3_step(statement) == SQLITE_DONE ? sqlite3_reset(statement)
								: SQLITE_ERROR;
	}
	struct rf_error *error = status == SQLITE_OK ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

static void bind_real(sqlite3_stmt *statement, int at, double value)
{
	if (isfinite(value))
		sqlite3_bind_double(statement, at, value);
	else
		sqlite3_bind_null(statement, at);
}

static void bind_repeat(sqlite3_stmt *statement, int64_t point, size_t number,
			const struct repeat *repeat)
{
	sqlite3_bind_int64(statement, 1, point);
	sqlite3_bind_int64(statement, 2, (int64_t)number);
	sqlite3_bind_text(statement, 3, repeat->kernel, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 4, (int64_t)repeat->calls);
	sqlite3_bind_int64(statement, 5, (int64_t)repeat->flop);
	sqlite3_bind_int64(statement, 6, (int64_t)repeat->load_bytes);
	sqlite3_bind_int64(statement, 7, (int64_t)repeat->store_bytes);
	sqlite3_bind_int64(statement, 8, (int64_t)repeat->instructions);
	bind_real(statement, 9, repeat->mem_read);
	bind_real(statement, 10, repeat->mem_write);
	bind_real(statement, 11, repeat->time_s);
}

static struct rf_error *insert_repeat(struct store *store, int64_t point, size_t number,
				      const struct repeat *kernels, size_t n)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(store->db,
					"INSERT INTO repeats VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, "
					"?, ?, ?)",
					-1, &statement, NULL);
	for (size_t i = 0; status == SQLITE_OK && i < n; i++) {
		bind_repeat(statement, point, number, &kernels[i]);
		if (sqlite3_step(statement) != SQLITE_DONE)
			status = SQLITE_ERROR;
		else
			sqlite3_reset(statement);
	}
	struct rf_error *error = status == SQLITE_OK ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

static struct rf_error *insert_calls(struct store *store, int64_t point, size_t number,
				     const struct call_time *calls, size_t n)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(store->db, "INSERT INTO calls VALUES (?, ?, ?, ?)", -1,
					&statement, NULL);
	for (size_t i = 0; status == SQLITE_OK && i < n; i++) {
		sqlite3_bind_int64(statement, 1, point);
		sqlite3_bind_int64(statement, 2, (int64_t)number);
		sqlite3_bind_text(statement, 3, calls[i].kernel, -1, SQLITE_STATIC);
		sqlite3_bind_double(statement, 4, calls[i].time_s);
		status = sqlite3_step(statement) == SQLITE_DONE ? sqlite3_reset(statement)
								: SQLITE_ERROR;
	}
	struct rf_error *error = status == SQLITE_OK ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

static struct rf_error *make_point(struct store *store, const char *identity, int64_t *point)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(store->db, "INSERT OR IGNORE INTO points VALUES (NULL, ?)",
					-1, &statement, NULL);
	if (status == SQLITE_OK) {
		sqlite3_bind_text(statement, 1, identity, -1, SQLITE_STATIC);
		status = sqlite3_step(statement);
	}
	struct rf_error *error = status == SQLITE_DONE ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error ?: store_find(store, identity, point);
}

struct rf_error *store_add(struct store *store, const char *identity, const struct addition *add)
{
	int64_t point;
	size_t number;
	struct rf_error *error = store_execute(store, "BEGIN IMMEDIATE");
	if (error)
		return error;
	error = make_point(store, identity, &point) ?: store_count(store, point, &number)
			?: insert_repeat(store, point, number, add->kernels, add->n_kernels)
			?: insert_calls(store, point, number, add->calls, add->n_calls)
			?: insert_metrics(store, point, add->metrics, add->n_metrics)
			?: insert_files(store, point, add->files, add->n_files)
			?: store_execute(store, "COMMIT");
	if (error)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return error;
}

/* Its number may be given to another point later, so nothing may have it any more. */
struct rf_error *store_forget(struct store *store, int64_t point)
{
	static const char *const tables_of[] = {"repeats", "calls", "metrics", "files",
						"sweep_points"};
	char sql[100];
	struct rf_error *error = store_execute(store, "BEGIN IMMEDIATE");
	for (size_t i = 0; !error && i < sizeof(tables_of) / sizeof(*tables_of); i++) {
		snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE point_id = %lld", tables_of[i],
			 (long long)point);
		error = store_execute(store, sql);
	}
	snprintf(sql, sizeof(sql), "DELETE FROM points WHERE id = %lld; COMMIT", (long long)point);
	error = error ?: store_execute(store, sql);
	if (error)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return error;
}
