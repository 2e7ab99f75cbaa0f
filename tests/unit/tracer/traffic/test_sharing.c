#include "tracer/traffic/sharing_lines.h"

#include "tests/unit/assert_ok.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64

static uint64_t state = 20240611;
static uint64_t any(uint64_t below)
{
	return random_number(&state) % below;
}

static struct data_place nowhere(void *context, uint32_t space, uint64_t address)
{
	(void)context;
	return (struct data_place){(uint32_t)(address / 4096), true, address % 4096 + space};
}

/* ---- a slow way to the same: every access is kept ---- */

#define SPACES 2
#define THREADS 6
#define MOST (1 << 17)

static struct kept {
	struct sharing_chunk chunk;
	struct sharing_access access;
} kept[MOST];
static size_t n_kept;

static uint64_t bytes_in(const struct sharing_access *access, uint64_t line)
{
	uint64_t bytes = 0;
	for (uint64_t i = 0; i < access->bytes; i++)
		if ((access->address + i) / LINE == line)
			bytes |= 1ull << (access->address + i) % LINE;
	return bytes;
}

/* What a toucher must be. */
static struct toucher slow_toucher(const struct watched_line *line, uint32_t who, uint32_t thread)
{
	struct toucher toucher = {.who = who, .thread = thread};
	for (size_t i = 0; i < n_kept; i++) {
		const struct sharing_access *access = &kept[i].access;
		const uint64_t bytes = bytes_in(access, line->line);
		if (kept[i].chunk.space != line->space || kept[i].chunk.thread != thread ||
		    access->who != who || !bytes)
			continue;
		toucher.loads += access->loads;
		toucher.stores += access->stores;
		toucher.both += access->loads && access->stores;
		toucher.loaded |= access->loads ? bytes : 0;
		toucher.stored |= access->stores ? bytes : 0;
	}
	return toucher;
}

/* ---- an order that the accesses can have had ---- */

struct moment {
	double time;
	uint32_t thread;
	bool stores;
};

static int compare_moments(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;
	return (a->time > b->time) - (a->time < b->time);
}

/* Each access at some time within its chunk: how often the line then moves to a thread that needs
 * it, from another one that has stored to it since. */
static uint64_t moves_in_some_order(const struct watched_line *line)
{
	static struct moment moments[MOST];
	size_t n = 0;
	uint64_t moves = 0;
	bool stale[SPACES * THREADS] = {false};
	for (size_t i = 0; i < n_kept; i++) {
		const struct sharing_chunk *chunk = &kept[i].chunk;
		const double part = (double)any(1 << 30) / (1 << 30);
		if (chunk->space == line->space && bytes_in(&kept[i].access, line->line))
			moments[n++] =
				(struct moment){(double)chunk->from +
							part * (double)(chunk->to - chunk->from),
						chunk->thread, kept[i].access.stores};
	}
	qsort(moments, n, sizeof(*moments), compare_moments);
	for (size_t i = 0; i < n; i++) {
		moves += stale[moments[i].thread];
		stale[moments[i].thread] = false;
		for (uint32_t t = 0; t < SPACES * THREADS && moments[i].stores; t++)
			stale[t] |= t != moments[i].thread;
	}
	return moves;
}

static struct watched_line all[SHARING_LINES];
static size_t n_all;

static void collect(void *context, const struct watched_line *line)
{
	(void)context;
	cr_assert_lt(n_all, SHARING_LINES);
	all[n_all++] = *line;
}

static void note(struct sharing *sharing, const struct sharing_chunk *chunk,
		 const struct sharing_access *access)
{
	sharing_note(sharing, chunk, access);
	cr_assert_lt(n_kept, MOST);
	kept[n_kept++] = (struct kept){*chunk, *access};
}

/* Random accesses to few lines, by threads that take turns of chunks. */
static void play(struct sharing *sharing, unsigned n_chunks, uint64_t lines)
{
	uint64_t last[SPACES * THREADS] = {0}, now = 1;
	for (unsigned i = 0; i < n_chunks; i++) {
		const uint32_t thread = (uint32_t)any(SPACES * THREADS);
		now += 1 + any(20);
		/* it began behind its chunk before, and perhaps much later */
		const uint64_t from = last[thread] + any(now - last[thread] + 1);
		const struct sharing_chunk chunk = {thread / THREADS, thread, i, from, now};
		last[thread] = now;
		for (uint64_t n = any(30); n-- > 0;) {
			const unsigned kinds = 1 + (unsigned)any(3);
			const struct sharing_access access = {
				.address = (1 << 20) + any(lines * LINE),
				.bytes = any(20) ? 1 + any(16) : 1 + any(300),
				.who = thread * 4 + (uint32_t)any(4),
				.loads = kinds & 1,
				.stores = kinds & 2,
			};
			note(sharing, &chunk, &access);
		}
	}
}

static void begin(struct sharing *sharing)
{
	for (uint32_t thread = 0; thread < SPACES * THREADS; thread++)
		sharing_thread_begins(sharing, thread / THREADS, thread, 0);
	n_kept = n_all = 0;
}

static void compare_with_slow(const struct watched_line *line)
{
	uint64_t accesses = 0;
	bool stored = false, others = false;
	for (uint32_t i = 0; i < line->n; i++) {
		const struct toucher *fast = &line->touchers[i];
		const struct toucher slow = slow_toucher(line, fast->who, fast->thread);
		cr_assert(fast->loads == slow.loads && fast->stores == slow.stores &&
			  fast->both == slow.both && fast->loaded == slow.loaded &&
			  fast->stored == slow.stored);
		accesses += slow.loads + slow.stores - slow.both;
		stored |= slow.stores > 0;
		others |= slow.thread != line->touchers[0].thread;
		if (line->is_shared)
			cr_assert_neq(fast->place.object, PROFILE_NONE);
	}
	cr_assert_eq(line->accesses, accesses);
	cr_assert_eq(line->is_shared, stored && others);
	cr_assert_leq(line->turns, moves_in_some_order(line));
}

Test(sharing, counts_what_a_list_of_all_accesses_says)
{
	for (int round = 0; round < 20; round++) {
		struct sharing *sharing = sharing_create(nowhere, NULL);
		uint64_t touched = 0, told = 0;
		begin(sharing);
		play(sharing, 200, 1 + any(40));
		sharing_each(sharing, collect, NULL);
		for (size_t i = 0; i < n_all; i++) {
			compare_with_slow(&all[i]);
			told += all[i].accesses;
		}
		for (size_t i = 0; i < n_kept; i++)
			touched += (kept[i].access.address + kept[i].access.bytes - 1) / LINE -
				   kept[i].access.address / LINE + 1;
		cr_assert_eq(told, touched);
		cr_assert_eq(sharing_lost(sharing), 0);
		sharing_destroy(sharing);
	}
}

/* Where chunks do not overlap their order is known, and so is each turn between them. */
Test(sharing, sees_all_turns_of_chunks_that_do_not_overlap)
{
	struct sharing *sharing = sharing_create(nowhere, NULL);
	begin(sharing);
	uint64_t turns = 0;
	uint32_t holder = PROFILE_NONE;
	for (uint64_t i = 1; i <= 1000; i++) {
		const uint32_t thread = (uint32_t)any(THREADS);
		const struct sharing_chunk chunk = {0, thread, i, 10 * i, 10 * i + 9};
		const struct sharing_access store = {4096, 8, thread, false, true};
		note(sharing, &chunk, &store);
		turns += holder != PROFILE_NONE && holder != thread;
		holder = thread;
	}
	sharing_each(sharing, collect, NULL);
	cr_assert_eq(n_all, 1);
	cr_expect_eq(all[0].turns, turns);
	sharing_destroy(sharing);
}

/* By visits of two threads in that order. */
static double mixed_of(uint32_t (*thread_of)(uint64_t visit), uint64_t n)
{
	struct sharing *sharing = sharing_create(nowhere, NULL);
	begin(sharing);
	for (uint64_t i = 1; i <= n; i++) {
		const struct sharing_chunk chunk = {0, thread_of(i), i, 10 * i, 10 * i + 9};
		for (int k = 0; k < 5; k++)
			note(sharing, &chunk,
			     &(struct sharing_access){4096, 8, chunk.thread, false, true});
	}
	sharing_each(sharing, collect, NULL);
	const double mixed = sharing_mixed(&all[0]);
	sharing_destroy(sharing);
	return mixed;
}

static double mixed_by(uint32_t (*thread_of)(uint64_t visit))
{
	return mixed_of(thread_of, 1000);
}

static uint32_t in_turns(uint64_t visit)
{
	return visit % 2;
}

static uint32_t by_chance(uint64_t visit)
{
	(void)visit;
	return (uint32_t)any(3) % 2; /* one of them twice as often */
}

static uint32_t handed_on(uint64_t visit)
{
	return visit / 100 % 2;
}

static uint32_t handed_on_soon(uint64_t visit)
{
	return visit / 4 % 2;
}

static uint32_t in_turns_for_a_while(uint64_t visit)
{
	return visit >= 400 && visit < 500 ? in_turns(visit) : handed_on(visit);
}

Test(sharing, lines_that_are_handed_on_are_told_from_those_that_are_used_together)
{
	cr_expect_eq(mixed_by(in_turns), 1);
	const double chance = mixed_by(by_chance);
	cr_expect(chance > 0.85 && chance <= 1, "%g", chance);
	const double handed = mixed_by(handed_on);
	cr_expect(handed >= 0 && handed < 0.04, "%g", handed);
	cr_expect_lt(mixed_by(handed_on_soon), 0.04, "each has it for four visits");
	/* 3 of one, 4 of the other, 3 of the first: no visit is single, but of so few that is
	 * chance */
	cr_expect_float_eq(mixed_of(handed_on_soon, 10), 1 / (9 * (1 - 0.36 - 0.16)), 1e-9);
	const double in_part = mixed_by(in_turns_for_a_while);
	cr_expect(in_part > 0.1 && in_part < 0.4, "%g", in_part);
}

Test(sharing, overlapping_chunks_tell_no_turn)
{
	struct sharing *sharing = sharing_create(nowhere, NULL);
	begin(sharing);
	for (uint64_t i = 1; i <= 100; i++) {
		const struct sharing_chunk chunk = {0, i % 2, i, 0, 10 * i};
		note(sharing, &chunk, &(struct sharing_access){4096, 8, i % 2, true, true});
	}
	sharing_each(sharing, collect, NULL);
	cr_expect_eq(all[0].turns, 0);
	cr_expect(all[0].is_shared);
	sharing_destroy(sharing);
}

Test(sharing, a_single_thread_is_not_watched)
{
	struct sharing *sharing = sharing_create(nowhere, NULL);
	const struct sharing_chunk first = {0, 0, 1, 0, 1}, second = {0, 1, 2, 2, 3};
	const struct sharing_access store = {4096, 8, 0, false, true};
	n_all = 0;
	sharing_thread_begins(sharing, 0, 0, 0);
	sharing_note(sharing, &first, &store);
	sharing_thread_ends(sharing, 0, 1);
	sharing_thread_begins(sharing, 0, 1, 2); /* one after the other */
	sharing_note(sharing, &second, &store);
	cr_expect_not(sharing_watches(sharing, 0));
	sharing_thread_begins(sharing, 0, 2, 3);
	cr_expect(sharing_watches(sharing, 0));
	cr_expect_not(sharing_watches(sharing, 1));
	sharing_each(sharing, collect, NULL);
	cr_expect_eq(n_all, 0);
	sharing_destroy(sharing);
}

/* Sweeps over much more than is watched do not push out lines that are shared. */
Test(sharing, memory_is_bounded)
{
	struct sharing *sharing = sharing_create(nowhere, NULL);
	begin(sharing);
	const struct sharing_chunk one = {0, 0, 1, 0, 1}, other = {0, 1, 2, 2, 3};
	for (uint64_t i = 0; i < 100; i++) {
		sharing_note(sharing, &one, &(struct sharing_access){i * LINE, 8, 0, false, true});
		sharing_note(sharing, &other,
			     &(struct sharing_access){i * LINE, 8, 1, true, false});
	}
	for (uint64_t i = 0; i < 20 * SHARING_LINES; i++)
		sharing_note(sharing, &one,
			     &(struct sharing_access){(1000 + i) * LINE, 8, 0, true, true});
	sharing_each(sharing, collect, NULL);
	cr_assert_leq(n_all, SHARING_LINES);
	unsigned shared = 0;
	for (size_t i = 0; i < n_all; i++)
		shared += all[i].is_shared;
	cr_expect_eq(shared, 100);
	cr_expect_eq(sharing_lost(sharing), 0);
	sharing_destroy(sharing);
}

/* ---- what can have moved ---- */

static struct sharing_place place(uint32_t thread, uint64_t loaded, uint64_t stored, double loads,
				  double stores)
{
	return (struct sharing_place){.thread = thread,
				      .loaded = loaded,
				      .stored = stored,
				      .accesses = loads + stores,
				      .loads = loads,
				      .stores = stores};
}

static struct shared_line line_with(struct sharing_place *places, size_t n,
				    const struct sharing_thread *threads, size_t n_threads)
{
	struct shared_line line = {.places = places, .n_places = n};
	shared_line_sum(&line, threads, n_threads);
	return line;
}

Test(sharing, bytes_tell_false_from_true)
{
	struct sharing_place apart[] = {place(0, 0xff, 0xff, 10, 10),
					place(1, 0xff00, 0xff00, 30, 5)};
	struct shared_line line = line_with(apart, 2, NULL, 0);
	cr_expect_eq(line.accesses, 55);
	cr_expect_eq(line.transfers_at_most, 5 + 10); /* by stores of the other one */
	cr_expect_eq(line.true_at_most, 0);
	cr_expect_not(shared_line_is_true(&line));
	struct sharing_place same[] = {place(0, 0xff, 0xff, 10, 10), place(1, 0xf0, 0, 30, 0)};
	line = line_with(same, 2, NULL, 0);
	cr_expect_eq(line.transfers_at_most, 0 + 10);
	cr_expect_eq(line.true_at_most, 10);
	cr_expect(shared_line_is_true(&line));
	/* somebody adds up in the end what each has counted for itself */
	struct sharing_place summed[] = {place(0, 0xff, 0xff, 1000, 1000),
					 place(1, 0xff00, 0xff00, 1000, 1000),
					 place(2, 0xffff, 0, 2, 0)};
	line = line_with(summed, 3, NULL, 0);
	cr_expect_eq(line.true_at_most, 2);
	cr_expect_not(shared_line_is_true(&line));
}

Test(sharing, threads_that_do_not_meet_take_the_line_once)
{
	const struct sharing_thread threads[] = {{0, 0, 0, 10}, {0, 1, 20, 30}, {0, 2, 40, 50}};
	struct sharing_place places[] = {place(0, 0, 1, 0, 1000), place(1, 1, 1, 1000, 1000),
					 place(2, 1, 0, 1000, 0)};
	const struct shared_line line = line_with(places, 3, threads, 3);
	cr_expect_eq(line.transfers_at_most, 2);
}

/* No order of the accesses makes more moves than are told: random orders of random lines. */
Test(sharing, no_order_has_more_moves)
{
	for (int round = 0; round < 2000; round++) {
		struct sharing_place places[4];
		unsigned owner[400], n = 0;
		bool stores[400];
		for (uint32_t t = 0; t < 4; t++) {
			const unsigned loads = (unsigned)any(50), stored = (unsigned)any(50);
			places[t] = place(t, loads ? 0xff : 0, stored ? 0xff : 0, loads, stored);
			for (unsigned i = 0; i < loads + stored; i++, n++) {
				owner[n] = t;
				stores[n] = i >= loads;
			}
		}
		for (unsigned i = n; i-- > 1;) {
			const unsigned k = (unsigned)any(i + 1), o = owner[i];
			const bool s = stores[i];
			owner[i] = owner[k];
			stores[i] = stores[k];
			owner[k] = o;
			stores[k] = s;
		}
		unsigned moves = 0;
		bool stale[4] = {false}; /* another one has stored since its own last access */
		for (unsigned i = 0; i < n; i++) {
			moves += stale[owner[i]];
			stale[owner[i]] = false;
			for (unsigned t = 0; t < 4 && stores[i]; t++)
				stale[t] |= t != owner[i];
		}
		const struct shared_line line = line_with(places, 4, NULL, 0);
		cr_assert_leq(moves, line.transfers_at_most);
		cr_assert_eq(line.true_at_most, line.transfers_at_most);
	}
}

/* ---- from bursts to all of the run ---- */

#define BURSTS 400 /* of a thread in the whole run */
#define EACH 500   /* executions in each */

static void instruction_of(void *context, uint32_t who, uint32_t *module, uint64_t *offset)
{
	(void)context;
	*module = 0;
	*offset = who;
}

static double executed(void *context, uint32_t thread, uint32_t module, uint64_t offset)
{
	(void)context;
	cr_assert(module == 0 && thread == offset);
	return (double)BURSTS * EACH;
}

static bool no_bias(void *context, uint32_t space, uint32_t module, uint64_t *bias)
{
	(void)context;
	return false;
}

/* Two threads, of which each has in some of its bursts (`share` of them) all of its accesses in the
 * line, and in the others none; one burst in twenty is seen.  Gives the line, and in *truth how
 * many accesses to it there were. */
static struct shared_line seen_line(double share, double *truth)
{
	const struct sharing_run run = {NULL, instruction_of, executed, no_bias, nowhere};
	struct sharing *sharing = sharing_create(nowhere, NULL);
	struct profile *profile = profile_create();
	struct shared_lines lines;
	*truth = 0;
	begin(sharing);
	for (uint64_t burst = 1; burst <= BURSTS; burst++)
		for (uint32_t thread = 0; thread < 2; thread++) {
			const struct sharing_chunk chunk = {0, thread, 2 * burst + thread,
							    10 * burst, 10 * burst + 9};
			const bool here = (double)any(1 << 20) < share * (1 << 20);
			const bool seen = any(20) == 0 || burst < 3;
			*truth += here ? EACH : 0;
			for (unsigned i = 0; i < EACH && seen; i++) {
				const uint64_t address =
					here ? 4096 : (1 << 20) + any(1 << 16) * LINE;
				sharing_execution(sharing, &chunk, thread, 1);
				sharing_note(sharing, &chunk,
					     &(struct sharing_access){address, 8, thread, false,
								      true});
			}
		}
	assert_ok(shared_lines_find(sharing, profile, &run, &lines));
	struct shared_line found = {0};
	for (size_t i = 0; i < lines.n_items; i++)
		if (lines.items[i].line == 4096 / LINE)
			found = lines.items[i];
	cr_expect(!found.n_places || found.places[0].place.object == 1);
	shared_lines_deinit(&lines);
	profile_destroy(profile);
	sharing_destroy(sharing);
	return found;
}

Test(sharing, accesses_that_all_go_to_a_line_are_the_executions)
{
	double truth;
	const struct shared_line line = seen_line(1, &truth);
	cr_expect_eq(line.accesses, truth);
	cr_expect_eq(line.transfers_at_most, truth); /* both store alone */
	cr_expect(line.halfwidth > 0 && line.halfwidth < 0.001 * truth);
}

Test(sharing, intervals_hold_the_truth)
{
	int held = 0, rounds = 0;
	for (int round = 0; round < 300; round++) {
		double truth;
		const double share = 0.05 + 0.9 * (double)any(1000) / 1000;
		const struct shared_line line = seen_line(share, &truth);
		rounds++;
		held += fabs(line.accesses - truth) <= line.halfwidth;
	}
	cr_expect_geq(held, (int)(0.93 * rounds), "%d of %d", held, rounds);
}
