/* Reads and writes arrays in known ways, and prints for each function: its name, the bytes between two elements,
 * bytes of the array, and how often it goes over them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N (1 << 18) /* doubles: 2 MiB */
#define TIMES 3

static double read_from[N] __attribute__((aligned(4096))), written_to[N] __attribute__((aligned(4096)));
static double halves[2][N / 2] __attribute__((aligned(4096)));

#define READ(name, step)                                                \
	static __attribute__((noinline, noclone)) double name(const double *p)   \
	{                                                               \
		double sum = 0;                                         \
		for (int i = 0; i < N; i += (step))                     \
			sum += p[i];                                    \
		return sum;                                             \
	}
READ(read_all, 1)
READ(read_each_8th, 8)
READ(read_each_32nd, 32)
READ(read_each_128th, 128)

static __attribute__((noinline, noclone)) void write_all(double *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = i;
}

static __attribute__((noinline, noclone)) void write_each_16th(double *p)
{
	for (int i = 0; i < N; i += 16)
		p[i] = i;
}

static __attribute__((noinline, noclone)) void write_by_a_thread(double *p)
{
	for (int i = 0; i < N / 2; i++)
		p[i] = i;
}

static void *thread(void *half)
{
	write_by_a_thread(half);
	return NULL;
}

int main(void)
{
	double sum = 0;
	pthread_t threads[2];
	memset(read_from, 1, sizeof(read_from));
	for (int i = 0; i < TIMES; i++) {
		sum += read_all(read_from);
		sum += read_each_8th(read_from);
		sum += read_each_32nd(read_from);
		sum += read_each_128th(read_from);
		write_all(written_to, N);
		write_each_16th(written_to);
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread, halves[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("read_all 8 %zu %d\n", sizeof(read_from), TIMES);
	printf("read_each_8th 64 %zu %d\n", sizeof(read_from), TIMES);
	printf("read_each_32nd 256 %zu %d\n", sizeof(read_from), TIMES);
	printf("read_each_128th 1024 %zu %d\n", sizeof(read_from), TIMES);
	printf("write_all 8 %zu %d\n", sizeof(written_to), TIMES);
	printf("write_each_16th 128 %zu %d\n", sizeof(written_to), TIMES);
	printf("write_by_a_thread 8 %zu 1\n", sizeof(halves));
	return sum == 12345;
}
