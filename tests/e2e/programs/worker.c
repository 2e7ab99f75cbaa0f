/* Threads that work, a word from standard input, memory that is written, exit status 7. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *works(void *argument)
{
	volatile double x = 0;
	for (int i = 0; i < 300000; i++)
		x = x * 0.5 + 1;
	return argument;
}

int main(void)
{
	enum { SIZE = 1 << 20 };
	pthread_t threads[2];
	char line[100] = "", *memory = malloc(SIZE);
	for (int i = 0; i < 2; i++)
		if (!memory || pthread_create(&threads[i], NULL, works, NULL))
			return 99;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SIZE; i += 64)
		memory[i] = 1;
	if (fgets(line, sizeof(line), stdin))
		printf("read %s", line);
	puts("done");
	free(memory);
	return 7;
}
