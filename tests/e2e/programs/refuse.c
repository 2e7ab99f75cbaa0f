/* refuse CALL ACTION COMMAND…: runs the command under a seccomp filter that answers one system call (perf_event_open,
 * ptrace, memfd_create, acct) with an errno (errno) or ends whoever makes it (kill). */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; unsigned number; } calls[] = {
	{ "perf_event_open", SYS_perf_event_open }, { "ptrace", SYS_ptrace }, { "memfd_create", SYS_memfd_create },
	{ "acct", SYS_acct },
};

int main(int argc, char **argv)
{
	unsigned at = 0;
	const unsigned action = argc > 2 && !strcmp(argv[2], "kill") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	while (argc > 3 && at < sizeof(calls) / sizeof(*calls) && strcmp(calls[at].name, argv[1]) != 0)
		at++;
	if (argc < 4 || at == sizeof(calls) / sizeof(*calls))
		return 99;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[at].number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { 4, filter };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return 98;
	execv(argv[3], argv + 3);
	return 97;
}
