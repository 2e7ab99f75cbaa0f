/* Vector code as wide as this processor has it.
 * @flags -O3 -march=native -mprefer-vector-width=512 */
#include "common.h"
