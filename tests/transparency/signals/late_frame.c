/* A signal's frame on a page that another thread supplies, which starts a thread and a process first:
 * the delivery takes as long as both, so nobody may wait for it alone.
 */
#include "../own.h"

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>

static char *stack;
static int faults;
static volatile sig_atomic_t seen;
static char page[PAGE];

static void *nothing(void *argument)
{
	return argument;
}

static void *supply(void *unused)
{
	struct uffd_msg message;
	pthread_t thread;

	while (read(faults, &message, sizeof(message)) == sizeof(message)) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(3);
		CHECK(ended(pid) == 3);
		MUST(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
		struct uffdio_copy copy = { .dst = message.arg.pagefault.address & -(uint64_t)PAGE,
					    .src = (uintptr_t)page, .len = PAGE };

		MUST(ioctl(faults, UFFDIO_COPY, &copy) == 0);
	}
	return unused;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	seen += work(100) == 2 && info->si_signo == number && context;
}

int main(void)
{
	const size_t size = 16 * PAGE;
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t thread;

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0)
		skip("no userfaultfd here");
	stack = pages(size, PROT_READ | PROT_WRITE);
	struct uffdio_register range = { .range = { (uintptr_t)stack, size }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	stack_t alternate = { .ss_sp = stack, .ss_size = size };

	MUST(ioctl(faults, UFFDIO_REGISTER, &range) == 0);
	MUST(sigaltstack(&alternate, NULL) == 0);
	handle(SIGUSR1, on_signal, SA_ONSTACK);
	MUST(pthread_create(&thread, NULL, supply, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(raise(SIGUSR1) == 0);
		work(1000);
	}
	CHECK(seen == 3);
	return done();
}
