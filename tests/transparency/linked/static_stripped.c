/* Static, without a symbol.
 * @flags -static -s */
#include "common.h"
