/* Sums what another process measures.  Its problem: it waits for the other end of the pipe, which delivers slowly. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES = 50 };

static void sensor(int output)
{
	for (int i = 0; i < SAMPLES; i++) {
		usleep(10000);
		if (write(output, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
	_exit(0);
}

static double smooth(double value, int sample)
{
	for (int i = 0; i < 100000; i++)
		value += (sample - value) * 1e-5;
	return value;
}

int main(void)
{
	int ends[2], sample;
	double value = 0;

	if (pipe(ends))
		return 1;
	if (fork() == 0) {
		close(ends[0]);
		sensor(ends[1]);
	}
	close(ends[1]);
	while (read(ends[0], &sample, sizeof(sample)) == sizeof(sample))
		value = smooth(value, sample);
	wait(NULL);
	printf("%g\n", value);
	return 0;
}
