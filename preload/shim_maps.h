/* Which executable memory has been written to the rings; handler code. */
#pragma once

#include "preload/shim.h"

/* Makes sure that the executable mapping at `address` has been written; 0: all of them. */
void shim_maps_need(struct shim_thread *thread, uint64_t address);
/* Only one thread is left (after fork): whoever held the lock is gone. */
void shim_maps_forked(void);
