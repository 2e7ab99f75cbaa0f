#include "tracer/server.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 60000 /* a program that asks once tends to ask again at once */

static uint32_t *doorbell(struct target *target)
{
	return (uint32_t *)(target->slots + P_DOORBELL);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Answers all that is asked; returns whether there was anything. */
static bool answer_all(struct target *target)
{
	bool any = false;
	const uint32_t *states = (const uint32_t *)(target->slots + P_STATES);
	for (int slot = 1; slot < __atomic_load_n(&target->n_slots, __ATOMIC_ACQUIRE); slot++) {
		uint32_t state = __atomic_load_n(&states[slot], __ATOMIC_ACQUIRE);
		if (state != STATE_REQUESTED && state != STATE_SLEEPING)
			continue;
		pthread_mutex_lock(target->lock);
		target_answer(target, slot);
		pthread_mutex_unlock(target->lock);
		any = true;
	}
	return any;
}

static void sleep_until_rung(struct target *target, uint32_t seen)
{
	uint32_t *sleeping = (uint32_t *)(target->slots + P_SLEEPING);
	const struct timespec limit = {.tv_nsec = 50000000};
	__atomic_store_n(sleeping, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, doorbell(target), FUTEX_WAIT, seen, &limit, NULL, 0);
	__atomic_store_n(sleeping, 0, __ATOMIC_SEQ_CST);
}

static void *serve(void *argument)
{
	struct target *target = argument;
	uint64_t last_answer = 0;
	while (!__atomic_load_n(&target->stop, __ATOMIC_ACQUIRE)) {
		uint32_t seen = __atomic_load_n(doorbell(target), __ATOMIC_SEQ_CST);
		if (answer_all(target))
			last_answer = now_ns();
		else if (now_ns() - last_answer < SPIN_NS)
			sched_yield(); /* the asker may want this very processor */
		else
			sleep_until_rung(target, seen);
	}
	return NULL;
}

void server_start(struct target *target)
{
	target->server_runs = pthread_create(&target->server, NULL, serve, target) == 0;
}

void server_stop(struct target *target)
{
	if (!target->server_runs)
		return;
	__atomic_store_n(&target->stop, true, __ATOMIC_RELEASE);
	__atomic_add_fetch(doorbell(target), 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, doorbell(target), FUTEX_WAKE, 1, NULL, NULL, 0);
	pthread_join(target->server, NULL);
	target->server_runs = false;
}
