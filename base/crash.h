/* What rfprof does when it fails itself: by an assertion, or by a signal such as SIGSEGV.
 *
 * It says on standard error, or in the log, its version, what happened, the stack, and what to
 * report; then it does a last step, such as waiting for the program that it watches, or ends with
 * status 2.  All of it uses async-signal-safe calls only.  Processes that were forked and have not
 * executed another program die as they would without it. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* A step that is done after a failure; async-signal-safe. */
typedef void crash_step(void *context);

/* The first thing in main.  version: static text.  A signal that is ignored stays ignored, since
 * the program that is watched would inherit it so. */
void crash_install(const char *version);

/* Whether that signal is one of those that crash_install gives a handler. */
bool crash_catches(int number);

/* Signals of that kind that a process has sent, and of which the function, which is
 * async-signal-safe, says true, are no failure: nothing happens. */
void crash_set_ignored(bool (*is_ignored)(int number, const siginfo_t *info));

/* Messages go to this descriptor; standard error if it is not called. */
void crash_set_log(int fd);

/* In place of ending with status 2: `outlook`, one line without a line feed that is said before the
 * step is done, and the step, which may end the process otherwise.  NULL: none any more.  Only one
 * thread may set it. */
void crash_set_last(const char *outlook, crash_step *step, void *context);

/* For libraries that do not return when memory is short: says so, and ends as a failure does, but
 * there is nothing to report. */
__attribute__((noreturn)) void crash_no_memory(void);

/* What must go on in this thread when it is the one that fails, or when it fails after another one;
 * done before the last step.  NULL: nothing any more. */
void crash_set_thread_step(crash_step *step, void *context);
