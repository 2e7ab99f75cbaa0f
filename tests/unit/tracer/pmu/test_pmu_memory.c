/* Bytes of the memory controllers during a run, by a simulated kernel and a tree of files. */
#include "tracer/pmu/pmu_memory.h"

#include "tests/unit/tracer/perf/fixture_root.h"
#include "tests/unit/tracer/perf/perf_source_fake.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { READ = 0x304, WRITE = 0xc04, LINE = 64 };

static struct fake fake;
static struct profile *profile;

static void init(void)
{
	fixture_root_make();
	fake_init(&fake);
	profile = profile_create();
}

static void fini(void)
{
	profile_destroy(profile);
	fixture_root_remove();
}
TestSuite(pmu_memory, .init = init, .fini = fini);

/* CPU time of all programs since boot, in ticks. */
static void put_busy(unsigned long ticks)
{
	char text[64];
	snprintf(text, sizeof(text), "cpu  %lu 0 0 9000 0 0 0 0 0 0\n", ticks);
	fixture_put("/proc/stat", text);
}

static struct pmu_memory *start(void)
{
	struct pmu_memory *memory;
	fixture_put_server();
	put_busy(1000);
	struct rf_error *error = pmu_memory_start(&fake.source, fixture_root, 4711, &memory);
	cr_assert_null(error, "%s", error ? error->message : "");
	fake_exec(&fake);
	return memory;
}

/* A slice in which the program has `program_ticks` of `all_ticks` and `lines` are read and half as
 * many written, in one channel of one package. */
static void pass_slice(struct pmu_memory *memory, unsigned long *busy, unsigned program_ticks,
		       unsigned all_ticks, uint64_t lines)
{
	const uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	for (int fd = 0; fd < FAKE_EVENTS; fd++) {
		struct fake_event *event = &fake.events[fd];
		if (!event->open)
			continue;
		const bool is_clock = event->attr.type == PERF_TYPE_SOFTWARE;
		event->enabled += is_clock ? program_ticks * tick_ns : all_ticks * tick_ns;
		event->running = event->enabled;
		event->value += is_clock ? program_ticks * tick_ns : 0;
	}
	fake.events[fake_find(&fake, 0, READ)].value += lines;
	fake.events[fake_find(&fake, 0, WRITE)].value += lines / 2;
	put_busy(*busy += all_ticks);
	pmu_memory_tick(memory);
}

Test(pmu_memory, slices)
{
	unsigned long busy = 1000;
	struct pmu_memory *memory = start();
	pass_slice(memory, &busy, 10, 10, 1000); /* alone */
	pass_slice(memory, &busy, 5, 20, 4000);  /* a quarter */
	pass_slice(memory, &busy, 0, 10, 700);   /* others */
	struct rf_error *error = pmu_memory_save(memory, profile);
	cr_assert_null(error);
	pmu_memory_destroy(memory);
	cr_assert_eq(fake.n_open, 0);
	cr_assert_eq(profile->n_counters, 2);
	const struct profile_counter *read = &profile->counters[0],
				     *written = &profile->counters[1];
	cr_assert_str_eq(read->quantity, "memory_read_bytes");
	cr_assert_str_eq(written->quantity, "memory_write_bytes");
	cr_assert_float_eq(read->events, 2000.0 * LINE, 1);
	cr_assert_float_eq(written->events, 1000.0 * LINE, 1);
	cr_assert(read->use == COUNTER_IN_TURNS && read->share == 1);
	cr_assert_not_null(strstr(read->why, "18 % of it"), "%s",
			   read->why); /* 1000 of 5700 lines */
}

/* Time that is shorter than a tick of the system's clock waits for the next slice. */
Test(pmu_memory, short_slices_add_up)
{
	unsigned long busy = 1000;
	struct pmu_memory *memory = start();
	pass_slice(memory, &busy, 0, 0, 300);
	pass_slice(memory, &busy, 0, 0, 300);
	pass_slice(memory, &busy, 10, 20, 400);
	cr_assert_null(pmu_memory_save(memory, profile));
	cr_assert_float_eq(profile->counters[0].events, 500.0 * LINE, 1);
	pmu_memory_destroy(memory);
}

Test(pmu_memory, faults)
{
	struct pmu_memory *memory;
	struct rf_error *error = pmu_memory_probe(fixture_root);
	cr_assert_not_null(error); /* nothing is there */
	rf_error_destroy(error);
	memory = start();
	fake_fail(&fake, FAKE_READ, EIO, 0, UINT64_MAX);
	pmu_memory_tick(memory);
	error = pmu_memory_save(memory, profile);
	cr_assert(error && error->code == RF_EUNAVAILABLE);
	rf_error_destroy(error);
	pmu_memory_destroy(memory);
	cr_assert_eq(fake.n_open, 0);
	cr_assert_null(pmu_memory_probe(fixture_root));
	fake_fail(&fake, FAKE_OPEN, EACCES, 3, UINT64_MAX);
	error = pmu_memory_start(&fake.source, fixture_root, 4711, &memory);
	cr_assert(error && error->errnum == EACCES && !memory);
	rf_error_destroy(error);
	cr_assert_eq(fake.n_open, 0);
}
