/* Mappings of this very process, as the kernel tells of them. */
#include "base/clock.h"
#include "tracer/calls/mapping_watch.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void *map(int fd, int protection)
{
	void *memory = mmap(NULL, 4096, protection, MAP_PRIVATE, fd, 0);
	cr_assert(memory != MAP_FAILED);
	return memory;
}

Test(mapping_watch, code_of_files)
{
	struct mapping_watch *watch = mapping_watch_create(getpid());
	if (!watch)
		cr_skip("events are refused");
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	mapping_watch_read(watch);
	mapping_watch_forget(watch, clock_now_ns());
	void *const data = map(fd, PROT_READ);
	cr_assert(!mapping_watch_read(watch));
	const uint64_t before = clock_now_ns();
	void *const code = map(fd, PROT_READ | PROT_EXEC);
	const uint64_t after = clock_now_ns();
	struct pollfd polls[64];
	const size_t n = mapping_watch_polls(watch, polls, 64);
	cr_assert(poll(polls, n, 10000) > 0);
	cr_assert(mapping_watch_read(watch));
	const uint64_t time = mapping_watch_time(watch, (uint64_t)code + 4095, 1);
	cr_assert(time >= before && time <= after);
	cr_assert_eq(mapping_watch_time(watch, (uint64_t)data, 1), 1);
	mapping_watch_forget(watch, before);
	cr_assert(mapping_watch_read(watch));
	mapping_watch_forget(watch, after);
	cr_assert(!mapping_watch_read(watch));
	cr_assert_eq(mapping_watch_time(watch, (uint64_t)code, 1), 1);
	munmap(data, 4096);
	munmap(code, 4096);
	close(fd);
	mapping_watch_destroy(watch);
}
