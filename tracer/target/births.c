/* New threads and processes of a counted run.  The parent's event and the child's first stop come
 * in either order; with both the child is started: in the cache, in one of its own, or natively. */
#include "tracer/target/births.h"

#include "base/array.h"
#include "tracer/target/slots.h"
#include "tracer/target/target_create.h"

#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A child whose parent's event has come: how it starts. */
struct birth {
	pid_t child, parent_tgid, parent; /* parent: the thread */
	struct target *target;            /* the parent's */
	uint64_t sysret; /* where the parent's system call returns to in the cache; 0: native */
	bool is_thread, is_vfork;
	bool traces;         /* as its parent */
	bool is_plain_vfork; /* by the system call of that name */
};

static struct birth *find_birth(struct counted_run *run, pid_t child)
{
	for (size_t i = 0; i < run->n_births; i++)
		if (run->births[i].child == child)
			return &run->births[i];
	return NULL;
}

static void thread_name(pid_t tid, char *name, int size)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	*name = 0;
	FILE *comm = fopen(path, "re");
	if (comm && fgets(name, size, comm))
		name[strcspn(name, "\n")] = 0;
	if (comm)
		fclose(comm);
}

/* KCMP_VM: the child of vfork and its kin runs in its parent's memory, and is left alone there. */
static bool share(pid_t one, pid_t other, enum kcmp_type what)
{
	return syscall(SYS_kcmp, one, other, what, 0, 0) == 0;
}

/* A pidfd can be read when its process has ended. */
static void forget_ended(struct counted_run *run)
{
	size_t kept = 0;
	for (size_t i = 0; i < run->n_let_go; i++) {
		struct pollfd fd = {run->let_go[i], POLLIN, 0};
		if (poll(&fd, 1, 0) > 0)
			close(run->let_go[i]);
		else
			run->let_go[kept++] = run->let_go[i];
	}
	run->n_let_go = kept;
}

/* --no-children: a child that runs natively from its birth needs no tracing. */
static void let_go(struct counted_run *run, pid_t pid)
{
	int fd = run->keep_rest ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	forget_ended(run);
	if (fd >= 0 && !rf_array_push(run->let_go, run->n_let_go, run->cap_let_go, fd))
		close(fd);
	tracees_remove(&run->tracees, pid);
	ptrace(PTRACE_DETACH, pid, 0, 0);
}

/* A thread without a slot has a row as well: threads of both runs are matched by their order. */
static void note_native_thread(struct counted_run *run, const struct tracee *tracee,
			       const char *name, bool native_process)
{
	static const char why[] = "more threads at once than rfprof has room for";
	uint32_t thread =
		profile_thread(run->profile, RUN_COUNTED, tracee->tgid, tracee->tid, name);
	if (native_process) /* for a reason of its own */
		return;
	profile_add_uncounted(run->profile, PROFILE_NONE, why);
	profile_native_thread(run->profile, thread, why);
}

/* A forked process; or one that runs in its parent's memory: until its exec (vfork) that is a
 * matter of little time. */
static void start_process(struct counted_run *run, struct tracee *tracee, const struct birth *birth)
{
	if (!share(birth->parent_tgid, tracee->tid, KCMP_VM)) {
		images_count(run, tracee);
		return;
	}
	birth->target->actions_unseen |= share(birth->parent_tgid, tracee->tid, KCMP_SIGHAND);
	if (!birth->is_vfork)
		images_note_native(run, tracee->tid, "it runs in its parent's memory");
}

/* A new thread gets a slot and goes on in the cache; a forked process gets a cache of its own;
 * other children, and threads without a slot, go on natively behind the program's own system
 * call. */
static void start_child(struct counted_run *run, struct tracee *tracee, const struct birth *birth)
{
	struct user_regs_struct regs;
	struct target *target = birth->target;
	uint64_t gs = 0;
	char name[32];
	tracee->started = true;
	tracee->tgid = birth->is_thread ? birth->parent_tgid : tracee->tid;
	tracee->traces = birth->traces;
	if (target && birth->sysret && ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) == 0) {
		thread_name(tracee->tid, name, sizeof(name));
		pthread_mutex_lock(target->lock);
		const bool is_over = target->native || target->finished; /* slots are gone */
		if (birth->is_thread && !is_over)
			gs = target_add_thread(target, tracee->tid, name, regs.rsp,
					       target_slot_index(target, birth->parent));
		if (gs) {
			const struct translator *copy = target_copy_at(target, birth->sysret);
			slots_set_copy(target, target_slot_index(target, tracee->tid),
				       copy ? (enum copy)(copy - target->copies) : COPY_FIRST);
			*slot_u64(target_slot(target, tracee->tid), G_SYSRET) = birth->sysret;
			tracee->target = target;
		} else {
			regs.rip = regs.rcx = target_behind_syscall(target, birth->sysret);
		}
		if (!gs && birth->is_thread)
			note_native_thread(run, tracee, name, is_over);
		pthread_mutex_unlock(target->lock);
		regs.gs_base = gs;
		ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
		if (!birth->is_thread && !target->native && !run->first_only)
			start_process(run, tracee, birth);
	}
	if (!birth->is_thread && run->first_only)
		let_go(run, tracee->tid);
	else if (birth->is_plain_vfork && ptrace(PTRACE_SETOPTIONS, tracee->tid, 0,
						 FOLLOWED_OPTIONS | PTRACE_O_TRACESYSGOOD) == 0)
		ptrace(PTRACE_SYSCALL, tracee->tid, 0, 0);
	else
		tracee_resume(tracee, 0);
}

static bool is_thread_of(pid_t tid, pid_t tgid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)tgid, (int)tid);
	return access(path, F_OK) == 0;
}

void births_on_event(struct counted_run *run, pid_t tid, int event)
{
	unsigned long child = 0;
	struct user_regs_struct regs;
	struct tracee *parent = tracees_find(&run->tracees, tid);
	ptrace(PTRACE_GETEVENTMSG, tid, 0, &child);
	if (!parent)
		return;
	struct birth birth = {.child = (pid_t)child,
			      .parent_tgid = parent->tgid,
			      .parent = tid,
			      .traces = parent->traces};
	const bool has_regs = ptrace(PTRACE_GETREGS, tid, 0, &regs) == 0;
	birth.is_thread = is_thread_of(birth.child, parent->tgid);
	birth.is_vfork = event == PTRACE_EVENT_VFORK;
	birth.is_plain_vfork = has_regs && regs.orig_rax == SYS_vfork;
	if (!birth.is_thread && has_regs && !run->first_only) {
		pthread_mutex_lock(&run->lock);
		process_log_birth(&run->processes, parent->tgid, tid, birth.child, &regs);
		pthread_mutex_unlock(&run->lock);
	}
	/* a thread that has left the cache has children that were never in it */
	if (parent->target && has_regs &&
	    regs.rip == target_gate(parent->target, gate_after_syscall)) {
		birth.target = parent->target;
		birth.sysret = *slot_u64(target_slot(parent->target, tid), G_SYSRET);
	}
	struct tracee *early = tracees_find(&run->tracees, birth.child);
	if (early && early->stopped_early)
		start_child(run, early, &birth);
	else
		(void)rf_array_push(run->births, run->n_births, run->cap_births, birth);
	tracee_resume(tracees_find(&run->tracees, tid), 0);
}

void births_on_first_stop(struct counted_run *run, pid_t tid)
{
	struct birth *birth = find_birth(run, tid);
	struct tracee *tracee = tracees_add(&run->tracees, tid);
	if (!tracee)
		return;
	if (!birth) {
		tracee->stopped_early = true;
		return;
	}
	struct birth known = *birth;
	*birth = run->births[--run->n_births];
	start_child(run, tracee, &known);
}

bool births_has(const struct counted_run *run, const struct target *target)
{
	for (size_t i = 0; i < run->n_births; i++)
		if (run->births[i].target == target)
			return true;
	return false;
}
