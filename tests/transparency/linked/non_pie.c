/* At a fixed low address.
 * @flags -no-pie */
#include "common.h"
