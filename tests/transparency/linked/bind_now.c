/* All symbols bound at the start, the GOT read-only.
 * @flags -Wl,-z,now,-z,relro */
#include "common.h"
