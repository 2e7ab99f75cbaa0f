/* What a profile keeps of the machine that it was recorded on. */
#pragma once

#include "profile/profile.h"

/* Copies a machine into a profile: roofs, custom roofs, and the facts cpu_model, microarchitecture
 * (where it is known), usable_threads, clock_ghz and clock_fp_ghz (where it was measured). */
struct rf_error *profile_take_machine(struct profile *profile, const struct machine *machine);
/* Copies custom roofs into a profile. */
struct rf_error *profile_take_custom(struct profile *profile, const struct custom_roof *roofs,
				     size_t n);
