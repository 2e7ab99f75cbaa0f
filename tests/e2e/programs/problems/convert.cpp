// Converts pictures, each in a process of its own.  Its problem: it starts the next one only when the last one has ended,
// so that it waits for its children all the time, and one processor has nothing to do.
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static const int pictures = 16;

static int convert(int number)
{
	std::vector<double> pixels(4096, number);

	for (int round = 0; round < 20000; round++)
		for (double &pixel : pixels)
			pixel = pixel * 0.75 + round;
	return pixels[7] > 0 ? 0 : 1;
}

static int run_tool(int number)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		_exit(convert(number));
	waitpid(child, &status, 0);
	return status;
}

int main()
{
	int failed = 0;

	for (int i = 0; i < pictures; i++)
		failed += run_tool(i) != 0;
	std::printf("%d failed\n", failed);
	return failed;
}
