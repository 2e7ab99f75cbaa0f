/* Whether kept code that was read from a file can be used. */
#pragma once

#include "tracer/translate/kept_code.h"

/* Whether, by all three, all numbers in it lie within the lists that they are used for, all lists
 * are in the order in which they are searched, and no chain has a circle: whatever else is wrong,
 * rfprof itself does not go astray.  Numbers of profile modules, names and the bytes of blocks are
 * not looked at. The first one must hold before the other two are asked, which can be at once. */
bool code_check_head(const struct kept_code *kept);
bool code_check_arenas(const struct kept_code *kept);
bool code_check_lists(const struct kept_code *kept);
