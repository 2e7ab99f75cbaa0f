/* The tables sweep and sweep_points. */
#include "sweep/store_sweeps.h"

#include "sweep/store_db.h"

#include <stdlib.h>
#include <string.h>

void kept_sweep_deinit(struct kept_sweep *kept)
{
	free(kept->words);
	free(kept->kernels);
	free(kept->machine);
	free(kept->points);
	*kept = (struct kept_sweep){0};
}

static struct rf_error *insert_sweep(struct store *store, const struct kept_sweep *kept)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(store->db, "INSERT INTO sweep VALUES (1, ?, ?, ?)", -1,
					&statement, NULL);
	if (status == SQLITE_OK) {
		sqlite3_bind_blob64(statement, 1, kept->words, kept->words_size, SQLITE_STATIC);
		sqlite3_bind_text(statement, 2, kept->kernels, -1, SQLITE_STATIC);
		sqlite3_bind_text(statement, 3, kept->machine, -1, SQLITE_STATIC);
		status = sqlite3_step(statement);
	}
	struct rf_error *error = status == SQLITE_DONE ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

static struct rf_error *insert_points(struct store *store, const struct kept_sweep *kept)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(store->db, "INSERT INTO sweep_points VALUES (?, ?)", -1,
					&statement, NULL);
	for (size_t i = 0; status == SQLITE_OK && i < kept->n_points; i++) {
		if (!kept->points[i])
			continue;
		sqlite3_bind_int64(statement, 1, (int64_t)i);
		sqlite3_bind_int64(statement, 2, kept->points[i]);
		status = sqlite3_step(statement) == SQLITE_DONE ? sqlite3_reset(statement)
								: SQLITE_ERROR;
	}
	struct rf_error *error = status == SQLITE_OK ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

struct rf_error *store_keep_sweep(struct store *store, const struct kept_sweep *kept)
{
	struct rf_error *error =
		store_execute(store,
			      "BEGIN IMMEDIATE; DELETE FROM sweep_points; DELETE FROM sweep");
	error = error ?: insert_sweep(store, kept) ?: insert_points(store, kept)
						   ?: store_execute(store, "COMMIT");
	if (error)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return error;
}

/* ---- reading ---- */

static char *copy_text(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);
	return text ? strdup(text) : NULL;
}

/* Words have a NUL at the end of each, so also at the end of all. */
static bool take_words(sqlite3_stmt *statement, struct kept_sweep *out)
{
	const char *words = sqlite3_column_blob(statement, 0);
	const int size = sqlite3_column_bytes(statement, 0);
	if (!words || size <= 0 || words[size - 1])
		return false;
	out->words = malloc((size_t)size);
	if (out->words)
		memcpy(out->words, words, (size_t)size);
	out->words_size = (size_t)size;
	return out->words != NULL;
}

static struct rf_error *read_sweep(struct store *store, struct kept_sweep *out)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(store->db, "SELECT words, kernels, machine FROM sweep", -1,
					&statement, NULL);
	if (status == SQLITE_OK)
		status = sqlite3_step(statement);
	struct rf_error *error =
		status == SQLITE_ROW || status == SQLITE_DONE ? NULL : store_failed(store);
	if (status == SQLITE_DONE)
		error = rf_error_create(RF_EINPUT, "give parameters and a command to measure",
					"%s has no finished sweep", store->path);
	if (!error) {
		const bool ok = take_words(statement, out);
		out->kernels = copy_text(statement, 1);
		out->machine = copy_text(statement, 2);
		if (!ok || !out->kernels || !out->machine)
			error = rf_error_create(RF_EFORMAT, "measure it anew",
						"%s: its sweep cannot be read", store->path);
	}
	sqlite3_finalize(statement);
	return error;
}

static struct rf_error *read_points(struct store *store, struct kept_sweep *out)
{
	sqlite3_stmt *statement = NULL;
	int status = sqlite3_prepare_v2(store->db,
					"SELECT s.number, s.point_id FROM sweep_points s JOIN "
					"points p ON p.id = s.point_id "
					"WHERE s.number >= 0 AND s.number < ?",
					-1, &statement, NULL);
	if (status == SQLITE_OK)
		status = sqlite3_bind_int64(statement, 1, (int64_t)out->n_points);
	while (status == SQLITE_OK && (status = sqlite3_step(statement)) == SQLITE_ROW) {
		out->points[sqlite3_column_int64(statement, 0)] =
			sqlite3_column_int64(statement, 1);
		status = SQLITE_OK;
	}
	struct rf_error *error = status == SQLITE_DONE ? NULL : store_failed(store);
	sqlite3_finalize(statement);
	return error;
}

struct rf_error *store_last_sweep(struct store *store, struct kept_sweep *out)
{
	*out = (struct kept_sweep){0};
	struct rf_error *error = read_sweep(store, out);
	if (!error) {
		sqlite3_stmt *statement = NULL;
		if (sqlite3_prepare_v2(store->db, "SELECT max(number) FROM sweep_points", -1,
				       &statement, NULL) == SQLITE_OK &&
		    sqlite3_step(statement) == SQLITE_ROW) {
			const int64_t last = sqlite3_column_type(statement, 0) == SQLITE_NULL
						     ? -1
						     : sqlite3_column_int64(statement, 0);
			out->n_points = last >= 0 && last < 100000 ? (size_t)last + 1 : 0;
		}
		sqlite3_finalize(statement);
		out->points = calloc(out->n_points + 1, sizeof(*out->points));
		error = out->points ? read_points(store, out) : rf_error_no_memory();
	}
	if (error)
		kept_sweep_deinit(out);
	return error;
}
