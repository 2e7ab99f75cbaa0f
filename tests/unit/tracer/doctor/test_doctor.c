#include "base/small_file.h"
#include "tracer/doctor/print.h"
#include "tracer/doctor/trial.h"

#include "tests/unit/tracer/perf/fixture_root.h"
#include "tests/unit/tracer/perf/perf_source_fake.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <perfmon/pfmlib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct doctor_facts facts;
static struct doctor_report report;

/* A machine of metal, and a plain user, where everything is as it should be. */
static void init(void)
{
	facts = (struct doctor_facts){
		.kernel = "Linux 6.1.0 x86_64",
		.kernel_major = 6,
		.kernel_minor = 1,
		.proc = true,
		.sys = true,
		.ptrace_scope = 1,
		.refusal = {.paranoid = 1,
			    .nmi_watchdog = 0,
			    .mlock_kb = 516,
			    .memlock = 8 << 20,
			    .nr_open = 1048576},
		.address_space = UINT64_MAX,
		.descriptors = 1024,
		.n_cpus = 8,
		.debuginfod_urls = true,
		.debuginfod_client = true,
		.ring_pages = DOCTOR_RING_PAGES,
		.pmu = {.table = "a table", .general = 4, .fixed = 7},
		.n_uncore_pmus = 6,
		.uncore_complete = true,
		.resctrl_writable = true,
		.fsgsbase = true,
		.cache_source = GEOMETRY_MACHINE,
		.caches = "L1=48K:12",
		.roofs_kept = true,
		.roofs_writable = true,
		.roofs_path = "/home/u/.cache/rfprof",
		.n_roofs = 12,
	};
	facts.pmu.quantities[EVENT_CYCLES] =
		(struct doctor_quantity){.listed = true, .usable = true};
	facts.pmu.quantities[EVENT_FLOP_SP] =
		(struct doctor_quantity){.listed = true, .usable = true};
	facts.pmu.quantities[EVENT_FLOP_DP] =
		(struct doctor_quantity){.listed = true, .usable = true};
}

static const struct doctor_line *line(const char *name)
{
	doctor_report_make(&facts, &report);
	for (size_t i = 0; i < report.n; i++)
		if (!strcmp(report.lines[i].name, name))
			return &report.lines[i];
	cr_assert_fail("no line %s", name);
	return NULL;
}

/* The line is in that state with these words; what does not work says what it costs and what to do.
 */
static void expect(const char *name, enum doctor_state state, const char *found, const char *next)
{
	const struct doctor_line *got = line(name);
	cr_assert_eq(got->state, state, "%s: %s (%s)", name, doctor_state_name(got->state),
		     got->found);
	cr_assert_not_null(strstr(got->found, found), "%s: %s", name, got->found);
	cr_assert_eq(got->cost[0] == 0, state == DOCTOR_WORKS, "%s costs: %s", name, got->cost);
	cr_assert_eq(got->next[0] == 0, state == DOCTOR_WORKS, "%s next: %s", name, got->next);
	cr_assert_not_null(strstr(got->next, next), "%s next: %s", name, got->next);
}

static void expect_missing(const char *names)
{
	cr_assert_str_eq(report.missing, names);
	cr_assert_eq(report.possible, !*names);
	cr_assert_eq(strstr(report.sentence, "missing for a full profile") == NULL, !*names, "%s",
		     report.sentence);
}

TestSuite(doctor, .init = init);

Test(doctor, all_is_well)
{
	doctor_report_make(&facts, &report);
	expect_missing("");
	for (size_t i = 0; i < report.n; i++) {
		const struct doctor_line *each = &report.lines[i];
		cr_assert(each->found[0], "%s", each->name);
		cr_assert_eq(each->state, DOCTOR_WORKS, "%s: %s", each->name, each->found);
		for (size_t k = 0; k < i; k++)
			cr_assert_str_neq(each->name, report.lines[k].name);
	}
	cr_assert_str_eq(
		report.sentence,
		"rfprof ./app here: times by perf cpu-clock; counts by translation; traffic "
		"traced; the PMU is "
		"not used: counted execution: the run that traces the traffic counts exactly");
}

/* Facts of nothing but zeros are a machine, too. */
Test(doctor, nothing_is_known)
{
	facts = (struct doctor_facts){0};
	doctor_report_make(&facts, &report);
	cr_assert_not(report.possible);
	for (size_t i = 0; i < report.n; i++)
		cr_assert(report.lines[i].found[0], "%s", report.lines[i].name);
}

Test(doctor, kernel_and_files)
{
	facts.kernel_major = 5, facts.kernel_minor = 13;
	expect("kernel", DOCTOR_WORKS, "Linux 6.1.0", "");
	facts.kernel_minor = 12;
	expect("kernel", DOCTOR_PARTLY, "Linux", "5.13");
	facts.sys = false;
	expect("/sys", DOCTOR_MISSING, "hidden", "mount -t sysfs");
	expect_missing("");
	facts.proc = false;
	expect("/proc", DOCTOR_MISSING, "hidden", "mount -t proc");
	expect("seccomp", DOCTOR_PARTLY, "cannot be told", "/proc");
	expect_missing("/proc");
}

Test(doctor, surroundings)
{
	snprintf(facts.hypervisor, sizeof(facts.hypervisor), "KVMKVMKVM");
	expect("hypervisor", DOCTOR_PARTLY, "KVMKVMKVM", "metal");
	facts.refusal.seccomp = true;
	expect("seccomp", DOCTOR_MISSING, "filtered", "outside of the sandbox");
	facts.sandbox_allows = true;
	expect("seccomp", DOCTOR_WORKS, "none that a run needs", "");
	facts.sandbox_allows = false;
	facts.refusal.container = true;
	expect("seccomp", DOCTOR_MISSING, "filtered", "seccomp=unconfined");
	expect("container", DOCTOR_WORKS, "a container", "");
	expect_missing("seccomp");
	cr_assert_not_null(strstr(report.sentence, "times by perf cpu-clock"));
}

Test(doctor, paranoid)
{
	facts.refusal.paranoid = 4;
	expect("perf_event_paranoid", DOCTOR_MISSING, "4",
	       "as root: sysctl kernel.perf_event_paranoid=2");
	expect("kernel samples", DOCTOR_PARTLY, "cannot be sampled", "perf_event_paranoid=1");
	facts.refusal.paranoid = 2;
	expect("kernel samples", DOCTOR_PARTLY, "cannot be sampled", "cap_perfmon");
	facts.refusal.paranoid = 4;
	facts.refusal.container = true;
	expect("perf_event_paranoid", DOCTOR_MISSING, "4", "of the host");
	facts.refusal.perfmon = true;
	expect("perf_event_paranoid", DOCTOR_WORKS, "does not bind", "");
	facts.refusal.paranoid = SMALL_FILE_UNKNOWN;
	expect("perf_event_paranoid", DOCTOR_PARTLY, "cannot be read", "CONFIG_PERF_EVENTS");
	expect_missing("");
}

static struct doctor_refusal refused(int errnum, enum refusal_kind kind)
{
	struct doctor_refusal refusal;
	const struct refusal_request request = {.kind = kind, .what = "a cpu-clock event"};
	facts.refusal.paranoid = 3;
	doctor_refusal_take(&refusal, refusal_explain(errnum, &request, &facts.refusal));
	return refusal;
}

/* One sampler is enough. */
Test(doctor, samplers)
{
	facts.perf = refused(EACCES, REFUSED_SOFTWARE);
	expect("perf sampler", DOCTOR_MISSING, "paranoid is 3, a cpu-clock event needs 2",
	       "sysctl kernel.perf_event_paranoid=2");
	expect_missing("");
	cr_assert_not_null(strstr(report.sentence, "times by timers"));
	facts.timer = (struct doctor_refusal){.there = true,
					      .message = "no library",
					      .hint = "set RFPROF_SHIM"};
	expect("timer sampler", DOCTOR_MISSING, "no library", "RFPROF_SHIM");
	expect_missing("perf sampler, timer sampler");
	cr_assert_not_null(strstr(report.sentence, "times by none"));
	facts.perf.there = false;
	expect("timer sampler", DOCTOR_MISSING, "no library", "RFPROF_SHIM");
	expect_missing("");
}

Test(doctor, limits)
{
	facts.ring = refused(EPERM, REFUSED_RING);
	facts.ring_pages = 16;
	expect("locked memory", DOCTOR_PARTLY, "16 pages can be had, not of 128",
	       "perf_event_mlock_kb");
	expect_missing("");
	facts.ring_pages = 4;
	expect("locked memory", DOCTOR_MISSING, "4 pages", "perf_event_mlock_kb");
	expect_missing("locked memory");
	facts.ring_pages = DOCTOR_RING_PAGES;
	facts.descriptors = 104;
	expect("descriptors", DOCTOR_WORKS, "104 are needed for 8 CPUs", "");
	facts.descriptors = 103;
	expect("descriptors", DOCTOR_MISSING, "up to 103", "ulimit -Hn 104");
	expect_missing("descriptors");
	facts.descriptors = UINT64_MAX;
	expect("descriptors", DOCTOR_WORKS, "no limit", "");
	facts.address_space = 1 << 30;
	expect("address space", DOCTOR_MISSING, "1048576 kB", "ulimit -v unlimited");
	expect_missing("address space");
}

Test(doctor, ptrace)
{
	static const struct {
		int scope;
		enum doctor_state state;
		const char *next;
	} scopes[] = {
		{SMALL_FILE_UNKNOWN, DOCTOR_WORKS, ""},
		{0, DOCTOR_WORKS, ""},
		{1, DOCTOR_WORKS, ""},
		{2, DOCTOR_PARTLY, "ptrace_scope=1"},
		{3, DOCTOR_MISSING, "boot again"},
	};
	for (size_t i = 0; i < sizeof(scopes) / sizeof(*scopes); i++) {
		facts.ptrace_scope = scopes[i].scope;
		expect("ptrace scope", scopes[i].state, "", scopes[i].next);
		expect_missing("");
	}
	facts.tracing = (struct doctor_trial){TRIAL_SEIZE, EPERM};
	facts.ptrace_scope = 2;
	expect("ptrace", DOCTOR_MISSING, "cannot be traced: Operation not permitted",
	       "ptrace_scope=1");
	facts.ptrace_scope = 1;
	expect("ptrace", DOCTOR_MISSING, "cannot be traced", "no other tracer");
	facts.refusal.container = true;
	expect("ptrace", DOCTOR_MISSING, "cannot be traced", "SYS_PTRACE");
	expect_missing("ptrace");
	cr_assert_not_null(strstr(report.sentence, "counts by nothing"), "%s", report.sentence);
	for (enum trial_stage stage = TRIAL_FORK; stage <= TRIAL_CONTENTS; stage++) {
		facts.tracing.stage = stage;
		expect("ptrace", DOCTOR_MISSING, "Operation not permitted", "");
	}
}

Test(doctor, memory)
{
	facts.memory = (struct doctor_trial){TRIAL_EXECUTABLE, EACCES};
	expect("executable memory", DOCTOR_MISSING, "mapped executable: Permission denied",
	       "SELinux");
	facts.memory = (struct doctor_trial){TRIAL_MEMFD, ENOSYS};
	expect("executable memory", DOCTOR_MISSING, "memfd_create is refused", "kernel's log");
	facts.refusal.container = true;
	expect("executable memory", DOCTOR_MISSING, "memfd_create is refused", "unconfined");
	expect_missing("executable memory");
}

Test(doctor, processor)
{
	facts.fsgsbase = false;
	expect("FSGSBASE", DOCTOR_PARTLY, "AT_HWCAP2", "5.9");
	expect_missing("");
	snprintf(facts.no_traffic, sizeof(facts.no_traffic),
		 "this processor has no BMI2 instructions");
	facts.uncore.there = facts.resctrl.there = true;
	expect("BMI2", DOCTOR_MISSING, "no BMI2", "-cpu host");
	expect_missing("BMI2");
	cr_assert_not_null(strstr(report.sentence, "counts by translation; traffic by nothing"),
			   "%s", report.sentence);
}

Test(doctor, caches_and_roofs)
{
	expect("caches", DOCTOR_WORKS, "L1=48K:12, from the operating system", "");
	facts.caches_by_cpuid = true;
	expect("caches", DOCTOR_WORKS, "CPUID", "");
	facts.cache_source = GEOMETRY_ASSUMED;
	expect("caches", DOCTOR_PARTLY, "assumed", "--cache=");
	facts.roofs_kept = false;
	expect("roofs", DOCTOR_PARTLY, "none are kept in /home/u/.cache/rfprof", "rfprof machine");
	facts.roofs_writable = false;
	expect("roofs", DOCTOR_PARTLY, "cannot be written to", "XDG_CACHE_HOME");
	facts.roofs_path[0] = 0;
	expect("roofs", DOCTOR_PARTLY, "no home directory", "XDG_CACHE_HOME");
	expect_missing("");
}

Test(doctor, debuginfod)
{
	expect("debuginfod", DOCTOR_WORKS, "with --debuginfod only", "");
	facts.debuginfod_urls = false;
	expect("debuginfod", DOCTOR_MISSING, "DEBUGINFOD_URLS is not set, libdebuginfod is there",
	       "--debuginfod");
	facts.debuginfod_client = false;
	expect("debuginfod", DOCTOR_MISSING, "libdebuginfod is not there", "debug packages");
	expect_missing("");
}

Test(doctor, no_pmu)
{
	facts.pmu = (struct doctor_pmu){.table = "a table",
					.refused = refused(ENOENT, REFUSED_HARDWARE)};
	expect("PMU", DOCTOR_MISSING, "a table: the PMU here has no", "dmesg");
	snprintf(facts.hypervisor, sizeof(facts.hypervisor), "KVMKVMKVM");
	expect("PMU", DOCTOR_MISSING, "the hypervisor does not show one", "pmu=on");
	expect("PMU events", DOCTOR_MISSING, "none could be tried", "PMU");
	expect_missing("");
	cr_assert_not_null(
		strstr(report.sentence,
		       "counts by translation; traffic traced; the PMU is not used: no PMU for"),
		"%s", report.sentence);
}

Test(doctor, events_that_are_not_proved)
{
	expect("PMU", DOCTOR_WORKS, "a table: 4 general counters, 3 fixed", "");
	expect("PMU events", DOCTOR_WORKS, "cycles, flop_sp, flop_dp proved", "");
	facts.pmu.quantities[EVENT_FLOP_DP] =
		(struct doctor_quantity){.listed = true, .why = "2.000 times the truth"};
	expect("PMU events", DOCTOR_PARTLY,
	       "cycles, flop_sp proved; not used: flop_dp (2.000 times the truth)", "reasons");
	cr_assert_not_null(strstr(report.sentence, "counts by translation"), "%s", report.sentence);
	for (int i = 0; i < N_EVENT_QUANTITIES; i++) {
		facts.pmu.quantities[i] = (struct doctor_quantity){.listed = true};
		memset(facts.pmu.quantities[i].why, 'x', sizeof(facts.pmu.quantities[i].why) - 1);
	}
	expect("PMU events", DOCTOR_MISSING, "none proved; not used: cycles (xxx", "reasons");
	facts.pmu.table[0] = 0;
	expect("PMU", DOCTOR_PARTLY, "without a table", "docs/events.md");
}

Test(doctor, memory_controllers)
{
	facts.uncore_complete = false;
	expect("uncore", DOCTOR_PARTLY, "6 PMUs", "newer kernel");
	facts.uncore = refused(EACCES, REFUSED_UNCORE);
	expect("uncore", DOCTOR_MISSING, "needs 0", "paranoid=0");
	facts.resctrl_writable = false;
	expect("resctrl", DOCTOR_PARTLY, "counts bytes", "as root");
	facts.resctrl = (struct doctor_refusal){.there = true,
						.message = "resctrl is not mounted",
						.hint = "mount -t resctrl"};
	expect("resctrl", DOCTOR_MISSING, "not mounted", "mount -t resctrl");
	expect_missing("");
	cr_assert_not_null(strstr(report.sentence, "traffic traced"), "%s", report.sentence);
}

/* A probe that was ended, or did not come to an end, has no facts to speak of. */
Test(doctor, probes_that_do_not_end)
{
	facts.endings[PROBE_TRACING] = (struct guard_ending){GUARD_DIED, SIGSYS};
	expect("ptrace", DOCTOR_MISSING, "Bad system call", "sandbox");
	expect_missing("ptrace");
	facts.endings[PROBE_TRACING] = (struct guard_ending){GUARD_LATE, 0};
	expect("ptrace", DOCTOR_MISSING, "no answer in time", "again");
	facts.endings[PROBE_TRACING] = (struct guard_ending){GUARD_DONE, 0};
	facts.endings[PROBE_PMU] = (struct guard_ending){GUARD_DIED, SIGSYS};
	facts.pmu = (struct doctor_pmu){0};
	expect("PMU", DOCTOR_MISSING, "Bad system call", "sandbox");
	expect_missing("");
	facts.endings[PROBE_PERF] = (struct guard_ending){GUARD_DIED, SIGSYS};
	expect("perf sampler", DOCTOR_MISSING, "Bad system call", "sandbox");
	expect_missing("perf sampler, running processes, locked memory");
}

/* ---- probes ---- */

static int *shared;

static void set_seven(void *context)
{
	*(int *)context = 7;
}
static void never_end(void *context)
{
	for (;;)
		pause();
}
static void die(void *context)
{
	raise(SIGSYS);
}

Test(doctor, guard)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	cr_assert_neq(shared, MAP_FAILED);
	signal(SIGCHLD, SIG_IGN); /* as it may be handed down */
	cr_assert_eq(guard_run(set_seven, shared, 60000).how, GUARD_DONE);
	cr_assert_eq(*shared, 7);
	cr_assert_eq(guard_run(never_end, NULL, 20).how, GUARD_LATE);
	const struct guard_ending died = guard_run(die, NULL, 60000);
	cr_assert(died.how == GUARD_DIED && died.signal == SIGSYS);
	munmap(shared, sizeof(*shared));
}

/* They leave no descriptor and no child behind. */
Test(doctor, trials_leave_nothing)
{
	int before = dup(0), after;
	close(before);
	(void)doctor_try_tracing();
	struct doctor_trial memory = doctor_try_memory();
	after = dup(0);
	close(after);
	cr_assert_eq(before, after);
	cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	cr_assert(memory.stage == TRIAL_DONE || memory.errnum || memory.stage == TRIAL_RUN);
}

Test(doctor, system_below_a_root, .fini = fixture_root_remove)
{
	struct doctor_facts read = {0};
	fixture_root_make();
	setenv("DEBUGINFOD_URLS", "", 1);
	setenv("PATH", "/nonexistent:/usr/bin:/bin", 1);
	doctor_read_system(fixture_root, &read);
	cr_assert(!read.proc && !read.sys && read.ptrace_scope == SMALL_FILE_UNKNOWN &&
		  !read.debuginfod_urls);
	cr_assert_eq(strncmp(read.kernel, "Linux ", 6), 0, "%s", read.kernel);
	cr_assert_gt(read.kernel_major, 0);
	fixture_put("/proc/self/status", "Seccomp:\t2\n");
	fixture_put("/proc/sys/kernel/yama/ptrace_scope", "3\n");
	fixture_put("/proc/sys/kernel/perf_event_paranoid", "4\n");
	fixture_put("/sys/devices/system/cpu/online", "0\n");
	setenv("DEBUGINFOD_URLS", "https://example.org", 1);
	doctor_read_system(fixture_root, &read);
	cr_assert(read.proc && read.sys && read.ptrace_scope == 3 && read.refusal.seccomp &&
		  read.refusal.paranoid == 4);
	cr_assert(read.debuginfod_urls);
}

static struct fake fake;
static const struct event_row rows[] = {
	{EVENT_INSTRUCTIONS, "perf::INSTRUCTIONS", 1, 0, "instructions", NULL, "a test"},
	{EVENT_CYCLES, "perf::NO_SUCH_EVENT", 1, 0, "not to be encoded", NULL, "a test"},
	{EVENT_LOADS, "perf::CYCLES", 1, EVENT_UNRELIABLE, "known to be wrong", NULL, "a test"},
};
static const struct event_table table = {"perf", "a test's processor", rows, 3, NULL};

/* What counts nothing where it should is found out, and so is a PMU that is not there. */
Test(doctor, pmu_is_proved)
{
	const struct proof_place place = {.facts = {.paranoid = 2}};
	struct doctor_pmu pmu;
	cr_assert_eq(pfm_initialize(), PFM_SUCCESS);
	fake_init(&fake);
	fake.hardware = true;
	fake.runs = true;
	fake.general = 4;
	doctor_read_pmu(&fake.source, &table, &place, &pmu);
	cr_assert_not(pmu.refused.there, "%s", pmu.refused.message);
	cr_assert_str_eq(pmu.table, "a test's processor");
	cr_assert_eq(pmu.general, 4);
	cr_assert(pmu.quantities[EVENT_INSTRUCTIONS].listed &&
		  !pmu.quantities[EVENT_INSTRUCTIONS].usable);
	cr_assert(pmu.quantities[EVENT_INSTRUCTIONS].why[0]);
	cr_assert(!pmu.quantities[EVENT_CYCLES].listed && !pmu.quantities[EVENT_LOADS].listed);
	cr_assert_eq(fake.n_open, 0);
	fake.hardware = false;
	doctor_read_pmu(&fake.source, &table, &place, &pmu);
	cr_assert(pmu.refused.there && pmu.refused.errnum == ENOENT && pmu.refused.hint[0]);
	cr_assert_eq(fake.n_open, 0);
	doctor_read_pmu(&fake.source, NULL, &place, &pmu);
	cr_assert(pmu.refused.there && !pmu.table[0]);
}

/* ---- output ---- */

static char *printed(size_t columns)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	doctor_report_make(&facts, &report);
	cr_assert_null(doctor_print(&report, columns, stream));
	fclose(stream);
	return text;
}

/* A word that is wider than the column is broken behind a colon where it has one, else anywhere,
 * and nothing of it is lost. */
Test(doctor, long_words_fit)
{
	static const char *const words[] = {
		"amd64_fam19h_zen3::ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2:INT_CACHE:EXT_CACHE_"
		"LCL:"
		"MEM_IO_LCL:EXT_CACHE_RMT:MEM_IO_RMT",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaa",
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char joined[512] = "";
		snprintf(facts.hypervisor, sizeof(facts.hypervisor), "x");
		facts.pmu = (struct doctor_pmu){.table = "a table", .general = 4};
		facts.pmu.quantities[EVENT_LOADS].listed = true;
		snprintf(facts.pmu.quantities[EVENT_LOADS].why,
			 sizeof(facts.pmu.quantities[EVENT_LOADS].why), "%s", words[i]);
		char *text = printed(80);
		for (char *row = strtok(text, "\n"); row; row = strtok(NULL, "\n")) {
			cr_assert_leq(strlen(row), 80, "%s", row);
			const char *part = row + strspn(row, " ");
			if (part - row > 20 || strstr(row, "PMU events"))
				strncat(joined, part, sizeof(joined) - strlen(joined) - 1);
		}
		cr_assert_not_null(strstr(joined, words[i]), "%s", joined);
		free(text);
	}
}

/* No line is wider than the window, no word is lost, and words are not broken. */
Test(doctor, table_fits)
{
	static const size_t widths[] = {60, 80, 100, 132, 300};
	facts.pmu = (struct doctor_pmu){.table = "a table",
					.refused = refused(ENOENT, REFUSED_HARDWARE)};
	facts.tracing = (struct doctor_trial){TRIAL_SEIZE, EPERM};
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		char *text = printed(widths[i]);
		cr_assert_not_null(strstr(text, "missing  a child cannot be"), "%s", text);
		cr_assert_not_null(strstr(text, "\nrfprof ./app here:"), "%s", text);
		size_t n = 0;
		for (char *row = strtok(text, "\n"); row; row = strtok(NULL, "\n"), n++)
			cr_assert_leq(strlen(row), widths[i], "%s", row);
		cr_assert_gt(n, report.n);
		free(text);
	}
	char *narrow = printed(10), *least = printed(60);
	cr_assert_str_eq(narrow, least);
	free(narrow);
	free(least);
}

Test(doctor, json)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	memcpy(facts.kernel, "Linux \"\xff\x1b", 10); /* not UTF-8, and an escape */
	facts.tracing = (struct doctor_trial){TRIAL_SEIZE, EPERM};
	doctor_report_make(&facts, &report);
	cr_assert_null(doctor_write_json(&report, stream));
	fclose(stream);
	json_t *json = json_loads(text, 0, NULL);
	cr_assert_not_null(json, "%s", text);
	cr_assert_str_eq(json_string_value(json_object_get(json, "missing")), "ptrace");
	cr_assert(json_is_false(json_object_get(json, "full_profile")));
	json_t *checks = json_object_get(json, "checks");
	cr_assert_eq(json_array_size(checks), report.n);
	for (size_t i = 0; i < report.n; i++) {
		json_t *check = json_array_get(checks, i);
		cr_assert_str_eq(json_string_value(json_object_get(check, "name")),
				 report.lines[i].name);
		cr_assert_str_eq(json_string_value(json_object_get(check, "state")),
				 doctor_state_name(report.lines[i].state));
		cr_assert_str_eq(json_string_value(json_object_get(check, "next")),
				 report.lines[i].next);
	}
	json_decref(json);
	free(text);
}
