/* Why the kernel refuses an event: what is known of this process and machine, and the message that
 * follows from it. */
#include "tracer/perf/refusal.h"

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

static FILE *open_below(const char *root, const char *path)
{
	char whole[4096];
	if ((size_t)snprintf(whole, sizeof(whole), "%s%s", root, path) >= sizeof(whole))
		return NULL;
	return fopen(whole, "re");
}

static bool exists_below(const char *root, const char *path)
{
	FILE *file = open_below(root, path);
	if (file)
		fclose(file);
	return file;
}

int refusal_read_number(const char *root, const char *path)
{
	int number;
	FILE *file = open_below(root, path);
	if (!file)
		return REFUSAL_UNKNOWN;
	if (fscanf(file, "%d", &number) != 1)
		number = REFUSAL_UNKNOWN;
	fclose(file);
	return number;
}

/* The value of the first line "NAME: VALUE", without the blanks before it; false: there is none. */
static bool read_field(const char *root, const char *path, const char *name, char *value,
		       size_t size)
{
	char line[8192];
	size_t length = strlen(name);
	bool found = false;
	FILE *file = open_below(root, path);
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');
		if (strncmp(line, name, length) != 0 || !colon)
			continue;
		snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

static bool has_capability(const char *root)
{
	char value[64];
	if (!read_field(root, "/proc/self/status", "CapEff", value, sizeof(value)))
		return false;
	unsigned long long set = strtoull(value, NULL, 16);
	return set >> CAP_PERFMON & 1 || set >> CAP_SYS_ADMIN & 1;
}

static bool has_filter(const char *root)
{
	char value[64];
	return read_field(root, "/proc/self/status", "Seccomp", value, sizeof(value)) &&
	       atoi(value) == 2;
}

static bool is_virtual(const char *root)
{
	char value[8192];
	return read_field(root, "/proc/cpuinfo", "flags", value, sizeof(value)) &&
	       strstr(value, "hypervisor");
}

/* Files that container managers leave: Docker, Podman, and those that speak systemd's container
 * interface. */
static bool is_container(const char *root)
{
	static const char *const traces[] = {"/.dockerenv", "/run/.containerenv",
					     "/run/systemd/container"};
	for (size_t i = 0; i < sizeof(traces) / sizeof(*traces); i++)
		if (exists_below(root, traces[i]))
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
		.paranoid = refusal_read_number(root, "/proc/sys/kernel/perf_event_paranoid"),
		.perfmon = has_capability(root),
		.seccomp = has_filter(root),
		.container = is_container(root),
		.hypervisor = is_virtual(root),
		.nmi_watchdog = refusal_read_number(root, "/proc/sys/kernel/nmi_watchdog"),
		.mlock_kb = refusal_read_number(root, "/proc/sys/kernel/perf_event_mlock_kb"),
		.memlock = limit_of(RLIMIT_MEMLOCK),
		.descriptors = limit_of(RLIMIT_NOFILE),
		.nr_open = refusal_read_number(root, "/proc/sys/fs/nr_open"),
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
	const struct refusal_request *request;
	const struct refusal_facts *facts;
};

static struct rf_error *refuse(const struct asked *asked, const char *hint, const char *message)
{
	return rf_error_errno(RF_EUNAVAILABLE, asked->errnum, hint, "%s", message);
}

static struct rf_error *paranoid_level(const struct asked *asked)
{
	char message[256], hint[256];
	int needed = refusal_paranoid_needed(asked->request->kind);
	snprintf(message, sizeof(message), "kernel.perf_event_paranoid is %d, %s needs %d or less",
		 asked->facts->paranoid, asked->request->what, needed);
	if (asked->facts->container)
		snprintf(hint, sizeof(hint),
			 "as root of the host: sysctl kernel.perf_event_paranoid=%d, or start the "
			 "container with --cap-add PERFMON",
			 needed);
	else
		snprintf(hint, sizeof(hint),
			 "as root: sysctl kernel.perf_event_paranoid=%d, or setcap "
			 "cap_perfmon+ep on the file of rfprof",
			 needed);
	return refuse(asked, hint, message);
}

static struct rf_error *forbidden(const struct asked *asked)
{
	char message[256];
	const struct refusal_facts *facts = asked->facts;
	if (!facts->perfmon && facts->paranoid != REFUSAL_UNKNOWN &&
	    facts->paranoid > refusal_paranoid_needed(asked->request->kind))
		return paranoid_level(asked);
	snprintf(message, sizeof(message),
		 "perf_event_open is refused for %s although "
		 "kernel.perf_event_paranoid is %d: %s",
		 asked->request->what, facts->paranoid,
		 facts->container ? "the container's seccomp filter or its missing capability"
		 : facts->seccomp ? "a seccomp filter"
				  : "a security module (SELinux, lockdown)");
	if (facts->container)
		return refuse(asked, "start the container with " CONTAINER_STEP, message);
	return refuse(
		asked,
		facts->seccomp
			? "start rfprof outside of the sandbox that filters system calls"
			: "allow perf_event in the policy; see the kernel's log for the denial",
		message);
}

static struct rf_error *missing(const struct asked *asked)
{
	char message[256];
	const char *what = asked->request->what;
	if (asked->request->kind == REFUSED_SOFTWARE) {
		snprintf(message, sizeof(message), "this kernel cannot open %s", what);
		return refuse(asked, "a kernel with CONFIG_PERF_EVENTS is needed", message);
	}
	if (asked->request->kind == REFUSED_UNCORE) {
		snprintf(message, sizeof(message), "this machine does not show %s", what);
		return refuse(
			asked,
			"load the kernel's uncore driver (modprobe intel_uncore or amd_uncore)",
			message);
	}
	if (asked->facts->hypervisor) {
		snprintf(message, sizeof(message),
			 "no PMU for %s: the hypervisor does not show one", what);
		return refuse(asked,
			      "give the virtual machine a PMU (KVM: -cpu host,pmu=on), or take a "
			      "machine of metal",
			      message);
	}
	snprintf(message, sizeof(message), "the PMU here has no %s", what);
	return refuse(asked, "see the kernel's log for its PMU driver (dmesg | grep -i pmu)",
		      message);
}

static struct rf_error *no_system_call(const struct asked *asked)
{
	char message[256];
	snprintf(message, sizeof(message), "this kernel has no perf_event_open, so no %s",
		 strncmp(asked->request->what, "a ", 2) == 0 ? asked->request->what + 2
							     : asked->request->what);
	return refuse(asked, "a kernel with CONFIG_PERF_EVENTS is needed", message);
}

static struct rf_error *not_supported(const struct asked *asked)
{
	char message[256];
	if (asked->request->kind != REFUSED_HARDWARE || !asked->request->sampled)
		return missing(asked);
	snprintf(message, sizeof(message),
		 "the PMU here counts but cannot interrupt, so that %s cannot be sampled",
		 asked->request->what);
	return refuse(asked,
		      "boot without nolapic, or give the virtual machine an interrupt for its PMU",
		      message);
}

static struct rf_error *gone(const struct asked *asked)
{
	char message[256];
	if (asked->request->kind != REFUSED_HARDWARE)
		return missing(asked);
	snprintf(message, sizeof(message), "the processor has nothing that counts %s%s",
		 asked->request->what,
		 asked->facts->hypervisor ? ", or the hypervisor hides it" : "");
	return refuse(asked, "choose another event, or --work=count", message);
}

static struct rf_error *descriptors(const struct asked *asked)
{
	char message[256], hint[256];
	snprintf(message, sizeof(message),
		 "too few file descriptors for %s on each CPU: the limit is %llu",
		 asked->request->what, (unsigned long long)asked->facts->descriptors);
	snprintf(hint, sizeof(hint), "raise the limit: ulimit -n 4096 (at most fs.nr_open, %d)",
		 asked->facts->nr_open);
	return refuse(asked, hint, message);
}

static struct rf_error *table_full(const struct asked *asked)
{
	return refuse(asked,
		      "as root: sysctl fs.file-max with a larger number, or end other programs",
		      "the whole system has no file descriptor left");
}

static struct rf_error *locked_memory(const struct asked *asked)
{
	char message[256];
	const uint64_t limit = asked->facts->memlock;
	snprintf(message, sizeof(message),
		 "cannot lock memory for %s: kernel.perf_event_mlock_kb is %d, "
		 "ulimit -l is %llu kB",
		 asked->request->what, asked->facts->mlock_kb,
		 (unsigned long long)(limit == UINT64_MAX ? limit : limit / 1024));
	return refuse(asked, "raise kernel.perf_event_mlock_kb or ulimit -l", message);
}

static struct rf_error *busy(const struct asked *asked)
{
	char message[256];
	bool watchdog = asked->facts->nmi_watchdog > 0;
	snprintf(message, sizeof(message), "the counter for %s is taken%s", asked->request->what,
		 watchdog ? " (the kernel's NMI watchdog holds one)"
			  : " (another profiler has pinned it)");
	return refuse(asked,
		      watchdog ? "as root: sysctl kernel.nmi_watchdog=0" : "end the other profiler",
		      message);
}

static struct rf_error *invalid(const struct asked *asked)
{
	char message[256];
	snprintf(message, sizeof(message), "the kernel does not know %s%s", asked->request->what,
		 asked->request->kind == REFUSED_HARDWARE
			 ? " or cannot count it beside the others of its group"
			 : "");
	return refuse(asked, "a newer kernel may; else leave the event out", message);
}

static struct rf_error *no_task(const struct asked *asked)
{
	char message[256];
	snprintf(message, sizeof(message), "the program ended before %s was opened",
		 asked->request->what);
	return refuse(asked, "start it again", message);
}

static struct rf_error *other(const struct asked *asked)
{
	char message[256];
	snprintf(message, sizeof(message), "cannot open %s", asked->request->what);
	return refuse(asked, "rfprof goes on without it", message);
}

struct rf_error *refusal_explain(int errnum, const struct refusal_request *request,
				 const struct refusal_facts *facts)
{
	static const struct {
		int errnum;
		struct rf_error *(*explain)(const struct asked *asked);
	} causes[] = {
		{EACCES, forbidden},   {EPERM, forbidden},
		{ENOENT, missing},     {ENOSYS, no_system_call},
		{ENODEV, gone},        {ENXIO, gone},
		{EMFILE, descriptors}, {ENFILE, table_full},
		{EBUSY, busy},         {EOPNOTSUPP, not_supported},
		{EINVAL, invalid},     {E2BIG, invalid},
		{ESRCH, no_task},
	};
	const struct asked asked = {errnum, request, facts};
	if (request->kind == REFUSED_RING && (errnum == EPERM || errnum == ENOMEM))
		return locked_memory(&asked);
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (causes[i].errnum == errnum)
			return causes[i].explain(&asked);
	return other(&asked);
}

struct rf_error *refusal_here(int errnum, enum refusal_kind kind, const char *what)
{
	struct refusal_facts facts;
	const struct refusal_request request = {.kind = kind, .what = what};
	refusal_facts_read("", &facts);
	return refusal_explain(errnum, &request, &facts);
}
