/* The system: kernel, files of it, where it runs. */
#include "tracer/doctor/checks.h"

void check_kernel(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s", facts->kernel[0] ? facts->kernel : "uname does not tell");
	/* attr.build_id came with 5.12, attr.inherit_thread with 5.13 */
	if (facts->kernel_major < 5 || (facts->kernel_major == 5 && facts->kernel_minor < 13))
		doctor_lacks(line, DOCTOR_PARTLY,
			     "samples know files by their names alone, and --no-children still "
			     "pays for the samples of children",
			     "Linux 5.13 or later");
}

void check_proc(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "/proc is %s", facts->proc ? "mounted" : "not mounted or hidden");
	if (!facts->proc)
		doctor_lacks(line, DOCTOR_MISSING, COSTS_COUNTS ", with few names",
			     "as root: mount -t proc proc /proc");
}

void check_sys(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "/sys is %s", facts->sys ? "mounted" : "not mounted or hidden");
	if (!facts->sys)
		doctor_lacks(
			line, DOCTOR_MISSING,
			"caches, cores and PMUs are those that the processor tells of by itself",
			"as root: mount -t sysfs sysfs /sys");
}

void check_hypervisor(const struct doctor_facts *facts, struct doctor_line *line)
{
	if (!facts->hypervisor[0]) {
		SAY(line->found, "none: a machine of metal");
		return;
	}
	SAY(line->found, "a virtual machine (%s)", facts->hypervisor);
	doctor_lacks(line, DOCTOR_PARTLY,
		     "the host may hide counters, share caches and take CPU time away: times and "
		     "roofs spread more",
		     "nothing is needed; measure on an idle host, or on metal, where the last "
		     "percents matter");
}

void check_container(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s",
	    facts->refusal.container ? "a container" : "none that leaves traces");
}

void check_seccomp(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s",
	    facts->refusal.seccomp
		    ? "system calls are filtered, and so are those of programs started here"
	    : facts->proc ? "no filter"
			  : "cannot be told without /proc");
	if (facts->refusal.seccomp && facts->sandbox_allows)
		SAY(line->found, "system calls are filtered, but none that a run needs");
	else if (facts->refusal.seccomp)
		doctor_lacks(
			line, DOCTOR_MISSING,
			"a program in a seccomp sandbox runs natively: " COSTS_COUNTS,
			facts->refusal.container
				? UNCONFINED
				: "start rfprof outside of the sandbox that filters system calls");
	else if (!facts->proc)
		doctor_lacks(line, DOCTOR_PARTLY, "a filter shows when something is refused",
			     "mount /proc");
}
