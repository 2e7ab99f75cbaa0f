/* The large code model: calls by 64-bit addresses.
 * @flags -mcmodel=large */
#include "common.h"
