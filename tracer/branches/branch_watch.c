/* When bursts are asked for. */
#include "tracer/branches/branch_watch.h"

#include "base/clock.h"

/* The simulation takes a part of the time since the first thread began, and what a few bursts take
 * at once. */
#define SPENT_PART 10
#define SPENT_AT_ONCE_NS 8000000
/* Between two bursts of a thread is so much of the time that it has run, as far as this. */
#define WAIT_PART 32
#define WAIT_MOST_NS 50000000

void branch_watch_deinit(struct branch_watch *watch)
{
	branch_counts_deinit(&watch->counts);
}

static void ask(struct branch_watch *watch, struct watched_thread *thread, uint64_t now)
{
	if (watch->spent_ns <= SPENT_AT_ONCE_NS + (now - watch->start_ns) / SPENT_PART)
		block_burst_ask(&thread->burst, MOST_BLOCKS);
}

static void take(struct branch_watch *watch, struct watched_thread *thread)
{
	const uint64_t begun = clock_thread_ns();
	size_t n;
	const uint32_t *groups = block_burst_take(&thread->burst, &n);
	outcome_reader_take(&thread->reader, groups, n, thread->had_burst, &watch->counts);
	watch->spent_ns += clock_thread_ns() - begun;
	thread->had_burst |= n > 0;
	const uint64_t now = clock_now_ns(), part = (now - thread->start_ns) / WAIT_PART;
	thread->due_ns = now + (part < WAIT_MOST_NS ? part : WAIT_MOST_NS);
}

void branch_watch_begin(struct branch_watch *watch, struct watched_thread *thread,
			const struct trace_config *config, uint8_t *slot)
{
	const uint64_t now = clock_now_ns();
	*thread = (struct watched_thread){.burst.slot = slot, .start_ns = now, .due_ns = now};
	outcome_reader_init(&thread->reader, config);
	if (!watch->start_ns)
		watch->start_ns = now;
	ask(watch, thread, now);
}

void branch_watch_look(struct branch_watch *watch, struct watched_thread *thread)
{
	if (thread->is_paused)
		return;
	if (block_burst_is_full(&thread->burst))
		take(watch, thread);
	if (thread->burst.asked)
		return;
	const uint64_t now = clock_now_ns();
	if (now >= thread->due_ns)
		ask(watch, thread, now);
}

void branch_watch_pause(struct branch_watch *watch, struct watched_thread *thread)
{
	if (thread->burst.asked)
		take(watch, thread);
	thread->had_burst = thread->is_paused = true;
}

void branch_watch_resume(struct branch_watch *watch, struct watched_thread *thread)
{
	thread->is_paused = false;
	branch_watch_look(watch, thread);
}

void branch_watch_end(struct branch_watch *watch, struct watched_thread *thread)
{
	if (thread->burst.asked)
		take(watch, thread);
	outcome_reader_deinit(&thread->reader);
}

struct rf_error *branch_watch_save(const struct branch_watch *watch, struct profile *profile)
{
	profile_set_fact(profile, "branch_outcomes", "%llu",
			 (unsigned long long)watch->counts.n_outcomes);
	profile_set_fact(profile, "branch_bursts", "%llu",
			 (unsigned long long)watch->counts.n_bursts);
	profile_set_fact(profile, "branch_simulation_s", "%.6f", (double)watch->spent_ns * 1e-9);
	if (watch->counts.memory_short)
		profile_set_fact(profile, "branches_incomplete", "%s", "memory was short");
	return branch_counts_save(&watch->counts, profile);
}
