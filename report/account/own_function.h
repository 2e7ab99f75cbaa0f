/* Which function of the program's own stands behind what libraries of the system do for it, and
 * what a wait is for. */
#pragma once

#include "profile/profile.h"

/* The innermost frame from `frame` outward that is neither the kernel's nor a library's of the
 * system (libc, the dynamic linker, run-time libraries of languages and threads), nor a function
 * with a name that is reserved for these, as in a static program.  Where there is none the
 * innermost frame that is not the kernel's, or `frame` itself; PROFILE_NONE for PROFILE_NONE.
 * `places`: of each frame (profile_places_of_frames). */
uint32_t own_frame(const struct profile *profile, const uint32_t *places, uint32_t frame);

/* What a wait is for: by the kernel's cause and the functions on the way to the own one. */
enum wait_kind wait_kind_of(const struct profile *profile, const uint32_t *places,
			    const struct profile_wait *wait);
