/* SQLite, as errors of rfprof. */
#include "sweep/store_db.h"

struct rf_error *store_failed(const struct store *store)
{
	const int code = sqlite3_errcode(store->db);
	return code == SQLITE_NOMEM
		       ? rf_error_no_memory()
		       : rf_error_create(code == SQLITE_NOTADB || code == SQLITE_CORRUPT
						 ? RF_EFORMAT
						 : RF_EACCESS,
					 "choose another file with --save", "%s: %s", store->path,
					 sqlite3_errmsg(store->db));
}

struct rf_error *store_execute(struct store *store, const char *sql)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? NULL
									   : store_failed(store);
}
