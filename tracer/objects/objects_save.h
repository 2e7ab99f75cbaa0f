/* Data objects, with their names, as rows of the profile. */
#pragma once

#include "base/error.h"
#include "tracer/objects/objects.h"

/* How the numbers of the caller become rows of the profile. */
struct objects_rows {
	void *context;
	/* The module of the source's number, or PROFILE_NONE for that. */
	uint32_t (*module)(void *context, uint32_t module);
	/* The instruction of a `who`. */
	void (*place)(void *context, uint32_t who, uint32_t *module, uint64_t *offset);
	/* What lines of a `who` that come from memory, or go there, are to be multiplied by. */
	double (*factor)(void *context, uint32_t who, bool written);
	struct kept_store *kept; /* what was read of files before; or NULL */
	/* An object of that number has become that row; NULL: nobody asks. */
	void (*saved)(void *context, uint32_t object, uint32_t row);
};

/* Adds the objects, with names and places in the source, and their traffic to the profile; rows of
 * the same object, of other processes too, are one: `n` is their sum, `bytes` the most of any.
 * Errors: memory is short; then some rows are missing. */
struct rf_error *objects_save(struct objects *objects, struct profile *profile,
			      const struct objects_rows *rows);
