#include "tracer/doctor/doctor.h"

#include "tracer/events/choice.h"

#include <errno.h>
#include <string.h>

enum { MIN_RING_PAGES = 8 };	/* below it the sampler does not start */
enum { EVENTS_PER_CPU = 3, OTHER_DESCRIPTORS = 64 };

#define SAY(field, ...) snprintf(field, sizeof(field), __VA_ARGS__)

#define COSTS_COUNTS "nothing is counted: no work, no intensity, no traffic; times alone are shown"
#define UNCONFINED "start the container with --security-opt seccomp=unconfined"

/* Says what a lack costs and what to do. */
static void lacks(struct doctor_line *line, enum doctor_state state, const char *cost, const char *next)
{
	line->state = state;
	SAY(line->cost, "%s", cost);
	SAY(line->next, "%s", next);
}

/* ---- the system ---- */

static void check_kernel(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s", facts->kernel[0] ? facts->kernel : "uname does not tell");
	/* attr.build_id came with 5.12, attr.inherit_thread with 5.13 */
	if (facts->kernel_major < 5 || (facts->kernel_major == 5 && facts->kernel_minor < 13))
		lacks(line, DOCTOR_PARTLY, "samples know files by their names alone, and --no-children still pays for the "
		      "samples of children", "Linux 5.13 or later");
}

static void check_proc(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "/proc is %s", facts->proc ? "mounted" : "not mounted or hidden");
	if (!facts->proc)
		lacks(line, DOCTOR_MISSING, COSTS_COUNTS ", with few names", "as root: mount -t proc proc /proc");
}

static void check_sys(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "/sys is %s", facts->sys ? "mounted" : "not mounted or hidden");
	if (!facts->sys)
		lacks(line, DOCTOR_MISSING, "caches, cores and PMUs are those that the processor tells of by itself",
		      "as root: mount -t sysfs sysfs /sys");
}

static void check_hypervisor(const struct doctor_facts *facts, struct doctor_line *line)
{
	if (!facts->hypervisor[0]) {
		SAY(line->found, "none: a machine of metal");
		return;
	}
	SAY(line->found, "a virtual machine (%s)", facts->hypervisor);
	lacks(line, DOCTOR_PARTLY, "the host may hide counters, share caches and take CPU time away: times and roofs spread "
	      "more", "nothing is needed; measure on an idle host, or on metal, where the last percents matter");
}

static void check_container(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s", facts->refusal.container ? "a container" : "none that leaves traces");
}

static void check_seccomp(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s", facts->refusal.seccomp ? "system calls are filtered, and so are those of programs started here"
						      : facts->proc ? "no filter" : "cannot be told without /proc");
	if (facts->refusal.seccomp && facts->sandbox_allows)
		SAY(line->found, "system calls are filtered, but none that a run needs");
	else if (facts->refusal.seccomp)
		lacks(line, DOCTOR_MISSING, "a program in a seccomp sandbox runs natively: " COSTS_COUNTS,
		      facts->refusal.container ? UNCONFINED : "start rfprof outside of the sandbox that filters system calls");
	else if (!facts->proc)
		lacks(line, DOCTOR_PARTLY, "a filter shows when something is refused", "mount /proc");
}

/* ---- the timed run ---- */

static void check_paranoid(const struct doctor_facts *facts, struct doctor_line *line)
{
	const int level = facts->refusal.paranoid, needed = refusal_paranoid_needed(REFUSED_SOFTWARE);
	char next[256];
	if (level == REFUSAL_UNKNOWN) {
		SAY(line->found, "cannot be read");
		lacks(line, DOCTOR_PARTLY, "none by itself; see perf sampler", "mount /proc, or a kernel with CONFIG_PERF_EVENTS");
		return;
	}
	SAY(line->found, "%d%s", level, facts->refusal.perfmon ? ", which does not bind: CAP_PERFMON or CAP_SYS_ADMIN is there"
					: level > needed ? "" : ", which allows events of one's own programs");
	SAY(next, "as root%s: sysctl kernel.perf_event_paranoid=%d", facts->refusal.container ? " of the host" : "", needed);
	if (level > needed && !facts->refusal.perfmon)
		lacks(line, DOCTOR_MISSING, "no event of perf for plain users: neither its samples nor counters", next);
}

static bool timer_works(const struct doctor_facts *facts)
{
	return facts->endings[PROBE_TIMER].how == PROBE_DONE && !facts->timer.there;
}

static bool perf_works(const struct doctor_facts *facts)
{
	return facts->endings[PROBE_PERF].how == PROBE_DONE && !facts->perf.there;
}

static void check_perf(const struct doctor_facts *facts, struct doctor_line *line)
{
	line->need = timer_works(facts) ? NEED_NOTHING : NEED_TIMES;
	SAY(line->found, "%s", facts->perf.there ? facts->perf.message : "cpu-clock can be sampled");
	if (facts->perf.there)
		lacks(line, DOCTOR_MISSING, timer_works(facts)
		      ? "times come from timers in a preloaded library: coarser, and none for static or setuid programs"
		      : "there are no times", facts->perf.hint);
}

static void check_timer(const struct doctor_facts *facts, struct doctor_line *line)
{
	line->need = perf_works(facts) ? NEED_NOTHING : NEED_TIMES;
	SAY(line->found, "%s", facts->timer.there ? facts->timer.message : "the library to preload is there");
	if (facts->timer.there)
		lacks(line, DOCTOR_MISSING, perf_works(facts) ? "nothing, since perf samples" : "there are no times",
		      facts->timer.hint);
}

static void check_locked(const struct doctor_facts *facts, struct doctor_line *line)
{
	const unsigned pages = facts->ring_pages;
	if (!perf_works(facts)) {
		SAY(line->found, "not needed: perf does not sample");
		return;
	}
	SAY(line->found, "a ring of %u pages can be had", pages);
	line->need = NEED_TIMES;
	if (pages >= DOCTOR_RING_PAGES)
		return;
	if (facts->ring.there)
		SAY(line->found, "a ring of %u pages can be had, not of %d: %s", pages, DOCTOR_RING_PAGES, facts->ring.message);
	lacks(line, pages < MIN_RING_PAGES ? DOCTOR_MISSING : DOCTOR_PARTLY,
	      pages < MIN_RING_PAGES ? "the run fails when it samples by perf; --sampler=timer goes"
				     : "samples get lost when the machine is busy; the report says how many", facts->ring.hint);
}

static void check_descriptors(const struct doctor_facts *facts, struct doctor_line *line)
{
	const uint64_t needed = (uint64_t)(facts->n_cpus > 0 ? facts->n_cpus : 1) * EVENTS_PER_CPU + OTHER_DESCRIPTORS;
	char next[256];
	if (facts->descriptors == UINT64_MAX)
		SAY(line->found, "no limit");
	else
		SAY(line->found, "up to %llu, of which %llu are needed for %d CPU%s", (unsigned long long)facts->descriptors,
		    (unsigned long long)needed, facts->n_cpus, facts->n_cpus == 1 ? "" : "s");
	SAY(next, "raise the hard limit: ulimit -Hn %llu", (unsigned long long)needed);
	if (facts->descriptors < needed)
		lacks(line, DOCTOR_MISSING, "the sampler cannot watch every CPU", next);
}

/* ---- the counted run ---- */

static void check_scope(const struct doctor_facts *facts, struct doctor_line *line)
{
	static const char *const meanings[] = {
		"everyone may trace programs of one's own", "parents may trace what they start",
		"only with CAP_SYS_PTRACE", "nobody may trace",
	};
	const int scope = facts->ptrace_scope;
	if (scope == REFUSAL_UNKNOWN) {
		SAY(line->found, "no Yama here: the usual rights hold");
		return;
	}
	SAY(line->found, "kernel.yama.ptrace_scope is %d: %s", scope, scope >= 0 && scope < 4 ? meanings[scope] : "not known");
	if (scope == 2)
		lacks(line, DOCTOR_PARTLY, "plain users cannot count", "as root: sysctl kernel.yama.ptrace_scope=1");
	else if (scope > 2)
		lacks(line, DOCTOR_MISSING, COSTS_COUNTS, "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and boot again: level 3 "
		      "cannot be left");
}

static const char *trial_words(enum trial_stage stage)
{
	static const char *const words[] = {
		[TRIAL_DONE] = "works", [TRIAL_FORK] = "no child can be made", [TRIAL_SEIZE] = "a child cannot be traced",
		[TRIAL_STOP] = "a traced child does not stop", [TRIAL_REGISTERS] = "registers of a child cannot be read and set",
		[TRIAL_FILE] = "/proc/PID/mem of a child cannot be opened",
		[TRIAL_CONTENTS] = "the memory of a child cannot be read and written",
		[TRIAL_MEMFD] = "memfd_create is refused", [TRIAL_SIZE] = "a memfd cannot be sized",
		[TRIAL_WRITABLE] = "a memfd cannot be mapped", [TRIAL_EXECUTABLE] = "a memfd cannot be mapped executable",
		[TRIAL_RUN] = "code in a memfd does not run",
	};
	return stage < sizeof(words) / sizeof(*words) ? words[stage] : "fails";
}

static void say_trial(struct doctor_line *line, const struct doctor_trial *trial)
{
	char cause[128] = "";
	if (trial->errnum)
		SAY(cause, ": %s", strerrordesc_np(trial->errnum) ? strerrordesc_np(trial->errnum) : "unknown error");
	SAY(line->found, "%s%s", trial_words(trial->stage), cause);
}

static const char *tracing_step(const struct doctor_facts *facts)
{
	if (facts->tracing.stage == TRIAL_FORK)
		return "raise the limit of processes: ulimit -u, or pids.max of the control group";
	if (facts->tracing.stage == TRIAL_FILE && !facts->proc)
		return "as root: mount -t proc proc /proc";
	if (facts->refusal.container)
		return "start the container with --cap-add SYS_PTRACE";
	if (facts->ptrace_scope != REFUSAL_UNKNOWN && facts->ptrace_scope > 1)
		return "as root: sysctl kernel.yama.ptrace_scope=1";
	if (facts->refusal.seccomp)
		return "start rfprof outside of the sandbox that filters system calls";
	return "run rfprof under no other tracer (strace -f, a debugger), and allow ptrace in the security policy";
}

static void check_ptrace(const struct doctor_facts *facts, struct doctor_line *line)
{
	say_trial(line, &facts->tracing);
	if (facts->tracing.stage == TRIAL_DONE)
		SAY(line->found, "a child can be traced, and its registers and memory changed");
	else
		lacks(line, DOCTOR_MISSING, COSTS_COUNTS, tracing_step(facts));
}

static void check_memory(const struct doctor_facts *facts, struct doctor_line *line)
{
	say_trial(line, &facts->memory);
	if (facts->memory.stage == TRIAL_DONE)
		SAY(line->found, "code in a memfd runs");
	else
		lacks(line, DOCTOR_MISSING, COSTS_COUNTS, facts->memory.stage == TRIAL_EXECUTABLE
		      ? "allow executable shared memory: SELinux execmem and execmod, or vm.memfd_noexec below 2"
		      : facts->memory.stage == TRIAL_MEMFD && facts->refusal.container ? UNCONFINED
		      : "see the kernel's log for the denial, and the limits on memory and descriptors");
}

static void check_address_space(const struct doctor_facts *facts, struct doctor_line *line)
{
	if (facts->address_space == UINT64_MAX) {
		SAY(line->found, "no limit");
		return;
	}
	SAY(line->found, "ulimit -v is %llu kB", (unsigned long long)facts->address_space / 1024);
	lacks(line, DOCTOR_MISSING, "programs with a limited address space run natively: " COSTS_COUNTS, "ulimit -v unlimited");
}

static void check_fsgsbase(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s", facts->fsgsbase ? "the kernel lets programs use it" : "not enabled (AT_HWCAP2)");
	if (!facts->fsgsbase)
		lacks(line, DOCTOR_PARTLY, "accesses to thread-local variables are not traced: their traffic is missing",
		      "Linux 5.9 or later, booted without nofsgsbase");
}

static void check_bmi2(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s", facts->no_traffic[0] ? facts->no_traffic : "there");
	if (facts->no_traffic[0])
		lacks(line, DOCTOR_MISSING, "no memory traffic is traced: levels are inferred from the speed",
		      "a processor from Haswell, Zen or later; in a virtual machine: -cpu host");
}

/* ---- caches, roofs, names ---- */

static void check_caches(const struct doctor_facts *facts, struct doctor_line *line)
{
	const bool assumed = facts->cache_source == GEOMETRY_ASSUMED;
	SAY(line->found, "%s, %s", facts->caches, assumed ? "assumed: neither the system nor the processor tells"
					   : facts->caches_by_cpuid ? "from the processor (CPUID)" : "from the operating system");
	if (assumed)
		lacks(line, DOCTOR_PARTLY, "the traffic is that of caches of a middling core", "--cache=L1=48K:12,L2=2M:16,L3=32M:16, "
		      "with what the data sheet says");
}

static void check_roofs(const struct doctor_facts *facts, struct doctor_line *line)
{
	if (facts->roofs_kept) {
		SAY(line->found, "%zu rows are kept in %s", facts->n_roofs, facts->roofs_path);
		return;
	}
	SAY(line->found, "none are kept%s%s%s", facts->roofs_path[0] ? " in " : ": there is no home directory", facts->roofs_path,
	    facts->roofs_path[0] && !facts->roofs_writable ? ", and it cannot be written to" : "");
	if (facts->roofs_writable)
		lacks(line, DOCTOR_PARTLY, "the next run measures them first, once, in some 3 seconds",
		      "rfprof machine measures all of them now");
	else
		lacks(line, DOCTOR_PARTLY, "each run measures them again, in some 3 seconds", "set XDG_CACHE_HOME to a directory that "
		      "can be written to");
}

/* No server is asked here, as none is without --debuginfod. */
static void check_debuginfod(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "DEBUGINFOD_URLS is %sset, libdebuginfod is %s; rfprof asks a server with --debuginfod only",
	    facts->debuginfod_urls ? "" : "not ", facts->debuginfod_client ? "there" : "not there");
	if (facts->debuginfod_urls && facts->debuginfod_client)
		return;
	lacks(line, DOCTOR_MISSING, "stripped code has the names of what it exports, no lines and no inlined functions",
	      facts->debuginfod_client ? "set DEBUGINFOD_URLS to your distribution's server and give --debuginfod, or install the "
					 "debug packages (NAME-dbgsym, NAME-debuginfo) of what is profiled"
				       : "install libdebuginfod, or the debug packages (NAME-dbgsym, NAME-debuginfo) of what is "
					 "profiled");
}

/* ---- counters ---- */

/* In the words for what is known of this machine, which is more than the files of /proc tell where they are hidden. */
static struct doctor_refusal explained_pmu(const struct doctor_facts *facts)
{
	const struct refusal_request request = { .kind = REFUSED_HARDWARE, .what = "the event branches" };
	struct refusal_facts known = facts->refusal;
	struct doctor_refusal refusal = facts->pmu.refused;
	known.hypervisor |= facts->hypervisor[0] != '\0';
	if (refusal.there && refusal.errnum)
		doctor_refusal_take(&refusal, refusal_explain(refusal.errnum, &request, &known));
	return refusal;
}

static void check_pmu(const struct doctor_facts *facts, struct doctor_line *line)
{
	const struct doctor_pmu *pmu = &facts->pmu;
	const char *table = pmu->table[0] ? pmu->table : "a processor without a table of events";
	if (pmu->refused.there) {
		struct doctor_refusal refusal = explained_pmu(facts);
		SAY(line->found, "%s: %s", table, refusal.message);
		lacks(line, DOCTOR_MISSING, "a second run, which counts by translation: exact, but slower than the program",
		      refusal.hint);
		return;
	}
	SAY(line->found, "%s: %u general counter%s, %d fixed", table, pmu->general, pmu->general == 1 ? "" : "s",
	    __builtin_popcount(pmu->fixed));
	if (!pmu->table[0])
		lacks(line, DOCTOR_PARTLY, "its events are not known here: work is counted by translation", "see docs/events.md on "
		      "how to add a table");
}

static void add_words(char *text, size_t size, const char *between, const char *words)
{
	const size_t used = strlen(text);
	snprintf(text + used, size - used, "%s%s", used ? between : "", words);
}

static void check_events(const struct doctor_facts *facts, struct doctor_line *line)
{
	unsigned listed = 0, usable = 0;
	char bad[640] = "";
	for (int i = 0; i < N_EVENT_QUANTITIES; i++) {
		const struct doctor_quantity *quantity = &facts->pmu.quantities[i];
		const char *name = event_quantity_name((enum event_quantity)i);
		listed += quantity->listed;
		usable += quantity->usable;
		if (quantity->usable)
			add_words(line->found, 300, ", ", name);
		else if (quantity->listed) {
			add_words(bad, sizeof(bad), "; ", name);
			add_words(bad, sizeof(bad), " (", quantity->why);
			add_words(bad, sizeof(bad), "", ")");
		}
	}
	if (!listed) {
		SAY(line->found, "none could be tried");
		lacks(line, DOCTOR_MISSING, "as for the PMU", facts->pmu.refused.there ? "see PMU" : "see docs/events.md");
		return;
	}
	add_words(line->found, sizeof(line->found), "", usable ? " proved" : "none proved");
	if (usable == listed)
		return;
	add_words(line->found, sizeof(line->found), "; not used: ", bad);
	lacks(line, usable ? DOCTOR_PARTLY : DOCTOR_MISSING, "what is not proved is not taken from the PMU, but counted or traced",
	      "nothing is needed; the reasons say what could be changed");
}

#define COSTS_MEMORY "traffic to memory is simulated, not measured"

static void check_uncore(const struct doctor_facts *facts, struct doctor_line *line)
{
	if (facts->uncore.there) {
		SAY(line->found, "%s", facts->uncore.message);
		lacks(line, DOCTOR_MISSING, COSTS_MEMORY, facts->uncore.hint);
		return;
	}
	SAY(line->found, "%u PMU%s of memory controllers", facts->n_uncore_pmus, facts->n_uncore_pmus == 1 ? "" : "s");
	if (!facts->uncore_complete)
		lacks(line, DOCTOR_PARTLY, COSTS_MEMORY ": not both of reads and writes are counted there",
		      "a newer kernel may name the events");
}

static void check_resctrl(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s", facts->resctrl.there ? facts->resctrl.message : "counts bytes of memory by group of tasks");
	if (facts->resctrl.there)
		lacks(line, DOCTOR_MISSING, "no bytes of memory by program; " COSTS_MEMORY, facts->resctrl.hint);
	else if (!facts->resctrl_writable)
		lacks(line, DOCTOR_PARTLY, COSTS_MEMORY ": no group can be made", "run rfprof as root, or give its user the "
		      "directory mon_groups");
}

/* ---- the table ---- */

static const struct check {
	const char *name;
	enum doctor_probe probe;
	enum doctor_need need;	/* where it is missing, unless the check says otherwise */
	void (*look)(const struct doctor_facts *facts, struct doctor_line *line);
} checks[] = {
	{ "kernel", PROBE_SYSTEM, NEED_NOTHING, check_kernel },
	{ "/proc", PROBE_SYSTEM, NEED_COUNTS, check_proc },
	{ "/sys", PROBE_SYSTEM, NEED_NOTHING, check_sys },
	{ "hypervisor", PROBE_SYSTEM, NEED_NOTHING, check_hypervisor },
	{ "container", PROBE_SYSTEM, NEED_NOTHING, check_container },
	{ "seccomp", PROBE_SYSTEM, NEED_COUNTS, check_seccomp },
	{ "perf_event_paranoid", PROBE_SYSTEM, NEED_NOTHING, check_paranoid },
	{ "perf sampler", PROBE_PERF, NEED_NOTHING, check_perf },
	{ "timer sampler", PROBE_TIMER, NEED_NOTHING, check_timer },
	{ "locked memory", PROBE_PERF, NEED_NOTHING, check_locked },
	{ "descriptors", PROBE_SYSTEM, NEED_TIMES, check_descriptors },
	{ "ptrace scope", PROBE_SYSTEM, NEED_NOTHING, check_scope },
	{ "ptrace", PROBE_TRACING, NEED_COUNTS, check_ptrace },
	{ "executable memory", PROBE_MEMORY, NEED_COUNTS, check_memory },
	{ "address space", PROBE_SYSTEM, NEED_COUNTS, check_address_space },
	{ "FSGSBASE", PROBE_CPU, NEED_NOTHING, check_fsgsbase },
	{ "BMI2", PROBE_CPU, NEED_TRAFFIC, check_bmi2 },
	{ "caches", PROBE_CACHES, NEED_NOTHING, check_caches },
	{ "roofs", PROBE_ROOFS, NEED_NOTHING, check_roofs },
	{ "debuginfod", PROBE_SYSTEM, NEED_NOTHING, check_debuginfod },
	{ "PMU", PROBE_PMU, NEED_NOTHING, check_pmu },
	{ "PMU events", PROBE_PMU, NEED_NOTHING, check_events },
	{ "uncore", PROBE_UNCORE, NEED_NOTHING, check_uncore },
	{ "resctrl", PROBE_RESCTRL, NEED_NOTHING, check_resctrl },
};
_Static_assert(sizeof(checks) / sizeof(*checks) <= DOCTOR_MAX_LINES, "a report has room for all checks");

/* A probe that has not come to its end says that much. */
static bool ended_early(const struct doctor_ending *ending, struct doctor_line *line)
{
	if (ending->how == PROBE_DONE)
		return false;
	if (ending->how == PROBE_LATE) {
		SAY(line->found, "no answer in time");
		lacks(line, DOCTOR_MISSING, "it is taken for missing here; a run may hang as well", "try again on an idle machine; see the "
		      "kernel's log");
		return true;
	}
	const char *name = ending->signal ? sigdescr_np(ending->signal) : NULL;
	SAY(line->found, "whoever asks is ended: %s", name ? name : "for no reason that is told");
	lacks(line, DOCTOR_MISSING, "it is taken for missing here; a run would be ended, too", "start rfprof outside of the sandbox "
	      "that filters system calls");
	return true;
}

static void look(const struct check *check, const struct doctor_facts *facts, struct doctor_line *line)
{
	*line = (struct doctor_line){ .name = check->name, .need = check->need };
	if (!ended_early(&facts->endings[check->probe], line))
		check->look(facts, line);
	else if (check->probe == PROBE_PERF || check->probe == PROBE_TIMER)
		line->need = NEED_TIMES;	/* a run asks, too, and is ended */
}

/* ---- what a run will do ---- */

static bool has(const struct doctor_report *report, enum doctor_need need)
{
	for (size_t i = 0; i < report->n; i++)
		if (report->lines[i].state == DOCTOR_MISSING && report->lines[i].need == need)
			return false;
	return true;
}

static enum pmu_state work_state(const struct doctor_pmu *pmu)
{
	const struct doctor_quantity *quantities = pmu->quantities;
	const bool sp = quantities[EVENT_FLOP_SP].usable, dp = quantities[EVENT_FLOP_DP].usable;
	if (quantities[EVENT_FLOP_ANY].usable || (sp && dp))
		return PMU_COMPLETE;
	return sp || dp || quantities[EVENT_FLOP_HP].usable ? PMU_PARTIAL : PMU_NONE;
}

static enum pmu_state memory_state(const struct doctor_facts *facts)
{
	const bool uncore = facts->endings[PROBE_UNCORE].how == PROBE_DONE && !facts->uncore.there && facts->uncore_complete;
	const bool resctrl = facts->endings[PROBE_RESCTRL].how == PROBE_DONE && !facts->resctrl.there && facts->resctrl_writable;
	if (uncore || resctrl)
		return PMU_COMPLETE;
	return facts->pmu.quantities[EVENT_LLC_MISS_BYTES].usable ? PMU_PARTIAL : PMU_NONE;
}

static const char *why_no_work(const struct doctor_facts *facts, const struct doctor_refusal *refusal)
{
	if (facts->endings[PROBE_PMU].how != PROBE_DONE)
		return "the PMU gives no answer";
	return refusal->there ? refusal->message : NULL;
}

static void say_sentence(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct doctor_refusal refusal = explained_pmu(facts);
	const struct choice_input input = { .work_events = work_state(&facts->pmu), .memory_events = memory_state(facts),
					    .why_no_work = why_no_work(facts, &refusal),
					    .why_no_memory = "no counter of memory traffic can be used" };
	const struct choice choice = choose(&input);
	const bool counts = has(report, NEED_COUNTS);
	const bool traced = counts && has(report, NEED_TRAFFIC);
	const char *times = !has(report, NEED_TIMES) ? "none" : perf_works(facts) ? "perf cpu-clock" : "timers in a preloaded library";
	SAY(report->sentence, "rfprof ./app here: times by %s; counts by %s; traffic %s", times,
	    choice.work == WORK_FROM_PMU ? "the PMU" : counts ? "translation" : "nothing",
	    choice.traffic == TRAFFIC_FROM_PMU ? "by the PMU" : traced ? "traced" : "by nothing");
	if (choice.work != WORK_FROM_PMU)
		add_words(report->sentence, sizeof(report->sentence), "; ", "the PMU is not used: ");
	if (choice.work != WORK_FROM_PMU) {
		const char *why = input.work_events == PMU_COMPLETE ? choice.why_work : input.why_no_work;
		add_words(report->sentence, sizeof(report->sentence), "", why ? why : "no events for flop are proved");
	}
	if (!report->possible)
		add_words(report->sentence, sizeof(report->sentence), "; missing for a full profile: ", report->missing);
}

void doctor_report_make(const struct doctor_facts *facts, struct doctor_report *report)
{
	*report = (struct doctor_report){ .n = sizeof(checks) / sizeof(*checks) };
	for (size_t i = 0; i < report->n; i++) {
		look(&checks[i], facts, &report->lines[i]);
		if (report->lines[i].state == DOCTOR_MISSING && report->lines[i].need != NEED_NOTHING)
			add_words(report->missing, sizeof(report->missing), ", ", report->lines[i].name);
	}
	report->possible = !report->missing[0];
	say_sentence(facts, report);
}

const char *doctor_state_name(enum doctor_state state)
{
	static const char *const names[] = { [DOCTOR_WORKS] = "works", [DOCTOR_PARTLY] = "partly", [DOCTOR_MISSING] = "missing" };
	return names[state];
}
