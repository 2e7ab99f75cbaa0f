/* The counted run: the program and all that it starts are followed by ptrace, from the first stop
 * to the last exit. */
#include "tracer/target/counted_run.h"

#include "base/clock.h"
#include "base/large_memory.h"
#include "profile/profile_kernels.h"
#include "tracer/process/allocators.h"
#include "tracer/process/stops.h"
#include "tracer/span/span.h"
#include "tracer/stock/stock.h"
#include "tracer/target/births.h"
#include "tracer/target/images.h"
#include "tracer/target/inject.h"
#include "tracer/target/interrupt.h"
#include "tracer/target/place.h"
#include "tracer/target/shared_memory.h"
#include "tracer/target/target_create.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of a process that traces others: its children are its own. */
#define CHILDLESS_OPTIONS \
	(PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT)

/* Stops of a tracee that is let go: births, a signal, its exec. */
#define MAX_RELEASE_STOPS 16
/* How long nothing may happen while what outlives the program is let go. */
#define RELEASE_LIMIT_NS 10000000000ull

static void on_exec(struct counted_run *run, pid_t tid)
{
	unsigned long former = 0;
	ptrace(PTRACE_GETEVENTMSG, tid, 0, &former);
	if ((pid_t)former != tid)
		tracees_remove(&run->tracees, (pid_t)former);
	struct tracee *tracee = tracees_add(&run->tracees, tid);
	if (!tracee)
		return;
	/* the old image is gone, unless a vfork child has only borrowed its parent's */
	struct target *old = tracee->target;
	tracee->target = NULL;
	tracee->tgid = tid;
	tracee->started = true;
	if (old && old->pid == tid) {
		object_world_freeze(old->world);
		images_retire(run, old);
	}
	pthread_mutex_lock(&run->lock);
	process_log_exec(&run->processes, tid);
	pthread_mutex_unlock(&run->lock);
	tracee->n_held = 0;
	tracee->catches_up = false;
	memset(tracee->owed, 0, sizeof(tracee->owed));
	tracee->left.how = STAYS;
	tracee->traces = false;
	ptrace(PTRACE_SETOPTIONS, tid, 0, FOLLOWED_OPTIONS);
	images_count(run, tracee);
	ptrace(PTRACE_CONT, tid, 0, 0);
}

static void note_exit(struct counted_run *run, const struct tracee *tracee, int status)
{
	pthread_mutex_lock(&run->lock);
	process_log_exit(&run->processes, tracee->tgid, tracee->tid, status);
	pthread_mutex_unlock(&run->lock);
}

static bool has_threads(const struct counted_run *run, const struct target *target)
{
	for (size_t i = 0; i < run->tracees.n_items; i++)
		if (run->tracees.items[i].target == target)
			return true;
	return false;
}

/* The tracee is not followed any more. */
static void forget_tracee(struct counted_run *run, pid_t tid)
{
	struct tracee *tracee = tracees_find(&run->tracees, tid);
	struct target *target = tracee ? tracee->target : NULL;
	if (target)
		target_remove_thread(target, tid);
	tracees_remove(&run->tracees, tid);
	if (target && !has_threads(run, target))
		images_retire(run, target);
}

/* PTRACE_EVENT_EXIT: the last time that its registers and memory can be seen. */
static void on_exit_stop(struct counted_run *run, struct tracee *tracee)
{
	place_flush(tracee->target, tracee->tid);
	tracee_give_back(tracee);
	note_exit(run, tracee, -1);
	if (tracee->target)
		target_note_end(tracee->target, tracee->tid);
	object_world_look(tracee->target ? tracee->target->world : NULL);
	ptrace(PTRACE_CONT, tracee->tid, 0, 0);
}

static void on_gone(struct counted_run *run, pid_t tid, int status)
{
	const struct tracee *tracee = tracees_find(&run->tracees, tid);
	if (tracee)
		note_exit(run, tracee, status);
	forget_tracee(run, tid);
	if (tid == run->main_pid) {
		run->status = status;
		run->ended = true;
	}
}

/* ---- leaving the cache for more than running natively ---- */

static void on_stop(struct counted_run *run, pid_t tid, int status);

/* The tracee, when its first stop has been dealt with, which may be still to come. */
static const struct tracee *started_tracee(struct counted_run *run, pid_t pid)
{
	const struct tracee *tracee;
	int status;
	while (!(tracee = tracees_find(&run->tracees, pid)) || !tracee->started) {
		if ((tracee && tracee->stopped_early) ||
		    stops_await(pid, STEP_LIMIT_NS, &status) != AWAITED_STOP)
			return NULL;
		on_stop(run, pid, status);
	}
	return tracee;
}

/* Behind an attempt to let the tracee go. */
static void let_go(struct counted_run *run, struct tracee *tracee, bool gone)
{
	if (gone)
		forget_tracee(run, tracee->tid);
	else if (tracee->exits)
		on_exit_stop(run, tracee);
}

/* A stop of a tracee that is to be let go: it is, or its event is dealt with first. */
static void release_at_stop(struct counted_run *run, pid_t tid, int status)
{
	const int event = status >> 16;
	struct tracee *tracee = tracees_find(&run->tracees, tid);
	if (!tracee || !tracee->started || tracee->late || WSTOPSIG(status) == WATCHED_STOP ||
	    (event && event != PTRACE_EVENT_STOP)) {
		on_stop(run, tid, status);
		ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	} else {
		let_go(run, tracee, interrupt_release(tracee, status));
	}
}

/* Lets a running tracee go, if it stops in time. */
static void release_now(struct counted_run *run, pid_t tid)
{
	int status;
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	for (int stops = 0; stops < MAX_RELEASE_STOPS && tracees_find(&run->tracees, tid) &&
			    stops_await(tid, STEP_LIMIT_NS, &status) == AWAITED_STOP;
	     stops++)
		release_at_stop(run, tid, status);
}

/* All threads of a process but one, which the caller sees to. */
static void release_threads(struct counted_run *run, pid_t tgid, pid_t but)
{
	for (int pass = 0; pass < 2; pass++) /* it may start threads meanwhile */
		for (size_t i = run->tracees.n_items; i-- > 0;) {
			/* others may go with one that is let go */
			const struct tracee *tracee =
				i < run->tracees.n_items ? &run->tracees.items[i] : NULL;
			if (tracee && tracee->tgid == tgid && tracee->tid != but)
				release_now(run, tracee->tid);
		}
}

/* Another process asks for the first one, which cannot be had: once for all. */
static void note_refused(struct counted_run *run)
{
	pthread_mutex_lock(&run->lock);
	if (!run->refused)
		profile_add_note(run->profile, "in the counted run a process could not attach to "
					       "the program's first process (EPERM): "
					       "rfprof follows that one to its end");
	run->refused = true;
	pthread_mutex_unlock(&run->lock);
}

/* A process that another will trace. */
static void release_process(struct counted_run *run, pid_t pid)
{
	const struct tracee *of = pid ? started_tracee(run, pid) : NULL;
	const pid_t tgid = of ? of->tgid : 0;
	if (!tgid)
		return;
	if (tgid == run->main_pid) { /* its end is that of the run */
		note_refused(run);
		return;
	}
	images_note_native(run, tgid, "another program traces it");
	release_threads(run, tgid, 0);
}

static void unmap_all(struct tracee *tracee)
{
	struct target *target = tracee->target;
	struct injection injection;
	struct rf_error *error = injection_begin(&injection, tracee->tid, &target->memory, false);
	if (!error) {
		shared_memory_unmap_remote(target, &injection);
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
	if (left.how == LEAVES_TO_END)
		note_exit(run, tracee, W_EXITCODE(0, left.argument));
	if (left.how == LEAVES_WHOLLY) {
		release_threads(run, tracee->tgid, tid);
		tracee = tracees_find(&run->tracees, tid); /* others that went have moved it */
	}
	if (left.how == LEAVES_UNTRACED || left.how == LEAVES_WHOLLY || left.how == LEAVES_TO_END) {
		if (tracee)
			let_go(run, tracee, interrupt_detach(tracee, left.last_signal));
		return;
	}
	if (left.how == LEAVES_UNMAPPED) {
		unmap_all(tracee);
		target_remove_thread(tracee->target, tid);
		images_retire(run, tracee->target);
	} else if (left.how == LEAVES_TO_TRACE) {
		tracee->traces = true;
		ptrace(PTRACE_SETOPTIONS, tid, 0, CHILDLESS_OPTIONS | PTRACE_O_TRACESYSGOOD);
		release_process(run, left.argument);
		tracee = tracees_find(&run->tracees, tid); /* the list may have moved */
	} else if (left.how == LEAVES_WATCHED) {
		tracee->traces = ptrace(PTRACE_SETOPTIONS, tid, 0,
					FOLLOWED_OPTIONS | PTRACE_O_TRACESYSGOOD) == 0;
	}
	if (tracee)
		tracee_resume(tracee, 0);
}

/* The call that asks for the tracee's parent as its tracer: a debugger's child, which runs natively
 * in the memory of its parent. */
static void let_parent_trace(struct counted_run *run, pid_t tid)
{
	images_note_native(run, tid, "another program traces it");
	ptrace(PTRACE_DETACH, tid, 0, 0);
	forget_tracee(run, tid);
}

/* Before or behind a system call of a child of vfork, or of one that traces: who is to have another
 * tracer is let go first. */
static void on_watched_call(struct counted_run *run, pid_t tid)
{
	struct user_regs_struct regs;
	const bool asks = ptrace(PTRACE_GETREGS, tid, 0, &regs) == 0 &&
			  regs.orig_rax == SYS_ptrace &&
			  (long long)regs.rax == -ENOSYS; /* else it has run */
	if (asks && regs.rdi == PTRACE_TRACEME) {
		let_parent_trace(run, tid);
		return;
	}
	if (asks && (regs.rdi == PTRACE_ATTACH || regs.rdi == PTRACE_SEIZE))
		release_process(run, (pid_t)regs.rsi);
	ptrace(PTRACE_SYSCALL, tid, 0, 0);
}

/* ---- the loop ---- */

/* A first stop, a stop of the whole process, or that a SIGCONT has come, which natively nobody is
 * told of. */
static void on_event_stop(struct counted_run *run, pid_t tid, struct tracee *tracee, int number)
{
	if (!tracee || !tracee->started) {
		births_on_first_stop(run, tid);
	} else if (number == SIGTRAP) {
		if (tracee->target)
			(void)place_run_again(tracee);
		tracee_resume(tracee, 0);
	} else {
		place_end_call(tracee);
		ptrace(PTRACE_LISTEN, tid, 0, 0);
	}
}

static void on_stop(struct counted_run *run, pid_t tid, int status)
{
	const int event = status >> 16, number = WSTOPSIG(status);
	struct tracee *tracee = tracees_find(&run->tracees, tid);
	if (tracee && tracee->late && interrupt_late(tracee, status))
		return;
	switch (event) {
	case PTRACE_EVENT_EXEC:
		on_exec(run, tid);
		return;
	case PTRACE_EVENT_EXIT:
		if (tracee)
			on_exit_stop(run, tracee);
		else
			ptrace(PTRACE_CONT, tid, 0, 0);
		return;
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		births_on_event(run, tid, event);
		return;
	case PTRACE_EVENT_STOP:
		on_event_stop(run, tid, tracee, number);
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
	else if (!interrupt_deliver(tracee, number) && tracee->exits)
		on_exit_stop(run, tracee);
	else if (tracee->left.how != STAYS)
		after_leaving(run, tracee);
}

static void follow(struct counted_run *run)
{
	while (!run->ended) {
		int status;
		images_free_retired(run);
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
	if (ptrace(PTRACE_SEIZE, pid, 0, FOLLOWED_OPTIONS) == 0)
		return NULL;
	return rf_error_errno(RF_EUNAVAILABLE, errno,
			      "counting needs ptrace: allow it in the container "
			      "(--cap-add SYS_PTRACE) or set kernel.yama.ptrace_scope to 1",
			      "cannot trace the program");
}

/* A leader that has ended before its threads stops no more, and needs no release. */
static void forget_leaders(struct counted_run *run)
{
	for (size_t i = run->tracees.n_items; i-- > 0;)
		if (stops_ended_first(run->tracees.items[i].tid))
			forget_tracee(run, run->tracees.items[i].tid);
}

/* All that outlive the program go on natively.  They are taken as they stop: one can wait for
 * another, as a parent does for the child of its vfork.  Returns how many did not stop. */
static size_t release_rest(struct counted_run *run)
{
	uint64_t last = clock_now_ns();
	pthread_mutex_lock(&run->lock);
	run->pace.is_over = true; /* else some would be stopped for that all the time */
	pthread_mutex_unlock(&run->lock);
	for (size_t i = 0; i < run->tracees.n_items; i++)
		ptrace(PTRACE_INTERRUPT, run->tracees.items[i].tid, 0, 0);
	while (run->tracees.n_items + run->n_births && clock_now_ns() - last < RELEASE_LIMIT_NS) {
		int status;
		const pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);
		if (tid < 0 && errno != EINTR)
			break;
		if (tid <= 0) {
			forget_leaders(run);
			usleep(500);
			continue;
		}
		last = clock_now_ns();
		if (WIFSTOPPED(status))
			release_at_stop(run, tid, status);
		else
			on_gone(run, tid, status);
	}
	for (size_t i = 0; i < run->tracees.n_items; i++)
		images_note_native(run, run->tracees.items[i].tgid,
				   "it did not stop when the program had ended, and was ended");
	return run->tracees.n_items;
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
	large_apart(true);
	run->first_only = first_only;
	run->traffic = *traffic;
	run->files = module_files_create();
	if (!run->files) {
		free(run);
		return NULL;
	}
	sandbox_init(&run->sandbox);
	pthread_mutex_init(&run->lock, NULL);
	return run;
}

void counted_run_keep_images(struct counted_run *run)
{
	run->keep_images = true;
}

void counted_run_set_span(struct counted_run *run, struct span *span)
{
	run->span = span;
}

struct rf_error *counted_run_follow(struct counted_run *run, struct launch *launch, int *status)
{
	run->main_pid = launch->pid;
	struct rf_error *error =
		run->traffic.trace ? drain_create(&run->traffic, run->profile, &run->drain) : NULL;
	if (!error && run->traffic.kernels)
		error = kernel_files_create(run->traffic.kernels, run->profile, &run->kernels);
	/* what is kept looks out neither for kernels nor for functions that a span begins with */
	if (!run->kernels && (!run->span || !span_is_by_function(run->span)))
		run->stock = stock_create(run->traffic.kept, run->profile);
	const double native_s = run->traffic.native_s;
	if (run->drain && run->traffic.slowdown > 1 && (!native_s || native_s > WINDOWS_FROM_S))
		run->windows =
			windows_create(run->traffic.slowdown, native_s, run->traffic.least_s);
	error = error ?: seize(launch->pid);
	if (error)
		return error;
	struct tracee *tracee = tracees_add(&run->tracees, run->main_pid);
	if (tracee)
		tracee->started = true;
	process_log_begin(&run->processes, run->profile, run->main_pid);
	if (run->span)
		run->span->calls_of = run->main_pid;
	if (run->span)
		span_counted_begins(run->span, clock_now_ns(), run->traffic.native_s,
				    run->keep_rest);
	launch_release(launch);
	follow(run);
	if (!run->keep_rest || release_rest(run))
		kill_rest(run);
	for (size_t i = 0; i < run->n_targets; i++)
		if (!run->targets[i]->finished)
			images_retire(run, run->targets[i]);
	if (run->stock && (!run->drain || named_functions_all_read(drain_allocators(run->drain))))
		stock_close(run->stock);
	images_free_retired(run); /* what is saved now needs their memory */
	large_release();
	error = run->span ? span_settle(run->span, run->profile) : NULL;
	drain_finish(run->drain, &run->told);
	told_threads_note(&run->told, run->profile);
	if (run->span)
		span_drop_empty(run->profile);
	if (run->kernels)
		kernel_files_note_unread(run->kernels, run->profile);
	profile_settle_kernels(run->profile);
	*status = run->status;
	return error;
}

/* Newest first: a process may have had several images, and they may lie at the same addresses. */
uint64_t counted_run_map(void *context, pid_t tid, uint64_t address, uint64_t wait_sp)
{
	struct counted_run *run = context;
	uint64_t pc = address;
	bool ours = false;
	pthread_mutex_lock(&run->lock);
	for (size_t i = run->n_targets; !ours && i-- > 0;)
		pc = target_map(run->targets[i], tid, address, wait_sp, &ours);
	pthread_mutex_unlock(&run->lock);
	return ours ? pc : address;
}

pthread_mutex_t *counted_run_lock(struct counted_run *run)
{
	return &run->lock;
}

void counted_run_destroy(struct counted_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->n_targets; i++)
		target_destroy(run->targets[i]);
	drain_destroy(run->drain);
	windows_destroy(run->windows);
	if (run->stock)
		stock_save(run->stock);
	stock_destroy(run->stock);
	kernel_files_destroy(run->kernels);
	module_files_destroy(run->files);
	told_threads_deinit(&run->told);
	large_release();
	large_apart(false);
	pthread_mutex_destroy(&run->lock);
	for (size_t i = 0; i < run->n_let_go; i++)
		close(run->let_go[i]);
	free(run->let_go);
	free(run->tracees.items);
	free(run->births);
	free(run->targets);
	free(run);
}
