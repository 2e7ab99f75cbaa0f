/* The word that the kernel clears when a thread ends is where set_tid_address last said. */
#include "../own.h"

#include <linux/futex.h>
#include <pthread.h>

static volatile int word = 5;

static void *leave(void *unused)
{
	CHECK(syscall(SYS_set_tid_address, &word) == gettid());
	syscall(SYS_exit, 0);
	return unused;
}

int main(void)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, leave, NULL) == 0);
	while (word)
		syscall(SYS_futex, &word, FUTEX_WAIT, 5, NULL);
	printf("word %d\n", word);
	return done();
}
