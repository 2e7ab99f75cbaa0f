#include "base/small_file.h"
#include "tracer/perf/refusal.h"

#include "tests/unit/tracer/perf/fixture_root.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A plain user of a machine of metal where everything is as it should be. */
static const struct refusal_facts plain = {
	.paranoid = 2, .nmi_watchdog = 0, .mlock_kb = 516, .memlock = 8 << 20, .nr_open = 1048576};

struct refusal_case {
	const char *name;
	int errnum;
	enum refusal_kind kind;
	bool sampled;
	struct refusal_facts change; /* what is not as in `plain` */
	const char *message, *hint;  /* parts */
};

static const struct refusal_case cases[] = {
	{"Debian's level",
	 EACCES,
	 REFUSED_HARDWARE,
	 true,
	 {.paranoid = 3},
	 "paranoid is 3, the event x needs 2",
	 "sysctl kernel.perf_event_paranoid=2, or setcap"},
	{"level in a container",
	 EACCES,
	 REFUSED_HARDWARE,
	 true,
	 {.paranoid = 4, .container = true},
	 "paranoid is 4",
	 "root of the host"},
	{"uncore needs more",
	 EACCES,
	 REFUSED_UNCORE,
	 false,
	 {.paranoid = 2},
	 "paranoid is 2, the event x needs 0",
	 "paranoid=0"},
	{"container",
	 EPERM,
	 REFUSED_HARDWARE,
	 true,
	 {.container = true, .seccomp = true},
	 "the container's seccomp",
	 "--cap-add PERFMON"},
	{"seccomp",
	 EPERM,
	 REFUSED_HARDWARE,
	 true,
	 {.seccomp = true},
	 ": a seccomp filter",
	 "sandbox"},
	{"security module",
	 EACCES,
	 REFUSED_HARDWARE,
	 true,
	 {.perfmon = true},
	 "security module",
	 "policy"},
	{"no PMU in a guest",
	 ENOENT,
	 REFUSED_HARDWARE,
	 true,
	 {.hypervisor = true},
	 "hypervisor does not show",
	 "pmu=on"},
	{"no such event",
	 ENOENT,
	 REFUSED_HARDWARE,
	 true,
	 {0},
	 "the PMU here has no the event x",
	 "dmesg"},
	{"no software event",
	 ENOENT,
	 REFUSED_SOFTWARE,
	 true,
	 {0},
	 "cannot open the event x",
	 "CONFIG_PERF_EVENTS"},
	{"no uncore", ENOENT, REFUSED_UNCORE, false, {0}, "does not show", "modprobe"},
	{"no system call",
	 ENOSYS,
	 REFUSED_SOFTWARE,
	 true,
	 {0},
	 "no perf_event_open",
	 "CONFIG_PERF_EVENTS"},
	{"no interrupt",
	 EOPNOTSUPP,
	 REFUSED_HARDWARE,
	 true,
	 {.hypervisor = true},
	 "cannot interrupt",
	 "interrupt"},
	{"no counter", ENODEV, REFUSED_HARDWARE, true, {0}, "nothing that counts", "--work=count"},
	{"descriptors", EMFILE, REFUSED_HARDWARE, true, {0}, "on each CPU", "ulimit -n"},
	{"system's descriptors", ENFILE, REFUSED_HARDWARE, true, {0}, "whole system", "file-max"},
	{"locked memory",
	 EPERM,
	 REFUSED_RING,
	 true,
	 {0},
	 "mlock_kb is 516, ulimit -l is 8192 kB",
	 "perf_event_mlock_kb"},
	{"watchdog",
	 EBUSY,
	 REFUSED_HARDWARE,
	 true,
	 {.nmi_watchdog = 1},
	 "NMI watchdog",
	 "nmi_watchdog=0"},
	{"pinned", EBUSY, REFUSED_HARDWARE, true, {0}, "another profiler", "end the other"},
	{"invalid",
	 EINVAL,
	 REFUSED_HARDWARE,
	 true,
	 {0},
	 "does not know the event x or cannot count",
	 "leave the event out"},
	{"program ended", ESRCH, REFUSED_HARDWARE, true, {0}, "ended before", "again"},
	{"anything else",
	 EIO,
	 REFUSED_HARDWARE,
	 true,
	 {0},
	 "cannot open the event x",
	 "without it"},
};
enum { N_CASES = sizeof(cases) / sizeof(*cases) };

static struct rf_error *explain(const struct refusal_case *one)
{
	struct refusal_facts facts = plain;
	const struct refusal_request request = {one->kind, "the event x", one->sampled};
	if (one->change.paranoid)
		facts.paranoid = one->change.paranoid;
	facts.perfmon = one->change.perfmon;
	facts.seccomp = one->change.seccomp;
	facts.container = one->change.container;
	facts.hypervisor = one->change.hypervisor;
	facts.nmi_watchdog = one->change.nmi_watchdog;
	return refusal_explain(one->errnum, &request, &facts);
}

Test(refusal, each_cause_has_its_message)
{
	for (size_t i = 0; i < N_CASES; i++) {
		struct rf_error *error = explain(&cases[i]);
		cr_assert_eq(error->code, RF_EUNAVAILABLE);
		cr_assert_eq(error->errnum, cases[i].errnum);
		cr_assert_not_null(strstr(error->message, cases[i].message), "%s: %s",
				   cases[i].name, error->message);
		cr_assert_not_null(error->hint, "%s", cases[i].name);
		cr_assert_not_null(strstr(error->hint, cases[i].hint), "%s: %s", cases[i].name,
				   error->hint);
		rf_error_destroy(error);
	}
}

Test(refusal, messages_are_distinct)
{
	struct rf_error *errors[N_CASES];
	for (size_t i = 0; i < N_CASES; i++) {
		errors[i] = explain(&cases[i]);
		for (size_t k = 0; k < i; k++)
			cr_assert_str_neq(errors[i]->message, errors[k]->message, "%s and %s",
					  cases[i].name, cases[k].name);
	}
	for (size_t i = 0; i < N_CASES; i++)
		rf_error_destroy(errors[i]);
}

/* With a capability the level is not what refuses. */
Test(refusal, capability_outweighs_the_level)
{
	struct refusal_case one = {
		"", EACCES, REFUSED_UNCORE, false, {.paranoid = 3, .perfmon = true}, "", ""};
	struct rf_error *error = explain(&one);
	cr_assert_null(strstr(error->message, "needs"), "%s", error->message);
	rf_error_destroy(error);
}

/* --- facts --- */

Test(refusal, facts_are_read, .fini = fixture_root_remove)
{
	struct refusal_facts facts;
	fixture_root_make();
	refusal_facts_read(fixture_root, &facts);
	cr_assert(facts.paranoid == SMALL_FILE_UNKNOWN && !facts.perfmon && !facts.seccomp &&
		  !facts.container);
	fixture_put("/proc/sys/kernel/perf_event_paranoid", "-1\n");
	fixture_put("/proc/sys/kernel/nmi_watchdog", "1\n");
	fixture_put("/proc/sys/kernel/perf_event_mlock_kb", "516\n");
	fixture_put("/proc/sys/fs/nr_open", "1048576\n");
	fixture_put("/proc/self/status",
		    "Name:\tx\nCapEff:\t0000004000000000\nSeccomp:\t2\nSeccomp_filters:\t1\n");
	fixture_put("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n");
	fixture_put("/run/.containerenv", "");
	refusal_facts_read(fixture_root, &facts);
	cr_assert(facts.paranoid == -1 && facts.nmi_watchdog == 1 && facts.mlock_kb == 516 &&
		  facts.nr_open == 1048576);
	cr_assert(facts.perfmon && facts.seccomp && facts.container && facts.hypervisor);
	fixture_put("/proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t0\n");
	refusal_facts_read(fixture_root, &facts);
	cr_assert(!facts.perfmon && !facts.seccomp);
}
