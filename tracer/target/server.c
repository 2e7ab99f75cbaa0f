/* The server of a target: a thread that answers the requests of its gate, and stops its threads
 * when the follower wants them. */
#include "tracer/target/server.h"

#include "base/clock.h"
#include "tracer/target/requests.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 60000 /* a program that asks once tends to ask again at once */
/* A yield this long gave the processor to others for their time slices; then the server sleeps
 * instead for some time: who is woken comes first. */
#define LONG_YIELD_NS 300000
#define CROWDED_NS 100000000

static uint32_t *doorbell(struct target *target)
{
	return (uint32_t *)(target->slots + P_DOORBELL);
}

/* Whether the follower wants that slot's thread to be stopped by now. */
static bool stop_is_due(struct target *target, int slot)
{
	const uint64_t at = __atomic_load_n(&target->stop_at[slot], __ATOMIC_ACQUIRE);
	return at && clock_now_ns() >= at;
}

static bool asks(struct target *target, int slot)
{
	const uint32_t state = __atomic_load_n(target_state(target, slot), __ATOMIC_ACQUIRE);
	return (state == STATE_REQUESTED || state == STATE_SLEEPING) &&
	       __atomic_load_n(&target->leaving[slot].how, __ATOMIC_ACQUIRE) == STAYS;
}

/* Answers all that is asked; returns whether there was anything. */
static bool answer_all(struct target *target)
{
	bool any = false;
	for (int slot = 1; slot < __atomic_load_n(&target->n_slots, __ATOMIC_ACQUIRE); slot++) {
		const bool due = stop_is_due(target, slot);
		if (!due && !asks(target, slot))
			continue;
		pthread_mutex_lock(target->lock);
		if (due && target->stop_at[slot] && !target_stop_thread(target, slot))
			target->stop_at[slot] = 0;
		requests_answer(target, slot);
		pthread_mutex_unlock(target->lock);
		any = true;
	}
	return any;
}

/* How long nothing will be due, at most 50 ms. */
static struct timespec patience(struct target *target)
{
	uint64_t ns = 50000000;
	const uint64_t now = clock_now_ns();
	for (int slot = 1; slot < target->n_slots; slot++) {
		const uint64_t at = __atomic_load_n(&target->stop_at[slot], __ATOMIC_ACQUIRE);
		if (at && at < now + ns)
			ns = at > now ? at - now : 1;
	}
	return (struct timespec){.tv_nsec = (long)ns};
}

static void sleep_until_rung(struct target *target, uint32_t seen)
{
	uint32_t *sleeping = (uint32_t *)(target->slots + P_SLEEPING);
	const struct timespec limit = patience(target);
	__atomic_store_n(sleeping, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, doorbell(target), FUTEX_WAIT, seen, &limit, NULL, 0);
	__atomic_store_n(sleeping, 0, __ATOMIC_SEQ_CST);
}

/* The asker may want this very processor.  Returns when to yield again at the earliest. */
static uint64_t yield(struct target *target)
{
	const uint64_t before = clock_now_ns();
	sched_yield();
	const uint64_t after = clock_now_ns();
	const bool crowded = after - before > LONG_YIELD_NS;
	__atomic_store_n((uint32_t *)(target->slots + P_CROWDED), crowded, __ATOMIC_RELAXED);
	return crowded ? after + CROWDED_NS : 0;
}

static void *serve(void *argument)
{
	struct target *target = argument;
	uint64_t last_answer = 0, yield_from = 0;
	while (!__atomic_load_n(&target->stop, __ATOMIC_ACQUIRE)) {
		uint32_t seen = __atomic_load_n(doorbell(target), __ATOMIC_SEQ_CST);
		if (answer_all(target))
			last_answer = clock_now_ns();
		else if (clock_now_ns() - last_answer < SPIN_NS && clock_now_ns() >= yield_from)
			yield_from = yield(target);
		else
			sleep_until_rung(target, seen);
	}
	return NULL;
}

struct rf_error *server_start(struct target *target)
{
	const int errnum = pthread_create(&target->server, NULL, serve, target);
	target->server_runs = errnum == 0;
	return errnum ? rf_error_errno(RF_EINTERNAL, errnum, NULL, "cannot start a thread") : NULL;
}

void server_wake(struct target *target)
{
	__atomic_add_fetch(doorbell(target), 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, doorbell(target), FUTEX_WAKE, 1, NULL, NULL, 0);
}

void server_stop(struct target *target)
{
	if (!target->server_runs)
		return;
	__atomic_store_n(&target->stop, true, __ATOMIC_RELEASE);
	server_wake(target);
	pthread_join(target->server, NULL);
	target->server_runs = false;
}
