/* Spends the milliseconds of CPU time that it is told to.  Needs no library, so that it builds as a 32-bit
 * program (-m32 -nostdlib -static) where there is none. */

struct time { long seconds, nanoseconds; };

static long call(long number, long a, long b)
{
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b) : "memory");
	return result;
}

static long spent_ms(void)
{
	struct time now;
	call(265 /* clock_gettime */, 2 /* CLOCK_PROCESS_CPUTIME_ID */, (long)&now);
	return now.seconds * 1000 + now.nanoseconds / 1000000;
}

__attribute__((noinline)) static void spend(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__asm__ volatile("");
}

__attribute__((used)) static void run(long *stack)
{
	const char *digits = (const char *)stack[2];
	long limit = 0;
	for (; *digits >= '0' && *digits <= '9'; digits++)
		limit = limit * 10 + *digits - '0';
	while (spent_ms() < limit)
		spend(3000000);
	call(1 /* exit */, 0, 0);
}

__asm__(".globl _start\n_start: mov %esp, %eax\n push %eax\n call run\n");
