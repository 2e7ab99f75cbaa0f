/* A function in a process of its own, with a time limit. */
#pragma once

struct guard_ending {
	enum { GUARD_DONE, GUARD_DIED, GUARD_LATE, GUARD_NO_PROCESS } how;
	int signal; /* that it died of, or 0 */
};

/* Calls fn(context) in a child; what it leaves must be in shared memory.  The child is killed when
 * it has not ended after `limit_ms`; what it exits with by itself, but for 0, is GUARD_DIED. */
struct guard_ending guard_run(void (*fn)(void *context), void *context, unsigned limit_ms);
