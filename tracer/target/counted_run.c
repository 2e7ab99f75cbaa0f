#include "tracer/target/counted_run.h"

#include "base/array.h"
#include "tracer/launch/process_log.h"
#include "tracer/launch/sandbox.h"
#include "tracer/process/module_file.h"
#include "tracer/target/inject.h"
#include "tracer/target/interrupt.h"
#include "tracer/target/tracees.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                               \
	(PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
	 PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT)
/* Of a child of vfork, which may ask to be traced before its exec. */
#define WATCHED_OPTIONS (OPTIONS | PTRACE_O_TRACESYSGOOD)
#define WATCHED_STOP (SIGTRAP | 0x80)
/* Of a process that traces others: its children are its own. */
#define CHILDLESS_OPTIONS \
	(PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT)

/* A child whose parent's event has come: how it starts. */
struct birth {
	pid_t child, parent_tgid;
	struct target *target; /* the parent's */
	uint64_t sysret; /* where the parent's system call returns to in the cache; 0: native */
	bool is_thread, is_vfork;
	bool is_plain_vfork; /* by the system call of that name */
};

struct counted_run {
	struct tracees tracees;
	struct birth *births;
	size_t n_births, cap_births;
	struct target **targets, **retired;
	size_t n_targets, cap_targets, n_retired, cap_retired;
	pthread_mutex_t lock; /* of these two lists, the profile and all targets */
	struct module_files *files;
	struct profile *profile;
	struct process_log processes;
	int *let_go; /* pidfds of children that are not traced */
	size_t n_let_go, cap_let_go;
	struct traffic_options traffic;
	struct drain *drain; /* NULL: accesses are not traced */
	struct sandbox sandbox;
	pid_t main_pid;
	int status;
	bool ended, keep_rest, first_only;
};

/* ---- targets ---- */

/* The image is gone: its counts go into the profile, its address map stays. */
static void retire(struct counted_run *run, struct target *target)
{
	for (size_t i = 0; i < run->tracees.n_items; i++)
		if (run->tracees.items[i].target == target)
			run->tracees.items[i].target = NULL;
	target_finish(target);
	pthread_mutex_lock(&run->lock);
	for (size_t i = 0; i < run->n_targets; i++)
		if (run->targets[i] == target) {
			run->targets[i] = run->targets[--run->n_targets];
			break;
		}
	bool kept = rf_array_push(run->retired, run->n_retired, run->cap_retired, target);
	pthread_mutex_unlock(&run->lock);
	if (!kept)
		target_destroy(target);
}

static bool has_threads(const struct counted_run *run, const struct target *target)
{
	for (size_t i = 0; i < run->tracees.n_items; i++)
		if (run->tracees.items[i].target == target)
			return true;
	return false;
}

/* A process runs natively. */
static void note_uncounted(struct counted_run *run, pid_t pid, const char *why)
{
	pthread_mutex_lock(&run->lock);
	profile_add_uncounted(run->profile, PROFILE_NONE, why);
	profile_native_process(run->profile, pid, why);
	pthread_mutex_unlock(&run->lock);
}

/* "ELF64 for this processor": anything else runs natively. */
static bool is_native_elf(pid_t pid)
{
	char path[64];
	unsigned char header[20] = {0};
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && read(fd, header, sizeof(header)) == sizeof(header) &&
		  header[4] == 2 /* ELFCLASS64 */ && header[18] == 62 /* EM_X86_64 */;
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Why nothing of ours may be put into a process, or NULL. */
static const char *objection(const struct counted_run *run, pid_t pid)
{
	struct rlimit limit;
	if (!is_native_elf(pid))
		return "a program that is not 64-bit x86";
	const char *sandboxed = sandbox_objection(&run->sandbox, pid);
	if (sandboxed)
		return sandboxed;
	if (prlimit(pid, RLIMIT_AS, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		return "its address space is limited";
	return NULL;
}

/* Killed while it was being set up: nothing of it is left to be counted. */
static bool is_ending(pid_t tid)
{
	siginfo_t info;
	return ptrace(PTRACE_GETSIGINFO, tid, 0, &info) < 0 ||
	       info.si_code >> 8 == PTRACE_EVENT_EXIT;
}

/* The stopped process has a code cache of its own from now on, or stays native. */
static void count_from_here(struct counted_run *run, struct tracee *tracee)
{
	struct target *new = NULL;
	const char *why = objection(run, tracee->tid);
	if (why) {
		if (!is_ending(tracee->tid))
			note_uncounted(run, tracee->tid, why);
		return;
	}
	struct rf_error *error =
		target_create(tracee->tid, run->files, run->profile, run->drain, &run->lock, &new);
	if (error && !is_ending(tracee->tid))
		note_uncounted(run, tracee->tid, error->message);
	rf_error_destroy(error);
	pthread_mutex_lock(&run->lock);
	if (new &&rf_array_push(run->targets, run->n_targets, run->cap_targets, new))
		tracee->target = new;
	pthread_mutex_unlock(&run->lock);
}

static void on_exec(struct counted_run *run, pid_t tid)
{
	unsigned long former = 0;
	ptrace(PTRACE_GETEVENTMSG, tid, 0, &former);
	if ((pid_t)former != tid)
		tracees_remove(&run->tracees, (pid_t)former);
	struct tracee *tracee = tracees_find(&run->tracees, tid);
	if (!tracee)
		tracee = tracees_add(&run->tracees, tid);
	if (!tracee)
		return;
	/* the old image is gone, unless a vfork child has only borrowed its parent's */
	struct target *old = tracee->target;
	tracee->target = NULL;
	tracee->tgid = tid;
	tracee->started = true;
	if (old && old->pid == tid) {
		object_world_freeze(old->world);
		retire(run, old);
	}
	pthread_mutex_lock(&run->lock);
	process_log_exec(&run->processes, tid);
	pthread_mutex_unlock(&run->lock);
	tracee->n_held = 0;
	tracee->catches_up = false;
	memset(tracee->owed, 0, sizeof(tracee->owed));
	tracee->left.how = STAYS;
	ptrace(PTRACE_SETOPTIONS, tid, 0, OPTIONS);
	count_from_here(run, tracee);
	ptrace(PTRACE_CONT, tid, 0, 0);
}

/* ---- births ---- */

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

/* vfork and its kin: the child runs in its parent's memory, and is left alone there. */
static bool shares_memory(pid_t one, pid_t other)
{
	return syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0) == 0;
}

static bool shares_handlers(pid_t one, pid_t other)
{
	return syscall(SYS_kcmp, one, other, KCMP_SIGHAND, 0, 0) == 0;
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
	if (!shares_memory(birth->parent_tgid, tracee->tid)) {
		count_from_here(run, tracee);
		return;
	}
	birth->target->actions_unseen |= shares_handlers(birth->parent_tgid, tracee->tid);
	if (!birth->is_vfork)
		note_uncounted(run, tracee->tid, "it runs in its parent's memory");
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
	if (target && birth->sysret && ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) == 0) {
		thread_name(tracee->tid, name, sizeof(name));
		pthread_mutex_lock(target->lock);
		if (birth->is_thread && !target->native)
			gs = target_add_thread(target, tracee->tid, name);
		if (gs) {
			*slot_u64(target_slot(target, tracee->tid), G_SYSRET) = birth->sysret;
			target_set_stack(target, tracee->tid, regs.rsp);
			tracee->target = target;
		} else {
			regs.rip = regs.rcx = target_behind_syscall(target, birth->sysret);
		}
		if (!gs && birth->is_thread)
			note_native_thread(run, tracee, name, target->native);
		pthread_mutex_unlock(target->lock);
		regs.gs_base = gs;
		ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
		if (!birth->is_thread && !target->native && !run->first_only)
			start_process(run, tracee, birth);
	}
	if (!birth->is_thread && run->first_only)
		let_go(run, tracee->tid);
	else if (birth->is_plain_vfork &&
		 ptrace(PTRACE_SETOPTIONS, tracee->tid, 0, WATCHED_OPTIONS) == 0)
		ptrace(PTRACE_SYSCALL, tracee->tid, 0, 0);
	else
		ptrace(PTRACE_CONT, tracee->tid, 0, 0);
}

static bool is_thread_of(pid_t tid, pid_t tgid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)tgid, (int)tid);
	return access(path, F_OK) == 0;
}

static void on_birth(struct counted_run *run, pid_t tid, int event)
{
	unsigned long child = 0;
	struct user_regs_struct regs;
	struct tracee *parent = tracees_find(&run->tracees, tid);
	ptrace(PTRACE_GETEVENTMSG, tid, 0, &child);
	if (!parent)
		return;
	struct birth birth = {.child = (pid_t)child, .parent_tgid = parent->tgid};
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
	ptrace(PTRACE_CONT, tid, 0, 0);
}

/* The first stop of a new tracee. */
static void on_first_stop(struct counted_run *run, pid_t tid)
{
	struct birth *birth = find_birth(run, tid);
	struct tracee *tracee = tracees_find(&run->tracees, tid);
	if (!tracee)
		tracee = tracees_add(&run->tracees, tid);
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

/* ---- the loop ---- */

static void note_exit(struct counted_run *run, const struct tracee *tracee, int status)
{
	pthread_mutex_lock(&run->lock);
	process_log_exit(&run->processes, tracee->tgid, tracee->tid, status);
	pthread_mutex_unlock(&run->lock);
}

static void on_gone(struct counted_run *run, pid_t tid, int status)
{
	struct tracee *tracee = tracees_find(&run->tracees, tid);
	struct target *target = tracee ? tracee->target : NULL;
	if (target)
		target_remove_thread(target, tid);
	if (tracee)
		note_exit(run, tracee, status);
	tracees_remove(&run->tracees, tid);
	if (target && !has_threads(run, target))
		retire(run, target);
	if (tid == run->main_pid) {
		run->status = status;
		run->ended = true;
	}
}

/* ---- leaving the cache for more than running natively ---- */

/* The tracee is not followed any more. */
static void forget_tracee(struct counted_run *run, pid_t tid)
{
	struct tracee *tracee = tracees_find(&run->tracees, tid);
	struct target *target = tracee ? tracee->target : NULL;
	if (target)
		target_remove_thread(target, tid);
	tracees_remove(&run->tracees, tid);
	if (target && !has_threads(run, target))
		retire(run, target);
}

static void on_stop(struct counted_run *run, pid_t tid, int status);

/* The tracee, when its first stop has been dealt with, which may be still to come. */
static const struct tracee *started_tracee(struct counted_run *run, pid_t pid)
{
	const struct tracee *tracee;
	int status;
	while (!(tracee = tracees_find(&run->tracees, pid)) || !tracee->started) {
		if ((tracee && tracee->stopped_early) || waitpid(pid, &status, __WALL) != pid ||
		    !WIFSTOPPED(status))
			return NULL;
		on_stop(run, pid, status);
	}
	return tracee;
}

/* A process that another will trace. */
static void release_process(struct counted_run *run, pid_t pid)
{
	const struct tracee *of = pid ? started_tracee(run, pid) : NULL;
	const pid_t tgid = of ? of->tgid : 0;
	if (!tgid || pid == run->main_pid)
		return;
	note_uncounted(run, tgid, "another program traces it");
	for (size_t i = run->tracees.n_items; i-- > 0;) {
		struct tracee *tracee = &run->tracees.items[i];
		if (tracee->tgid != tgid)
			continue;
		interrupt_release(tracee);
		forget_tracee(run, tracee->tid);
	}
}

static void unmap_all(struct tracee *tracee)
{
	struct target *target = tracee->target;
	struct injection injection;
	struct rf_error *error = injection_begin_at(&injection, tracee->tid, &target->memory);
	if (!error) {
		target_unmap(target, &injection);
		injection_end(&injection);
	}
	rf_error_destroy(error);
}

/* The tracee has the program's registers and waits. */
static void after_leaving(struct counted_run *run, struct tracee *tracee)
{
	const struct leaving left = tracee->left;
	const pid_t tid = tracee->tid;
	tracee->left.how = STAYS;
	if (left.how == LEAVES_UNTRACED) {
		interrupt_detach(tracee, 0);
		forget_tracee(run, tid);
		return;
	}
	if (left.how == LEAVES_UNMAPPED) {
		unmap_all(tracee);
		target_remove_thread(tracee->target, tid);
		retire(run, tracee->target);
	} else if (left.how == LEAVES_TO_TRACE) {
		ptrace(PTRACE_SETOPTIONS, tid, 0, CHILDLESS_OPTIONS);
		release_process(run, left.argument);
	}
	ptrace(PTRACE_CONT, tid, 0, 0);
}

/* A debugger's child runs natively in the memory of its parent when it asks to be traced. */
static void on_watched_call(struct counted_run *run, pid_t tid)
{
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0 || regs.orig_rax != SYS_ptrace ||
	    regs.rdi != PTRACE_TRACEME || (long long)regs.rax != -ENOSYS /* it has run */) {
		ptrace(PTRACE_SYSCALL, tid, 0, 0);
		return;
	}
	note_uncounted(run, tid, "another program traces it");
	ptrace(PTRACE_DETACH, tid, 0, 0);
	forget_tracee(run, tid);
}

static void on_stop(struct counted_run *run, pid_t tid, int status)
{
	const int event = status >> 16, number = WSTOPSIG(status);
	struct tracee *tracee = tracees_find(&run->tracees, tid);
	switch (event) {
	case PTRACE_EVENT_EXEC:
		on_exec(run, tid);
		return;
	case PTRACE_EVENT_EXIT:
		if (tracee) {
			interrupt_flush(tracee);
			interrupt_give_back(tracee);
			note_exit(run, tracee, -1);
			object_world_look(tracee->target ? tracee->target->world : NULL);
		}
		ptrace(PTRACE_CONT, tid, 0, 0);
		return;
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		on_birth(run, tid, event);
		return;
	case PTRACE_EVENT_STOP:
		if (!tracee || !tracee->started)
			on_first_stop(run, tid);
		else if (number == SIGTRAP)
			ptrace(PTRACE_CONT, tid, 0, 0);
		else
			ptrace(PTRACE_LISTEN, tid, 0, 0);
		return;
	default:
		break;
	}
	if (number == WATCHED_STOP) {
		on_watched_call(run, tid);
		return;
	}
	if (!tracee)
		ptrace(PTRACE_CONT, tid, 0, number);
	else if (!interrupt_deliver(tracee, number) && tracee->gone)
		on_gone(run, tid, tracee->gone_status);
	else if (tracee->left.how != STAYS)
		after_leaving(run, tracee);
}

static void follow(struct counted_run *run)
{
	while (!run->ended) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			return;
		if (WIFSTOPPED(status))
			on_stop(run, tid, status);
		else
			on_gone(run, tid, status);
	}
}

/* ---- the run ---- */

static struct rf_error *seize(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, 0, OPTIONS) == 0)
		return NULL;
	return rf_error_errno(RF_EUNAVAILABLE, errno,
			      "counting needs ptrace: allow it in the container "
			      "(--cap-add SYS_PTRACE) or set kernel.yama.ptrace_scope to 1",
			      "cannot trace the program");
}

static void release_rest(struct counted_run *run)
{
	for (size_t i = 0; i < run->tracees.n_items; i++)
		interrupt_release(&run->tracees.items[i]);
}

/* Killed tracees stop once more on their way out, and hold what they have open until then. */
static void kill_rest(struct counted_run *run)
{
	for (size_t i = 0; i < run->tracees.n_items; i++)
		kill(run->tracees.items[i].tid, SIGKILL);
	for (size_t i = 0; i < run->n_let_go; i++)
		syscall(SYS_pidfd_send_signal, run->let_go[i], SIGKILL, NULL, 0);
	for (int tries = 0; tries < 2000; tries++) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);
		if (tid < 0)
			return;
		if (tid == 0)
			usleep(1000);
		else if (WIFSTOPPED(status))
			ptrace(PTRACE_CONT, tid, 0, 0);
	}
}

struct counted_run *counted_run_create(struct profile *profile, bool keep_rest, bool first_only,
				       const struct traffic_options *traffic)
{
	struct counted_run *run = calloc(1, sizeof(*run));
	if (!run)
		return NULL;
	run->profile = profile;
	run->keep_rest = keep_rest;
	run->first_only = first_only;
	run->traffic = *traffic;
	run->files = module_files_create();
	sandbox_init(&run->sandbox);
	pthread_mutex_init(&run->lock, NULL);
	return run;
}

struct rf_error *counted_run_follow(struct counted_run *run, struct launch *launch, int *status)
{
	run->main_pid = launch->pid;
	struct rf_error *error =
		run->traffic.trace ? drain_create(&run->traffic, run->profile, &run->drain) : NULL;
	if (!error)
		error = seize(launch->pid);
	if (error)
		return error;
	struct tracee *tracee = tracees_add(&run->tracees, run->main_pid);
	if (tracee)
		tracee->started = true;
	process_log_begin(&run->processes, run->profile, run->main_pid);
	launch_release(launch);
	follow(run);
	if (run->keep_rest)
		release_rest(run);
	else
		kill_rest(run);
	while (run->n_targets)
		retire(run, run->targets[0]);
	drain_finish(run->drain);
	*status = run->status;
	return NULL;
}

/* Newest first: a process may have had several images, and they may lie at the same addresses. */
static bool map_in(struct target **targets, size_t n, pid_t tid, uint64_t address, uint64_t *pc)
{
	for (size_t i = n; i-- > 0;) {
		bool ours;
		*pc = target_map(targets[i], tid, address, &ours);
		if (ours)
			return true;
	}
	return false;
}

uint64_t counted_run_map(void *context, pid_t tid, uint64_t address)
{
	struct counted_run *run = context;
	uint64_t pc;
	pthread_mutex_lock(&run->lock);
	bool ours = map_in(run->targets, run->n_targets, tid, address, &pc) ||
		    map_in(run->retired, run->n_retired, tid, address, &pc);
	pthread_mutex_unlock(&run->lock);
	return ours ? pc : address;
}

void counted_run_destroy(struct counted_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->n_retired; i++)
		target_destroy(run->retired[i]);
	drain_destroy(run->drain);
	module_files_destroy(run->files);
	pthread_mutex_destroy(&run->lock);
	for (size_t i = 0; i < run->n_let_go; i++)
		close(run->let_go[i]);
	free(run->let_go);
	free(run->tracees.items);
	free(run->births);
	free(run->targets);
	free(run->retired);
	free(run);
}
