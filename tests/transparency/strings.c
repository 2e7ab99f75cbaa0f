/* Long string instructions that signals interrupt: each goes on where it was, which is in its middle.  Arguments: how many
 * of each kind; bytes of each.  What is compared differs in the last byte.  A return loads 8 bytes. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define KERNEL __attribute__((noinline, noclone))

static volatile sig_atomic_t caught;

static void handler(int number)
{
	(void)number;
	caught++;
}

KERNEL void filled(char *to, size_t n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(1) : "memory");
}

KERNEL void copied(char *to, const char *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

KERNEL int compared(const char *a, const char *b, size_t n)
{
	__asm__ volatile("repe cmpsb" : "+D"(a), "+S"(b), "+c"(n) : : "memory", "cc");
	return (int)n;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 4;
	const size_t bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : (size_t)64 << 20;
	const struct itimerval fast = {{0, 700}, {0, 700}}, off = {{0, 0}, {0, 0}};
	char *a = malloc(2 * bytes), *b = a + bytes;
	if (!a)
		return 1;
	memset(a, 1, 2 * bytes);
	b[bytes - 1] = 2;
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &fast, NULL);
	for (int i = 0; i < rounds; i++) {
		filled(a, bytes);
		if (compared(a, b, bytes) != 0)
			return 2;
		copied(a, b, bytes);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	printf("%d signals\n", (int)caught);
	const uint64_t all = (uint64_t)rounds * bytes, returns = 8 * (uint64_t)rounds;
	printf("truth kernel=filled load_bytes=%" PRIu64 " store_bytes=%" PRIu64 "\n", returns, all);
	printf("truth kernel=compared load_bytes=%" PRIu64 " store_bytes=0\n", 2 * all + returns);
	printf("truth kernel=copied load_bytes=%" PRIu64 " store_bytes=%" PRIu64 "\n", all + returns, all);
	free(a);
	return 0;
}
