/* Static and position independent: it relocates itself.
 * @flags -static-pie */
#include "common.h"
