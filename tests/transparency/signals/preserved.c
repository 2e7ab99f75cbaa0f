/* A timer's handler destroys all that it may; the work that it interrupts sees nothing of it.
 * @cases vector redzone x87 string
 */
#include "../own.h"

#include <sys/time.h>

static volatile int ticks, wrong;

static void on_tick(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0; movdqa %%xmm0, %%xmm1; movdqa %%xmm0, %%xmm7; movdqa %%xmm0, %%xmm15\n\t"
			 "fninit; fldpi; fldpi; std; cld; mov %0, -8(%%rsp); mov %0, -128(%%rsp)"
			 : : "r"(-1L) : "xmm0", "xmm1", "xmm7", "xmm15", "memory");
	ticks++;
}

extern long red_zone_sum(long n);
__asm__("red_zone_sum: movq $0, -8(%rsp); movq $0, -128(%rsp)\n"
	"1: addq $1, -8(%rsp); addq $2, -128(%rsp); dec %rdi; jnz 1b\n\t"
	"mov -8(%rsp), %rax; add -128(%rsp), %rax; ret");

static void vectors(void)
{
	uint64_t sums[2];

	__asm__ volatile("pxor %%xmm7, %%xmm7; pxor %%xmm15, %%xmm15; pcmpeqd %%xmm0, %%xmm0; mov $3000, %%ecx\n"
			 "1: psubq %%xmm0, %%xmm7; psubq %%xmm0, %%xmm15; dec %%ecx; jnz 1b\n\t"
			 "movq %%xmm7, (%0); movhps %%xmm15, 8(%0)"
			 : : "r"(sums) : "xmm0", "xmm7", "xmm15", "rcx", "memory", "cc");
	wrong += sums[0] != 3000 || sums[1] != 3000;
}

static void x87(void)
{
	long double x = 0;

	for (int i = 1; i <= 3000; i++)
		x = x + (long double)i * 0.5L;
	wrong += x != 3000 * 3001 / 4.0L;
}

static void string(void)
{
	static char from[65536], to[65536];

	memset(from, ticks & 127, sizeof(from));
	void *a = from, *b = to;
	long n = sizeof(from);

	__asm__ volatile("rep movsb" : "+S"(a), "+D"(b), "+c"(n) : : "memory");
	wrong += n != 0 || memcmp(from, to, sizeof(from));
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	const struct itimerval every = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };

	handle(SIGALRM, on_tick, 0);
	setitimer(ITIMER_REAL, &every, NULL);
	while (ticks < 300)
		if (!strcmp(how, "vector"))
			vectors();
		else if (!strcmp(how, "redzone"))
			wrong += red_zone_sum(3000) != 9000;
		else if (!strcmp(how, "x87"))
			x87();
		else
			string();
	setitimer(ITIMER_REAL, &never, NULL);
	printf("wrong %d\n", wrong);
	return done();
}
