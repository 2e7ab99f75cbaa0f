/* Spends some 70 % of its CPU time in code that rfprof counts and 30 % in code that it cannot count, and prints the
 * second share, in per cent, as its own clocks have it: as much work takes more or less time when others use the
 * machine.
 *
 *   native_share thread    in a thread that has set its GS segment
 *   native_share process   in a child in seccomp's strict mode
 *   native_share module FILE   in code in a shared mapping of FILE, which is made
 *   native_share exec PROGRAM  in a child that executes PROGRAM with the milliseconds to spend
 *
 * The first two run the same function in both parts. */
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNTED_S 0.7
#define CHUNK 400000u

/* Refers to nothing outside of itself, so that its bytes run anywhere. */
__attribute__((noinline, noclone)) static uint64_t work(uint64_t n)
{
	uint64_t sum = n;
	for (uint64_t i = 0; i < n; i++) {
		sum = sum * 3 + i;
		__asm__ volatile("" : "+r"(sum));
	}
	return sum;
}
__attribute__((noinline, noclone)) static void work_end(void) { __asm__ volatile("nop"); }

static volatile uint64_t sink;
static uint64_t native_n;

static double cpu_s(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *in_thread(void *unused)
{
	static uint64_t block[8];
	syscall(SYS_arch_prctl, ARCH_SET_GS, block);
	sink = work(native_n);
	return unused;
}

static void thread(void)
{
	pthread_t id;
	if (pthread_create(&id, NULL, in_thread, NULL) == 0)
		pthread_join(id, NULL);
}

static void process(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		sink = work(native_n);
		syscall(SYS_exit, 0);
	}
	waitpid(pid, NULL, 0);
}

static void module(const char *path)
{
	size_t size = (size_t)((char *)work_end - (char *)work);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (size > 4096 || fd < 0 || write(fd, (void *)work, size) != (ssize_t)size)
		exit(3);
	uint64_t (*copy)(uint64_t) = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if ((void *)copy == MAP_FAILED)
		exit(3);
	sink = copy(native_n);
}

static void execute(const char *program, double seconds)
{
	char ms[32];
	snprintf(ms, sizeof(ms), "%.0f", seconds * 1e3);
	pid_t pid = vfork();
	if (pid == 0) {
		execl(program, program, ms, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static double all_s(void)
{
	struct rusage children;
	getrusage(RUSAGE_CHILDREN, &children);
	return cpu_s(CLOCK_PROCESS_CPUTIME_ID) +
	       (double)(children.ru_utime.tv_sec + children.ru_stime.tv_sec) +
	       (double)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1e-6;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "", *file = argc > 2 ? argv[2] : "";
	uint64_t n = 0;
	while (cpu_s(CLOCK_PROCESS_CPUTIME_ID) < COUNTED_S) {
		sink = work(CHUNK);
		n += CHUNK;
	}
	const double counted = all_s();
	native_n = n * 3 / 7;
	if (strcmp(kind, "thread") == 0)
		thread();
	else if (strcmp(kind, "process") == 0)
		process();
	else if (strcmp(kind, "module") == 0)
		module(file);
	else if (strcmp(kind, "exec") == 0)
		execute(file, COUNTED_S * 3 / 7);
	else
		return 2;
	printf("%.3f\n", 100 * (1 - counted / all_s()));
	return 0;
}
