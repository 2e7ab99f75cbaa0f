/* Pipes: a pipeline of processes, a reader that goes away, a full pipe that does not block.
 * @cases pipeline killed error full
 * @status killed: SIGPIPE */
#include "../own.h"

static pid_t stage(int from, int to, int add)
{
	unsigned char byte;
	pid_t pid = fork();

	if (pid)
		return pid;
	for (int fd = 3; fd < 20; fd++)
		if (fd != from && fd != to)
			close(fd);
	while (read(from, &byte, 1) == 1) {
		byte = (unsigned char)(byte + add);
		if (write(to, &byte, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static void pipeline(void)
{
	int a[2], b[2], c[2], sum = 0;
	unsigned char byte;

	MUST(pipe(a) == 0 && pipe(b) == 0 && pipe(c) == 0);
	pid_t one = stage(a[0], b[1], 1), two = stage(b[0], c[1], 10);

	close(a[0]);
	close(b[0]);
	close(b[1]);
	close(c[1]);
	for (int i = 0; i < 200; i++) {
		byte = (unsigned char)(i / 2);
		CHECK(write(a[1], &byte, 1) == 1);
	}
	close(a[1]);
	while (read(c[0], &byte, 1) == 1)
		sum += byte;
	close(c[0]);
	CHECK(ended(one) == 0 && ended(two) == 0);
	printf("sum %d\n", sum);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	int ends[2];
	long written = 0;

	if (!strcmp(how, "pipeline")) {
		pipeline();
		return done();
	}
	MUST(pipe2(ends, O_NONBLOCK) == 0);
	if (!strcmp(how, "full")) {
		for (long n; (n = write(ends[1], "0123456789abcdef", 16)) > 0;)
			written += n;
		CHECK(errno == EAGAIN);
		printf("written %ld\n", written);
		close(ends[0]);
		close(ends[1]);
		return done();
	}
	close(ends[0]);
	if (!strcmp(how, "error"))
		signal(SIGPIPE, SIG_IGN);
	CHECK(write(ends[1], "x", 1) == -1 && errno == EPIPE);
	close(ends[1]);
	return done();
}
