/* Lines that threads share, as rows of the profile. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/traffic/sharing_lines.h"

/* Adds the rows.  `row_of`: the row of an object of an address space; PROFILE_NONE: it has none.
 * Errors: memory is short. */
struct rf_error *sharing_save(const struct shared_lines *lines, struct profile *profile,
			      uint32_t (*row_of)(void *context, uint32_t space, uint32_t object),
			      void *context);
