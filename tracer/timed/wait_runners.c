/* Joins samples to the waits that are open at their time.  Memory grows with the stacks of waits
 * and of samples, of which each pair is kept once, not with the number of either. */
#include "tracer/timed/wait_runners.h"

#include "base/array.h"
#include "base/u64_map.h"

#include <assert.h>

/* So far back the waits of a thread are followed, and from one thread to another. */
enum { MOST_LINKS = 1000, MOST_THREADS = 64 };

/* A place at which threads of a process wait. */
struct site {
	uint32_t pid, frame;
	uint32_t holder;            /* the thread that came out of such a wait last, or 0 */
	uint64_t held_since;        /* its end */
	uint32_t n_beside, n_woken; /* of one sample: waits beside it, and those that it ended */
};

/* A wait that has not ended, as far as samples have come. */
struct open_wait {
	uint32_t pid, tid, wait, site, row;
	uint64_t from; /* its stack was seen; samples from then on are looked at */
};

struct wait_runners {
	const struct schedule *schedule;
	struct site *sites;
	size_t n_sites, cap_sites;
	struct u64_map of_place; /* pid and frame → site */
	struct open_wait *open;
	size_t n_open, cap_open;
	uint32_t *touched; /* sites of one sample */
	size_t n_touched, cap_touched;
	struct profile_meanwhile *cells;
	size_t n_cells, cap_cells;
	struct u64_map of_cell; /* site, frame, and whether it waited → cell */
};

struct wait_runners *wait_runners_create(const struct schedule *schedule)
{
	struct wait_runners *runners = calloc(1, sizeof(*runners));
	if (runners)
		runners->schedule = schedule;
	return runners;
}

void wait_runners_destroy(struct wait_runners *runners)
{
	if (!runners)
		return;
	u64_map_deinit(&runners->of_place);
	u64_map_deinit(&runners->of_cell);
	free(runners->sites);
	free(runners->open);
	free(runners->touched);
	free(runners->cells);
	free(runners);
}

/* The number of a site, added when it is new; PROFILE_NONE: no memory. */
static uint32_t site_of(struct wait_runners *runners, uint32_t pid, uint32_t frame)
{
	const uint64_t key = ((uint64_t)pid << 32 | frame) + 1;
	const uint32_t *known = u64_map_find(&runners->of_place, key);
	const struct site fresh = {.pid = pid, .frame = frame};
	if (known)
		return *known;
	if (!rf_array_push(runners->sites, runners->n_sites, runners->cap_sites, fresh) ||
	    !u64_map_set(&runners->of_place, key, (uint32_t)runners->n_sites - 1))
		return PROFILE_NONE;
	return (uint32_t)runners->n_sites - 1;
}

/* Adds to the cell of a site and a frame. */
static bool add(struct wait_runners *runners, uint32_t site, const struct profile_meanwhile *more)
{
	const uint64_t key =
		((uint64_t)site << 33 | (uint64_t)more->waited << 32 | more->frame) + 1;
	const uint32_t *known = u64_map_find(&runners->of_cell, key);
	if (!known)
		return rf_array_push(runners->cells, runners->n_cells, runners->cap_cells, *more) &&
		       u64_map_set(&runners->of_cell, key, (uint32_t)runners->n_cells - 1);
	struct profile_meanwhile *to = &runners->cells[*known];
	to->time_ns += more->time_ns;
	to->waker_ns += more->waker_ns;
	to->holder_ns += more->holder_ns;
	if (to->thread != more->thread)
		to->thread = PROFILE_NONE;
	return true;
}

/* ---- waits ---- */

/* The last one takes the place of a wait that is over. */
static void close_at(struct wait_runners *runners, struct profile *profile, size_t i)
{
	const struct open_wait *open = &runners->open[i];
	const struct schedule_wait *wait = schedule_get_wait(runners->schedule, open->wait);
	const uint64_t from = open->from > wait->start ? open->from : wait->start;
	struct site *site = &runners->sites[open->site];
	if (wait->end >= site->held_since) {
		site->holder = open->tid;
		site->held_since = wait->end;
	}
	if (wait->end > from)
		profile->waits[open->row].watched_ns += wait->end - from;
	runners->open[i] = runners->open[--runners->n_open];
}

static void close_ended(struct wait_runners *runners, struct profile *profile, uint64_t time)
{
	for (size_t i = runners->n_open; i-- > 0;) {
		const uint64_t end =
			schedule_get_wait(runners->schedule, runners->open[i].wait)->end;
		if (end && end <= time)
			close_at(runners, profile, i);
	}
}

struct rf_error *wait_runners_begin(struct wait_runners *runners, struct profile *profile,
				    uint64_t time, uint32_t pid, uint32_t tid, uint32_t wait,
				    uint32_t row)
{
	const uint32_t site = site_of(runners, pid, profile->waits[row].frame);
	const struct open_wait fresh = {pid, tid, wait, site, row, time};
	if (site == PROFILE_NONE)
		return rf_error_no_memory();
	close_ended(runners, profile, time);
	if (runners->sites[site].holder == tid)
		runners->sites[site].holder = 0;
	return rf_array_add(runners->open, runners->n_open, runners->cap_open, fresh);
}

/* ---- samples ---- */

/* Of the waits that are open at the time of a sample, counts those of its process by site. */
static bool find_beside(struct wait_runners *runners, uint64_t time, uint32_t pid, uint32_t tid)
{
	runners->n_touched = 0;
	for (size_t i = 0; i < runners->n_open; i++) {
		const struct open_wait *open = &runners->open[i];
		const struct schedule_wait *wait = schedule_get_wait(runners->schedule, open->wait);
		if (open->pid != pid || open->tid == tid || wait->start > time)
			continue;
		struct site *site = &runners->sites[open->site];
		if (!site->n_beside++ && !rf_array_push(runners->touched, runners->n_touched,
							runners->cap_touched, open->site))
			return false;
		site->n_woken += wait->end && wait->waker_tid == tid;
	}
	return true;
}

struct rf_error *wait_runners_sample(struct wait_runners *runners, struct profile *profile,
				     uint32_t pid, uint32_t tid,
				     const struct profile_sample *sample)
{
	close_ended(runners, profile, sample->time_ns);
	bool done = find_beside(runners, sample->time_ns, pid, tid);
	for (size_t i = 0; i < runners->n_touched; i++) {
		struct site *site = &runners->sites[runners->touched[i]];
		done = done && add(runners, runners->touched[i],
				   &(struct profile_meanwhile){
					   .wait_frame = site->frame,
					   .frame = sample->frame,
					   .thread = sample->thread,
					   .time_ns = sample->weight_ns * site->n_beside,
					   .waker_ns = sample->weight_ns * site->n_woken,
					   .holder_ns = site->holder == tid
								? sample->weight_ns * site->n_beside
								: 0,
				   });
		site->n_beside = site->n_woken = 0;
	}
	return done ? NULL : rf_error_no_memory();
}

/* ---- the end ---- */

struct rows {
	const struct profile *profile;
	const uint32_t *of_wait; /* plus 1, or 0 */
	size_t n;
};

static const struct profile_wait *row_of(const struct rows *rows, uint32_t wait)
{
	const uint32_t row = wait < rows->n ? rows->of_wait[wait] : 0;
	return row ? &rows->profile->waits[row - 1] : NULL;
}

/* Who let a waiting thread go on may have waited for a third one, and so on: the last of them that
 * is known to have done so after `since`. */
static const struct profile_wait *root_of(const struct wait_runners *runners,
					  const struct rows *rows, uint32_t wait, uint64_t since)
{
	const struct profile_wait *root = row_of(rows, wait);
	for (int i = 0; root->cause == WAIT_FUTEX && i < MOST_THREADS; i++) {
		wait = schedule_get_wait(runners->schedule, wait)->waker_wait;
		const struct profile_wait *next = row_of(rows, wait);
		if (!next || schedule_get_wait(runners->schedule, wait)->end <= since)
			break;
		root = next;
	}
	return root;
}

static bool add_waited(struct wait_runners *runners, const struct rows *rows,
		       const struct profile_wait *row, const struct profile_wait *root, uint64_t ns)
{
	const uint32_t pid = (uint32_t)rows->profile->threads[row->thread].pid;
	const uint32_t site = site_of(runners, pid, row->frame);
	const struct profile_meanwhile cell = {
		.wait_frame = row->frame,
		.frame = root ? root->frame : PROFILE_NONE,
		.thread = root ? root->thread : PROFILE_NONE,
		.cause = root ? root->cause : WAIT_OTHER,
		.waited = true,
		.time_ns = ns,
	};
	return site != PROFILE_NONE && (!ns || add(runners, site, &cell));
}

/* The time of a wait in which all waited, by what its waker waited for meanwhile, from the last of
 * its waits back.  Waits that were not seen are stood for by those that were. */
static bool add_waker(struct wait_runners *runners, const struct rows *rows,
		      const struct schedule_wait *wait, const struct profile_wait *row)
{
	uint64_t rest = wait->quiet_end - wait->quiet_start;
	uint32_t at = wait->waker_wait;
	bool done = true;
	for (int i = 0; done && rest && i < MOST_LINKS && row_of(rows, at); i++) {
		const struct schedule_wait *of = schedule_get_wait(runners->schedule, at);
		if (of->end <= wait->start)
			break;
		const uint64_t from =
			of->quiet_start > wait->quiet_start ? of->quiet_start : wait->quiet_start;
		const uint64_t ns = of->quiet_end > from ? of->quiet_end - from : 0;
		done = add_waited(runners, rows, row, root_of(runners, rows, at, wait->start), ns);
		rest -= ns;
		at = of->before;
	}
	return at == SCHEDULE_WAIT_UNSEEN || (done && add_waited(runners, rows, row, NULL, rest));
}

struct rf_error *wait_runners_finish(struct wait_runners *runners, struct profile *profile,
				     const uint32_t *row_of_wait, size_t n)
{
	const struct rows rows = {profile, row_of_wait, n};
	bool done = true;
	while (runners->n_open)
		close_at(runners, profile, runners->n_open - 1);
	for (uint32_t i = 0; done && i < n; i++) {
		const struct profile_wait *row = row_of(&rows, i);
		const struct schedule_wait *wait = schedule_get_wait(runners->schedule, i);
		if (!row || row->cause != WAIT_FUTEX)
			continue;
		profile->waits[row_of_wait[i] - 1].seen_ns += wait->end - wait->start;
		profile->waits[row_of_wait[i] - 1].quiet_ns += wait->quiet_end - wait->quiet_start;
		done = add_waker(runners, &rows, wait, row);
	}
	if (!done)
		return rf_error_no_memory();
	assert(!profile->meanwhile);
	profile->meanwhile = runners->cells;
	profile->n_meanwhile = runners->n_cells;
	runners->cells = NULL;
	runners->n_cells = runners->cap_cells = 0;
	return NULL;
}
