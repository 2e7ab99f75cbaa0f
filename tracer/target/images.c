/* The process images of a counted run: which stopped processes get a code cache and are counted
 * from then on, which run natively and why, and what becomes of an image that is gone. */
#include "tracer/target/images.h"

#include "base/array.h"
#include "tracer/target/births.h"
#include "tracer/target/target_create.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <unistd.h>

void images_retire(struct counted_run *run, struct target *target)
{
	for (size_t i = 0; i < run->tracees.n_items; i++)
		if (run->tracees.items[i].target == target)
			run->tracees.items[i].target = NULL;
	target_finish(target, !run->keep_images && !births_has(run, target));
	run->n_finished++;
}

void images_free_retired(struct counted_run *run)
{
	if (!run->n_finished || run->keep_images)
		return;
	size_t kept = 0;
	pthread_mutex_lock(&run->lock);
	run->n_finished = 0;
	for (size_t i = 0; i < run->n_targets; i++) {
		struct target *target = run->targets[i];
		if (!target->finished || births_has(run, target)) {
			run->n_finished += target->finished;
			run->targets[kept++] = target;
		} else {
			target_destroy(target);
		}
	}
	run->n_targets = kept;
	pthread_mutex_unlock(&run->lock);
}

void images_note_native(struct counted_run *run, pid_t pid, const char *why)
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

/* Whether something of ours may be put into a process; the message says why not. */
static struct rf_error *check_process(const struct counted_run *run, pid_t pid)
{
	struct rlimit limit;
	if (!is_native_elf(pid))
		return rf_error_create(RF_EUNAVAILABLE, NULL, "a program that is not 64-bit x86");
	struct rf_error *error = sandbox_check(&run->sandbox, pid);
	if (!error && prlimit(pid, RLIMIT_AS, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		error = rf_error_create(RF_EUNAVAILABLE, NULL, "its address space is limited");
	return error;
}

/* Killed while it was being set up: nothing of it is left to be counted. */
static bool is_ending(pid_t tid)
{
	siginfo_t info;
	return ptrace(PTRACE_GETSIGINFO, tid, 0, &info) < 0 ||
	       info.si_code >> 8 == PTRACE_EVENT_EXIT;
}

void images_count(struct counted_run *run, struct tracee *tracee)
{
	struct target *target = NULL;
	struct rf_error *error =
		check_process(run, tracee->tid)
			?: target_create(tracee->tid, run->files, run->profile, &run->told,
					 run->drain, run->kernels, run->stock, run->span,
					 &run->lock, &target);
	if (error && !is_ending(tracee->tid))
		images_note_native(run, tracee->tid, error->message);
	rf_error_destroy(error);
	pthread_mutex_lock(&run->lock);
	if (target && target->drain)
		target->windows = run->windows;
	else if (target)
		target->pace = &run->pace;
	if (target && rf_array_push(run->targets, run->n_targets, run->cap_targets, target))
		tracee->target = target;
	pthread_mutex_unlock(&run->lock);
}
