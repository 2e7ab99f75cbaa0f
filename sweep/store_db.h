/* What the files that write and read a sweep's file share. */
#pragma once

#include "sweep/store.h"

#include <sqlite3.h>

struct store {
	sqlite3 *db;
	char *path;
};

/* What SQLite says of its last call. */
struct rf_error *store_failed(const struct store *store);
/* Carries out statements without values. */
struct rf_error *store_execute(struct store *store, const char *sql);
