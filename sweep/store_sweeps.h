/* Which sweep a file has: its words, its points and the machine, so that it can be shown again
 * without being measured. */
#pragma once

#include "sweep/store.h"

struct kept_sweep {
	char *words; /* one after the other, each with its NUL */
	size_t words_size;
	char *kernels;   /* of --kernel */
	char *machine;   /* JSON of machine/data/machine_json.h */
	int64_t *points; /* rows; 0: it was not measured */
	size_t n_points;
};
void kept_sweep_deinit(struct kept_sweep *kept);

/* Keeps it as the file's sweep; what was kept before is replaced. */
struct rf_error *store_keep_sweep(struct store *store, const struct kept_sweep *kept);
/* The file's sweep.  RF_EINPUT: it has none. */
struct rf_error *store_last_sweep(struct store *store, struct kept_sweep *out);
