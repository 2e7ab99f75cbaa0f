/* The permission to use AMX tiles. */
#pragma once

#include <stdbool.h>

/* Asks Linux for it, once in the life of the process; false: refused, or a kernel before 5.16, and
 * then a tile instruction ends in SIGILL.
 *
 * The permission is the process's: threads have it whether they started before or after.  With it
 * a signal frame grows by the 8 KiB of the tiles, and Linux refuses when some thread's alternate
 * signal stack is too small for that.  Only to be called where CPUID and XCR0 have the tiles. */
bool amx_request_permission(void);
