/* Facts that are read: what the kernel and its files tell, and refusals. */
#include "tracer/doctor/facts.h"

#include "base/small_file.h"
#include "symbols/debuginfod.h"
#include "tracer/pmu/counters.h"
#include "tracer/pmu/pmu_plan.h"
#include "tracer/pmu/proof_together.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

void doctor_refusal_take(struct doctor_refusal *refusal, struct rf_error *error)
{
	*refusal = (struct doctor_refusal){.there = error};
	if (!error)
		return;
	refusal->errnum = error->errnum;
	snprintf(refusal->message, sizeof(refusal->message), "%s", error->message);
	snprintf(refusal->hint, sizeof(refusal->hint), "%s", error->hint ? error->hint : "");
	rf_error_destroy(error);
}

/* ---- the system ---- */

static void read_kernel(struct doctor_facts *facts)
{
	struct utsname system;
	if (uname(&system) < 0)
		return;
	snprintf(facts->kernel, sizeof(facts->kernel), "%.30s %.60s %.30s", system.sysname,
		 system.release, system.machine);
	if (sscanf(system.release, "%d.%d", &facts->kernel_major, &facts->kernel_minor) != 2)
		facts->kernel_major = facts->kernel_minor = 0;
}

/* The processor says itself that it is virtual, and by whom [SDM vol. 2, CPUID leaf 1, ECX bit 31;
 * the leaf 40000000H is a convention of hypervisors]. */
static void read_hypervisor(struct doctor_facts *facts)
{
	unsigned eax, ebx, ecx, edx, name[3] = {0};
	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx >> 31))
		return;
	__cpuid(0x40000000, eax, name[0], name[1], name[2]);
	memcpy(facts->hypervisor, name, sizeof(name));
	for (char *c = facts->hypervisor; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (!facts->hypervisor[0])
		snprintf(facts->hypervisor, sizeof(facts->hypervisor), "unnamed");
}

static uint64_t limit_of(__rlimit_resource_t resource, bool hard)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit) < 0)
		return UINT64_MAX;
	const rlim_t value = hard ? limit.rlim_max : limit.rlim_cur;
	return value == RLIM_INFINITY ? UINT64_MAX : value;
}

void doctor_read_system(const char *root, struct doctor_facts *facts)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	read_kernel(facts);
	read_hypervisor(facts);
	refusal_facts_read(root, &facts->refusal);
	facts->proc = small_file_exists(root, "/proc/self/status");
	facts->sys = small_file_exists(root, "/sys/devices/system/cpu");
	facts->ptrace_scope = small_file_number(root, "/proc/sys/kernel/yama/ptrace_scope");
	/* as the counted run looks at it: the limit that a program starts with */
	facts->address_space = limit_of(RLIMIT_AS, false);
	facts->descriptors = limit_of(RLIMIT_NOFILE, true);
	facts->n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	facts->debuginfod_urls = urls && *urls;
	facts->debuginfod_client = debuginfod_has_library();
}

/* ---- which events of the PMU can be counted here, and are proved ---- */

static void take_quantities(const struct proof_event *events, const struct proof_result *results,
			    size_t n, struct doctor_pmu *pmu)
{
	for (size_t i = 0; i < n; i++)
		pmu->quantities[events[i].row->quantity].listed = true;
	for (int i = 0; i < N_EVENT_QUANTITIES; i++) {
		struct doctor_quantity *quantity = &pmu->quantities[i];
		const char *why = "";
		quantity->usable =
			quantity->listed &&
			proof_quantity_usable(events, results, n, (enum event_quantity)i, &why);
		snprintf(quantity->why, sizeof(quantity->why), "%s", why);
	}
}

/* What a run that wants all of them would count. */
static void prove_together(const struct perf_source *source, const struct proof_event *events,
			   size_t n, const struct counter_limits *limits,
			   const struct proof_loops *loops, bool hypervisor,
			   struct proof_result *results)
{
	struct together_event together[EVENT_GROUPS_MAX];
	bool used[EVENT_GROUPS_MAX];
	for (size_t i = 0; i < n; i++) {
		const enum event_quantity quantity = events[i].row->quantity;
		const char *why;
		together[i] = (struct together_event){events[i].attr, events[i].row,
						      pmu_default_period(&events[i].attr, quantity),
						      false};
		used[i] = proof_quantity_usable(events, results, n, quantity, &why);
	}
	proof_keep_together(source, together, n, limits, loops->loops, loops->n, hypervisor, used,
			    results);
}

static struct rf_error *prove(const struct perf_source *source, const struct event_table *table,
			      const struct counter_limits *limits, const struct proof_place *place,
			      struct doctor_pmu *pmu)
{
	struct proof_event *events = calloc(table->n_rows + 1, sizeof(*events));
	struct proof_result *results = calloc(table->n_rows + 1, sizeof(*results));
	struct proof_loops loops;
	struct rf_error *error = NULL;
	size_t n = 0;
	for (size_t i = 0; events && results && i < table->n_rows; i++)
		n += proof_event_init(&events[n], &table->rows[i]);
	proof_loops_init(&loops);
	if (!events || !results)
		error = rf_error_no_memory();
	else
		error = proof_run(source, events, n, loops.loops, loops.n, place, results);
	if (!error && n <= EVENT_GROUPS_MAX)
		prove_together(source, events, n, limits, &loops, place->facts.hypervisor, results);
	if (!error)
		take_quantities(events, results, n, pmu);
	proof_loops_deinit(&loops);
	free(events);
	free(results);
	return error;
}

void doctor_read_pmu(const struct perf_source *source, const struct event_table *table,
		     const struct proof_place *place, struct doctor_pmu *pmu)
{
	struct counter_limits limits = {0};
	*pmu = (struct doctor_pmu){0};
	snprintf(pmu->table, sizeof(pmu->table), "%s", table ? table->name : "");
	struct rf_error *error = counter_limits_find(source, &limits);
	pmu->general = limits.general;
	pmu->fixed = limits.fixed;
	if (!error && table)
		error = prove(source, table, &limits, place, pmu);
	doctor_refusal_take(&pmu->refused, error);
}
