/* Whether kept code that was read from a file can be used. */
#pragma once

#include "tracer/translate/kept_code.h"

/* Whether all numbers in it lie within the lists that they are used for, all lists are in the order
 * in which they are searched, and no chain has a circle: whatever else is wrong, rfprof itself does
 * not go astray.  Numbers of profile modules, names and the bytes of blocks are not looked at. */
bool code_check(const struct kept_code *kept);
