/* The preloaded library's way in, and the functions that it wraps.
 *
 * Wrapped are only: pthread_create (each thread needs its timer), sigprocmask and pthread_sigmask
 * (a thread that blocks all signals would go unseen; ours stays open), sigaction and signal (the
 * program may use our signal as well: then the handler passes its signals on), and the exec family
 * (shim_exec.c).  Without RFPROF_TIMER in the environment every wrapper only calls the original. */
#include "preload/shim.h"

#include "preload/shim_exec.h"
#include "preload/shim_maps.h"
#include "preload/shim_syscall.h"
#include "preload/shim_timer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "preload/shim_rules.h"

struct shim_process shim_process;

static bool is_ours(int signal_number)
{
	return shim_process.header && signal_number == (int)shim_process.header->signal;
}

/* --- threads --- */

/* What a new thread is to run.  From a fixed pool: pthread_create may be called by a malloc. */
struct start {
	uint32_t used;
	uint32_t parent_pid, parent_tid;
	void *(*routine)(void *);
	void *argument;
};
static struct start starts[256];

static struct start *start_claim(void)
{
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!__atomic_exchange_n(&starts[i].used, 1, __ATOMIC_ACQUIRE))
			return &starts[i];
	return NULL;
}

static void start_release(struct start *start)
{
	__atomic_store_n(&start->used, 0, __ATOMIC_RELEASE);
}

static void end_thread(void *unused)
{
	shim_thread_end();
}

/* Also left by pthread_exit and by cancellation. */
static void *run_thread(void *opaque)
{
	struct start start = *(struct start *)opaque;
	void *result;
	start_release(opaque);
	shim_thread_begin(start.parent_pid, start.parent_tid);
	pthread_cleanup_push(end_thread, NULL);
	result = start.routine(start.argument);
	pthread_cleanup_pop(1);
	return result;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*routine)(void *), void *argument)
{
	__typeof__(&pthread_create) original = ORIGINAL(pthread_create);
	struct start *start = shim_process.header ? start_claim() : NULL;
	if (!start)
		return original(thread, attributes, routine, argument);
	start->parent_pid = (uint32_t)shim_syscall(SYS_getpid, 0, 0, 0, 0);
	start->parent_tid = (uint32_t)shim_syscall(SYS_gettid, 0, 0, 0, 0);
	start->routine = routine;
	start->argument = argument;
	int errnum = original(thread, attributes, run_thread, start);
	if (errnum)
		start_release(start);
	return errnum;
}

static uint32_t forking_pid, forking_tid;

static void before_fork(void)
{
	forking_pid = (uint32_t)shim_syscall(SYS_getpid, 0, 0, 0, 0);
	forking_tid = (uint32_t)shim_syscall(SYS_gettid, 0, 0, 0, 0);
}

/* Timers are not inherited (timer_create(2)); the mapping of the shared file is. */
static void after_fork(void)
{
	uint32_t pid = forking_pid, tid = forking_tid;
	shim_self = NULL;
	shim_maps_forked();
	shim_thread_begin(pid, tid);
}

/* --- signals --- */

/* `set` without our signal. */
static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy)
{
	if (!set || !shim_process.header)
		return set;
	*copy = *set;
	sigdelset(copy, (int)shim_process.header->signal);
	return copy;
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	sigset_t copy;
	return ORIGINAL(sigprocmask)(how, without_ours(set, &copy), old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	sigset_t copy;
	return ORIGINAL(pthread_sigmask)(how, without_ours(set, &copy), old);
}

EXPORT int sigaction(int signal_number, const struct sigaction *restrict action,
		     struct sigaction *restrict old)
{
	if (!is_ours(signal_number))
		return ORIGINAL(sigaction)(signal_number, action, old);
	struct sigaction before = shim_process.user_action;
	if (action)
		shim_process.user_action = *action;
	if (old)
		*old = before;
	return 0;
}

EXPORT sighandler_t signal(int signal_number, sighandler_t handler)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
	if (!is_ours(signal_number))
		return ORIGINAL(signal)(signal_number, handler);
	sigaction(signal_number, &action, &old);
	return old.sa_handler;
}

/* --- start --- */

static struct shim_header *map_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	struct shim_header *header =
		mmap(NULL, SHIM_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (header == MAP_FAILED)
		return NULL;
	madvise(header, SHIM_FILE_SIZE, MADV_DONTDUMP);
	if (header->version == SHIM_PROTOCOL_VERSION)
		return header;
	munmap(header, SHIM_FILE_SIZE);
	return NULL;
}

/* All signals wait while the handler runs: a handler of the program that leaves by longjmp must not
 * leave ours with it. */
static bool install_handler(int signal_number)
{
	struct sigaction action = {.sa_sigaction = shim_handler,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	sigfillset(&action.sa_mask);
	return ORIGINAL(sigaction)(signal_number, &action, &shim_process.user_action) == 0;
}

__attribute__((constructor)) static void start_shim(void)
{
	int errnum = errno;
	const char *path = shim_environment_take();
	struct shim_header *header = path ? map_file(path) : NULL;
	if (header && install_handler((int)header->signal)) {
		shim_process.header = header;
		pthread_atfork(before_fork, NULL, after_fork);
		shim_thread_begin(0, 0);
	}
	errno = errnum;
}
