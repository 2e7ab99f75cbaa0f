/* Who has sent a signal to this process: the program that it watches, or somebody else. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Whether the signal was sent by a descendant of this process, or by one that has lost its parent
 * and is left in this process's group.  Where the sender has ended and was waited for, nobody
 * knows: false.  Async-signal-safe. */
bool sender_is_watched(const siginfo_t *info);

/* Whether process `pid` is stopped, or will be by signal `number`, which is pending.
 * Async-signal-safe. */
bool sender_stops(pid_t pid, int number);
