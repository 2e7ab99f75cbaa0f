/* The threads' timers and their handler. */
#pragma once

#include "preload/shim.h"

/* The calling thread; NULL: it is not sampled. */
extern __thread struct shim_thread *shim_self __attribute__((tls_model("initial-exec")));

void shim_handler(int signal_number, siginfo_t *info, void *context);
/* Starts sampling the calling thread, made by thread `parent_tid` of process `parent_pid` (0: this
 * is the first thread of a new program). */
void shim_thread_begin(uint32_t parent_pid, uint32_t parent_tid);
void shim_thread_end(void);
