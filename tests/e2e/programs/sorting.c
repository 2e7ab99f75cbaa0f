/* Sorts and searches, for instruction counts: own code only, no libc inside (see interpreter.c). */
#include <stdint.h>
#include <stdio.h>

#define KEPT __attribute__((noinline, noclone)) static

enum { N = 60000 };

static uint32_t numbers[N], room[N], table[1 << 17];

KEPT uint32_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

KEPT void quick_sort(uint32_t *x, long n)
{
	while (n > 1) {
		uint32_t pivot = x[n / 2];
		long i = 0, j = n - 1;

		while (i <= j) {
			while (x[i] < pivot)
				i++;
			while (x[j] > pivot)
				j--;
			if (i <= j) {
				uint32_t swapped = x[i];

				x[i++] = x[j];
				x[j--] = swapped;
			}
		}
		quick_sort(x, j + 1);
		x += i;
		n -= i;
	}
}

KEPT void merge(const uint32_t *a, long n, const uint32_t *b, long m, uint32_t *to)
{
	while (n > 0 && m > 0)
		if (*a <= *b)
			*to++ = *a++, n--;
		else
			*to++ = *b++, m--;
	for (; n > 0; n--)
		*to++ = *a++;
	for (; m > 0; m--)
		*to++ = *b++;
}

KEPT void merge_sort(uint32_t *x, long n, uint32_t *to)
{
	if (n < 2)
		return;
	merge_sort(x, n / 2, to);
	merge_sort(x + n / 2, n - n / 2, to);
	merge(x, n / 2, x + n / 2, n - n / 2, to);
	for (long i = 0; i < n; i++)
		__atomic_store_n(&x[i], to[i], __ATOMIC_RELAXED);
}

KEPT int insert(uint32_t value)
{
	uint32_t at = value * 2654435761u >> 15;

	while (table[at & 0x1ffff] && table[at & 0x1ffff] != value + 1)
		at++;
	int fresh = !table[at & 0x1ffff];

	table[at & 0x1ffff] = value + 1;
	return fresh;
}

KEPT uint64_t checksum(const uint32_t *x)
{
	uint64_t sum = 0;

	for (long i = 0; i < N; i++)
		sum = sum * 31 + x[i];
	return sum;
}

int main(void)
{
	uint64_t state = 1;
	int fresh = 0;

	for (long i = 0; i < N; i++)
		numbers[i] = next_random(&state) % 100000;
	for (long i = 0; i < N; i++)
		fresh += insert(numbers[i]);
	merge_sort(numbers, N, room);
	uint64_t merged = checksum(numbers);

	for (long i = 0; i < N; i++)
		numbers[i] = next_random(&state);
	quick_sort(numbers, N);
	printf("%d %016llx %016llx\n", fresh, (unsigned long long)merged, (unsigned long long)checksum(numbers));
	return 0;
}
