/* What samples of classes say of an instruction whose events in all classes are known. */
#include "base/array.h"
#include "cache/class_sample.h"
#include "statistics/student.h"
#include "tests/unit/splitmix.h"
#include "tracer/traffic/account_rows.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OFFSET 0x40
#define BURST 600 /* accesses */

static uint64_t state = 5;

/* One instruction in one thread, of which a sample of n classes is simulated. */
struct watched {
	unsigned n;
	uint64_t sample;
	struct accounts *accounts;
	struct thread_accounts thread;
	struct concentration *concentration;
	uint32_t who;
	uint64_t executions, unchecked;
	double truth[N_TRAFFIC]; /* lines */
};

static void begin(struct watched *watched, unsigned n, uint64_t sample)
{
	const struct trace_operand operand = {.offset = OFFSET, .n_operands = 1};
	*watched = (struct watched){.n = n, .sample = sample};
	watched->accounts = accounts_create(sample, sample);
	watched->concentration = concentration_create();
	watched->who = thread_accounts_open(&watched->thread, watched->accounts, &operand);
	cr_assert_neq(watched->who, NO_ACCOUNT);
}

static void event(struct watched *watched, enum traffic event, uint64_t line)
{
	watched->truth[event]++;
	if (watched->sample >> line % CACHE_CLASSES & 1)
		accounts_count(watched->accounts, watched->who, event, line, false);
}

static struct profile *end(struct watched *watched)
{
	struct profile *profile = profile_create();
	struct executions executions;
	const struct profile_block block = {.start = OFFSET, .size = 1};
	const struct profile_count count = {0, 0, (int64_t)watched->executions,
					    (int64_t)(watched->executions - watched->unchecked)};
	cr_assert(rf_array_push(profile->blocks, profile->n_blocks, profile->cap_blocks, block));
	cr_assert(rf_array_push(profile->counts, profile->n_counts, profile->cap_counts, count));
	cr_assert_null(executions_init(&executions, profile, &(struct told_threads){0}));
	cr_assert_null(account_rows_save(watched->accounts, watched->sample, watched->concentration,
					 &executions, profile));
	executions_deinit(&executions);
	concentration_destroy(watched->concentration);
	thread_accounts_deinit(&watched->thread);
	accounts_destroy(watched->accounts);
	return profile;
}

/* An event's lines and half-width by the formula of docs/profile-format.md. */
struct told {
	double lines, halfwidth;
};

static struct told told_of(const struct profile *profile, const struct watched *watched,
			   enum traffic event, enum traffic open)
{
	const double n = watched->n, scale = CACHE_CLASSES / n;
	double sum = 0, squares = 0, opened = 0;
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	const struct profile_traffic *row;
	while ((row = packed_reader_next(&reader))) {
		const double lines = (double)row->lines[event];
		cr_assert_lt(row->class, n);
		sum += lines;
		squares += lines * lines;
		opened += (double)row->lines[open];
	}
	const double variance = fmax(squares - sum * sum / n, 0) / fmax(n - 1, 1);
	const double error = scale * sqrt(variance * n * (1 - n / CACHE_CLASSES));
	const double student = n > 1 && n < CACHE_CLASSES ? rf_student(watched->n - 1) : 0;
	return (struct told){sum * scale,
			     hypot(hypot(student * error, 0.005 * sum * scale), opened * scale)};
}

static bool holds(struct told told, double truth)
{
	return fabs(told.lines - truth) <= told.halfwidth + 1e-9 * truth;
}

Test(account_rows, all_classes_are_told_as_they_are)
{
	struct watched watched;
	begin(&watched, CACHE_CLASSES, UINT64_MAX);
	for (int i = 0; i < 20000; i++)
		event(&watched, (enum traffic)(random_number(&state) % TRAFFIC_L3_CLEAN_VICTIM),
		      random_number(&state) % 7000);
	struct profile *profile = end(&watched);
	for (enum traffic e = 0; e < TRAFFIC_L3_CLEAN_VICTIM; e++) {
		const struct told told = told_of(profile, &watched, e, N_TRAFFIC - 1);
		cr_expect_eq(told.lines, watched.truth[e]);
	}
	profile_destroy(profile);
}

/* Sweeps over arrays of any size: few classes are often all alike, though others have a line more.
 */
Test(account_rows, sweeps_are_in_their_interval)
{
	for (unsigned n = 2; n <= 32; n *= 2) {
		unsigned inside = 0, alike = 0;
		const unsigned rounds = 600;
		for (unsigned round = 0; round < rounds; round++) {
			struct watched watched;
			const uint64_t lines = CACHE_CLASSES + random_number(&state) % 3000,
				       from = random_number(&state) % 100000,
				       times = 1 + random_number(&state) % 9;
			begin(&watched, n, class_sample(n));
			for (uint64_t k = 0; k < times; k++)
				for (uint64_t i = 0; i < lines; i++)
					event(&watched, TRAFFIC_L2_READ, from + i);
			struct profile *profile = end(&watched);
			struct told told =
				told_of(profile, &watched, TRAFFIC_L2_READ, TRAFFIC_L2_READ_OPEN);
			inside += holds(told, watched.truth[TRAFFIC_L2_READ]);
			told = told_of(profile, &watched, TRAFFIC_L2_READ, TRAFFIC_MEM_EVADABLE);
			alike += holds(told, watched.truth[TRAFFIC_L2_READ]);
			profile_destroy(profile);
		}
		cr_expect_geq(inside, 0.95 * rounds, "%u classes: %u of %u", n, inside, rounds);
		cr_expect(n > 4 || alike < 0.95 * rounds, "%u classes: nothing need be open", n);
	}
}

/* In some phases all misses are in one class, in the others in all alike; bursts see all classes,
 * now and then. */
static struct profile *phases(struct watched *watched, unsigned n, uint64_t sample, unsigned heavy)
{
	begin(watched, n, sample);
	for (unsigned burst = 1; burst <= 200; burst++) {
		const bool in_phase = random_number(&state) % 3 == 0;
		for (unsigned i = 0; i < 10 * BURST; i++) {
			const uint64_t line = in_phase ? heavy + CACHE_CLASSES * (i % 50ull)
						       : random_number(&state) % 20000;
			const struct burst_access access = {
				.burst = burst, .weight = 1, .n_operands = 1, .who = watched->who};
			watched->executions++;
			event(watched, TRAFFIC_L2_READ, line);
			if (i % 4 == 0 || in_phase)
				event(watched, TRAFFIC_L3_READ, line);
			if (burst % 5 || i >= BURST)
				continue;
			concentration_note(watched->concentration, &access);
			concentration_miss(watched->concentration, &access,
					   (struct burst_miss){.class = line % CACHE_CLASSES,
							       .simulated =
								       sample >> line % 64 & 1});
		}
	}
	return end(watched);
}

Test(account_rows, a_heavy_class_is_told_apart)
{
	const uint64_t samples[] = {0x8421, 0x1248, 0x8000400020001};
	unsigned inside = 0, n = 0, exact = 0;
	for (int round = 0; round < 20; round++)
		for (int s = 0; s < 3; s++)
			for (unsigned heavy = 5; heavy < 8; heavy++, n++) {
				struct watched watched;
				struct profile *profile = phases(&watched, 4, samples[s], heavy);
				const struct told l2 = told_of(profile, &watched, TRAFFIC_L2_READ,
							       TRAFFIC_L2_READ_OPEN),
						  l3 = told_of(profile, &watched, TRAFFIC_L3_READ,
							       TRAFFIC_L3_READ_OPEN);
				inside += holds(l2, watched.truth[TRAFFIC_L2_READ]) &&
					  holds(l3, watched.truth[TRAFFIC_L3_READ]);
				if (samples[s] >> heavy & 1) {
					exact++;
					cr_expect_float_eq(l2.lines, watched.truth[TRAFFIC_L2_READ],
							   0.02 * l2.lines);
				}
				profile_destroy(profile);
			}
	cr_expect_geq(inside, 0.95 * n, "%u of %u", inside, n);
	cr_expect_gt(exact, 0);
}

/* 64 lines of a class, gone over a thousand times, are in the last level all the time.  The class
 * is simulated from the last time on, with empty caches, which fetch each line from memory. */
Test(account_rows, what_empty_caches_fetched_is_open)
{
	const unsigned class = 7;
	struct watched watched;
	begin(&watched, 4, 0x8421);
	cr_assert(accounts_add_classes(watched.accounts, UINT64_C(1) << class));
	for (unsigned i = 0; i < 1000 * 64; i++) {
		const uint64_t line = class + CACHE_CLASSES * (i % 64);
		const struct burst_access access = {
			.burst = 1 + i / 6400, .weight = 1, .n_operands = 1, .who = watched.who};
		const bool simulated = i >= 999 * 64;
		watched.executions++;
		watched.truth[TRAFFIC_L2_READ]++;
		watched.truth[TRAFFIC_MEM_READ] += i < 64;
		concentration_note(watched.concentration, &access);
		concentration_miss(watched.concentration, &access,
				   (struct burst_miss){.class = class, .simulated = true});
		for (int k = 0; simulated && k < 2; k++)
			accounts_count(watched.accounts, watched.who,
				       k ? TRAFFIC_MEM_READ : TRAFFIC_L2_READ, line, false);
	}
	struct profile *profile = end(&watched);
	const struct told l2 = told_of(profile, &watched, TRAFFIC_L2_READ, TRAFFIC_L2_READ_OPEN),
			  memory = told_of(profile, &watched, TRAFFIC_MEM_READ,
					   TRAFFIC_MEM_READ_OPEN);
	cr_expect(holds(l2, watched.truth[TRAFFIC_L2_READ]) && l2.halfwidth < 0.1 * l2.lines);
	cr_expect(holds(memory, watched.truth[TRAFFIC_MEM_READ]), "%g +- %g", memory.lines,
		  memory.halfwidth);
	profile_destroy(profile);
}

/* Nothing of it is in the sample: it is not told as nothing. */
Test(account_rows, what_no_class_shows_is_open)
{
	struct watched watched;
	begin(&watched, 4, 0x8421);
	for (unsigned burst = 1; burst <= 6; burst++)
		for (unsigned i = 0; i < BURST; i++) {
			const struct burst_access access = {
				.burst = burst, .weight = 1, .n_operands = 1, .who = watched.who};
			watched.executions++;
			event(&watched, TRAFFIC_L2_READ, 7 + 64 * i);
			event(&watched, TRAFFIC_MEM_READ, 7 + 64 * i);
			concentration_note(watched.concentration, &access);
			concentration_miss(watched.concentration, &access,
					   (struct burst_miss){.class = 7});
		}
	struct profile *profile = end(&watched);
	const struct told l2 = told_of(profile, &watched, TRAFFIC_L2_READ, TRAFFIC_L2_READ_OPEN),
			  memory = told_of(profile, &watched, TRAFFIC_MEM_READ,
					   TRAFFIC_MEM_READ_OPEN);
	cr_expect_float_eq(l2.lines, watched.truth[TRAFFIC_L2_READ], 0.01 * l2.lines);
	cr_expect(holds(memory, watched.truth[TRAFFIC_MEM_READ]), "%g +- %g", memory.lines,
		  memory.halfwidth);
	profile_destroy(profile);
}

/* ---- windows of time ---- */

/* So many executions, of which each moves a line with that chance; unchecked, or in a window. */
static void run(struct watched *watched, unsigned n, double chance, bool checked)
{
	for (unsigned i = 0; i < n; i++) {
		const uint64_t line = random_number(&state) % 100000;
		watched->executions++;
		watched->unchecked += !checked;
		if ((double)(random_number(&state) % 1000000) >= chance * 1e6)
			continue;
		if (checked)
			event(watched, TRAFFIC_L2_READ, line);
		else
			watched->truth[TRAFFIC_L2_READ]++;
	}
}

static void end_window(struct watched *watched, bool by_chance)
{
	const double checked = (double)(watched->executions - watched->unchecked);
	accounts_end_window(watched->accounts, &watched->thread, &checked, 1, by_chance);
}

static struct told told_reads(struct watched *watched)
{
	struct profile *profile = end(watched);
	const struct told told = told_of(profile, watched, TRAFFIC_L2_READ, TRAFFIC_L2_READ_OPEN);
	profile_destroy(profile);
	return told;
}

/* What moves changes from window to window; the intervals hold. */
Test(account_rows, windows_stand_for_the_time_between)
{
	unsigned inside = 0, n = 0;
	for (int round = 0; round < 300; round++) {
		struct watched watched;
		const int windows = 3 + (int)(random_number(&state) % 20);
		const double usual = (double)(random_number(&state) % 1000) / 1000;
		begin(&watched, 4, class_sample(4));
		run(&watched, 500, usual, true);
		end_window(&watched, false);
		for (int i = 0; i < windows; i++) {
			const double now = usual * (double)(random_number(&state) % 1000) / 1000;
			run(&watched, (unsigned)(random_number(&state) % 4000), now, false);
			run(&watched, (unsigned)(random_number(&state) % 500), now, true);
			end_window(&watched, true);
		}
		const double truth = watched.truth[TRAFFIC_L2_READ];
		inside += holds(told_reads(&watched), truth);
		n++;
	}
	cr_expect_geq(inside, 0.95 * n, "%u of %u", inside, n);
}

/* A window that begins with the program, or for new code, stands for itself alone: lines that come
 * from memory for the first time do so once. */
Test(account_rows, what_the_first_window_sees_is_not_multiplied)
{
	struct watched watched;
	begin(&watched, CACHE_CLASSES, UINT64_MAX);
	run(&watched, 1000, 1, true);
	end_window(&watched, false);
	for (int i = 0; i < 10; i++) {
		run(&watched, 100000, 0, false);
		run(&watched, 1000, 0, true);
		end_window(&watched, true);
	}
	const struct told told = told_reads(&watched);
	cr_expect_eq(told.lines, 1000);
	cr_expect_lt(told.halfwidth, 1000); /* nothing in 10,000 executions */
}

/* Where hardly any window was by chance all stand for all, and all of it is open. */
Test(account_rows, one_window_leaves_all_open)
{
	struct watched watched;
	begin(&watched, CACHE_CLASSES, UINT64_MAX);
	run(&watched, 1000, 1, true);
	end_window(&watched, false);
	run(&watched, 9000, 0, false);
	const struct told told = told_reads(&watched);
	cr_expect_eq(told.lines, 10000);
	cr_expect(holds(told, 1000), "%g", told.halfwidth);
}

/* Code that ran and was never checked has a row that says so. */
Test(account_rows, what_no_window_met_is_open)
{
	struct watched watched;
	begin(&watched, 4, class_sample(4));
	run(&watched, 50000, 0.5, false);
	const double truth = watched.truth[TRAFFIC_L2_READ];
	const struct told told = told_reads(&watched);
	cr_expect_eq(told.lines, 0);
	cr_expect(holds(told, truth), "%g of %g", told.halfwidth, truth);
}

/* Lines that come through some of the borders, where caches are known or not; of these windows the
 * account makes what it would have been. */
static void read_lines(struct watched *watched, bool has_l3)
{
	const unsigned known[N_GAP_BORDERS] = {(unsigned)random_number(&state) % 4,
					       (unsigned)random_number(&state) % 4};
	for (unsigned i = 0, n = 1 + (unsigned)random_number(&state) % 200; i < n; i++) {
		const uint64_t line = random_number(&state) % 100000;
		struct touch touch = {0};
		for (int border = 0; border < N_GAP_BORDERS; border++) {
			touch.settled[border] = random_number(&state) % 4 < known[border];
			touch.unknown[border] = !touch.settled[border];
		}
		watched->executions++;
		event(watched, TRAFFIC_L2_READ, line);
		accounts_touch(watched->accounts, watched->who, &touch);
		const bool far = !touch.settled[0] || random_number(&state) % 8 == 0;
		if (!far)
			continue;
		if (has_l3)
			event(watched, TRAFFIC_L3_READ, line);
		accounts_crossed(watched->accounts, watched->who, &touch, 0);
		if (random_number(&state) % 2) {
			event(watched, TRAFFIC_MEM_READ, line);
			accounts_crossed(watched->accounts, watched->who, &touch, 1);
		}
	}
}

/* What is not known of one border and is of the next does not let lines come from behind that never
 * passed: not even where none is left. */
Test(account_rows, what_comes_from_a_border_has_come_through_those_before)
{
	unsigned none = 0;
	for (int round = 0; round < 2000; round++) {
		struct watched watched;
		begin(&watched, 4, class_sample(4));
		read_lines(&watched, true);
		end_window(&watched, true);
		run(&watched, (unsigned)(random_number(&state) % 1000), 0, false);
		struct profile *profile = end(&watched);
		struct packed_reader reader = packed_reader_of(&profile->traffic);
		const struct profile_traffic *row;
		while ((row = packed_reader_next(&reader))) {
			cr_assert_leq(row->lines[TRAFFIC_L3_READ], row->lines[TRAFFIC_L2_READ]);
			cr_assert_leq(row->lines[TRAFFIC_MEM_READ], row->lines[TRAFFIC_L3_READ]);
			none += row->lines[TRAFFIC_L2_READ] && !row->lines[TRAFFIC_L3_READ];
		}
		profile_destroy(profile);
	}
	cr_expect_gt(none, 100, "%u", none);
}

/* Without a level between, what comes from memory stays. */
Test(account_rows, a_level_that_is_not_there_holds_nothing_back)
{
	struct watched watched;
	begin(&watched, CACHE_CLASSES, UINT64_MAX);
	for (int i = 0; i < 20; i++)
		read_lines(&watched, false);
	end_window(&watched, true);
	run(&watched, 1, 0, false);
	const double truth = watched.truth[TRAFFIC_MEM_READ];
	struct profile *profile = end(&watched);
	double lines = 0;
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	const struct profile_traffic *row;
	while ((row = packed_reader_next(&reader)))
		lines += (double)row->lines[TRAFFIC_MEM_READ];
	cr_expect(truth > 100 && lines > 0, "%g of %g", lines, truth);
	profile_destroy(profile);
}
