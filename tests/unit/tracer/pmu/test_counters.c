/* Counters against a simulated kernel (perf_source_fake.h): what they make of its numbers, records
 * and refusals. */
#include "tracer/pmu/counters_read.h"

#include "tests/unit/tracer/perf/perf_source_fake.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct fake fake;

enum {
	CYCLES = PERF_COUNT_HW_CPU_CYCLES,
	INSTRUCTIONS = PERF_COUNT_HW_INSTRUCTIONS,
	FLOP = 100,
	PID = 4711,
	CPUS = 2
};

static const struct counter_limits limits = {4, 7};

static struct counter_event event(uint64_t config, uint64_t period)
{
	const bool fixed = config == CYCLES || config == INSTRUCTIONS;
	return (struct counter_event){
		.attr = {.type = fixed ? PERF_TYPE_HARDWARE : PERF_TYPE_RAW, .config = config},
		.name = "an event",
		.period = period,
		.wish = {.fixed = config == CYCLES         ? 1
				  : config == INSTRUCTIONS ? 0
							   : -1,
			 .everywhere = fixed,
			 .formula = fixed ? 0 : 1},
	};
}

static struct rf_error *try_open(const struct counter_event *events, size_t n,
				 struct counters **counters)
{
	const struct counter_options options = {.pid = PID, .n_cpus = CPUS};
	return counters_open(&fake.source, events, n, &limits, &options, counters);
}

static struct counters *open_events(const struct counter_event *events, size_t n)
{
	struct counters *counters = NULL;
	struct rf_error *error = try_open(events, n, &counters);
	cr_assert_null(error, "%s", error ? error->message : "");
	fake_exec(&fake);
	return counters;
}

static struct counter_total total_of(struct counters *counters, size_t number)
{
	struct counter_total total;
	struct rf_error *error = counters_total(counters, number, &total);
	cr_assert_null(error);
	return total;
}

static void init(void)
{
	fake_init(&fake);
}

TestSuite(counters, .init = init);

/* --- totals --- */

Test(counters, one_event_for_all_cpus_without_samples)
{
	const struct counter_event events[] = {event(CYCLES, 0), event(FLOP, 0)};
	struct counters *counters = open_events(events, 2);
	cr_assert_eq(fake.n_open, 3); /* and the clock */
	const struct fake_event *first = &fake.events[fake_find(&fake, -1, CYCLES)];
	cr_assert(first->pid == PID && first->attr.inherit && first->attr.enable_on_exec &&
		  first->attr.disabled);
	cr_assert(first->attr.exclude_kernel && first->attr.exclude_hv);
	const struct fake_event *second = &fake.events[fake_find(&fake, -1, FLOP)];
	cr_assert(!second->attr.disabled && second->group == fake_find(&fake, -1, CYCLES));
	fake_pass(&fake, 0, 1000, 1);
	fake_happen(&fake, 0, FLOP, 12345);
	struct counter_total total = total_of(counters, 1);
	cr_assert(total.state == COUNTER_EXACT && total.raw == 12345 && total.value == 12345 &&
		  total.share == 1);
	counters_destroy(counters);
	cr_assert_eq(fake.n_open, 0);
}

/* Nothing that happens before the execve is counted. */
Test(counters, start_at_the_execve)
{
	const struct counter_event events[] = {event(FLOP, 0)};
	struct counters *counters = NULL;
	cr_assert_null(try_open(events, 1, &counters));
	fake_pass(&fake, 0, 1000, 1);
	fake_happen(&fake, 0, FLOP, 5);
	cr_assert_eq(total_of(counters, 0).state, COUNTER_NOT_COUNTED);
	fake_exec(&fake);
	fake_pass(&fake, 0, 1000, 1);
	fake_happen(&fake, 0, FLOP, 7);
	cr_assert_eq(total_of(counters, 0).value, 7);
	counters_destroy(counters);
}

/* On each CPU the time that the program spends on the other one goes on too, and that is no
 * sharing. */
Test(counters, per_cpu_totals_are_sums)
{
	const struct counter_event events[] = {event(FLOP, 1000), event(CYCLES, 0)};
	struct counters *counters = open_events(events, 2);
	cr_assert_eq(fake.n_open, 2 * CPUS + 1);
	fake_pass(&fake, 0, 3000, 1);
	fake_happen(&fake, 0, FLOP, 30);
	fake_pass(&fake, 1, 500, 1);
	fake_happen(&fake, 1, FLOP, 5);
	struct counter_total total = total_of(counters, 0);
	cr_assert(total.state == COUNTER_EXACT && total.value == 35, "%f", total.value);
	cr_assert(total.enabled_ns == 3500 && total.running_ns == 3500);
	counters_destroy(counters);
}

Test(counters, shared_counters_are_scaled)
{
	const struct counter_event events[] = {event(FLOP, 1000)};
	struct counters *counters = open_events(events, 1);
	fake_pass(&fake, 0, 3000, 0.25);
	fake_pass(&fake, 1, 1000, 0.25);
	fake_happen(&fake, 0, FLOP, 30);
	fake_happen(&fake, 1, FLOP, 10);
	struct counter_total total = total_of(counters, 0);
	cr_assert_eq(total.state, COUNTER_SCALED);
	cr_assert(total.raw == 40 && total.value == 160 && total.share == 0.25);
	counters_destroy(counters);
}

Test(counters, no_counter_is_said)
{
	const struct counter_event events[] = {event(FLOP, 0)};
	struct counters *counters = open_events(events, 1);
	fake_pass(&fake, 0, 3000, 0);
	struct counter_total total = total_of(counters, 0);
	cr_assert(total.state == COUNTER_NOT_COUNTED && total.value == 0 &&
		  total.enabled_ns == 3000);
	fake.events[fake_find(&fake, -1, FLOP)].ended = true; /* as a pinned event that got none */
	cr_assert_eq(total_of(counters, 0).state, COUNTER_NOT_COUNTED);
	fake.events[fake_find(&fake, -1, FLOP)].ended = false;
	fake.events[fake_find(&fake, -1, FLOP)].truncated = true;
	cr_assert_eq(total_of(counters, 0).state, COUNTER_NOT_COUNTED);
	counters_destroy(counters);
}

Test(counters, scaling_against_long_arithmetic)
{
	static const uint64_t values[] = {0, 1, 7, 1000, 123456789, 1ull << 52};
	for (size_t v = 0; v < 6; v++)
		for (uint64_t running = 1; running <= 1000; running += 37) {
			struct counter_total total = counter_scale(values[v], 1000, running);
			long double truth = (long double)values[v] * 1000 / running;
			cr_assert(fabsl(total.value - truth) <= truth * 1e-14L);
		}
	cr_assert_eq(counter_scale(9, 10, 11).value, 9); /* clocks that differ */
	cr_assert_eq(counter_scale(9, 0, 0).state, COUNTER_NOT_COUNTED);
}

/* Twelve events of three formulas on four counters: three groups in turns, cycles in each. */
Test(counters, groups_in_turns)
{
	struct counter_event events[13];
	events[0] = event(CYCLES, 0);
	for (unsigned i = 1; i < 13; i++) {
		events[i] = event(FLOP + i, 0);
		events[i].wish.formula = 1 + (i - 1) / 4;
	}
	struct counters *counters = open_events(events, 13);
	cr_assert_eq(counters->groups.n, 3);
	cr_assert_eq(fake.n_open, 1 + 12 + 3);
	for (unsigned turn = 0; turn < 3; turn++) {
		const int leader = fake.events[fake_find(&fake, -1, FLOP + 1 + 4 * turn)].group;
		cr_assert_eq(fake.events[fake_find(&fake, -1, FLOP + 4 + 4 * turn)].group, leader);
		cr_assert_eq(fake.events[leader].attr.config, CYCLES);
		fake_pass_group(&fake, leader, 100 * (turn + 1));
		fake.events[leader].value = 1000 * (turn + 1);
	}
	fake.events[fake_find(&fake, -1, FLOP + 12)].value = 50;
	struct counter_total cycles = total_of(counters, 0), last = total_of(counters, 12);
	/* cycles were counted in each turn, so in the whole time, 600 ns */
	cr_assert(cycles.state == COUNTER_EXACT && cycles.value == 6000);
	cr_assert(last.state == COUNTER_SCALED && last.share == 0.5 && last.value == 100);
	counters_destroy(counters);
}

/* Where there is room for all groups at the same time, an event of several groups is not counted
 * several times. */
Test(counters, everywhere_counts_once)
{
	struct counter_event events[6];
	events[0] = event(CYCLES, 0);
	for (unsigned i = 1; i < 6; i++)
		events[i] = event(FLOP + i, 0);
	struct counters *counters = open_events(events, 6);
	cr_assert_eq(counters->groups.n, 2);
	fake_pass(&fake, 0, 1000, 1);
	fake_happen(&fake, 0, CYCLES, 42);
	cr_assert_eq(total_of(counters, 0).value, 42);
	counters_destroy(counters);
}

/* What the kernel counts itself needs no counter, and does not stand still while other groups have
 * their turns: beside three events on one counter it is counted all the time. */
Test(counters, software_takes_no_turns)
{
	struct counter_event events[4];
	struct counter_total total;
	const struct counter_limits one = {1, 0};
	const struct counter_options options = {.pid = PID, .n_cpus = CPUS};
	struct counters *counters;
	for (unsigned i = 0; i < 3; i++)
		events[i] = event(FLOP + i, 0);
	events[3] = event(PERF_COUNT_SW_PAGE_FAULTS, 7);
	events[3].attr.type = PERF_TYPE_SOFTWARE;
	fake.general = 1;
	cr_assert_null(counters_open(&fake.source, events, 4, &one, &options, &counters));
	cr_assert_eq(counters->groups.n, 3);
	fake_exec(&fake);
	for (unsigned turn = 0; turn < 3; turn++)
		fake_pass_group(&fake, fake_find(&fake, 0, FLOP + turn), 1000);
	cr_assert_null(counters_total(counters, 0, &total));
	cr_assert_eq(total.state, COUNTER_SCALED);
	cr_assert_null(counters_total(counters, 3, &total));
	cr_assert_eq(total.state, COUNTER_EXACT, "%f", total.share);
	counters_destroy(counters);
	cr_assert_eq(fake.n_open, 0);
}

/* The limits said four, this kernel takes three together. */
Test(counters, groups_shrink_until_the_kernel_agrees)
{
	struct counter_event events[4];
	for (unsigned i = 0; i < 4; i++)
		events[i] = event(FLOP + i, 0);
	fake.general = 3;
	struct counters *counters = open_events(events, 4);
	cr_assert_eq(counters->groups.n, 2);
	counters_destroy(counters);
	cr_assert_eq(fake.n_open, 0);
}

/* --- samples --- */

struct seen {
	struct counter_sample samples[4096];
	size_t n;
};

static void see(void *opaque, const struct counter_sample *sample)
{
	struct seen *seen = opaque;
	seen->samples[seen->n++ % 4096] = *sample;
}

Test(counters, samples_of_one_ring_are_told_apart)
{
	static struct seen seen;
	const struct counter_event events[] = {event(CYCLES, 5000), event(FLOP, 1000),
					       event(FLOP + 1, 10)};
	struct counters *counters = open_events(events, 3);
	cr_assert_eq(fake.n_mapped, CPUS);
	for (int cpu = 0; cpu < CPUS; cpu++) {
		const int cycles = fake_find(&fake, cpu, CYCLES),
			  flop = fake_find(&fake, cpu, FLOP);
		cr_assert_eq(fake.events[cycles].output, fake.events[flop].output);
		cr_assert_eq(fake.events[flop].attr.sample_period, 1000);
		cr_assert_eq(fake.events[flop].attr.sample_type, PERF_RING_COUNTER_TYPE);
		fake_sample(&fake, flop, 10, 0x401000, PID, PID + 1);
		fake_sample(&fake, cycles, 11, 0x401004, PID, PID);
	}
	counters_drain(counters, see, &seen);
	cr_assert_eq(seen.n, 4);
	cr_assert(seen.samples[0].event == 1 && seen.samples[0].ip == 0x401000 &&
		  seen.samples[0].tid == PID + 1);
	cr_assert(seen.samples[1].event == 0 && seen.samples[1].time == 11 &&
		  seen.samples[1].period == 5000);
	cr_assert(seen.samples[3].event == 0 && seen.samples[3].pid == PID);
	struct counter_total total = total_of(counters, 1);
	cr_assert(total.n_samples == 2 && total.sampled == 2000);
	counters_drain(counters, see, &seen);
	cr_assert_eq(seen.n, 4); /* once */
	counters_destroy(counters);
	cr_assert(fake.n_mapped == 0 && fake.n_open == 0);
}

/* Many turns of the smallest ring, records at every place around its end: each comes once, in
 * order. */
Test(counters, rings_wrap)
{
	static struct seen seen;
	const struct counter_event events[] = {event(FLOP, 1000)};
	fake.max_pages = 2;
	struct counters *counters = open_events(events, 1);
	const int fd = fake_find(&fake, 0, FLOP);
	uint64_t written = 0;
	for (int round = 0; round < 400; round++) {
		seen.n = 0;
		for (int i = 0; i < 97; i++)
			fake_sample(&fake, fd, written, 0x1000 + written, PID, PID), written++;
		/* of 48 bytes, so that records end at many places */
		fake_lost(&fake, fd, 3);
		counters_drain(counters, see, &seen);
		cr_assert_eq(seen.n, 97);
		for (size_t i = 0; i < 97; i++)
			cr_assert(seen.samples[i].time == written - 97 + i &&
				  seen.samples[i].ip == 0x1000 + seen.samples[i].time);
	}
	struct counter_losses losses = counters_losses(counters);
	cr_assert(losses.lost == 3 * 400 && losses.broken == 0 && losses.unknown == 0);
	cr_assert_eq(total_of(counters, 0).sampled, 400 * 97 * 1000);
	counters_destroy(counters);
}

Test(counters, losses_are_counted)
{
	static struct seen seen;
	const struct counter_event events[] = {event(FLOP, 1000)};
	const uint64_t short_sample[] = {1003, 2, 3}, stranger[] = {99, 1, 2, 3},
		       lost_samples[] = {6, 0, 0, 0};
	struct counters *counters = open_events(events, 1);
	const int fd = fake_find(&fake, 1, FLOP);
	const uint64_t throttle[] = {1, fake_id(fd), fake_id(fd), 0, 0, fake_id(fd)};
	fake_pass(&fake, 1, 1000, 1);
	cr_assert_eq(total_of(counters, 0).state, COUNTER_EXACT);
	fake_lost(&fake, fd, 5);
	fake_write(&fake, fd, PERF_RECORD_LOST_SAMPLES, lost_samples, sizeof(lost_samples));
	fake_write(&fake, fd, PERF_RECORD_SAMPLE, short_sample, sizeof(short_sample));
	fake_write(&fake, fd, PERF_RECORD_SAMPLE, stranger, sizeof(stranger));
	fake_write(&fake, fd, PERF_RECORD_THROTTLE, throttle, sizeof(throttle));
	fake_sample(&fake, fd, 1, 2, 3, 4);
	counters_drain(counters, see, &seen);
	struct counter_losses losses = counters_losses(counters);
	cr_assert(losses.lost == 11 && losses.broken == 1 && losses.unknown == 1);
	cr_assert_eq(seen.n, 1);
	/* the counter stood still for a while: what it says is a lower bound */
	cr_assert(total_of(counters, 0).state == COUNTER_TOO_LOW &&
		  total_of(counters, 0).throttled == 1);
	/* a record that cannot be one: the ring is given up to its head, and goes on */
	const struct perf_event_header zero = {0};
	struct fake_event *ring = &fake.events[fake.events[fd].output];
	struct perf_event_mmap_page *control = (void *)ring->mapping;
	memcpy(ring->mapping + 4096 + control->data_head, &zero, sizeof(zero));
	control->data_head += 64;
	counters_drain(counters, see, &seen);
	fake_sample(&fake, fd, 1, 2, 3, 4);
	counters_drain(counters, see, &seen);
	cr_assert_eq(counters_losses(counters).broken, 2);
	cr_assert_eq(seen.n, 2);
	counters_destroy(counters);
}

Test(counter_samples, shorter_ones_are_refused)
{
	const uint64_t sample[] = {(uint64_t)40 << 48 | PERF_RECORD_SAMPLE, 1, 2, 3, 4};
	const uint64_t lost[] = {(uint64_t)48 << 48 | PERF_RECORD_LOST, 1, 2, 3, 4, 5};
	struct perf_record record;
	cr_assert(perf_record_parse_counter(sample, sizeof(sample), &record));
	cr_assert(record.id == 1 && record.ip == 2 && record.pid == 3 && record.time == 4);
	cr_assert(perf_record_parse_counter(lost, sizeof(lost), &record));
	cr_assert(record.lost == 2 && record.time == 4 && record.id == 5);
	for (uint16_t size = 0; size < 40; size++) {
		uint64_t *copy = malloc(40);
		uint8_t *exact = malloc(size + 1);
		memcpy(copy, sample, 40);
		memcpy((uint8_t *)copy + 6, &size, sizeof(size));
		memcpy(exact, lost, size);
		cr_assert_not(perf_record_parse_counter(copy, 40, &record));
		cr_assert_not(perf_record_parse_counter(exact, size, &record));
		free(copy);
		free(exact);
	}
}

/* Places add up to the total, whatever was lost or not sampled. */
Test(counters, places_add_up_to_the_total)
{
	const struct counter_event events[] = {event(FLOP, 1000)};
	struct counters *counters = open_events(events, 1);
	const int fd = fake_find(&fake, 0, FLOP);
	fake_pass(&fake, 0, 1000, 0.5);
	fake_happen(&fake, 0, FLOP, 4900);
	for (int i = 0; i < 4; i++)
		fake_sample(&fake, fd, 1, 2, 3, 4);
	counters_drain(counters, NULL, NULL);
	struct counter_total total = total_of(counters, 0);
	struct counter_weight weight = counter_weight(&total);
	cr_assert_eq(total.value, 9800);
	cr_assert(fabs(weight.scale * 4000 - 9800) < 1e-9);
	cr_assert(fabs(weight.missing - 5800.0 / 9800) < 1e-12);
	counters_destroy(counters);
	const struct counter_total none = {
		.state = COUNTER_EXACT, .value = 900, .raw = 900, .share = 1};
	weight = counter_weight(&none);
	cr_assert(weight.scale == 0 && weight.missing == 1);
}

/* --- refusals --- */

static void check_refused(const struct counter_event *events, size_t n, const char *part)
{
	struct counters *untouched = (struct counters *)&fake, *counters = untouched;
	struct rf_error *error = try_open(events, n, &counters);
	cr_assert_not_null(error);
	cr_assert_eq(error->code, RF_EUNAVAILABLE);
	cr_assert_not_null(strstr(error->message, part), "%s", error->message);
	rf_error_destroy(error);
	cr_assert_eq(counters, untouched);
	cr_assert(fake.n_open == 0 && fake.n_mapped == 0, "%u %u", fake.n_open, fake.n_mapped);
}

/* Each call fails once, at each place where it is made: nothing leaks, and the error is told. */
Test(counters, every_call_may_fail, .timeout = 60)
{
	const struct counter_event events[] = {event(CYCLES, 5000), event(FLOP, 1000)};
	static const enum fake_call calls[] = {FAKE_OPEN, FAKE_CONTROL};
	static const int errors[] = {EACCES, EPERM, ENOENT, EMFILE, EBUSY, EIO};
	for (size_t c = 0; c < 2; c++)
		for (size_t e = 0; e < 6; e++)
			for (unsigned skip = 0; skip < (c ? 6 : 5); skip++) {
				fake_init(&fake);
				fake_fail(&fake, calls[c], errors[e], skip, UINT64_MAX);
				check_refused(events, 2, "");
			}
	fake_init(&fake);
	fake_fail(&fake, FAKE_MAP, EPERM, 0, UINT64_MAX);
	check_refused(events, 2, "cannot lock memory");
	fake_init(&fake);
	fake_fail(&fake, FAKE_MAP, EPERM, 1, UINT64_MAX); /* the second CPU never gets one */
	check_refused(events, 2, "cannot lock memory");
	fake_init(&fake);
	fake.hardware = false;
	check_refused(events, 2, "PMU");
	fake_init(&fake);
	fake.general = 0;
	check_refused(events, 2, "does not know");
}

Test(counters, reading_may_fail)
{
	const struct counter_event events[] = {event(FLOP, 0)};
	struct counter_total total = {.raw = 77};
	struct counters *counters = open_events(events, 1);
	for (unsigned skip = 0; skip < 2; skip++) {
		memset(fake.faults, 0, sizeof(fake.faults));
		fake_fail(&fake, FAKE_READ, EIO, skip, UINT64_MAX);
		struct rf_error *error = counters_total(counters, 0, &total);
		cr_assert(error && error->code == RF_EUNAVAILABLE && error->errnum == EIO);
		cr_assert_eq(total.raw, 77);
		rf_error_destroy(error);
	}
	counters_destroy(counters);
}

Test(counters, cpus_that_are_off_line_are_left_out)
{
	const struct counter_event events[] = {event(FLOP, 1000)};
	fake.n_cpus = 1;
	struct counters *counters = open_events(events, 1);
	cr_assert_eq(fake.n_open, 2);
	cr_assert_eq(fake.n_mapped, 1);
	counters_destroy(counters);
}

Test(counters, rings_are_as_large_as_allowed)
{
	const struct counter_event events[] = {event(FLOP, 1000)};
	fake.max_pages = 8;
	struct counters *counters = open_events(events, 1);
	cr_assert_eq(fake.events[fake_find(&fake, 0, FLOP)].mapping_size, 9 * 4096);
	counters_destroy(counters);
}

/* What an old kernel or a PMU does not know is done without. */
Test(counters, less_is_taken_where_more_is_refused)
{
	struct counter_event events[] = {event(FLOP, 1000)};
	const struct counter_options options = {.pid = PID, .n_cpus = CPUS, .first_only = true};
	struct counters *counters = NULL;
	events[0].attr.precise_ip = 3;
	fake.max_precise = 1;
	cr_assert_null(counters_open(&fake.source, events, 1, &limits, &options, &counters));
	const struct fake_event *opened = &fake.events[fake_find(&fake, 0, FLOP)];
	cr_assert(opened->attr.precise_ip == 1 && opened->attr.inherit_thread);
	counters_destroy(counters);
	fake.old = true;
	cr_assert_null(counters_open(&fake.source, events, 1, &limits, &options, &counters));
	cr_assert_not(fake.events[fake_find(&fake, 0, FLOP)].attr.inherit_thread);
	counters_destroy(counters);
	fake_fail(&fake, FAKE_OPEN, EOPNOTSUPP, 0, FLOP);
	check_refused(events, 1, "cannot interrupt");
}

/* A total that is more than its samples and what each context leaves without one is a jump. */
Test(counters, jumps_are_told)
{
	struct counter_total total = {.state = COUNTER_EXACT, .raw = 1500, .sampled = 1000};
	cr_assert(counter_is_plausible(&total, 1000, 1, 0));
	total.raw = 2001;
	cr_assert_not(counter_is_plausible(&total, 1000, 1, 0));
	cr_assert(counter_is_plausible(&total, 1000, 2, 0));
	cr_assert(counter_is_plausible(&total, 1000, 1, 1), "a sample was lost");
	cr_assert(counter_is_plausible(&total, 0, 1, 0), "not sampled");
	total.throttled = 1;
	cr_assert(counter_is_plausible(&total, 1000, 1, 0));
	total = (struct counter_total){.raw = 10, .sampled = 5000};
	cr_assert_not(counter_is_plausible(&total, 1000, 1, 0), "a counter that lost counts");
	total = (struct counter_total){.raw = 1ull << 47, .sampled = 0};
	cr_assert_not(counter_is_plausible(&total, 8000009, 64, 0));
}

/* --- limits --- */

Test(counters, limits_are_found)
{
	struct counter_limits found;
	fake.general = 6;
	fake.runs = true;
	cr_assert_null(counter_limits_find(&fake.source, &found));
	cr_assert(found.general == 6 && found.fixed == 7, "%u %x", found.general, found.fixed);
	fake.usable = 5; /* a watchdog has one: taken by the kernel, but it never runs */
	cr_assert_null(counter_limits_find(&fake.source, &found));
	cr_assert_eq(found.general, 5);
	fake_fail(&fake, FAKE_OPEN, ENOENT, 0, PERF_COUNT_HW_REF_CPU_CYCLES);
	cr_assert_null(counter_limits_find(&fake.source, &found));
	cr_assert_eq(found.fixed, 3);
	cr_assert_eq(fake.n_open, 0);
	fake.hardware = false;
	struct rf_error *error = counter_limits_find(&fake.source, &found);
	cr_assert(error && error->errnum == ENOENT);
	rf_error_destroy(error);
}
