/* What a program can ask about itself: names, addresses, clocks, return addresses. */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char __executable_start, etext;

static int in_own_text(const void *address)
{
	return (const char *)address >= &__executable_start && (const char *)address < &etext;
}

__attribute__((noinline)) static void return_address(void)
{
	printf("return address %s\n", in_own_text(__builtin_return_address(0)) ? "own" : "foreign");
}

__attribute__((noinline)) static void stack_trace(void)
{
	void *frames[16];
	int n = backtrace(frames, 16), own = 0;

	for (int i = 0; i < n; i++)
		own += in_own_text(frames[i]);
	printf("backtrace %d frames, %d own\n", n, own);
}

static void names(void)
{
	char path[4096] = "", *base;
	Dl_info info = { 0 };

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return;
	base = strrchr(path, '/');
	printf("exe %s, AT_EXECFN %s\n", base, strrchr((char *)getauxval(AT_EXECFN), '/'));
	if (dladdr((void *)(intptr_t)puts, &info))
		printf("dladdr %s\n", info.dli_sname);
	printf("page %ld, secure %lu\n", sysconf(_SC_PAGESIZE), getauxval(AT_SECURE));
}

static void clocks(void)
{
	struct timespec before, now;
	int backward = 0;

	clock_gettime(CLOCK_MONOTONIC, &before);
	for (int i = 0; i < 20000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		backward += now.tv_sec < before.tv_sec ||
			    (now.tv_sec == before.tv_sec && now.tv_nsec < before.tv_nsec);
		before = now;
	}
	printf("clock went back %d times\n", backward);
}

static long raw_getpid(void)
{
	long result;

	/* The kernel leaves rcx and r11 changed and everything else alone. */
	register long r12 __asm__("r12") = 0x1234;
	__asm__ volatile("syscall" : "=a"(result), "+r"(r12) : "a"(SYS_getpid) : "rcx", "r11", "memory");
	return r12 == 0x1234 ? result : -1;
}

int main(void)
{
	uintptr_t pc;

	return_address();
	stack_trace();
	names();
	clocks();
	__asm__("lea 0(%%rip), %0" : "=r"(pc));
	printf("pc %s\n", in_own_text((void *)pc) ? "own" : "foreign");
	__asm__("sub $128, %%rsp; call 1f; 1: pop %0; add $128, %%rsp" : "=r"(pc) : : "memory");
	printf("called pc %s\n", in_own_text((void *)pc) ? "own" : "foreign");
	printf("raw system call %d, pid is tid %d\n", raw_getpid() == getpid(), gettid() == getpid());
	return 0;
}
