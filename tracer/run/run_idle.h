/* A counted run in which nothing happens any more.
 *
 * The second run has the input and the arguments of the first one, but not its clients, and nobody
 * sends it the signal that ended the first: a server would wait for these for ever. */
#pragma once

#include <pthread.h>
#include <sys/types.h>

struct idle_watch;
struct profile;

/* From now on looks every second at how long the processes of the counted run, and rfprof, have
 * run.  When that was less than a twentieth of the time for twice as long as the timed run took in
 * all (`timed_s`), and 10 s, and no thread was ready to run or waited for a disk at any look, it
 * kills the program, `pid`.  Time in which the watch itself was stopped does not count.  `lock`
 * guards the profile's processes.  NULL: memory is short, or there is no thread; then nobody
 * looks. */
struct idle_watch *idle_watch_start(struct profile *profile, pthread_mutex_t *lock, pid_t pid,
				    double timed_s);
/* When the run has ended.  For how long nothing had happened if the program was killed, s, else 0.
 * NULL is allowed. */
double idle_watch_stop(struct idle_watch *watch);
