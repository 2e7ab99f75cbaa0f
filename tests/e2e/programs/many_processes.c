/* 200 children that are all alive at once. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int ends[2], n = 0;
	char byte;
	if (pipe(ends))
		return 1;
	for (int i = 0; i < 200; i++)
		if (fork() == 0) {
			close(ends[1]);
			_exit(read(ends[0], &byte, 1) != 0);
		}
	close(ends[0]);
	close(ends[1]);
	for (int status; wait(&status) > 0;)
		n += status == 0;
	printf("%d\n", n);
	return 0;
}
