/* Optimised at link time.
 * @flags -flto -O3 */
#include "common.h"
