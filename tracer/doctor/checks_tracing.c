/* What the counted run needs: tracing, memory to translate into, instructions of the processor. */
#include "tracer/doctor/checks.h"

#include "base/small_file.h"

#include <string.h>

void check_scope(const struct doctor_facts *facts, struct doctor_line *line)
{
	static const char *const meanings[] = {
		"everyone may trace programs of one's own",
		"parents may trace what they start",
		"only with CAP_SYS_PTRACE",
		"nobody may trace",
	};
	const int scope = facts->ptrace_scope;
	if (scope == SMALL_FILE_UNKNOWN) {
		SAY(line->found, "no Yama here: the usual rights hold");
		return;
	}
	SAY(line->found, "kernel.yama.ptrace_scope is %d: %s", scope,
	    scope >= 0 && scope < 4 ? meanings[scope] : "not known");
	if (scope == 2)
		doctor_lacks(line, DOCTOR_PARTLY, "plain users cannot count",
			     "as root: sysctl kernel.yama.ptrace_scope=1");
	else if (scope > 2)
		doctor_lacks(line, DOCTOR_MISSING, COSTS_COUNTS,
			     "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and boot again: "
			     "level 3 cannot be left");
}

static const char *trial_words(enum trial_stage stage)
{
	static const char *const words[] = {
		[TRIAL_DONE] = "works",
		[TRIAL_FORK] = "no child can be made",
		[TRIAL_SEIZE] = "a child cannot be traced",
		[TRIAL_STOP] = "a traced child does not stop",
		[TRIAL_REGISTERS] = "registers of a child cannot be read and set",
		[TRIAL_FILE] = "/proc/PID/mem of a child cannot be opened",
		[TRIAL_CONTENTS] = "the memory of a child cannot be read and written",
		[TRIAL_MEMFD] = "memfd_create is refused",
		[TRIAL_SIZE] = "a memfd cannot be sized",
		[TRIAL_WRITABLE] = "a memfd cannot be mapped",
		[TRIAL_EXECUTABLE] = "a memfd cannot be mapped executable",
		[TRIAL_RUN] = "code in a memfd does not run",
	};
	return stage < sizeof(words) / sizeof(*words) ? words[stage] : "fails";
}

static void say_trial(struct doctor_line *line, const struct doctor_trial *trial)
{
	char cause[128] = "";
	if (trial->errnum)
		SAY(cause, ": %s",
		    strerrordesc_np(trial->errnum) ? strerrordesc_np(trial->errnum)
						   : "unknown error");
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
	if (facts->ptrace_scope != SMALL_FILE_UNKNOWN && facts->ptrace_scope > 1)
		return "as root: sysctl kernel.yama.ptrace_scope=1";
	if (facts->refusal.seccomp)
		return "start rfprof outside of the sandbox that filters system calls";
	return "run rfprof under no other tracer (strace -f, a debugger), and allow ptrace in the "
	       "security policy";
}

void check_ptrace(const struct doctor_facts *facts, struct doctor_line *line)
{
	say_trial(line, &facts->tracing);
	if (facts->tracing.stage == TRIAL_DONE)
		SAY(line->found, "a child can be traced, and its registers and memory changed");
	else
		doctor_lacks(line, DOCTOR_MISSING, COSTS_COUNTS, tracing_step(facts));
}

void check_memory(const struct doctor_facts *facts, struct doctor_line *line)
{
	say_trial(line, &facts->memory);
	if (facts->memory.stage == TRIAL_DONE)
		SAY(line->found, "code in a memfd runs");
	else
		doctor_lacks(line, DOCTOR_MISSING, COSTS_COUNTS,
			     facts->memory.stage == TRIAL_EXECUTABLE
				     ? "allow executable shared memory: SELinux execmem and "
				       "execmod, or vm.memfd_noexec below 2"
			     : facts->memory.stage == TRIAL_MEMFD && facts->refusal.container
				     ? UNCONFINED
				     : "see the kernel's log for the denial, and the limits on "
				       "memory and descriptors");
}

void check_address_space(const struct doctor_facts *facts, struct doctor_line *line)
{
	if (facts->address_space == UINT64_MAX) {
		SAY(line->found, "no limit");
		return;
	}
	SAY(line->found, "ulimit -v is %llu kB", (unsigned long long)facts->address_space / 1024);
	doctor_lacks(line, DOCTOR_MISSING,
		     "programs with a limited address space run natively: " COSTS_COUNTS,
		     "ulimit -v unlimited");
}

void check_fsgsbase(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s",
	    facts->fsgsbase ? "the kernel lets programs use it" : "not enabled (AT_HWCAP2)");
	if (!facts->fsgsbase)
		doctor_lacks(line, DOCTOR_PARTLY,
			     "accesses to thread-local variables are not traced: their traffic is "
			     "missing",
			     "Linux 5.9 or later, booted without nofsgsbase");
}

void check_bmi2(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s", facts->no_traffic[0] ? facts->no_traffic : "there");
	if (facts->no_traffic[0])
		doctor_lacks(
			line, DOCTOR_MISSING,
			"no memory traffic is traced: levels are inferred from the speed",
			"a processor from Haswell, Zen or later; in a virtual machine: -cpu host");
}
