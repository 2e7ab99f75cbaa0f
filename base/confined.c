/* The child's life: what it keeps of this process, how long it is waited for, how it ended. */
#include "base/confined.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/fork_lock.h"
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define MEMORY ((size_t)4 << 30)       /* for DWARF of a few gigabytes */
#define MAX_ANSWER ((uint64_t)4 << 30) /* bytes */

/* The status of who ended by a sanitizer: ./dev and the tests set it (exitcode of ASAN_OPTIONS). */
#define SANITIZER_STATUS 99

#ifdef RF_SANITIZED
#define KEEPS_STDERR true /* a sanitizer in the child must be able to tell */
#else
#define KEEPS_STDERR false
#endif

struct confined {
	pid_t pid;
	int pidfd, fd; /* the pipe; -1: there is no child */
	unsigned seconds;
	uint64_t deadline, n_taken;
	const uint8_t *bytes; /* `buffer`, or all that there is */
	size_t at, n;
	bool is_whole, is_broken, is_late, is_recorded, record_failed;
	uint8_t *record;
	size_t n_record, cap_record;
	char failure[160];
	uint8_t buffer[1 << 16];
};

/* ---- in the child ---- */

/* Nothing of this process's own handling; other signals stay blocked. */
static void reset_signals(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU, SIGSYS};
	sigset_t blocked;
	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		signal(faults[i], SIG_DFL);
		sigdelset(&blocked, faults[i]);
	}
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

/* The pipe becomes descriptor 0, what is read CONFINED_FD; nothing else stays open. */
static bool keep_descriptors(int answer_fd, int fd)
{
	/* neither may lie where the other one goes */
	const int from = fcntl(answer_fd, F_DUPFD, 16);
	if (from < 0 || (fd >= 0 && dup2(fd, CONFINED_FD) < 0) || dup2(from, 0) < 0)
		return false;
	if (KEEPS_STDERR && fd < 0)
		close(CONFINED_FD);
	closefrom(KEEPS_STDERR ? STDERR_FILENO + 1 : fd >= 0 ? CONFINED_FD + 1 : 1);
	return true;
}

static void in_child(const struct confined_job *job, int answer_fd, pid_t parent)
{
	struct stat status = {.st_uid = NOBODY};
	reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if ((job->fd >= 0 && fstat(job->fd, &status) != 0) || !keep_descriptors(answer_fd, job->fd))
		_exit(1);
	if (job->prepare)
		job->prepare(job->context);
	FILE *answer = fdopen(0, "w");
	if (!answer || !rights_drop(status.st_uid, job->seconds, MEMORY))
		_exit(1);
	job->read(job->context, answer);
	confined_finish(answer);
}

/* Also called in a handler that has a stack of its own: an address sanitizer looks, before what
 * does not return, where the stack is, and a confined child may not find out. */
__attribute__((no_sanitize("address"))) void confined_finish(FILE *answer)
{
	fputc(CONFINED_END, answer);
	_exit(fflush(answer) == 0 ? 0 : 1);
}

void confined_put_tag(FILE *answer, uint8_t tag)
{
	fputc(tag, answer);
}

void confined_put_number(FILE *answer, uint64_t number)
{
	fwrite(&number, sizeof(number), 1, answer);
}

void confined_put_text(FILE *answer, const char *text)
{
	const size_t length = strnlen(text, CONFINED_MAX_TEXT);
	confined_put_number(answer, length);
	fwrite(text, 1, length, answer);
}

/* ---- its life ---- */

/* A handler of rfprof's must not run in the child: all signals are blocked around the fork. */
static pid_t fork_quietly(void)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const pid_t pid = fork();
	if (pid != 0)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* Without its buffer, which need not be touched. */
static struct confined *new_confined(void)
{
	struct confined *child = malloc(sizeof(*child));
	if (child)
		memset(child, 0, offsetof(struct confined, buffer));
	return child;
}

struct rf_error *confined_replay(const void *bytes, size_t size, struct confined **out)
{
	struct confined *child = new_confined();
	if (!child)
		return rf_error_no_memory();
	child->pidfd = child->fd = -1;
	child->bytes = bytes;
	child->n = size;
	*out = child;
	return NULL;
}

struct rf_error *confined_create(const struct confined_job *job, struct confined **out)
{
	int ends[2];
	struct confined *child = new_confined();
	if (!child)
		return rf_error_no_memory();
	if (pipe2(ends, O_CLOEXEC) != 0) {
		free(child);
		return rf_error_errno(RF_EUNAVAILABLE, errno, NULL, "no pipe for a reader");
	}
	fork_lock_init();
	const pid_t parent = getpid(), pid = fork_quietly();
	if (pid == 0)
		in_child(job, ends[1], parent);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		free(child);
		return rf_error_errno(RF_EUNAVAILABLE, errno, NULL, "no process for a reader");
	}
	child->pid = pid;
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	child->fd = ends[0];
	child->seconds = job->seconds;
	child->deadline = clock_now_ns() + job->seconds * UINT64_C(1000000000);
	child->bytes = child->buffer;
	*out = child;
	return NULL;
}

/* The thread that follows a counted program waits for all children of rfprof, and may have been
 * first; so it is ended by what cannot mean another process.  False: how it ended is not known. */
static bool end(struct confined *child, siginfo_t *how)
{
	if (child->pidfd < 0)
		return false;
	(void)syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
	*how = (siginfo_t){0};
	int result;
	do
		result = waitid(P_PIDFD, (id_t)child->pidfd, how, WEXITED | __WALL);
	while (result < 0 && errno == EINTR);
	close(child->pidfd);
	child->pidfd = -1;
	/* a defect of rfprof's, which would look like a file that cannot be read */
	rf_assert_dear(result != 0 || how->si_code != CLD_EXITED ||
		       how->si_status != SANITIZER_STATUS);
	return result == 0;
}

void confined_destroy(struct confined *child)
{
	siginfo_t how;
	if (!child)
		return;
	(void)end(child, &how);
	if (child->fd >= 0)
		close(child->fd);
	free(child->record);
	free(child);
}

/* ---- the answer ---- */

/* Waits for more, until the deadline. */
static bool fill(struct confined *child)
{
	child->is_broken |= child->fd < 0;
	while (!child->is_broken) {
		const uint64_t now = clock_now_ns();
		const uint64_t left = now < child->deadline ? child->deadline - now : 0;
		struct pollfd pipe = {.fd = child->fd, .events = POLLIN};
		const int ready = poll(&pipe, 1, (int)(left / 1000000));
		if (ready < 0 && errno == EINTR)
			continue;
		child->is_late = ready == 0;
		const ssize_t n =
			ready > 0 ? read(child->fd, child->buffer, sizeof(child->buffer)) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		child->at = 0;
		child->n = n > 0 ? (size_t)n : 0;
		child->n_taken += child->n;
		child->is_broken = n <= 0 || child->n_taken > MAX_ANSWER;
		break;
	}
	return !child->is_broken;
}

static void record(struct confined *child, size_t n)
{
	const size_t room = child->n_record + n;
	while (child->cap_record < room && !child->record_failed)
		child->record_failed =
			!rf_array_reserve((void **)&child->record, child->cap_record,
					  &child->cap_record, sizeof(*child->record));
	if (child->record_failed)
		return;
	memcpy(child->record + child->n_record, child->bytes + child->at, n);
	child->n_record += n;
}

static bool take(struct confined *child, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		if (child->is_broken || child->is_whole || (child->at == child->n && !fill(child)))
			return false;
		const size_t there = child->n - child->at, wanted = size - done;
		const size_t n = there < wanted ? there : wanted;
		memcpy((char *)to + done, child->bytes + child->at, n);
		if (child->is_recorded)
			record(child, n);
		child->at += n;
		done += n;
	}
	return true;
}

uint8_t confined_next(struct confined *child)
{
	uint8_t tag;
	if (!take(child, &tag, 1))
		return 0;
	child->is_whole = tag == CONFINED_END;
	return tag;
}

uint64_t confined_number(struct confined *child)
{
	uint64_t number;
	return take(child, &number, sizeof(number)) ? number : 0;
}

bool confined_bytes(struct confined *child, void *to, size_t size)
{
	return take(child, to, size);
}

char *confined_text(struct confined *child)
{
	const uint64_t length = confined_number(child);
	child->is_broken |= length > CONFINED_MAX_TEXT;
	char *text = child->is_broken ? NULL : malloc(length + 1);
	child->is_broken |= !text; /* what follows would be read as other than it is */
	if (!text || !take(child, text, length)) {
		free(text);
		return NULL;
	}
	text[length] = '\0';
	return text;
}

void confined_record(struct confined *child)
{
	child->is_recorded = true;
	child->n_record = 0;
}

bool confined_recorded(const struct confined *child, const void **bytes, size_t *size)
{
	*bytes = child->record;
	*size = child->n_record;
	return child->is_recorded && !child->record_failed;
}

const char *confined_failure(struct confined *child)
{
	siginfo_t how;
	if (child->is_whole)
		return NULL;
	const bool late = child->is_late, known = !late && end(child, &how);
	if (late || (known && how.si_code != CLD_EXITED && how.si_status == SIGXCPU))
		snprintf(child->failure, sizeof(child->failure), "its reader took longer than %u s",
			 child->seconds);
	else if (known && how.si_code != CLD_EXITED)
		snprintf(child->failure, sizeof(child->failure),
			 "its reader ended by signal %d (%s)", how.si_status,
			 strsignal(how.si_status));
	else
		snprintf(child->failure, sizeof(child->failure), "its reader failed");
	return child->failure;
}
