/* What a page fault takes, of which the kernel's time is told where it is not sampled. */
#pragma once

#include <stdint.h>

/* Time of the first touch of a page of 4 KiB of new memory, ns, measured here and now, in some
 * milliseconds; 0: not known. */
uint64_t fault_cost_ns(void);
