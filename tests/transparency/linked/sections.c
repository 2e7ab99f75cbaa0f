/* A function a section, unused ones dropped.
 * @flags -ffunction-sections -Wl,--gc-sections */
#include "common.h"
