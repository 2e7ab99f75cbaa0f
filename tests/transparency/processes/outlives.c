/* Processes that go on, or end, when the program that started them has ended: with threads, without
 * the leader of these, in the midst of their end, and waiting for the child of a vfork.
 * @cases threads leader_first ending vforked many
 */
#include "../own.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define THREADS 3

static int program_lives[2]; /* a pipe whose end for writing only the program holds */

static void await_its_end(void)
{
	char byte;

	MUST(read(program_lives[0], &byte, 1) == 0);
}

/* Where the file is there, the process has got so far. */
static void leave_file(int number)
{
	char name[32];

	snprintf(name, sizeof(name), "later%d", number);
	FILE *file = fopen(name, "we");

	if (file) {
		fprintf(file, "written by what was left, work %d\n", work(1000));
		fclose(file);
	}
}

static void *lives_on(void *number)
{
	await_its_end();
	usleep(50000);
	leave_file((int)(long)number);
	return NULL;
}

static void *waits(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *works(void *unused)
{
	for (;;)
		work(1000);
	return unused;
}

static void start_threads(void *(*routine)(void *), void *argument)
{
	pthread_t thread;

	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread, NULL, routine, argument) == 0);
}

/* Ends with all its threads at the moment at which the program does, or soon after. */
static void ends_with_it(int number)
{
	start_threads(number % 2 ? waits : works, NULL);
	await_its_end();
	usleep((useconds_t)number * 150);
	_exit(0);
}

static void waits_for_vfork(void)
{
	if (vfork() == 0) {
		char byte;

		(void)!read(program_lives[0], &byte, 1);
		usleep(200000);
		_exit(0);
	}
	leave_file(1);
	_exit(0);
}

static void child(const char *how, int number)
{
	close(program_lives[1]);
	if (!strcmp(how, "ending"))
		ends_with_it(number);
	if (!strcmp(how, "vforked"))
		waits_for_vfork();
	if (!strcmp(how, "threads"))
		start_threads(waits, NULL);
	if (!strcmp(how, "leader_first")) {
		start_threads(lives_on, (void *)(long)number);
		syscall(SYS_exit, 0);
	}
	lives_on((void *)(long)number);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	const int children = !strcmp(how, "ending") ? 12 : !strcmp(how, "many") ? 20 : 1;

	MUST(pipe(program_lives) == 0);
	for (int i = 0; i < children; i++)
		if (fork() == 0)
			child(how, i);
	usleep(100000);
	return done();
}
