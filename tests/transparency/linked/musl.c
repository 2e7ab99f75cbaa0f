/* With another C library, statically.
 * @compiler musl-gcc
 * @flags -static */
#include "common.h"
