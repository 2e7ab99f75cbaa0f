/* Handlers and deaths by the kernel's own calls: glibc keeps two signals for itself, 32 and 33, and
 * its functions refuse them.  A program can send them, and die of them, as of any other. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* The first that the kernel queues; SIGRTMIN is glibc's first. */
#define RAW_RTMIN 32

typedef void raw_handler(int number, siginfo_t *info, void *context);

/* Whether it is one of the two. */
bool raw_signal_is_kept(int number);
/* Has `handler` called for one of the two, unless it is ignored; others but faults wait meanwhile.
 * What glibc sends this process goes to glibc's handler. */
void raw_signal_catch(int number, raw_handler *handler);
/* This thread gets the signal while it has no handler and is not blocked: it stops the process, and
 * this returns when it goes on, or ends it.  Before it returns both are as they were. */
void raw_signal_take(int number);
