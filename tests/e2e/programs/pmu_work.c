/* Floating-point work of two kinds and integer work, in this process, in a second thread, or in a child ("thread",
 * "child"); the flop of each function come out in the counted run. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 192, PRODUCTS = 24, SWEEPS = 1600 };

static double a[N][N], b[N][N], c[2][N][N];

__attribute__((noinline)) static void multiply(int which)
{
	for (int times = 0; times < PRODUCTS; times++)
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++) {
				double sum = 0;
				for (int k = 0; k < N; k++)
					sum += a[i][k] * b[k][j];
				c[which][i][j] += sum;
			}
}

__attribute__((noinline)) static void smooth(int which)
{
	for (int times = 0; times < SWEEPS; times++)
		for (int i = 1; i < N - 1; i++)
			for (int j = 1; j < N - 1; j++)
				c[which][i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}

__attribute__((noinline, noclone)) static unsigned scramble(unsigned n)
{
	unsigned x = 1;
	for (unsigned i = 0; i < n; i++) {
		x = x * 1664525u + i;
		x ^= x >> 7;
	}
	return x;
}

static void *work(void *which)
{
	multiply(*(const int *)which);
	smooth(*(const int *)which);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int first = 0, second = 1, status = 0;
	pthread_t thread;
	for (int i = 0; i < N * N; i++) {
		a[i / N][i % N] = i % 7;
		b[i / N][i % N] = i % 5;
	}
	if (strcmp(mode, "thread") == 0 && pthread_create(&thread, NULL, work, &second) != 0)
		return 1;
	pid_t child = strcmp(mode, "child") == 0 ? fork() : -1;
	if (child == 0) {
		work(&second);
		_exit(0);
	}
	work(&first);
	if (strcmp(mode, "thread") == 0)
		pthread_join(thread, NULL);
	if (child > 0)
		waitpid(child, &status, 0);
	printf("%g %u\n", c[0][3][4], scramble(30000000));
	return status;
}
