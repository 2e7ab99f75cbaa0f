/* String instructions that signals interrupt: what each part of them has done counts once. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

enum { N = 1 << 20, REPEATS = 24 };

static volatile sig_atomic_t signals;

static void on_alarm(int number)
{
	(void)number;
	signals++;
}

static __attribute__((noinline, noclone)) void move(char *to, char *from)
{
	long n = N;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

int main(void)
{
	const struct itimerval often = {{0, 50}, {0, 50}};
	char *a = aligned_alloc(64, N), *b = aligned_alloc(64, N), *c = aligned_alloc(64, N), s = 0;
	for (long i = 0; i < N; i++)
		a[i] = b[i] = c[i] = (char)i;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < REPEATS; i++)
		move(a, b + i % 2); /* sometimes byte by byte */
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	for (long i = 0; i < N; i += 64)
		s += c[i];
	printf("move %.0f %.0f\n", 2.0 * REPEATS * N + 0 * s, 1.0 * REPEATS * N);
	return 0;
}
