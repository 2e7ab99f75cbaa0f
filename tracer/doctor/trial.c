/* What the counted run needs of the kernel, tried on a child and on memory of our own. */
#include "tracer/doctor/trial.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_NS 5000000000ull /* until a child must have stopped */

static struct doctor_trial failed(enum trial_stage stage, int errnum)
{
	return (struct doctor_trial){stage, errnum};
}

/* ---- tracing ---- */

static volatile long word = 4711;

/* Waits at most STOP_NS for a stop; 0 or errno. */
static int wait_for_stop(pid_t pid)
{
	const uint64_t deadline = clock_now_ns() + STOP_NS;
	int status;
	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG | __WALL);
		if (got == pid)
			return WIFSTOPPED(status) ? 0 : ESRCH;
		if (got < 0 && errno != EINTR)
			return errno;
		if (clock_now_ns() >= deadline)
			return ETIMEDOUT;
		usleep(200);
	}
}

/* Its memory is read, changed and read again, through the file that the translator reads programs
 * by. */
static struct doctor_trial try_contents(int fd)
{
	const off_t at = (off_t)(uintptr_t)&word;
	const long other = 815;
	long seen = 0;
	if (pread(fd, &seen, sizeof(seen), at) != sizeof(seen) ||
	    pwrite(fd, &other, sizeof(other), at) != sizeof(other))
		return failed(TRIAL_CONTENTS, errno);
	if (seen != word || pread(fd, &seen, sizeof(seen), at) != sizeof(seen) || seen != other)
		return failed(TRIAL_CONTENTS, EIO);
	return failed(TRIAL_DONE, 0);
}

static struct doctor_trial try_on(pid_t pid)
{
	struct user_regs_struct registers;
	char path[64];
	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC) < 0)
		return failed(TRIAL_SEIZE, errno);
	int errnum = ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0 ? errno : wait_for_stop(pid);
	if (errnum)
		return failed(TRIAL_STOP, errnum);
	if (ptrace(PTRACE_GETREGS, pid, 0, &registers) < 0 ||
	    ptrace(PTRACE_SETREGS, pid, 0, &registers) < 0)
		return failed(TRIAL_REGISTERS, errno);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return failed(TRIAL_FILE, errno);
	struct doctor_trial trial = try_contents(fd);
	close(fd);
	return trial;
}

struct doctor_trial doctor_try_tracing(void)
{
	const pid_t parent = getpid();
	const pid_t pid = fork();
	if (pid < 0)
		return failed(TRIAL_FORK, errno);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	struct doctor_trial trial = try_on(pid);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return trial;
}

/* ---- memory for translated code ---- */

static struct doctor_trial try_run(const void *code)
{
	int (*function)(void);
	memcpy(&function, &code, sizeof(function));
	return function() == 42 ? failed(TRIAL_DONE, 0) : failed(TRIAL_RUN, 0);
}

static struct doctor_trial try_mappings(int fd, size_t size)
{
	static const uint8_t returns_42[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov eax, 42; ret */
	struct doctor_trial trial;
	void *writable =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (writable == MAP_FAILED)
		return failed(TRIAL_WRITABLE, errno);
	memcpy(writable, returns_42, sizeof(returns_42));
	void *executable =
		mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_NORESERVE, fd, 0);
	trial = executable == MAP_FAILED ? failed(TRIAL_EXECUTABLE, errno) : try_run(executable);
	if (executable != MAP_FAILED)
		munmap(executable, size);
	munmap(writable, size);
	return trial;
}

struct doctor_trial doctor_try_memory(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("rfprof", MFD_CLOEXEC);
	if (fd < 0)
		return failed(TRIAL_MEMFD, errno);
	struct doctor_trial trial =
		ftruncate(fd, (off_t)size) < 0 ? failed(TRIAL_SIZE, errno) : try_mappings(fd, size);
	close(fd);
	return trial;
}
