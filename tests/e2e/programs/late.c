/* Preloaded into rfprof: stops of tracees are seen late, each LATE_EVERY-th of those that one waits for.  It is hidden for
 * longer than rfprof waits for a step (tracer/process/stops.h), as on a machine that has no time for the tracee.  How many
 * there were is written to the file LATE_COUNT at the end, by the process that hid any. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define HIDDEN_S 0.6

static unsigned long n_seen, n_late;
static double hidden_until;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("LATE_COUNT");
	FILE *file = path && n_late ? fopen(path, "w") : NULL;
	if (!file)
		return;
	fprintf(file, "%lu\n", n_late);
	fclose(file);
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	static int (*real)(idtype_t, id_t, siginfo_t *, int);
	const char *every = getenv("LATE_EVERY");
	if (!real)
		real = (int (*)(idtype_t, id_t, siginfo_t *, int))dlsym(RTLD_NEXT, "waitid");
	if (!every || type != P_PID || (options & (WSTOPPED | WNOHANG | WNOWAIT)) != (WSTOPPED | WNOHANG))
		return real(type, id, info, options);
	info->si_pid = 0;
	if (now() < hidden_until)
		return 0;
	const int result = real(type, id, info, options | WNOWAIT);
	if (result == 0 && info->si_pid && ++n_seen % strtoul(every, NULL, 10) == 0) {
		n_late++;
		hidden_until = now() + HIDDEN_S;
		info->si_pid = 0;
		return 0;
	}
	return real(type, id, info, options);
}
