/* The process that traces the program, and what it does at each stop. */
#include "tracer/flush/cache_flush.h"

#include "base/clock.h"
#include "tracer/flush/call_depth.h"
#include "tracer/flush/flush_code.h"
#include "tracer/flush/stopped_calls.h"
#include "tracer/kernel/kernel_files.h"
#include "tracer/perf/breakpoint.h"
#include "tracer/perf/perf_source.h"
#include "tracer/process/program_memory.h"
#include "tracer/span/entry_stop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* The processor has four; one of them watches a return. */
#define MOST_ENTRIES 3
#define MOST_FOUND 256
#define MOST_PLACES 256
#define STOPS_MEASURED 24
#define TRAP_PERF_CODE 6 /* TRAP_PERF of linux/uapi/asm-generic/siginfo.h */
#define OPTIONS (PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD)
#define USER_CS_64 0x33 /* __USER_CS of asm/segment.h */

struct image {
	struct module_files *files;
	struct profile *scratch;
	struct kernel_files *kernels;
	struct program_memory memory;
	bool has_memory;
	struct flush_code code;
	int events[MOST_ENTRIES];
	uint64_t entries[MOST_ENTRIES];
	uint32_t rows[MOST_ENTRIES]; /* whose entries they are */
	size_t n_entries;
};

struct place_of_flush {
	uint64_t begin, end;
	bool returns; /* nothing but stops there are ours */
};

/* Of both processes; what only one uses is marked. */
struct cache_flush {
	pid_t pid, rfprof, tracer;
	const char *names;
	struct image image;                        /* the tracer's */
	struct call_depth depth;                   /* the tracer's */
	struct resident resident;                  /* the tracer's */
	struct place_of_flush places[MOST_PLACES]; /* of all images; others read those that count */
	uint32_t n_places;
	struct cache_flush_sums sums;
	struct stopped_calls *calls; /* memory of its own */
};

/* ---- one image of the program ---- */

static int watch(uint64_t address, pid_t tid, bool inherit)
{
	struct perf_event_attr attr = breakpoint_attributes(address);
	attr.inherit = inherit;
	attr.inherit_thread = inherit;
	attr.remove_on_exec = 1;
	attr.sigtrap = 1;
	return perf_source_kernel.open(NULL, &attr, tid, -1, -1);
}

static void image_end(struct image *image)
{
	for (size_t i = 0; i < image->n_entries; i++)
		close(image->events[i]);
	if (image->has_memory)
		program_memory_deinit(&image->memory);
	kernel_files_destroy(image->kernels);
	if (image->scratch)
		profile_destroy(image->scratch);
	if (image->files)
		module_files_destroy(image->files);
	*image = (struct image){0};
}

static void add_place(struct cache_flush *flush, uint64_t begin, uint64_t end, bool returns)
{
	const uint32_t n = flush->n_places;
	for (uint32_t i = 0; i < n; i++)
		if (flush->places[i].begin == begin && flush->places[i].end == end)
			return;
	if (n == MOST_PLACES) /* of more the time is that of the program, too */
		return;
	flush->places[n] = (struct place_of_flush){begin, end, returns};
	__atomic_store_n(&flush->n_places, n + 1, __ATOMIC_RELEASE);
}

static void say_missing(struct cache_flush *flush, const char *kernel)
{
	char *missing = flush->sums.missing;
	const size_t n = strlen(missing);
	snprintf(missing + n, sizeof(flush->sums.missing) - n, "%s%s", n ? ", " : "", kernel);
}

/* Watches the entries of as many kernels as can be. */
static struct rf_error *watch_entries(struct cache_flush *flush)
{
	struct image *image = &flush->image;
	struct kernel_entry found[MOST_FOUND];
	size_t n = kernel_files_find(&image->memory, found, MOST_FOUND);
	bool is_watched[MOST_KERNELS] = {false};
	n = n < MOST_FOUND ? n : MOST_FOUND;
	for (size_t i = 0; i < n && image->n_entries < MOST_ENTRIES; i++) {
		const int event = watch(found[i].address, flush->pid, true);
		if (event < 0)
			return rf_error_errno(RF_EUNAVAILABLE, errno, NULL,
					      "breakpoints that stop the program are refused");
		image->events[image->n_entries] = event;
		image->rows[image->n_entries] = found[i].kernel;
		image->entries[image->n_entries++] = found[i].address;
		is_watched[found[i].kernel] = true;
		add_place(flush, found[i].address, found[i].address + 1, false);
	}
	flush->sums.missing[0] = 0;
	for (uint32_t k = 0; k < image->scratch->n_kernels && k < MOST_KERNELS; k++)
		if (!is_watched[k])
			say_missing(flush, image->scratch->kernels[k].name);
	return NULL;
}

/* What the end of one stop and the beginning of another take together, a few times. */
static void measure_stops(struct cache_flush *flush)
{
	const struct image *image = &flush->image;
	for (int i = 0; i < STOPS_MEASURED; i++) {
		const int event = watch(flush_code_end(&image->code), flush->pid, false);
		if (event < 0)
			return;
		const size_t number = stopped_calls_add(flush->calls, flush->pid, STOPPED_NOTHING);
		if (flush_code_pass(&image->code, flush->pid))
			stopped_calls_end(flush->calls, number);
		close(event);
	}
}

/* The program stands at the entry point of a new image. */
static struct rf_error *image_begin(struct cache_flush *flush)
{
	struct image *image = &flush->image;
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, flush->pid, 0, &regs) < 0 || regs.cs != USER_CS_64)
		return rf_error_create(RF_EUNAVAILABLE, NULL, "the program is no 64-bit one");
	image->files = module_files_create();
	image->scratch = profile_create();
	if (!image->files || !image->scratch)
		return rf_error_no_memory();
	struct rf_error *error =
		program_memory_init(&image->memory, flush->pid, image->files, image->scratch);
	image->has_memory = !error;
	if (!error)
		error = kernel_files_create(flush->names, image->scratch, &image->kernels);
	image->memory.kernels = image->kernels;
	if (!error)
		error = flush_code_map(&image->code, &image->memory, flush->pid);
	if (!error)
		add_place(flush, image->code.begin, image->code.end + 1, false);
	error = error ?: watch_entries(flush);
	if (!error)
		measure_stops(flush);
	return error;
}

/* ---- calls ---- */

static void end_call(struct call_thread *thread)
{
	if (thread->call.watch > 0)
		close(thread->call.watch);
	thread->call = (struct open_call){0};
	thread->known.is_open = false;
}

static uint64_t word_at(const struct cache_flush *flush, uint64_t address)
{
	uint64_t word = 0;
	(void)program_memory_read(&flush->image.memory, address, &word, sizeof(word));
	return word;
}

/* Whether it was done. */
static bool flush_for(struct cache_flush *flush, pid_t tid)
{
	const uint64_t begin = clock_now_ns();
	const bool ok =
		flush_code_run(&flush->image.code, &flush->image.memory, tid, &flush->resident);
	flush->sums.calls += ok;
	flush->sums.failed += !ok;
	flush->sums.lines += ok ? flush->resident.bytes / 64 : 0;
	flush->sums.ns += clock_now_ns() - begin;
	return ok;
}

static void at_entry(struct cache_flush *flush, struct call_thread *thread, uint64_t sp,
		     uint32_t kernel)
{
	const struct open_call before = thread->call;
	const bool was_open = thread->known.is_open;
	const uint64_t return_to = word_at(flush, sp);
	const bool enters = call_depth_enters(&flush->depth, thread, sp, return_to,
					      was_open ? word_at(flush, before.sp) : 0);
	if (was_open && (enters || !thread->known.is_open) && before.watch > 0) {
		close(before.watch);
		thread->call.watch = 0;
	}
	if (!enters)
		return;
	/* first, since a thread that is stopped by a signal gets that if rfprof is killed now */
	const bool is_flushed = flush_for(flush, (pid_t)thread->known.tid);
	thread->call.watch = watch(return_to, (pid_t)thread->known.tid, false);
	add_place(flush, return_to, return_to + 1, true);
	thread->call.number =
		is_flushed ? stopped_calls_add(flush->calls, (pid_t)thread->known.tid, kernel)
			   : MOST_STOPPED;
}

static void forget_threads(struct cache_flush *flush)
{
	for (size_t i = 0; i < flush->depth.n_threads; i++)
		end_call(&flush->depth.threads[i]);
	flush->depth.n_threads = 0;
}

/* Nobody wants to know any more: the program is to run as if it were alone. */
static bool is_alone(struct cache_flush *flush)
{
	if (getppid() == flush->rfprof)
		return false;
	forget_threads(flush);
	image_end(&flush->image);
	return true;
}

/* A breakpoint of ours; false: the signal is the program's. */
static bool at_breakpoint(struct cache_flush *flush, pid_t tid)
{
	siginfo_t info;
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) < 0 || info.si_code != TRAP_PERF_CODE ||
	    ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0)
		return false;
	if (is_alone(flush))
		return true;
	struct call_thread *thread = call_depth_begin(&flush->depth, tid, 0);
	for (size_t i = 0; thread && i < flush->image.n_entries; i++)
		if (flush->image.entries[i] == regs.rip) {
			at_entry(flush, thread, regs.rsp, flush->image.rows[i]);
			return true;
		}
	if (thread && thread->call.return_to == regs.rip && call_depth_returns(thread, regs.rsp)) {
		stopped_calls_end(flush->calls, thread->call.number);
		end_call(thread);
	}
	return true;
}

/* ---- stops ---- */

static void give_up(struct cache_flush *flush, struct rf_error *error)
{
	snprintf(flush->sums.why, sizeof(flush->sums.why), "%s", error->message);
	rf_error_destroy(error);
	image_end(&flush->image);
}

static void at_exec(struct cache_flush *flush)
{
	if (is_alone(flush))
		return;
	forget_threads(flush);
	image_end(&flush->image);
	flush->sums.why[0] = 0;
	struct rf_error *error =
		entry_stop_reach(flush->pid)
			? image_begin(flush)
			: rf_error_create(RF_EUNAVAILABLE, NULL,
					  "the program was not seen at its entry point");
	if (error)
		give_up(flush, error);
}

static void at_stop(struct cache_flush *flush, pid_t tid, int status)
{
	const int event = status >> 16, number = WSTOPSIG(status);
	unsigned long message = 0;
	int signal = 0;
	if (event == PTRACE_EVENT_EXEC && tid != flush->pid) { /* of a clone that is no thread */
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return;
	}
	if (event == PTRACE_EVENT_EXEC) {
		at_exec(flush);
	} else if (event == PTRACE_EVENT_CLONE) {
		if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &message) == 0)
			(void)call_depth_begin(&flush->depth, (pid_t)message, tid);
	} else if (event == PTRACE_EVENT_STOP) {
		if (number != SIGTRAP) { /* a group that was stopped stays so */
			ptrace(PTRACE_LISTEN, tid, 0, 0);
			return;
		}
	} else if (!event && !(number == SIGTRAP && at_breakpoint(flush, tid))) {
		signal = number;
	}
	ptrace(PTRACE_CONT, tid, 0, signal);
}

/* The next stop or end of a thread; false: the program has ended, or there is none. */
static bool follow_one(struct cache_flush *flush)
{
	int status;
	const pid_t tid = waitpid(-1, &status, __WALL);
	if (tid < 0)
		return errno == EINTR;
	if (WIFSTOPPED(status)) {
		at_stop(flush, tid, status);
		return true;
	}
	struct call_thread *thread = call_depth_thread(&flush->depth, tid);
	if (thread)
		end_call(thread);
	call_depth_end(&flush->depth, tid);
	return tid != flush->pid;
}

/* ---- the process ---- */

/* 0, or errno.  It may not have allowed it yet: it has just been started. */
static int seize(pid_t pid)
{
	for (int tries = 0; ptrace(PTRACE_SEIZE, pid, 0, OPTIONS) < 0; tries++)
		if (errno != EPERM || tries == 100)
			return errno;
		else
			usleep(1000);
	return 0;
}

/* What is written to `answer`: 0, or why the program cannot be traced (errno).  It lives as long as
 * the program, whatever becomes of rfprof, and what is sent to all of the job is not for it. */
static void trace(struct cache_flush *flush, int answer)
{
	int refused = seize(flush->pid);
	/* its descriptors would keep pipes of the program's open */
	const int kept = dup2(answer, STDERR_FILENO + 1);
	if (!refused && (kept < 0 || close_range(STDERR_FILENO + 2, UINT_MAX, 0) < 0))
		refused = errno;
	(void)!write(kept, &refused, sizeof(refused));
	close(kept);
	while (!refused && follow_one(flush))
		;
	forget_threads(flush);
	image_end(&flush->image);
	call_depth_deinit(&flush->depth);
	resident_deinit(&flush->resident);
	_exit(0);
}

/* errno of what keeps it from tracing, or 0. */
static int start_process(struct cache_flush *flush)
{
	int ends[2], refused = EPIPE;
	sigset_t all, before;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	flush->tracer = fork();
	if (flush->tracer == 0)
		trace(flush, ends[1]);
	const int cause = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (flush->tracer < 0)
		refused = cause;
	else
		while (read(ends[0], &refused, sizeof(refused)) < 0 && errno == EINTR)
			;
	close(ends[0]);
	return refused;
}

struct rf_error *cache_flush_start(pid_t pid, const char *kernels, struct cache_flush **out)
{
	struct cache_flush *flush = mmap(NULL, sizeof(*flush), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (flush == MAP_FAILED)
		return rf_error_no_memory();
	flush->pid = pid;
	flush->rfprof = getpid();
	flush->names = kernels;
	flush->calls = stopped_calls_create();
	const int refused = flush->calls ? start_process(flush) : ENOMEM;
	if (!refused) {
		*out = flush;
		return NULL;
	}
	cache_flush_wait(flush);
	cache_flush_destroy(flush);
	return rf_error_errno(RF_EUNAVAILABLE, refused,
			      "allow ptrace in the container (--cap-add SYS_PTRACE)",
			      "the timed program cannot be stopped at its kernels");
}

void cache_flush_wait(struct cache_flush *flush)
{
	int status = 0;
	if (!flush || flush->tracer <= 0)
		return;
	while (waitpid(flush->tracer, &status, 0) < 0 && errno == EINTR)
		;
	flush->tracer = 0;
	if (WIFSIGNALED(status))
		snprintf(flush->sums.why, sizeof(flush->sums.why),
			 "the process that flushes them has ended (signal %d)", WTERMSIG(status));
}

void cache_flush_destroy(struct cache_flush *flush)
{
	if (!flush)
		return;
	stopped_calls_destroy(flush->calls);
	munmap(flush, sizeof(*flush));
}

bool cache_flush_has(const struct cache_flush *flush, uint32_t pid, uint64_t address,
		     bool in_kernel)
{
	if (!flush || pid != (uint32_t)flush->pid)
		return false;
	const uint32_t n = __atomic_load_n(&flush->n_places, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++)
		if (address >= flush->places[i].begin && address < flush->places[i].end &&
		    (in_kernel || !flush->places[i].returns))
			return true;
	return false;
}

const struct cache_flush_sums *cache_flush_get_sums(const struct cache_flush *flush)
{
	return &flush->sums;
}

const struct stopped_calls *cache_flush_calls(const struct cache_flush *flush)
{
	return flush->calls;
}
