/* A directory for the profile of one run, which is gone when it is no longer needed: also when the
 * sweep was killed, by the next one that looks. */
#pragma once

#include "base/error.h"

struct scratch {
	char *path, *file; /* the directory, and where the profile is to be in it */
	int fd;            /* of the directory: locked as long as somebody uses it */
};

/* Makes it in $TMPDIR, or /tmp, and removes those that sweeps which were killed have left there.
 * RF_EACCESS: it cannot be made. */
struct rf_error *scratch_init(struct scratch *scratch);
/* Removes it with what is in it. */
void scratch_deinit(struct scratch *scratch);
