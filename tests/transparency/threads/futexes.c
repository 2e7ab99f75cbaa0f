/* Futexes by the bare call: time-outs, masks, requeueing, priority inheritance.
 * @cases timeout bitset requeue inherit */
#include "../own.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int one, two, ready, woken;

static long futex(void *word, int operation, int value, const void *time, void *other, int last)
{
	return syscall(SYS_futex, word, operation, value, time, other, last);
}

static void *sleeper(void *mask)
{
	ready++;
	if (futex(&one, FUTEX_WAIT_BITSET, 0, NULL, NULL, (int)(intptr_t)mask) == 0)
		woken++;
	return NULL;
}

static void *takes_lock(void *unused)
{
	ready++;
	CHECK(futex(&two, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == 0);
	woken++;
	CHECK(futex(&two, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0);
	return unused;
}

static void wake(const char *how)
{
	if (!strcmp(how, "requeue")) {
		CHECK(futex(&one, FUTEX_CMP_REQUEUE, 1, (void *)10, &two, 0) == 4);
		CHECK(futex(&two, FUTEX_WAKE, 10, NULL, NULL, 0) == 3);
		return;
	}
	CHECK(futex(&one, FUTEX_WAKE_BITSET, 10, NULL, NULL, 4) == 1);
	CHECK(futex(&one, FUTEX_WAKE_BITSET, 10, NULL, NULL, 11) == 3);
}

int main(int argc, char **argv)
{
	const struct timespec soon = { 0, 3000000 };
	pthread_t threads[4];

	(void)argc;
	if (!strcmp(argv[1], "timeout")) {
		CHECK(futex(&one, FUTEX_WAIT, 0, &soon, NULL, 0) == -1 && errno == ETIMEDOUT);
		CHECK(futex(&one, FUTEX_WAIT, 1, &soon, NULL, 0) == -1 && errno == EAGAIN);
		return done();
	}
	const int inherit = !strcmp(argv[1], "inherit");

	CHECK(!inherit || futex(&two, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, inherit ? takes_lock : sleeper, (void *)(intptr_t)(1 << i));
	while (ready < 4)
		usleep(1000);
	usleep(40000);
	if (inherit)
		CHECK(futex(&two, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0);
	else
		wake(argv[1]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK(woken == 4);
	return done();
}
