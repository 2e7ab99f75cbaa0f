/* Memory's counters, from trees of files as sysfs and resctrl have them. */
#include "tracer/pmu/resctrl.h"
#include "tracer/pmu/uncore.h"

#include "tests/unit/tracer/perf/fixture_root.h"
#include "tests/unit/tracer/perf/perf_source_fake.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fake fake;

static void make_root(void)
{
	fixture_root_make();
	fake_init(&fake);
}
TestSuite(uncore, .init = make_root, .fini = fixture_root_remove);
TestSuite(resctrl, .init = make_root, .fini = fixture_root_remove);

Test(uncore, server)
{
	struct uncore uncore;
	fixture_put_server();
	cr_assert_null(uncore_find(fixture_root, &uncore));
	cr_assert_eq(uncore.n_pmus, 2); /* the free running one would count the same bytes again */
	const struct uncore_pmu *pmu = &uncore.pmus[1];
	cr_assert_str_eq(pmu->name, "uncore_imc_1");
	cr_assert(pmu->type == 21 && pmu->n_cpus == 2 && pmu->cpus[0] == 0 && pmu->cpus[1] == 18);
	cr_assert_eq(pmu->n_events, 2);
	cr_assert(pmu->events[0].direction == UNCORE_READ && pmu->events[0].config == 0x304);
	cr_assert(pmu->events[1].direction == UNCORE_WRITE && pmu->events[1].config == 0xc04);
	cr_assert(pmu->events[0].bytes == 64 &&
		  pmu->events[1].bytes == 64); /* by scale and unit, and by default */
	cr_assert(uncore_is_complete(&uncore));
	uncore_deinit(&uncore);
}

Test(uncore, counting)
{
	struct uncore uncore;
	struct uncore_counters *counters;
	struct uncore_bytes bytes;
	fixture_put_server();
	cr_assert_null(uncore_find(fixture_root, &uncore));
	cr_assert_null(uncore_open(&fake.source, &uncore, &counters));
	cr_assert_eq(fake.n_open, 8);
	fake_pass(&fake, 0, 1000, 1);
	fake_pass(&fake, 18, 1000, 1);
	for (int fd = 0; fd < FAKE_EVENTS;
	     fd++) /* each counts on its CPU's package, all the time */
		if (fake.events[fd].open) {
			cr_assert_eq(fake.events[fd].pid, -1);
			fake.events[fd].enabled = fake.events[fd].running = 1000;
		}
	fake_happen(&fake, 0, 0x304, 100);
	fake_happen(&fake, 18, 0xc04, 7);
	cr_assert_null(uncore_read(counters, &bytes));
	cr_assert(bytes.read == 2 * 100 * 64 && bytes.written == 2 * 7 * 64 && bytes.share == 1);
	fake.events[fake_find(&fake, 0, 0x304)].running = 500;
	cr_assert_null(uncore_read(counters, &bytes));
	cr_assert(bytes.read == 3 * 100 * 64 && bytes.share == 0.5);
	fake_fail(&fake, FAKE_READ, EIO, 1, UINT64_MAX);
	struct rf_error *error = uncore_read(counters, &bytes);
	cr_assert(error && error->errnum == EIO && bytes.share == 0.5);
	rf_error_destroy(error);
	uncore_close(counters);
	cr_assert_eq(fake.n_open, 0);
	fake_fail(&fake, FAKE_OPEN, EACCES, 3, UINT64_MAX);
	error = uncore_open(&fake.source, &uncore, &counters);
	cr_assert(error && error->errnum == EACCES && fake.n_open == 0);
	rf_error_destroy(error);
	uncore_deinit(&uncore);
}

Test(uncore, other_kinds_and_nonsense)
{
	struct uncore uncore;
	struct rf_error *error = uncore_find(fixture_root, &uncore);
	cr_assert(error && error->code == RF_EUNAVAILABLE && strstr(error->hint, "modprobe"));
	rf_error_destroy(error);
	fixture_put(DEVICES "amd_df/type", "12\n");
	fixture_put(DEVICES "amd_df/cpumask", "0\n");
	fixture_put(DEVICES "uncore_imc/type", "9\n");
	fixture_put(DEVICES "uncore_imc/cpumask", "0\n");
	fixture_put(DEVICES "uncore_imc/format/event", "config:0-7\n");
	fixture_put(DEVICES "uncore_imc/events/data_reads", "event=0x1\n");
	fixture_put(DEVICES "uncore_imc/events/data_reads.scale", "nan\n");
	fixture_put(DEVICES "uncore_imc/events/data_writes",
		    "event=0x102\n");                    /* does not fit eight bits */
	fixture_put(DEVICES "uncore_imc_2/type", "9\n"); /* without a cpumask */
	fixture_put(DEVICES "uncore_imc_x/type", "9\n");
	cr_assert_null(uncore_find(fixture_root, &uncore));
	cr_assert_eq(uncore.n_pmus, 2);
	cr_assert_str_eq(uncore.pmus[0].name, "amd_df");
	cr_assert(uncore.pmus[0].n_events == 0 && uncore.pmus[1].n_events == 0);
	cr_assert_not(uncore_is_complete(&uncore));
	struct uncore_counters *counters;
	error = uncore_open(&fake.source, &uncore, &counters);
	cr_assert_not_null(error);
	rf_error_destroy(error);
	uncore_deinit(&uncore);
}

Test(uncore, formats)
{
	uint64_t configs[3] = {0};
	cr_assert(uncore_place_bits("config:0-7,32", 0x1ff, configs) && configs[0] == 0x1000000ff);
	cr_assert(uncore_place_bits("config1:4", 1, configs) && configs[1] == 0x10);
	cr_assert(uncore_place_bits("config2:0-63", UINT64_MAX, configs) &&
		  configs[2] == UINT64_MAX);
	static const char *const wrong[] = {"",          "config",
					    "config3:0", "config:",
					    "config:a",  "config:7-0",
					    "config:64", "config:0-7,",
					    "config:0 ", "config:99999999999999999999"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		cr_assert_not(uncore_place_bits(wrong[i], 0, configs), "%s", wrong[i]);
	cr_assert_not(uncore_place_bits("config:0-7", 256, configs));
	cr_assert_eq(configs[0], 0x1000000ff);
}

Test(uncore, cpu_lists)
{
	int *cpus;
	size_t n;
	cr_assert(uncore_cpu_list("0,4-6", &cpus, &n) && n == 4 && cpus[3] == 6);
	free(cpus);
	static const char *const wrong[] = {"",  ",",  "1,",      "3-1", "-1",
					    "a", "1-", "0-65536", "1 2"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		cr_assert_not(uncore_cpu_list(wrong[i], &cpus, &n), "%s", wrong[i]);
}

Test(uncore, share_by_slices)
{
	struct uncore_share share = {0};
	uncore_share_add(&share, 1000, 10, 10); /* alone */
	uncore_share_add(&share, 1000, 5, 20);  /* a quarter of the time */
	uncore_share_add(&share, 1000, 0, 0);   /* nobody ran: not its bytes */
	uncore_share_add(&share, 1000, 11, 10); /* clocks that differ */
	cr_assert(share.all == 4000 && share.bytes == 2250 && share.alone == 2000);
}

Test(uncore, busy_time)
{
	uint64_t busy;
	cr_assert_not(uncore_busy_ns(fixture_root, &busy));
	fixture_put("/proc/stat", "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3\n");
	cr_assert(uncore_busy_ns(fixture_root, &busy));
	cr_assert_eq(busy, 163 * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)));
	fixture_put("/proc/stat", "cpu  100 20\n");
	cr_assert_not(uncore_busy_ns(fixture_root, &busy));
}

/* --- resctrl --- */

static void check_probe(const char *part)
{
	struct rf_error *error = resctrl_probe(fixture_root);
	cr_assert(error && error->code == RF_EUNAVAILABLE && error->hint);
	cr_assert_not_null(strstr(error->message, part), "%s", error->message);
	rf_error_destroy(error);
}

#define GROUP "/sys/fs/resctrl/mon_groups/rfprof-4711/"

static void put_counts(const char *first, const char *second)
{
	fixture_put(GROUP "mon_data/mon_L3_00/mbm_total_bytes", first);
	fixture_put(GROUP "mon_data/mon_L3_01/mbm_total_bytes", second);
}

Test(resctrl, what_is_missing_is_said)
{
	check_probe("no resctrl");
	fixture_put("/sys/fs/resctrl/x", "");
	check_probe("not mounted");
	fixture_put("/sys/fs/resctrl/info/L3_MON/mon_features", "llc_occupancy\n");
	check_probe("does not count bytes");
	fixture_put("/sys/fs/resctrl/info/L3_MON/mon_features",
		    "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n");
	cr_assert_null(resctrl_probe(fixture_root));
}

/* In a tree of plain files nobody fills a group's directory: no number, so no group. */
Test(resctrl, group)
{
	struct resctrl_group *group = NULL;
	fixture_put("/sys/fs/resctrl/mon_groups/x", "");
	struct rf_error *error = resctrl_group_create(fixture_root, 4711, &group);
	cr_assert_not_null(error);
	rf_error_destroy(error);
	cr_assert_null(group);
	put_counts("5000\n", "Unavailable\n");
	error = resctrl_group_create(fixture_root, 4711, &group);
	cr_assert(error && error->errnum == EEXIST);
	rf_error_destroy(error);
}

Test(resctrl, numbers)
{
	struct resctrl_group *group = NULL;
	struct resctrl_bytes bytes;
	put_counts("5000\n", "Unavailable\n");
	cr_assert_null(resctrl_group_open(fixture_root, 4711, &group));
	put_counts("5600\n", "70\n");
	cr_assert_null(resctrl_group_read(group, &bytes));
	cr_assert(bytes.total == 670 && bytes.unavailable == 0);
	put_counts("5600\n", "Error\n");
	cr_assert_null(resctrl_group_read(group, &bytes));
	cr_assert(bytes.total == 600 && bytes.unavailable == 1);
	put_counts("10\n", "-5\n"); /* started anew, and nonsense */
	cr_assert_null(resctrl_group_read(group, &bytes));
	cr_assert(bytes.total == 0 && bytes.unavailable == 1);
	resctrl_group_destroy(group);
}
