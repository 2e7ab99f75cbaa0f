/* The file of a sweep: what each point was measured with, and all its repeats.  It is a SQLite
 * file; each repeat is a transaction, so that a process that is killed at any moment loses nothing
 * that had ended. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

/* What a repeat has found of a kernel, or of the whole program (name ""), of all its calls. */
struct repeat {
	char *kernel;
	uint64_t calls, flop, load_bytes, store_bytes, instructions;
	double mem_read, mem_write; /* NAN: not traced */
	double time_s;              /* NAN: not sampled */
};

/* A call of a kernel, timed in a repeat. */
struct call_time {
	char *kernel;
	double time_s;
};

/* What the traced repeat of a point has found of a kernel beside that, of all its calls. */
struct metric {
	char *kernel, *name; /* sweep/metrics.c has the names */
	double value;
};

/* A file that the results depend on, as it was. */
struct used_file {
	char *path, *state; /* its build id, or its size and time */
};

/* Opens or makes a file.  `writes`: else it is only read, and may not be there: then *out is NULL.
 * RF_EFORMAT: it is no file of a sweep, or one of another version. */
struct rf_error *store_open(const char *path, bool writes, struct store **out);
void store_close(struct store *store);

/* The point of that identity (identity.h); -1: there is none. */
struct rf_error *store_find(struct store *store, const char *identity, int64_t *point);
/* Calls `each` with each file of a point. */
struct rf_error *store_files(struct store *store, int64_t point,
			     void (*each)(void *context, const struct used_file *file),
			     void *context);
/* Calls `each` with what each repeat has found of a kernel, in their order. */
struct rf_error *store_repeats(struct store *store, int64_t point, const char *kernel,
			       void (*each)(void *context, const struct repeat *repeat),
			       void *context);
/* Calls `each` with the times of a kernel's calls that were timed one by one, in the order of their
 * repeats. */
struct rf_error *store_calls(struct store *store, int64_t point, const char *kernel,
			     void (*each)(void *context, size_t repeat, double time_s),
			     void *context);
/* How many repeats a point has. */
struct rf_error *store_count(struct store *store, int64_t point, size_t *n);

/* Calls `each` with each metric of a kernel. */
struct rf_error *store_metrics(struct store *store, int64_t point, const char *kernel,
			       void (*each)(void *context, const struct metric *metric),
			       void *context);

/* One repeat: rows of all its kernels, times of their calls, metrics where it was traced, and the
 * files that it used. */
struct addition {
	const struct repeat *kernels;
	size_t n_kernels;
	const struct call_time *calls;
	size_t n_calls;
	const struct metric *metrics;
	size_t n_metrics;
	const struct used_file *files;
	size_t n_files;
};
/* Adds one repeat of a point, which becomes one where there is none.  All of it or nothing. */
struct rf_error *store_add(struct store *store, const char *identity, const struct addition *add);
/* Forgets a point, whose program is another one by now. */
struct rf_error *store_forget(struct store *store, int64_t point);
