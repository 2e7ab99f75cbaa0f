/* watch FILE COMMAND…: runs a command and writes to FILE how it ended and which processes it left
 * behind, after waiting a while for those that end by themselves. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 1500 };

static void say_child(FILE *file, pid_t pid)
{
	char path[64], name[64] = "gone\n", state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *stat = fopen(path, "re");
	if (stat && fscanf(stat, "%*d (%60[^)]) %c", name, &state) < 1)
		strcpy(name, "?");
	if (stat)
		fclose(stat);
	fprintf(file, "left behind: %s %s\n", name, state == 'T' || state == 't' ? "stopped" : "running");
}

/* Names and ends the children that are left; those of theirs come here when they have ended. */
static void end_children(FILE *file)
{
	int pid;
	FILE *children = fopen("/proc/thread-self/children", "re");

	while (children && fscanf(children, "%d", &pid) == 1) {
		say_child(file, pid);
		kill(pid, SIGKILL);
	}
	if (children)
		fclose(children);
}

int main(int argc, char **argv)
{
	siginfo_t info = { 0 };
	pid_t pid, reaped = 0;

	if (argc < 3)
		return 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (pid == 0) {
		execv(argv[2], argv + 2);
		_exit(127);
	}
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	waitpid(pid, NULL, 0);
	FILE *file = fopen(argv[1], "we");
	if (!file)
		return 2;
	fprintf(file, info.si_code == CLD_EXITED ? "exit %d\n" : "signal %d\n", info.si_status);
	if (info.si_code == CLD_DUMPED)
		fprintf(file, "core dumped\n");
	for (int ms = 0; ms < WAIT_MS && reaped >= 0; ms += 5) {
		while ((reaped = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
			;
		if (reaped == 0)
			usleep(5000);
	}
	while (waitpid(-1, NULL, WNOHANG | __WALL) == 0) {
		end_children(file);
		usleep(20000);
	}
	return fclose(file) != 0;
}
