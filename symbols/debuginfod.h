/* Separate debug files from the servers that DEBUGINFOD_URLS names: the only part of rfprof that
 * uses a network, and only when it is asked to (--debuginfod).  Files are kept in the client
 * library's cache, where other tools find them, too. */
#pragma once

#include "symbols/symbols.h"

#include <stdbool.h>

/* NULL where files can be fetched.  RF_EUNAVAILABLE: built without libdebuginfod, or it is not
 * installed; RF_EINPUT: no server is named. */
struct rf_error *debuginfod_check(void);
/* Whether the client library is there, whatever the environment says. */
bool debuginfod_has_library(void);

/* Called every now and then while a file is fetched: bytes so far and in all, 0: not known; both -1
 * at its end. */
typedef void debuginfod_progress(void *context, const char *module, long done, long all);

struct debuginfod;

/* From here to debuginfod_destroy SIGINT ends the fetching, and nothing else; where it is ignored
 * it stays so.  Errors: those of debuginfod_check; memory. */
struct rf_error *debuginfod_create(debuginfod_progress *progress, void *context,
				   struct debuginfod **out);
void debuginfod_destroy(struct debuginfod *debuginfod);

/* For names_resolve.  A server that says nothing for DEBUGINFOD_TIMEOUT seconds (30 without
 * it), or any failure but "not found", ends the fetching: the modules that follow are not asked
 * for. */
const struct symbol_fetcher *debuginfod_fetcher(struct debuginfod *debuginfod);

/* How it went. */
struct debuginfod_result {
	size_t fetched, missing; /* files; missing: no server has it */
	const char *trouble;     /* what went wrong, or NULL; as long as `debuginfod` lives */
};
struct debuginfod_result debuginfod_result(const struct debuginfod *debuginfod);
