/* Functions with working sets of known sizes, between which the last cache's capacity decides. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE = 64 };

static char small[300 << 10], middle[1200 << 10], large[2500 << 10];

__attribute__((noinline, noclone)) static uint64_t read_lines(const char *data, size_t size, int times)
{
	uint64_t sum = 0;
	for (int i = 0; i < times; i++)
		for (size_t at = 0; at < size; at += LINE)
			sum += *(volatile const uint64_t *)(data + at);
	return sum;
}

__attribute__((noinline, noclone)) static void change_lines(char *data, size_t size, int times)
{
	for (int i = 0; i < times; i++)
		for (size_t at = 0; at < size; at += LINE)
			++*(volatile uint64_t *)(data + at);
}

__attribute__((noinline, noclone)) static uint64_t read_anywhere(const char *data, size_t size, int n)
{
	uint64_t place = 1, sum = 0;
	for (int i = 0; i < n; i++) {
		place = place * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
		sum += *(volatile const uint64_t *)(data + (place >> 33) % (size / LINE) * LINE);
	}
	return sum;
}

int main(void)
{
	uint64_t sum = read_lines(small, sizeof(small), 60);
	change_lines(middle, sizeof(middle), 20);
	sum += read_anywhere(large, sizeof(large), 600000);
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
