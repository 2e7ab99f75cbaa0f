/* Giving up what a process may do, before it reads what may have been made to harm it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* For good: no capabilities and, where this process is root's, the user `owner` in place of root;
 * no other processes, no core dump, at most `seconds` of processor time and `bytes` of memory more
 * than now; where the kernel has seccomp, no system calls but those that read files and manage
 * memory.  False: it still has rights that it should not have. */
bool rights_drop(uid_t owner, unsigned seconds, size_t bytes);
