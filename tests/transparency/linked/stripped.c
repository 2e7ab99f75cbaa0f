/* Without symbols.
 * @flags -s */
#include "common.h"
