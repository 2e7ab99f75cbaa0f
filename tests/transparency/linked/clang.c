/* By another compiler.
 * @compiler clang */
#include "common.h"
