/* The kernel's newer and rarer interfaces.
 * @cases epoll eventfd timerfd uring membarrier mincore mlock personality vdso rseq random vsyscall
 * @partly vsyscall: vsyscall */
#include "../own.h"

#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

static void epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 42 };
	int pipes[2], fd = epoll_create1(0);

	MUST(pipe(pipes) == 0 && epoll_ctl(fd, EPOLL_CTL_ADD, pipes[0], &event) == 0);
	CHECK(epoll_wait(fd, &event, 1, 3) == 0);
	CHECK(write(pipes[1], "x", 1) == 1);
	event.data.u64 = 0;
	CHECK(epoll_wait(fd, &event, 1, 1000) == 1 && event.data.u64 == 42);
}

static void eventfds(void)
{
	uint64_t value = 5;
	int fd = eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK);

	CHECK(write(fd, &value, 8) == 8);
	for (int i = 0; i < 8; i++)
		CHECK(read(fd, &value, 8) == 8 && value == 1);
	CHECK(read(fd, &value, 8) == -1 && errno == EAGAIN);
}

static void timerfds(void)
{
	uint64_t total = 0, n;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	timerfd_settime(fd, 0, &(struct itimerspec){ { 0, 100000 }, { 0, 100000 } }, NULL);
	for (; total < 100; total += n)
		MUST(read(fd, &n, 8) == 8);
}

static void uring(void)
{
	struct io_uring_params parameters = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, &parameters);

	if (fd < 0)
		skip("no io_uring");
	char *ring = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entries = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);

	MUST(ring != MAP_FAILED && entries != MAP_FAILED && parameters.features & IORING_FEAT_SINGLE_MMAP);
	for (unsigned i = 0; i < 20; i++) {
		unsigned *tail = (unsigned *)(ring + parameters.sq_off.tail), at = *tail & 3;

		entries[at] = (struct io_uring_sqe){ .opcode = IORING_OP_NOP, .user_data = i };
		((unsigned *)(ring + parameters.sq_off.array))[at] = at;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		CHECK(syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
		unsigned *head = (unsigned *)(ring + parameters.cq_off.head);
		struct io_uring_cqe *seen = (struct io_uring_cqe *)(ring + parameters.cq_off.cqes);

		CHECK(seen[*head & (parameters.cq_entries - 1)].user_data == i);
		__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	}
}

static void memory(const char *how)
{
	unsigned char resident[4] = { 0 };
	char *four = pages(4 * PAGE, PROT_READ | PROT_WRITE);

	four[PAGE] = 1;
	CHECK(mincore(four, 4 * PAGE, resident) == 0);
	printf("%d%d%d%d\n", resident[0] & 1, resident[1] & 1, resident[2] & 1, resident[3] & 1);
	if (!strcmp(how, "mlock"))
		printf("%d %d\n", mlock(four, 4 * PAGE), mlockall(MCL_FUTURE) + munlockall());
}

static void vsyscall(void)
{
	time_t now = ((time_t (*)(time_t *))0xffffffffff600400)(NULL), after = time(NULL);

	CHECK(now <= after + 1 && now >= after - 2);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	char bytes[32] = "";
	struct timespec a, b;

	if (!strcmp(how, "epoll"))
		epoll();
	else if (!strcmp(how, "eventfd"))
		eventfds();
	else if (!strcmp(how, "timerfd"))
		timerfds();
	else if (!strcmp(how, "uring"))
		uring();
	else if (!strcmp(how, "membarrier"))
		CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
		      syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0);
	else if (!strcmp(how, "mincore") || !strcmp(how, "mlock"))
		memory(how);
	else if (!strcmp(how, "personality"))
		printf("%x\n", personality(0xffffffff));
	else if (!strcmp(how, "rseq"))	/* registered or refused; the program works */
		CHECK(syscall(SYS_rseq, NULL, 0, 0, 0) == -1);
	else if (!strcmp(how, "random"))
		CHECK(getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes) && memcmp(bytes, bytes + 16, 16));
	else if (!strcmp(how, "vsyscall"))
		vsyscall();
	else
		for (int i = 0; i < 1000; i++) {
			clock_gettime(i % 2 ? CLOCK_MONOTONIC : CLOCK_BOOTTIME, &a);
			clock_gettime(i % 2 ? CLOCK_MONOTONIC : CLOCK_BOOTTIME, &b);
			CHECK(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
		}
	return done();
}
