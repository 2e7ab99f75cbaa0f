/* A program of phases that know their work: phase_a multiplies FLOP_A times, phase_b FLOP_B times, for each
 * of its arguments in turn: "a", "b", "r" (phase_b called by way of itself, three deep), "j" (phase_b
 * reached by a jump), "s" (sleeps 0.1 s), "w" (waits until a second thread has run phase_a), "c" (phase_b in a
 * child), "l" (phase_b left by longjmp), "o" (writes a line), "i" (writes a line, and phase_a, for ever).  A number behind a letter repeats it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SCALE
#define SCALE 1
#endif
#define FLOP_A (10000000ul * SCALE)
#define FLOP_B (20000000ul * SCALE)

static jmp_buf away;

/* `n` scalar multiplications, in a loop of one block. */
#define MULTIPLY(n)                                             \
	do {                                                    \
		double x = 1;                                   \
		uint64_t left = (n);                            \
		__asm__ volatile("1: mulsd %0, %0\n\t"          \
				 "dec %1\n\t"                    \
				 "jnz 1b"                        \
				 : "+x"(x), "+r"(left)::"cc");  \
	} while (0)

__attribute__((noinline)) void phase_a(void)
{
	MULTIPLY(FLOP_A);
}

__attribute__((noinline)) void inner(void)
{
	MULTIPLY(FLOP_B / 2);
}

__attribute__((noinline)) void phase_b(int depth, int leaves)
{
	if (depth)
		phase_b(depth - 1, leaves);
	MULTIPLY(FLOP_B / 2);
	inner();
	if (leaves)
		longjmp(away, 1);
	__asm__ volatile("");
}

__attribute__((noinline)) void done(void)
{
	__asm__ volatile("");
}

/* The compiler makes a jump of this call. */
__attribute__((noinline)) void jumps(int depth, int leaves)
{
	phase_b(depth, leaves);
}

static void *second(void *unused)
{
	phase_a();
	return unused;
}

static void run(char what)
{
	pthread_t thread;
	switch (what) {
	case 'a':
		phase_a();
		break;
	case 'b':
		phase_b(0, 0);
		break;
	case 'r':
		phase_b(2, 0);
		break;
	case 'j':
		jumps(0, 0);
		break;
	case 's':
		usleep(100000);
		break;
	case 'd':
		done();
		break;
	case 'o':
		puts("a line");
		fflush(stdout);
		break;
	case 'i':
		for (;;) {
			write(1, "a line\n", 7);
			phase_a();
		}
	case 'l':
		if (!setjmp(away))
			phase_b(0, 1);
		break;
	case 'w':
		pthread_create(&thread, NULL, second, NULL);
		pthread_join(thread, NULL);
		break;
	case 'c':
		fflush(stdout);
		if (fork() == 0) {
			phase_b(0, 0);
			_exit(0);
		}
		wait(NULL);
		break;
	}
}

int main(int n, char **words)
{
	for (int i = 1; i < n; i++)
		for (int k = words[i][1] ? atoi(words[i] + 1) : 1; k > 0; k--)
			run(words[i][0]);
	printf("flop a %lu b %lu\n", FLOP_A, FLOP_B);
	return 3;
}
