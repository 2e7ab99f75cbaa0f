/* The caches of cache/hierarchy.h again, slowly and obviously: whole line numbers, sets searched
 * one line after another, the time of each use.  Written from the rules in docs/traffic.md. */
#pragma once

#include "cache/hierarchy.h"

#define REFERENCE_CORES 4

struct reference;

struct reference *reference_create(const struct geometry *geometry, bool next_line_prefetch,
				   hierarchy_note *note, void *context);
void reference_tell_through(struct reference *reference, hierarchy_through *through);
void reference_destroy(struct reference *reference);
void reference_access(struct reference *reference, unsigned core, uint64_t line,
		      enum cache_access kind, unsigned first_byte, unsigned n_bytes, uint32_t who);
void reference_finish(struct reference *reference);
