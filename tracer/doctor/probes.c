/* The probes: one function for each group of facts, and all of them run under guard. */
#include "tracer/doctor/probes.h"

#include "base/small_file.h"
#include "cache/geometry_machine.h"
#include "machine/data/size_curve.h"
#include "machine/store/roof_cache.h"
#include "machine/topology/theory.h"
#include "machine/topology/topology.h"
#include "tracer/doctor/trial.h"
#include "tracer/launch/sandbox.h"
#include "tracer/pmu/resctrl.h"
#include "tracer/pmu/uncore.h"
#include "tracer/timed/sampler.h"
#include "tracer/translate/trace_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define FSGSBASE_ENABLED 2 /* AT_HWCAP2 */

static void probe_system(struct doctor_facts *facts)
{
	doctor_read_system("", facts);
}

static void probe_perf(struct doctor_facts *facts)
{
	const struct perf_source *source = &perf_source_kernel;
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
					     .size = sizeof(attr),
					     .config = PERF_COUNT_SW_CPU_CLOCK,
					     .sample_period = 1000000000,
					     .disabled = 1,
					     .exclude_kernel = 1,
					     .exclude_hv = 1};
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	doctor_refusal_take(&facts->perf, sampler_perf.probe());
	int fd = facts->perf.there ? -1 : source->open(source->context, &attr, 0, -1, -1);
	if (fd < 0)
		return;
	for (unsigned n = DOCTOR_RING_PAGES; n >= 1 && !facts->ring_pages; n /= 2) {
		const size_t size = (n + 1) * page;
		void *mapping = source->map(source->context, fd, size);
		if (mapping != MAP_FAILED)
			source->unmap(source->context, mapping, size);
		else if (!facts->ring.there)
			doctor_refusal_take(&facts->ring, refusal_here(errno, REFUSED_RING,
								       "the samples of cpu-clock"));
		facts->ring_pages = mapping != MAP_FAILED ? n : 0;
	}
	source->close(source->context, fd);
}

static void probe_timer(struct doctor_facts *facts)
{
	doctor_refusal_take(&facts->timer, sampler_timer.probe());
}

static void probe_pmu(struct doctor_facts *facts)
{
	struct proof_place place;
	const struct event_table *table = event_table_here();
	proof_place_read("", &place);
	doctor_read_pmu(&perf_source_kernel, table, &place, &facts->pmu);
}

static void probe_uncore(struct doctor_facts *facts)
{
	struct uncore uncore = {0};
	struct uncore_counters *counters = NULL;
	struct rf_error *error = uncore_find("", &uncore);
	if (!error) {
		facts->n_uncore_pmus = (unsigned)uncore.n_pmus;
		facts->uncore_complete = uncore_is_complete(&uncore);
		error = uncore_open(&perf_source_kernel, &uncore, &counters);
		if (!error)
			uncore_close(counters);
		uncore_deinit(&uncore);
	}
	doctor_refusal_take(&facts->uncore, error);
}

static void probe_resctrl(struct doctor_facts *facts)
{
	doctor_refusal_take(&facts->resctrl, resctrl_probe(""));
	facts->resctrl_writable = access("/sys/fs/resctrl/mon_groups", W_OK | X_OK) == 0;
}

static void probe_tracing(struct doctor_facts *facts)
{
	facts->tracing = doctor_try_tracing();
}

static void probe_memory(struct doctor_facts *facts)
{
	struct sandbox sandbox;
	facts->memory = doctor_try_memory();
	sandbox_init(&sandbox);
	facts->sandbox_allows = sandbox.allows;
}

static void probe_cpu(struct doctor_facts *facts)
{
	const char *objection = trace_config_objection();
	facts->fsgsbase = getauxval(AT_HWCAP2) & FSGSBASE_ENABLED;
	snprintf(facts->no_traffic, sizeof(facts->no_traffic), "%s", objection ? objection : "");
}

/* Where the operating system alone does not give these caches, CPUID has. */
static bool caches_by_cpuid(const struct geometry *geometry)
{
	static const struct cache_cpuid nothing[CACHE_LEVELS];
	struct topology topology = {0};
	struct geometry told = {0};
	struct rf_error *error = topology_read(&topology);
	geometry_from_found(topology.caches, topology.n_caches, nothing, NULL, &told);
	if (!error)
		topology_deinit(&topology);
	rf_error_destroy(error);
	return geometry->source == GEOMETRY_MACHINE && told.source != GEOMETRY_MACHINE;
}

/* What hwloc does not find is in the table; it need not say so as well. */
static void hush_hwloc(void)
{
	setenv("HWLOC_HIDE_ERRORS", "2", 0);
}

static void probe_caches(struct doctor_facts *facts)
{
	struct geometry geometry = {0};
	hush_hwloc();
	geometry_of_machine(&geometry);
	char *text = geometry_print(&geometry);
	snprintf(facts->caches, sizeof(facts->caches), "%s", text ? text : "");
	free(text);
	facts->cache_source = geometry.source;
	facts->caches_by_cpuid = caches_by_cpuid(&geometry);
}

/* Whether the directory, or the nearest one above it that is there, can be written to. */
static bool can_write_below(const char *directory)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s", directory);
	while (access(path, F_OK) != 0) {
		char *slash = strrchr(path, '/');
		if (!slash)
			return false;
		*(slash == path ? slash + 1 : slash) = '\0';
	}
	return access(path, W_OK | X_OK) == 0;
}

static void read_roofs(struct doctor_facts *facts, const char *directory, json_t *key)
{
	char *path = key ? roof_cache_path(directory, key) : NULL;
	struct machine machine = {0};
	struct rf_error *error = path ? roof_cache_load(path, key, &machine) : NULL;
	facts->roofs_kept = path && !error;
	facts->n_roofs = machine.n_roofs;
	const struct size_verdict verdict = size_verdict(&machine);
	facts->last_cache_bytes = verdict.effective < verdict.reported ? verdict.effective : 0;
	facts->roofs_writable = can_write_below(directory);
	snprintf(facts->roofs_path, sizeof(facts->roofs_path), "%s", directory);
	machine_deinit(&machine);
	rf_error_destroy(error);
	free(path);
}

static void probe_roofs(struct doctor_facts *facts)
{
	struct topology topology = {0};
	char *directory = NULL;
	hush_hwloc();
	struct rf_error *error = keep_place_directory(&roof_cache_place, &directory);
	if (!error)
		error = topology_read(&topology);
	if (!error) {
		json_t *key = roof_cache_key(&topology);
		read_roofs(facts, directory, key);
		json_decref(key);
		topology_deinit(&topology);
	}
	rf_error_destroy(error);
	free(directory);
}

/* ---- all together ---- */

struct errand {
	void (*probe)(struct doctor_facts *facts);
	struct doctor_facts *facts;
};

static void run_errand(void *context)
{
	const struct errand *errand = context;
	errand->probe(errand->facts);
}

struct doctor_facts *doctor_facts_create(unsigned limit_ms)
{
	static void (*const probes[N_DOCTOR_PROBES])(struct doctor_facts * facts) = {
		[PROBE_SYSTEM] = probe_system,   [PROBE_PERF] = probe_perf,
		[PROBE_TIMER] = probe_timer,     [PROBE_PMU] = probe_pmu,
		[PROBE_UNCORE] = probe_uncore,   [PROBE_RESCTRL] = probe_resctrl,
		[PROBE_TRACING] = probe_tracing, [PROBE_MEMORY] = probe_memory,
		[PROBE_CPU] = probe_cpu,         [PROBE_CACHES] = probe_caches,
		[PROBE_ROOFS] = probe_roofs,
	};
	struct doctor_facts *facts = mmap(NULL, sizeof(*facts), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (facts == MAP_FAILED)
		return NULL;
	facts->ptrace_scope = SMALL_FILE_UNKNOWN;
	for (int i = 0; i < N_DOCTOR_PROBES; i++) {
		struct errand errand = {probes[i], facts};
		facts->endings[i] = guard_run(run_errand, &errand, limit_ms);
		if (facts->endings[i].how != GUARD_NO_PROCESS)
			continue;
		probes[i](facts);
		facts->endings[i].how = GUARD_DONE;
	}
	return facts;
}

void doctor_facts_destroy(struct doctor_facts *facts)
{
	if (facts)
		munmap(facts, sizeof(*facts));
}
