/* Threads that serve a run beside the main one: those that read rings and carry streams. */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the stack that a handler runs on where the thread's own may be full: the processor's
 * state, and the unwinder. */
#define THREAD_SIGNAL_STACK ((size_t)64 << 10)

/* Bytes of stack that each thread of rfprof's has, the main one at the least. */
#define THREAD_STACK ((size_t)2 << 20)

/* The signals of a process's own faults, 0 at the end. */
extern const int thread_faults[];

/* Starts a thread in which all signals are blocked but thread_faults, so that the user's
 * reach the main thread, and a broken pipe is an error number; with a stack for signal handlers.
 * Gives 0, or an error number as pthread_create does. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *context);

/* Waits until that moment (clock_now_ns).  False: `end` was posted, and the thread is to end. */
bool thread_wait_until(sem_t *end, uint64_t ns);

/* Has this thread's signal handlers run on `stack`, of THREAD_SIGNAL_STACK bytes. */
void thread_use_signal_stack(char *stack);

/* Asks for short slices for this thread (Linux 6.12; any user may), so that it runs as soon as it
 * is woken.  Where the program has all processors, it would else wait until one of the program's
 * threads has used up its slice or makes a system call. */
void thread_wake_promptly(void);
