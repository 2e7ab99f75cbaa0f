/* endbr64 at every indirect target, notrack jumps.
 * @flags -fcf-protection=full */
#include "common.h"
