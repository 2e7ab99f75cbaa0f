/* Starts one run, and sees to it that it ends. */
#include "sweep/one_run.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS UINT64_C(5000000000) /* for an end in good order */
#define NOT_STARTED 127

struct run {
	pid_t pid; /* and number of its group */
	int process, signals;
	sigset_t before;
	uint64_t until; /* when it is asked to end; 0: never */
	uint64_t kill;  /* when it is ended by force; 0: not yet known */
};

/* The child's part. */
static _Noreturn void become(char **arguments, const sigset_t *before, pid_t parent)
{
	const int in = open("/dev/null", O_RDONLY), out = open("/dev/null", O_WRONLY);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent && in >= 0 && out >= 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1) {
		if (in > 1)
			close(in);
		if (out > 1)
			close(out);
		sigprocmask(SIG_SETMASK, before, NULL);
		execv("/proc/self/exe", arguments);
	}
	_exit(NOT_STARTED);
}

/* A signal that is blocked comes even where it is ignored. */
static void block_signals(struct run *run)
{
	static const int all[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction now;
	sigset_t ending;
	sigemptyset(&ending);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (sigaction(all[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&ending, all[i]);
	sigprocmask(SIG_BLOCK, &ending, &run->before);
	run->signals = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int start(struct run *run, char **arguments)
{
	const pid_t parent = getpid();
	run->pid = fork();
	if (run->pid == 0)
		become(arguments, &run->before, parent);
	if (run->pid < 0)
		return errno;
	setpgid(run->pid, run->pid); /* whoever comes first */
	run->process = (int)syscall(SYS_pidfd_open, run->pid, 0);
	if (run->process >= 0)
		return 0;
	const int errnum = errno;
	kill(-run->pid, SIGKILL);
	waitpid(run->pid, NULL, 0);
	return errnum;
}

static int wait_ms(const struct run *run, uint64_t now)
{
	const uint64_t next = run->kill ?: run->until;
	return !next ? -1 : next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

/* One that comes behind the run's end stays pending, for this process. */
static void pass_on(struct run *run, struct one_run_end *end, uint64_t now)
{
	struct signalfd_siginfo info;
	while (read(run->signals, &info, sizeof(info)) == sizeof(info)) {
		end->interrupted = (int)info.ssi_signo;
		kill(-run->pid, end->interrupted);
		run->kill = run->kill ?: now + GRACE_NS;
	}
}

static void follow(struct run *run, struct one_run_end *end)
{
	struct pollfd polls[] = {{run->process, POLLIN, 0}, {run->signals, POLLIN, 0}};
	for (;;) {
		poll(polls, 2, wait_ms(run, clock_now_ns()));
		const uint64_t now = clock_now_ns();
		if (polls[0].revents)
			break;
		if (polls[1].revents & POLLIN)
			pass_on(run, end, now);
		if (run->kill && now >= run->kill) {
			kill(-run->pid, SIGKILL);
			break;
		}
		if (!run->kill && run->until && now >= run->until) {
			end->is_late = true;
			kill(-run->pid, SIGTERM);
			run->kill = now + GRACE_NS;
		}
	}
	while (waitpid(run->pid, &end->status, 0) < 0 && errno == EINTR)
		;
	if (run->kill) /* what the program has left behind goes, too */
		kill(-run->pid, SIGKILL);
}

struct rf_error *one_run(char **arguments, double limit_s, struct one_run_end *end)
{
	struct run run = {.process = -1};
	*end = (struct one_run_end){0};
	if (limit_s > 0)
		run.until = clock_now_ns() + (uint64_t)(limit_s * 1e9);
	block_signals(&run);
	int errnum = run.signals < 0 ? errno : start(&run, arguments);
	if (!errnum)
		follow(&run, end);
	if (run.process >= 0)
		close(run.process);
	if (run.signals >= 0)
		close(run.signals);
	sigprocmask(SIG_SETMASK, &run.before, NULL);
	return errnum ? rf_error_errno(RF_EACCESS, errnum, NULL, "cannot start rfprof") : NULL;
}
