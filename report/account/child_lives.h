/* Whether a process runs its children one after the other, though they could run at once. */
#pragma once

#include "profile/profile.h"

/* How much earlier the children of one process of the timed run would have been done, if all had
 * begun at once and had `processors` processors, s; of the process where that is most.  What they
 * took is when at least one of them lived; what they would have taken is as long as the longest
 * one lived, or all of them on that many processors.  A child whose end was not seen lived until
 * `wall_s`.  0 also where memory is short. */
double child_lives_in_turn(const struct profile *profile, double processors, double wall_s);
