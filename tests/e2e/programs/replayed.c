/* Loops for --replay, each of which takes some 0.1 s: a chain of sixteen additions, which is sixteen
 * cycles a turn in any run of it; one that calls; one that uses data of its thread. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static __thread volatile uint64_t of_thread;

__attribute__((noinline)) uint64_t additions(uint64_t n)
{
	uint64_t sum = 1, other = 3;
	__asm__("1:\n\t.rept 16\n\tadd %[other], %[sum]\n\t.endr\n\tdec %[n]\n\tjnz 1b"
		: [sum] "+r"(sum), [n] "+r"(n)
		: [other] "r"(other)
		: "cc");
	return sum;
}

__attribute__((noinline)) static uint64_t called(uint64_t x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3 + 1;
}

__attribute__((noinline)) uint64_t calls(uint64_t n)
{
	uint64_t x = 1;
	for (uint64_t i = 0; i < n; i++) {
		x = called(x);
		/* so long that samples fall here on any processor */
		__asm__ volatile("imul $3, %0, %0; imul $5, %0, %0; imul $7, %0, %0; imul $9, %0, %0" : "+r"(x));
	}
	return x;
}

__attribute__((noinline)) uint64_t uses_thread(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		of_thread += i;
	return of_thread;
}

int main(int argc, char **argv)
{
	const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 30000000;
	const uint64_t a = additions(n), b = calls(n * 2), c = uses_thread(n * 4);
	printf("%llx %llx %llx\n", (unsigned long long)a, (unsigned long long)b,
	       (unsigned long long)c);
	return 0;
}
