/* Looks whether a run still does anything. */
#include "tracer/run/run_idle.h"

#include "base/clock.h"
#include "base/small_file.h"
#include "base/thread.h"
#include "profile/profile.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Between two looks; one that comes later than LATE_S was stopped, or its machine was. */
#define LOOK_NS UINT64_C(1000000000)
#define LATE_S 2.0
/* Whoever runs for less of the time does nothing but look whether there is something to do. */
#define IDLE_SHARE 0.05
#define LEAST_IDLE_S 10.0
#define TIMES_THE_TIMED_RUN 2.0

struct idle_watch {
	struct profile *profile;
	pthread_mutex_t *lock;
	pid_t pid;
	double limit_s;
	pthread_t thread;
	sem_t end;
	double idle_s; /* nothing has happened for so long */
	bool killed;
};

static double seconds(clockid_t clock)
{
	return (double)clock_read_ns(clock) * 1e-9;
}

/* What the process has run, and those of its children that it has waited for, s (proc(5)). */
static double ran_s(int pid)
{
	char directory[64], line[1024];
	unsigned long long user = 0, system = 0;
	long long children_user = 0, children_system = 0;
	snprintf(directory, sizeof(directory), "/proc/%d", pid);
	const bool there = small_file_line(directory, "stat", line, sizeof(line));
	const char *rest = there ? strrchr(line, ')') : NULL;
	if (!rest ||
	    sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld",
		   &user, &system, &children_user, &children_system) != 4)
		return 0;
	return (double)(user + system + (unsigned long long)(children_user + children_system)) /
	       (double)sysconf(_SC_CLK_TCK);
}

/* Whether a thread of the process, but this one, could run, or waits for a disk: others may keep it
 * from that for long. */
static bool is_about_to_run(int pid)
{
	char directory[64], name[64], line[1024];
	bool found = false;
	snprintf(directory, sizeof(directory), "/proc/%d/task", pid);
	DIR *tasks = opendir(directory);
	for (struct dirent *task; tasks && !found && (task = readdir(tasks));) {
		const int tid = atoi(task->d_name);
		snprintf(name, sizeof(name), "%d/stat", tid);
		if (!tid || tid == gettid() ||
		    !small_file_line(directory, name, line, sizeof(line)))
			continue;
		const char *rest = strrchr(line, ')');
		found = rest && (rest[2] == 'R' || rest[2] == 'D');
	}
	if (tasks)
		closedir(tasks);
	return found;
}

/* Of all processes of the counted run that are there, and of rfprof.  What one that is gone has run
 * is its parent's from then on; until that waits for it the sum may fall. */
static double all_ran_s(const struct idle_watch *watch, bool *are_about_to)
{
	double sum_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
	*are_about_to = is_about_to_run(getpid());
	pthread_mutex_lock(watch->lock);
	for (size_t i = 0; i < watch->profile->n_processes; i++) {
		const struct profile_process *process = &watch->profile->processes[i];
		if (process->run != RUN_COUNTED || process->end_ns)
			continue;
		sum_s += ran_s(process->pid);
		*are_about_to |= is_about_to_run(process->pid);
	}
	pthread_mutex_unlock(watch->lock);
	return sum_s;
}

/* Kills the program, unless it has ended, when its number may be another process's soon. */
static bool end_program(const struct idle_watch *watch)
{
	bool killed = false;
	pthread_mutex_lock(watch->lock);
	const uint32_t row = profile_find_process(watch->profile, RUN_COUNTED, watch->pid);
	if (row != PROFILE_NONE && !watch->profile->processes[row].end_ns)
		killed = kill(watch->pid, SIGKILL) == 0;
	pthread_mutex_unlock(watch->lock);
	return killed;
}

static void *look(void *context)
{
	struct idle_watch *watch = context;
	double at_s = seconds(CLOCK_MONOTONIC), had_run_s = 0;
	while (thread_wait_until(&watch->end, clock_now_ns() + LOOK_NS)) {
		bool are_about_to;
		const double now_s = seconds(CLOCK_MONOTONIC);
		const double now_ran_s = all_ran_s(watch, &are_about_to);
		const double took_s = now_s - at_s < LATE_S ? now_s - at_s : LATE_S;
		const double more_s = now_ran_s - had_run_s;
		const bool is_idle = !are_about_to && more_s < IDLE_SHARE * took_s &&
				     more_s > -IDLE_SHARE * took_s;
		watch->idle_s = is_idle ? watch->idle_s + took_s : 0;
		at_s = now_s;
		had_run_s = now_ran_s;
		if (watch->idle_s < watch->limit_s)
			continue;
		watch->killed = end_program(watch);
		break;
	}
	return NULL;
}

struct idle_watch *idle_watch_start(struct profile *profile, pthread_mutex_t *lock, pid_t pid,
				    double timed_s)
{
	struct idle_watch *watch = calloc(1, sizeof(*watch));
	if (!watch)
		return NULL;
	watch->profile = profile;
	watch->lock = lock;
	watch->pid = pid;
	watch->limit_s = LEAST_IDLE_S + TIMES_THE_TIMED_RUN * timed_s;
	sem_init(&watch->end, 0, 0);
	if (thread_start(&watch->thread, look, watch) == 0)
		return watch;
	free(watch);
	return NULL;
}

double idle_watch_stop(struct idle_watch *watch)
{
	if (!watch)
		return 0;
	sem_post(&watch->end);
	pthread_join(watch->thread, NULL);
	const double idle_s = watch->killed ? watch->idle_s : 0;
	sem_destroy(&watch->end);
	free(watch);
	return idle_s;
}
