/* Kernels of known work under disturbance: asynchronous signals by the ten thousand, threads by the
 * thousand.  Arguments: signals, threads; rounds, as many whatever signals come, and not until so many have come. */
#include "../targets/truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <unistd.h>

/* rdi iterations: a multiplication and an addition of doubles each, in two blocks. */
KERNEL(disturbed,
       mov eax, 0; cvtsi2sd xmm0, eax; movapd xmm1, xmm0;
       1: mulsd xmm0, xmm1; test dil, 1; jz 2f; addsd xmm1, xmm0;
       2: dec rdi; jnz 1b; ret);
void disturbed(uint64_t n);

/* rdi elements of an array at rsi, from the last one on: all accesses to memory that lines can have. */
KERNEL(scanned, xorps xmm0, xmm0; 1: addsd xmm0, [rsi + rdi*8 - 8]; movsd [rsi + rdi*8 - 8], xmm0; dec rdi; jnz 1b; ret);
void scanned(uint64_t n, double *array);

KERNEL(threaded, mov eax, 0; cvtsi2sd xmm0, eax; 1: addsd xmm0, xmm0; dec rdi; jnz 1b; ret);
void threaded(uint64_t n);

enum { ELEMENTS = 20000 };

static volatile sig_atomic_t caught;

static void handler(int number)
{
	(void)number;
	caught++;
}

static void *thread(void *unused)
{
	(void)unused;
	threaded(100);
	return NULL;
}

static void truth_of(const char *kernel, const char *kind, uint64_t flop)
{
	printf("truth kernel=%s flop=%" PRIu64 " %s=%" PRIu64 "\n", kernel, flop, kind, flop);
}

int main(int argc, char **argv)
{
	const int signals = argc > 1 ? atoi(argv[1]) : 1000, threads = argc > 2 ? atoi(argv[2]) : 100;
	const struct itimerval fast = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
	const uint64_t wanted = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	double *array = doubles(ELEMENTS, 0);
	uint64_t rounds = 0;

	signal(SIGALRM, handler);
	signal(SIGUSR1, handler);
	setitimer(ITIMER_REAL, &fast, NULL);
	while (wanted ? rounds < wanted : caught < signals) {
		disturbed(10000);
		scanned(ELEMENTS, array);
		kill(getpid(), SIGUSR1);
		rounds++;
	}
	setitimer(ITIMER_REAL, &off, NULL);
	for (int i = 0; i < threads; i++) {
		pthread_t id;

		if (pthread_create(&id, NULL, thread, NULL) || pthread_join(id, NULL))
			return 1;
	}
	truth_of("disturbed", "dp_scalar", rounds * 15000);
	truth_of("scanned", "dp_scalar", rounds * ELEMENTS);
	truth_of("threaded", "dp_scalar", 100ull * threads);
	free(array);
	return 0;
}
