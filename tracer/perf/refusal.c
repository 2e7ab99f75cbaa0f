/* Why the kernel refuses an event: what is known of this process and machine, and the message that
 * follows from it. */
#include "tracer/perf/refusal.h"

#include "base/small_file.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* since Linux 5.8 */
#endif

/* --- what is true here --- */

static bool has_capability(const char *root)
{
	char value[64];
	if (!small_file_field(root, "/proc/self/status", "CapEff", value, sizeof(value)))
		return false;
	unsigned long long set = strtoull(value, NULL, 16);
	return set >> CAP_PERFMON & 1 || set >> CAP_SYS_ADMIN & 1;
}

static bool has_filter(const char *root)
{
	char value[64];
	return small_file_field(root, "/proc/self/status", "Seccomp", value, sizeof(value)) &&
	       atoi(value) == 2;
}

static bool is_virtual(const char *root)
{
	char value[8192];
	return small_file_field(root, "/proc/cpuinfo", "flags", value, sizeof(value)) &&
	       strstr(value, "hypervisor");
}

/* Files that container managers leave: Docker, Podman, and those that speak systemd's container
 * interface. */
static bool is_container(const char *root)
{
	static const char *const traces[] = {"/.dockerenv", "/run/.containerenv",
					     "/run/systemd/container"};
	for (size_t i = 0; i < sizeof(traces) / sizeof(*traces); i++)
		if (small_file_exists(root, traces[i]))
			return true;
	return false;
}

static uint64_t limit_of(__rlimit_resource_t resource)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

void refusal_facts_read(const char *root, struct refusal_facts *facts)
{
	*facts = (struct refusal_facts){
		.paranoid = small_file_number(root, "/proc/sys/kernel/perf_event_paranoid"),
		.perfmon = has_capability(root),
		.seccomp = has_filter(root),
		.container = is_container(root),
		.hypervisor = is_virtual(root),
		.nmi_watchdog = small_file_number(root, "/proc/sys/kernel/nmi_watchdog"),
		.mlock_kb = small_file_number(root, "/proc/sys/kernel/perf_event_mlock_kb"),
		.memlock = limit_of(RLIMIT_MEMLOCK),
		.nr_open = small_file_number(root, "/proc/sys/fs/nr_open"),
	};
}

/* --- what it means --- */

int refusal_paranoid_needed(enum refusal_kind kind)
{
	return kind == REFUSED_UNCORE ? 0 : 2;
}

#define CONTAINER_STEP "--security-opt seccomp=unconfined or --cap-add PERFMON"

struct asked {
	int errnum;
	const char *what;
	const struct refusal_request *request;
	const struct refusal_facts *facts;
};

#define REFUSE(asked, hint, ...) rf_error_errno(RF_EUNAVAILABLE, (asked)->errnum, hint, __VA_ARGS__)

static struct rf_error *paranoid_level(const struct asked *asked)
{
	char hint[256];
	const int needed = refusal_paranoid_needed(asked->request->kind);
	snprintf(hint, sizeof(hint),
		 asked->facts->container
			 ? "as root of the host: sysctl kernel.perf_event_paranoid=%d, or start "
			   "the container with --cap-add PERFMON"
			 : "as root: sysctl kernel.perf_event_paranoid=%d, or setcap "
			   "cap_perfmon+ep on the file of rfprof",
		 needed);
	return REFUSE(asked, hint, "kernel.perf_event_paranoid is %d, %s needs %d or less",
		      asked->facts->paranoid, asked->what, needed);
}

static struct rf_error *forbidden(const struct asked *asked)
{
	const struct refusal_facts *facts = asked->facts;
	if (!facts->perfmon && facts->paranoid != SMALL_FILE_UNKNOWN &&
	    facts->paranoid > refusal_paranoid_needed(asked->request->kind))
		return paranoid_level(asked);
	return REFUSE(
		asked,
		facts->container ? "start the container with --security-opt seccomp=unconfined or "
				   "--cap-add PERFMON"
		: facts->seccomp
			? "start rfprof outside of the sandbox that filters system calls"
			: "allow perf_event in the policy; see the kernel's log for the denial",
		"perf_event_open is refused for %s although kernel.perf_event_paranoid is %d: %s",
		asked->what, facts->paranoid,
		facts->container ? "the container's seccomp filter or its missing capability"
		: facts->seccomp ? "a seccomp filter"
				 : "a security module (SELinux, lockdown)");
}

static struct rf_error *missing(const struct asked *asked)
{
	if (asked->request->kind == REFUSED_SOFTWARE)
		return REFUSE(asked, "a kernel with CONFIG_PERF_EVENTS is needed",
			      "this kernel cannot open %s", asked->what);
	if (asked->request->kind == REFUSED_UNCORE)
		return REFUSE(
			asked,
			"load the kernel's uncore driver (modprobe intel_uncore or amd_uncore)",
			"this machine does not show %s", asked->what);
	if (asked->facts->hypervisor)
		return REFUSE(asked,
			      "give the virtual machine a PMU (KVM: -cpu host,pmu=on), or take a "
			      "machine of metal",
			      "no PMU for %s: the hypervisor does not show one", asked->what);
	return REFUSE(asked, "see the kernel's log for its PMU driver (dmesg | grep -i pmu)",
		      "the PMU here has no %s", asked->what);
}

static struct rf_error *not_supported(const struct asked *asked)
{
	if (asked->request->kind != REFUSED_HARDWARE || !asked->request->sampled)
		return missing(asked);
	return REFUSE(asked,
		      "boot without nolapic, or give the virtual machine an interrupt for its PMU",
		      "the PMU here counts but cannot interrupt, so that %s cannot be sampled",
		      asked->what);
}

static struct rf_error *gone(const struct asked *asked)
{
	if (asked->request->kind != REFUSED_HARDWARE)
		return missing(asked);
	return REFUSE(asked, "choose another event, or --work=count",
		      "the processor has nothing that counts %s%s", asked->what,
		      asked->facts->hypervisor ? ", or the hypervisor hides it" : "");
}

static struct rf_error *descriptors(const struct asked *asked)
{
	char hint[256];
	snprintf(hint, sizeof(hint), "raise the limit: ulimit -n 4096 (at most fs.nr_open, %d)",
		 asked->facts->nr_open);
	return REFUSE(asked, hint, "too few file descriptors for %s on each CPU", asked->what);
}

static struct rf_error *locked_memory(const struct asked *asked)
{
	const uint64_t limit = asked->facts->memlock;
	return REFUSE(
		asked, "raise kernel.perf_event_mlock_kb or ulimit -l",
		"cannot lock memory for %s: kernel.perf_event_mlock_kb is %d, ulimit -l is %llu kB",
		asked->what, asked->facts->mlock_kb,
		(unsigned long long)(limit == UINT64_MAX ? limit : limit / 1024));
}

static struct rf_error *busy(const struct asked *asked)
{
	const bool watchdog = asked->facts->nmi_watchdog > 0;
	return REFUSE(asked,
		      watchdog ? "as root: sysctl kernel.nmi_watchdog=0" : "end the other profiler",
		      "the counter for %s is taken%s", asked->what,
		      watchdog ? " (the kernel's NMI watchdog holds one)"
			       : " (another profiler has pinned it)");
}

struct rf_error *refusal_explain(int errnum, const struct refusal_request *request,
				 const struct refusal_facts *facts)
{
	const struct asked asked = {errnum, request->what, request, facts};
	if (request->kind == REFUSED_RING && (errnum == EPERM || errnum == ENOMEM))
		return locked_memory(&asked);
	switch (errnum) {
	case EACCES:
	case EPERM:
		return forbidden(&asked);
	case ENOENT:
		return missing(&asked);
	case ENODEV:
	case ENXIO:
		return gone(&asked);
	case EMFILE:
		return descriptors(&asked);
	case EBUSY:
		return busy(&asked);
	case EOPNOTSUPP:
		return not_supported(&asked);
	case ENOSYS:
		return REFUSE(&asked, "a kernel with CONFIG_PERF_EVENTS is needed",
			      "this kernel has no perf_event_open, so no %s",
			      asked.what + (strncmp(asked.what, "a ", 2) == 0 ? 2 : 0));
	case ENFILE:
		return REFUSE(
			&asked,
			"as root: sysctl fs.file-max with a larger number, or end other programs",
			"the whole system has no file descriptor left");
	case EINVAL:
	case E2BIG:
		return REFUSE(&asked, "a newer kernel may; else leave the event out",
			      "the kernel does not know %s%s", asked.what,
			      request->kind == REFUSED_HARDWARE
				      ? " or cannot count it beside the others of its group"
				      : "");
	case ESRCH:
		return REFUSE(&asked, "start it again", "the program ended before %s was opened",
			      asked.what);
	default:
		return REFUSE(&asked, "rfprof goes on without it", "cannot open %s", asked.what);
	}
}

struct rf_error *refusal_here(int errnum, enum refusal_kind kind, const char *what)
{
	struct refusal_facts facts;
	const struct refusal_request request = {.kind = kind, .what = what};
	refusal_facts_read("", &facts);
	return refusal_explain(errnum, &request, &facts);
}
