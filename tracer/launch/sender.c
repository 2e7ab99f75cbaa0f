/* Who has sent a signal, by what /proc tells of the sender.  Handlers of signals ask: no function
 * here allocates or uses stdio. */
#include "tracer/launch/sender.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ANCESTORS 4096 /* a bound for a loop */

/* ---- /proc ---- */

/* Reads /proc/PID/NAME; false: there is no such process. */
static bool read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64] = "/proc/", digits[16], *first = digits + sizeof(digits) - 1;
	*first = '\0';
	for (uint32_t rest = (uint32_t)pid; rest; rest /= 10)
		*--first = (char)('0' + rest % 10);
	strcat(strcat(path, first), name);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* 0: it has none in this pid namespace, or is no more. */
static pid_t parent_of(pid_t pid)
{
	char text[512];
	const char *behind_name =
		read_file(pid, "/stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
	return behind_name && strlen(behind_name) > 4 ? (pid_t)strtol(behind_name + 4, NULL, 10)
						      : 0; /* ") S 123" */
}

static bool descends_from(pid_t pid, pid_t ancestor)
{
	for (int i = 0; i < MAX_ANCESTORS && pid > 1; i++)
		if ((pid = parent_of(pid)) == ancestor)
			return true;
	return false;
}

/* ---- senders ---- */

/* What the program leaves behind in the background gets another parent, of another session; this
 * process's own parent may be of another one as well, and so may that of a process above. */
static bool is_left_behind(pid_t pid)
{
	const pid_t parent = parent_of(pid);
	return parent > 0 && parent != getppid() && getpgid(pid) == getpgrp() &&
	       getsid(parent) != getsid(0) && !descends_from(getpid(), pid);
}

bool sender_is_watched(const siginfo_t *info)
{
	const bool sent =
		info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
	if (!sent || info->si_pid <= 0 || info->si_pid == getpid())
		return false;
	return descends_from(info->si_pid, getpid()) || is_left_behind(info->si_pid);
}

/* Whether the set of that name in the text of /proc/PID/status has the signal. */
static bool has_signal(const char *status, const char *name, int number)
{
	const char *set = strstr(status, name);
	return set && strtoull(set + strlen(name), NULL, 16) >> (number - 1) & 1;
}

bool sender_stops(pid_t pid, int number)
{
	char status[4096];
	if (pid <= 0 || !read_file(pid, "/status", status, sizeof(status)))
		return false;
	const char *state = strstr(status, "\nState:\t");
	return (state && (state[8] == 'T' || state[8] == 't')) ||
	       has_signal(status, "\nSigPnd:", number) || has_signal(status, "\nShdPnd:", number);
}
