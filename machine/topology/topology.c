/* Reads hardware threads, caches and nodes through hwloc, and the limits on them. */
#include "machine/topology/topology.h"

#include "base/small_file.h"

#include <assert.h>
#include <hwloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

/* The value of a line of /proc/cpuinfo, heap. */
static char *cpuinfo(const char *name, const char *otherwise)
{
	char value[1024];
	return strdup(small_file_field("", "/proc/cpuinfo", name, value, sizeof(value))
			      ? value
			      : otherwise);
}

/* The limits of the control groups; the memory's is lower where the process may map less. */
static struct cgroup_limits read_limits(void)
{
	struct cgroup_limits limits = cgroup_limits_read("");
	struct rlimit space;
	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < limits.memory_limit)
		limits.memory_limit = space.rlim_cur;
	return limits;
}

/* MemAvailable, or less by the limits. */
static uint64_t memory_available(const struct cgroup_limits *limits)
{
	uint64_t available = UINT64_MAX;
	char text[64];
	if (small_file_field("", "/proc/meminfo", "MemAvailable", text, sizeof(text)))
		available = strtoull(text, NULL, 10) * 1024;
	uint64_t left = limits->memory_limit > limits->memory_used
				? limits->memory_limit - limits->memory_used
				: 0;
	return left < available ? left : available;
}

static void read_cpu(hwloc_topology_t hw, hwloc_obj_t pu, struct topology_cpu *cpu)
{
	hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(hw, HWLOC_OBJ_CORE, pu);
	hwloc_obj_t node = NULL;
	while ((node = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_NUMANODE, node)))
		if (node->cpuset && hwloc_bitmap_isset(node->cpuset, pu->os_index))
			break;
	cpu->os_index = pu->os_index;
	cpu->core = core ? (int)core->logical_index : (int)pu->logical_index;
	cpu->numa_node = node ? (int)node->logical_index : -1;
	for (hwloc_obj_t up = pu->parent; up; up = up->parent) {
		if (!hwloc_obj_type_is_dcache(up->type) || up->attr->cache.depth > TOPOLOGY_LEVELS)
			continue;
		struct topology_cache *cache = &cpu->caches[up->attr->cache.depth - 1];
		cache->bytes = up->attr->cache.size;
		cache->id = up->logical_index;
	}
}

/* The caches above a hardware thread, innermost first. */
static void read_caches(hwloc_obj_t pu, struct topology *topology)
{
	const size_t most = sizeof(topology->caches) / sizeof(topology->caches[0]);
	for (hwloc_obj_t up = pu->parent; up && topology->n_caches < most; up = up->parent) {
		if (!hwloc_obj_type_is_dcache(up->type))
			continue;
		topology->caches[topology->n_caches++] = (struct machine_cache){
			.level = up->attr->cache.depth,
			.size_bytes = up->attr->cache.size,
			.line_bytes = up->attr->cache.linesize,
			.ways = up->attr->cache.associativity, /* -1: fully, 0: unknown */
			.shared_by = hwloc_bitmap_weight(up->cpuset),
		};
	}
}

/* Which of its core's hardware threads each one is: 0 for the first, 1 for the second, … */
static int sibling_rank(const struct topology *topology, int i)
{
	int rank = 0;
	for (int j = 0; j < i; j++)
		rank += topology->cpus[j].core == topology->cpus[i].core;
	return rank;
}

/* Reorders the hardware threads: first siblings of all cores, then second ones, … */
static struct rf_error *order_by_rank(struct topology *topology)
{
	struct topology_cpu *ordered = calloc(topology->n_cpus, sizeof(*ordered));
	if (!ordered)
		return rf_error_no_memory();
	int n = 0;
	for (int rank = 0; n < topology->n_cpus; rank++)
		for (int i = 0; i < topology->n_cpus; i++)
			if (sibling_rank(topology, i) == rank)
				ordered[n++] = topology->cpus[i];
	free(topology->cpus);
	topology->cpus = ordered;
	return NULL;
}

/* Lists the hardware threads inside the process's affinity mask, in logical order. */
static struct rf_error *read_cpus(hwloc_topology_t hw, struct topology *topology)
{
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	int n_pus = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_PU);
	if (!allowed || hwloc_get_cpubind(hw, allowed, HWLOC_CPUBIND_THREAD) != 0)
		hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(hw));
	topology->cpus = calloc(n_pus > 0 ? n_pus : 1, sizeof(*topology->cpus));
	for (int i = 0; i < n_pus && topology->cpus; i++) {
		hwloc_obj_t pu = hwloc_get_obj_by_type(hw, HWLOC_OBJ_PU, i);
		if (!hwloc_bitmap_isset(allowed, pu->os_index))
			continue;
		if (topology->n_cpus == 0)
			read_caches(pu, topology);
		read_cpu(hw, pu, &topology->cpus[topology->n_cpus++]);
	}
	hwloc_bitmap_free(allowed);
	if (!topology->cpus)
		return rf_error_no_memory();
	if (topology->n_cpus == 0)
		return rf_error_create(RF_EUNAVAILABLE, "check /sys and /proc are mounted",
				       "cannot find the hardware threads of this process");
	return order_by_rank(topology);
}

/* The NUMA nodes; without any, memory is not asked to be on one. */
static struct rf_error *read_nodes(hwloc_topology_t hw, struct topology *topology)
{
	int n = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_NUMANODE);
	topology->nodes = calloc(n > 0 ? n : 1, sizeof(*topology->nodes));
	if (!topology->nodes)
		return rf_error_no_memory();
	for (int i = 0; i < n; i++)
		topology->nodes[i] = hwloc_get_obj_by_type(hw, HWLOC_OBJ_NUMANODE, i)->os_index;
	topology->n_nodes = n > 0 ? n : 0;
	return NULL;
}

/* hwloc's x86 component executes CPUID on each hardware thread, which a guest's host has to answer:
 * some 10 µs each, and a migration.  It is wanted only where the kernel does not tell the caches.
 */
static void leave_out_cpuid(hwloc_topology_t hw)
{
	if (small_file_exists("", "/sys/devices/system/cpu/cpu0/cache/index0/size"))
		(void)hwloc_topology_set_components(hw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
						    "x86");
}

/* hwloc's plugins find devices, for which they load all of X11, OpenCL and libxml2: 3 ms, of
 * nothing that is asked for here.  They can only be left out by the environment, which is put back.
 */
static int init_without_plugins(hwloc_topology_t *hw)
{
	static const char name[] = "HWLOC_PLUGINS_PATH";
	const char *given = getenv(name);
	char *before = given ? strdup(given) : NULL;
	const bool is_set = (!given || before) && setenv(name, "/dev/null", 1) == 0;
	const int status = hwloc_topology_init(hw);
	if (is_set && !before)
		unsetenv(name);
	else if (is_set)
		setenv(name, before, 1);
	free(before);
	return status;
}

static struct rf_error *read_hardware(struct topology *topology)
{
	hwloc_topology_t hw;
	if (init_without_plugins(&hw) != 0)
		return rf_error_create(RF_EINTERNAL, NULL, "cannot initialise hwloc");
	leave_out_cpuid(hw);
	struct rf_error *error;
	if (hwloc_topology_load(hw) != 0)
		error = rf_error_create(RF_EUNAVAILABLE, "check /sys and /proc are mounted",
					"cannot read the topology of this machine");
	else
		error = read_cpus(hw, topology);
	if (!error)
		error = read_nodes(hw, topology);
	hwloc_topology_destroy(hw);
	return error;
}

static int usable_threads(const struct topology *topology)
{
	double quota = ceil(topology->limits.cpus);
	return quota > 0 && quota < topology->n_cpus ? (int)quota : topology->n_cpus;
}

struct rf_error *topology_read(struct topology *out)
{
	struct utsname name;
	struct topology topology = {
		.cpu_model = cpuinfo("model name", "unknown CPU"),
		.microcode = cpuinfo("microcode", "unknown"),
		.kernel = strdup(uname(&name) == 0 ? name.release : "unknown"),
		.limits = read_limits(),
	};
	struct rf_error *error = NULL;
	if (!topology.cpu_model || !topology.microcode || !topology.kernel)
		error = rf_error_no_memory();
	if (!error)
		error = read_hardware(&topology);
	if (error) {
		topology_deinit(&topology);
		return error;
	}
	topology.usable_threads = usable_threads(&topology);
	topology.memory_available = memory_available(&topology.limits);
	*out = topology;
	return NULL;
}

void topology_deinit(struct topology *topology)
{
	free(topology->cpu_model);
	free(topology->microcode);
	free(topology->kernel);
	free(topology->cpus);
	free(topology->nodes);
	*topology = (struct topology){0};
}

/* How many of the first `n_threads` threads use the same instance of `level` as thread `i`, up to
 * thread `limit`. */
static int sharers(const struct topology *topology, int level, int i, int limit)
{
	int n = 0;
	for (int j = 0; j < limit; j++)
		n += topology->cpus[j].caches[level - 1].bytes &&
		     topology->cpus[j].caches[level - 1].id ==
			     topology->cpus[i].caches[level - 1].id;
	return n;
}

int topology_cores(const struct topology *topology, int n_threads)
{
	int n = 0;
	assert(n_threads <= topology->n_cpus);
	for (int i = 0; i < n_threads; i++)
		n += sibling_rank(topology, i) == 0;
	return n;
}

uint64_t topology_last_level_bytes(const struct topology *topology, int n_threads)
{
	uint64_t sum = 0;
	for (int level = TOPOLOGY_LEVELS; level > 0 && !sum; level--)
		for (int i = 0; i < n_threads; i++)
			if (sharers(topology, level, i, i) == 0)
				sum += topology->cpus[i].caches[level - 1].bytes;
	return sum;
}

uint64_t topology_share_bytes(const struct topology *topology, int level, int n_threads)
{
	uint64_t least = UINT64_MAX;
	assert(level >= 1 && level <= TOPOLOGY_LEVELS && n_threads <= topology->n_cpus);
	for (int i = 0; i < n_threads; i++) {
		uint64_t bytes = topology->cpus[i].caches[level - 1].bytes;
		if (!bytes)
			return 0;
		uint64_t share = bytes / sharers(topology, level, i, n_threads);
		least = share < least ? share : least;
	}
	return least;
}
