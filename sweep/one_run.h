/* A process of rfprof's own that runs and is waited for, with all that it starts. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct one_run_end {
	int status;      /* a wait status */
	int interrupted; /* the signal by which this process was asked to end meanwhile; or 0 */
	bool is_late;    /* it was ended since it took longer than it might */
};

/* Starts rfprof with these words, standard input and output at /dev/null, in a process group of its
 * own, and waits for it.  SIGINT, SIGTERM and SIGHUP that come meanwhile, unless they were ignored,
 * are passed on to the group; it gets SIGTERM after `limit_s` seconds (0: there is no limit), and
 * SIGKILL when it has not ended some seconds behind either.  When this process dies, it gets
 * SIGTERM. Errors: it cannot be started. */
struct rf_error *one_run(char **arguments, double limit_s, struct one_run_end *end);
