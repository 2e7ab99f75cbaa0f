/* Frame pointers, no optimisation.
 * @flags -O0 -fno-omit-frame-pointer */
#include "common.h"
