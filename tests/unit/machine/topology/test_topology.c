#include "machine/roofs/roofs_sites.h"
#include "machine/topology/cgroup.h"
#include "machine/topology/topology.h"

#include <criterion/criterion.h>
#include <hwloc.h>
#include <link.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void make_root(void)
{
	strcpy(root, "/tmp/rfprof-topology-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

/* Writes a file below the root, with its directories. */
static void put(const char *path, const char *content)
{
	char whole[256];
	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(whole, 0777);
		*at = '/';
	}
	FILE *file = fopen(whole, "we");
	cr_assert_not_null(file, "%s", whole);
	fputs(content, file);
	fclose(file);
}

TestSuite(cgroup, .init = make_root, .fini = remove_root);

Test(cgroup, nothing_there_is_no_limit)
{
	struct cgroup_limits limits = cgroup_limits_read(root);
	cr_assert_eq(limits.cpus, 0);
	cr_assert_eq(limits.memory_limit, UINT64_MAX);
}

Test(cgroup, version_2_takes_the_tightest_of_all_parents)
{
	put("/proc/self/cgroup", "0::/user.slice/job/leaf\n");
	put("/proc/self/mountinfo",
	    "20 1 0:5 / /proc rw - proc proc rw\n"
	    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
	put("/sys/fs/cgroup/user.slice/job/leaf/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/user.slice/job/leaf/memory.max", "1073741824\n");
	put("/sys/fs/cgroup/user.slice/job/leaf/memory.current", "4096\n");
	put("/sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n");
	put("/sys/fs/cgroup/user.slice/job/memory.max", "268435456\n");
	put("/sys/fs/cgroup/user.slice/job/memory.current", "1048576\n");
	put("/sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n");
	put("/sys/fs/cgroup/user.slice/memory.max", "max\n");
	struct cgroup_limits limits = cgroup_limits_read(root);
	cr_assert_eq(limits.cpus, 1.5);
	cr_assert_eq(limits.memory_limit, 268435456);
	cr_assert_eq(limits.memory_used, 1048576);
}

Test(cgroup, version_1_with_controllers_mounted_together)
{
	put("/proc/self/cgroup",
	    "4:memory:/docker/abc\n3:cpuset:/\n2:cpu,cpuacct:/docker/abc\n0::/\n");
	put("/proc/self/mountinfo",
	    "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
	    "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
	    "36 31 0:33 / /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "2097152\n");
	struct cgroup_limits limits = cgroup_limits_read(root);
	cr_assert_eq(limits.cpus, 0.5);
	cr_assert_eq(limits.memory_limit, 268435456);
	cr_assert_eq(limits.memory_used, 2097152);
}

Test(cgroup, version_1_without_limits)
{
	put("/proc/self/cgroup", "4:memory:/\n2:cpu:/\n");
	put("/proc/self/mountinfo", "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
				    "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n");
	put("/cg/cpu/cpu.cfs_quota_us", "-1\n");
	put("/cg/cpu/cpu.cfs_period_us", "100000\n");
	put("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
	struct cgroup_limits limits = cgroup_limits_read(root);
	cr_assert_eq(limits.cpus, 0);
	cr_assert_eq(limits.memory_limit, UINT64_MAX);
}

Test(cgroup, malformed_files_set_no_limit)
{
	put("/proc/self/cgroup", "\n:\n0:\n0::/a\n");
	put("/proc/self/mountinfo",
	    "\n1 2 3\n31 23 0:28 / /cg rw -\n31 23 0:28 / /cg rw - cgroup2\n"
	    "31 23 0:28 / /cg rw - cgroup2 none rw\n");
	put("/cg/a/cpu.max", "garbage\n");
	put("/cg/a/memory.max", "\n");
	put("/cg/cpu.max", "100000 0\n");
	struct cgroup_limits limits = cgroup_limits_read(root);
	cr_assert_eq(limits.cpus, 0);
	cr_assert_eq(limits.memory_limit, UINT64_MAX);
}

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* `n` cores of one thread with their own L1 and L2, and an L3 for each `per_l3` of them. */
static struct topology made_topology(int n, int per_l3, uint64_t l1, uint64_t l2, uint64_t l3)
{
	struct topology topology = {.n_cpus = n, .usable_threads = n};
	topology.cpus = calloc(n, sizeof(*topology.cpus));
	for (int i = 0; i < n; i++)
		topology.cpus[i] = (struct topology_cpu){
			.os_index = i,
			.core = i,
			.caches = {{l1, i}, {l2, i}, {l3, i / per_l3}},
		};
	return topology;
}

Test(topology, shares_and_sums_by_sharing_domain)
{
	struct topology topology = made_topology(4, 2, 32 * KIB, MIB, 16 * MIB);
	cr_assert_eq(topology_share_bytes(&topology, 1, 4), 32 * KIB);
	cr_assert_eq(topology_share_bytes(&topology, 3, 1), 16 * MIB);
	cr_assert_eq(topology_share_bytes(&topology, 3, 3), 8 * MIB); /* threads 0 and 1 share */
	cr_assert_eq(topology_last_level_bytes(&topology, 2), 16 * MIB);
	cr_assert_eq(topology_last_level_bytes(&topology, 3), 32 * MIB);
	topology_deinit(&topology);
}

Test(topology, sizes_lie_between_the_levels)
{
	const struct {
		uint64_t l2, l3;
		int threads;
	} machines[] = {
		{MIB, 32 * MIB, 2},
		{2 * MIB, 480 * MIB, 2},
		{256 * KIB, 8 * MIB, 4},
	};
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		int n = machines[i].threads;
		struct topology topology =
			made_topology(n, n, 32 * KIB, machines[i].l2, machines[i].l3);
		for (int threads = 1; threads <= n; threads++) {
			cr_assert_eq(roofs_level_bytes(&topology, 1, threads), 16 * KIB);
			cr_assert_eq(roofs_level_bytes(&topology, 2, threads), machines[i].l2 / 2);
			uint64_t l3 = roofs_level_bytes(&topology, 3, threads);
			cr_assert_geq(l3, 4 * machines[i].l2);
			cr_assert_leq(l3 * threads, machines[i].l3 / 2);
			cr_assert_geq(roofs_dram_bytes(&topology, threads) * threads,
				      4 * machines[i].l3);
		}
		topology_deinit(&topology);
	}
}

Test(topology, l3_smaller_than_the_l2s_over_it_still_leaves_the_l2)
{
	/* 2 MiB of L2 and 1.875 MiB of L3 to a core. */
	struct topology topology = made_topology(16, 16, 48 * KIB, 2 * MIB, 30 * MIB);
	uint64_t bytes = roofs_level_bytes(&topology, 3, 16);
	cr_assert_gt(bytes, 2 * MIB);
	cr_assert_lt(bytes, 2 * MIB + 1920 * KIB);
	topology_deinit(&topology);
}

Test(topology, a_machine_without_reported_caches_still_has_dram)
{
	struct topology topology = made_topology(1, 1, 0, 0, 0);
	cr_assert_eq(topology_last_level_bytes(&topology, 1), 0);
	cr_assert_eq(roofs_level_bytes(&topology, 1, 1), 0);
	cr_assert_eq(roofs_level_bytes(&topology, 3, 1), 0);
	cr_assert_geq(roofs_dram_bytes(&topology, 1), 64 * MIB);
	topology_deinit(&topology);
}

static int take_adds(struct dl_phdr_info *info, size_t size, void *adds)
{
	(void)size;
	*(unsigned long long *)adds = info->dlpi_adds;
	return 1;
}

/* How many libraries were loaded so far, with those that are gone. */
static unsigned long long n_loaded(void)
{
	unsigned long long adds = 0;
	dl_iterate_phdr(take_adds, &adds);
	return adds;
}

/* Those of GPUs and the like take longer to load than all else that a short program waits for. */
Test(topology, plugins_are_not_loaded)
{
	struct topology topology;
	hwloc_topology_t hw;
	const unsigned long long before = n_loaded();
	setenv("HWLOC_PLUGINS_PATH", "/nowhere", 1);
	cr_assert_null(topology_read(&topology));
	topology_deinit(&topology);
	cr_assert_str_eq(getenv("HWLOC_PLUGINS_PATH"), "/nowhere");
	unsetenv("HWLOC_PLUGINS_PATH");
	cr_assert_null(topology_read(&topology));
	topology_deinit(&topology);
	cr_assert_null(getenv("HWLOC_PLUGINS_PATH"));
	cr_assert_eq(n_loaded(), before);
	cr_assert_eq(hwloc_topology_init(&hw), 0);
	hwloc_topology_destroy(hw);
	if (n_loaded() == before)
		cr_skip_test("hwloc has no plugins here");
}

/* What the kernel tells is what all of hwloc's ways to ask tell together. */
Test(topology, nothing_is_lost_without_cpuid)
{
	struct topology topology;
	hwloc_topology_t hw;
	cr_assert_null(topology_read(&topology));
	cr_assert_eq(hwloc_topology_init(&hw), 0);
	cr_assert_eq(hwloc_topology_load(hw), 0);
	for (int i = 0; i < topology.n_cpus; i++) {
		const struct topology_cpu *cpu = &topology.cpus[i];
		hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(hw, (unsigned)cpu->os_index);
		hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_CORE, pu);
		cr_expect_eq(cpu->core, (int)(core ? core : pu)->logical_index);
		for (int level = 1; level <= TOPOLOGY_LEVELS; level++) {
			hwloc_obj_t up = pu->parent;
			while (up && (!hwloc_obj_type_is_dcache(up->type) ||
				      (int)up->attr->cache.depth != level))
				up = up->parent;
			cr_expect_eq(cpu->caches[level - 1].bytes, up ? up->attr->cache.size : 0);
			if (up)
				cr_expect_eq(cpu->caches[level - 1].id, (int)up->logical_index);
		}
	}
	hwloc_topology_destroy(hw);
	topology_deinit(&topology);
}

Test(topology, affinity_to_one_cpu_leaves_one_thread)
{
	struct topology topology;
	cpu_set_t set, one;
	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	int last = CPU_SETSIZE - 1;
	while (!CPU_ISSET(last, &set))
		last--;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	struct rf_error *error = topology_read(&topology);
	cr_assert_null(error);
	cr_assert_eq(topology.n_cpus, 1);
	cr_assert_eq(topology.usable_threads, 1);
	cr_assert_eq(topology.cpus[0].os_index, last);
	topology_deinit(&topology);
}

Test(topology, this_machine_agrees_with_sysconf)
{
	struct topology topology;
	cpu_set_t set;
	cr_assert_null(topology_read(&topology));
	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	cr_assert_eq(topology.n_cpus, CPU_COUNT(&set));
	cr_assert_gt(topology.memory_available, 0);
	long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);
	if (l1 > 0 && topology.n_caches > 0) {
		cr_assert_eq(topology.caches[0].level, 1);
		cr_assert_eq(topology.caches[0].size_bytes, (uint64_t)l1);
		cr_assert_eq(topology.cpus[0].caches[0].bytes, (uint64_t)l1);
	}
	/* No hardware thread twice, and a core's second thread only after all first ones. */
	for (int i = 0; i < topology.n_cpus; i++)
		for (int j = 0; j < i; j++)
			cr_assert_neq(topology.cpus[i].os_index, topology.cpus[j].os_index);
	topology_deinit(&topology);
}
