/* For size: short jumps, loop and leave.
 * @flags -Os */
#include "common.h"
