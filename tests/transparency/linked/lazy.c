/* Symbols bound when they are first called.
 * @flags -Wl,-z,lazy */
#include "common.h"
