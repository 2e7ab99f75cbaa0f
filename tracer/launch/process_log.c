/* The processes of a counted run: how each was born, what it executed, how it ended. */
#include "tracer/launch/process_log.h"

#include "base/clock.h"
#include "base/small_file.h"
#include "ranks/rank.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the kernel calls it now; it stays as it was when it is gone. */
static void read_command(struct process_log *log, uint32_t row, pid_t pid)
{
	char directory[64], name[32];
	snprintf(directory, sizeof(directory), "/proc/%d", (int)pid);
	if (small_file_line(directory, "comm", name, sizeof(name)))
		profile_process_command(log->profile, row, name);
}

/* As its launcher has told it; of a process that has executed its program just now. */
static void read_rank(struct process_log *log, uint32_t row, pid_t pid)
{
	enum { MOST_BYTES = 1 << 18 };
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	FILE *file = fopen(path, "re");
	char *block = file ? malloc(MOST_BYTES) : NULL;
	const size_t n = block ? fread(block, 1, MOST_BYTES, file) : 0;
	if (n)
		log->profile->processes[row].rank_plus_1 =
			(uint32_t)(rank_of_environment(block, n) + 1);
	free(block);
	if (file)
		fclose(file);
}

void process_log_begin(struct process_log *log, struct profile *profile, pid_t pid)
{
	log->profile = profile;
	log->start = clock_now_ns();
	uint32_t row = profile_process(profile, RUN_COUNTED, pid, PROFILE_NONE);
	if (row != PROFILE_NONE)
		profile->processes[row].birth = BIRTH_FIRST;
}

/* posix_spawn clones with both flags (glibc's spawni.c); clone3 has its flags in memory. */
static enum process_birth birth_of(pid_t tid, const struct user_regs_struct *regs)
{
	const uint64_t shared = CLONE_VM | CLONE_VFORK;
	uint64_t flags = regs->orig_rax == SYS_clone ? regs->rdi : 0;
	if (regs->orig_rax == SYS_clone3)
		flags = (uint64_t)ptrace(PTRACE_PEEKDATA, tid, regs->rdi, 0);
	if (regs->orig_rax == SYS_vfork)
		return BIRTH_VFORK;
	return (flags & shared) == shared ? BIRTH_SPAWN : BIRTH_FORK;
}

void process_log_birth(struct process_log *log, pid_t parent, pid_t tid, pid_t child,
		       const struct user_regs_struct *regs)
{
	uint32_t parent_row = profile_find_process(log->profile, RUN_COUNTED, parent);
	uint32_t row = profile_process(log->profile, RUN_COUNTED, child, parent_row);
	if (row == PROFILE_NONE || parent_row == PROFILE_NONE)
		return;
	struct profile_process *process = &log->profile->processes[row];
	process->birth = birth_of(tid, regs);
	process->module = log->profile->processes[parent_row].module;
	process->rank_plus_1 = log->profile->processes[parent_row].rank_plus_1;
	process->start_ns = clock_now_ns() - log->start;
	profile_process_command(log->profile, row, log->profile->processes[parent_row].command);
}

void process_log_exec(struct process_log *log, pid_t pid)
{
	char link[64], path[PATH_MAX];
	uint32_t row = profile_find_process(log->profile, RUN_COUNTED, pid);
	if (row == PROFILE_NONE)
		return;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	struct profile_process *process = &log->profile->processes[row];
	process->execs++;
	if (n > 0) {
		path[n] = '\0';
		process->module = profile_module(log->profile, path, "");
	}
	read_command(log, row, pid);
	read_rank(log, row, pid);
}

void process_log_exit(struct process_log *log, pid_t pid, pid_t tid, int status)
{
	uint32_t row = profile_find_process(log->profile, RUN_COUNTED, pid);
	if (row == PROFILE_NONE)
		return;
	log->profile->processes[row].end_ns = clock_now_ns() - log->start;
	if (tid != pid)
		return;
	if (status == -1)
		read_command(log, row, pid);
	else
		log->profile->processes[row].exit_status = status;
}
