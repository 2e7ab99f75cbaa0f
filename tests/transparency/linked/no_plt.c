/* Calls through the GOT instead of a PLT.
 * @flags -fno-plt */
#include "common.h"
