/* Two threads that hand one byte back and forth through pipes: nothing but switches between
 * threads. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { TURNS = 400000 };

static int there[2], back[2];

static void *answer(void *nothing)
{
	char byte;
	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			break;
	return nothing;
}

int main(void)
{
	pthread_t thread;
	char byte = 1;
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	for (int i = 0; i < TURNS; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
	close(there[1]);
	pthread_join(thread, NULL);
	printf("%d turns\n", TURNS);
	return 0;
}
