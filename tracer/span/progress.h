/* How far a process has come, by what the kernel tells of it natively as well as when it is
 * counted. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* read(2), write(2) and their kin that a process has called so far, with its threads that have
 * ended (proc(5), /proc/PID/io: syscr and syscw); 0: not known. */
uint64_t progress_calls(pid_t pid);
