/* Waiting for one tracee.  The follower must never wait for one without an end: what holds that
 * tracee up may be another that waits for the follower. */
#include "tracer/process/stops.h"

#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#define YIELDS 100 /* a step takes a few microseconds, on this processor or another */
#define SLEEP_US 50

/* One look for a stop (WSTOPPED), an end (WEXITED); info->si_pid is 0 where there is none.  For
 * stops alone the kernel says ECHILD of what can stop no more. */
static int look(pid_t tid, siginfo_t *info, int options)
{
	int result;
	do {
		info->si_pid = 0;
		result = waitid(P_PID, (id_t)tid, info, options | WNOHANG | __WALL);
	} while (result < 0 && errno == EINTR);
	return result;
}

enum awaited stops_await(pid_t tid, uint64_t limit_ns, int *status)
{
	siginfo_t info;
	uint64_t begin = 0;
	for (unsigned looks = 0;; looks++) {
		if (look(tid, &info, WSTOPPED) < 0)
			return AWAITED_END;
		if (info.si_pid) {
			*status = W_STOPCODE(info.si_status);
			return AWAITED_STOP;
		}
		if (looks < YIELDS) {
			sched_yield();
			continue;
		}
		begin = begin ? begin : clock_now_ns();
		if (clock_now_ns() - begin > limit_ns)
			return AWAITED_LATE;
		usleep(SLEEP_US);
	}
}

bool stops_ended_first(pid_t tid)
{
	siginfo_t info;
	return look(tid, &info, WSTOPPED | WNOWAIT) < 0 &&
	       look(tid, &info, WEXITED | WNOWAIT) == 0 && !info.si_pid;
}
