/* Writes flush_loop.S and its lists into memory of their own in the program, and leads threads
 * through it. */
#include "tracer/flush/flush_code.h"

#include "tracer/flush/flush_loop.h"
#include "tracer/process/stops.h"
#include "tracer/target/inject.h"

#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#define LIST_BYTES 65536
#define LIST_RANGES (LIST_BYTES / sizeof(struct resident_range))
#define CODE_BYTES 4096
#define LIMIT_NS 60000000000ull    /* of one list: 4,096 ranges; GB take seconds */
#define MOST_STOPS 10000           /* of one list */
#define CALL_STOP (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */

/* What flush_leave goes back with. */
struct flush_kept {
	uint64_t mask, rax, rcx, rdx, rsi, rdi, r10, r11;
	uint64_t rip, cs, eflags, rsp, ss; /* as iretq takes them */
};

static bool has_clflushopt(void)
{
	unsigned a, b, c, d;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 23;
}

static uint64_t place_of(const struct flush_code *code, const uint8_t *label)
{
	return code->begin + (uint64_t)(label - flush_loop);
}

static bool has(const struct flush_code *code, uint64_t address)
{
	return address >= code->begin && address < code->end;
}

struct rf_error *flush_code_map(struct flush_code *code, const struct program_memory *memory,
				pid_t pid)
{
	struct injection injection;
	const size_t size = (size_t)(flush_kept - flush_loop);
	uint8_t bytes[CODE_BYTES];
	struct rf_error *error = injection_begin(&injection, pid, memory, false);
	if (error)
		return error;
	const int64_t address =
		injection_call(&injection, SYS_mmap, 0, LIST_BYTES + CODE_BYTES,
			       PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1);
	injection_end(&injection);
	memcpy(bytes, flush_loop, size);
	if (!has_clflushopt())
		bytes[flush_line - flush_loop] = 0x3e; /* a prefix that changes nothing */
	if (address < 0 && address > -4096)
		return rf_error_errno(RF_EUNAVAILABLE, (int)-address, NULL,
				      "the program has no memory for code that flushes caches");
	code->address = (uint64_t)address;
	code->begin = code->address + LIST_BYTES;
	code->end = code->begin + size;
	if (program_memory_write(memory, code->begin, bytes, size))
		return NULL;
	return rf_error_errno(RF_EUNAVAILABLE, errno, NULL,
			      "the program's memory cannot be written");
}

/* A thread that is in the code. */
struct visit {
	const struct flush_code *code;
	pid_t tid;
	struct user_regs_struct regs;
	bool was_stopped; /* its process is to be stopped */
};

static bool stops_process(int number)
{
	return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* Lets the thread run to its next stop; true: goes on.  A range that is gone faults: the next one
 * comes then. */
static bool go_on(struct visit *visit, bool *done)
{
	const struct flush_code *code = visit->code;
	int status;
	if (ptrace(PTRACE_SYSEMU, visit->tid, 0, 0) < 0 ||
	    stops_await(visit->tid, LIMIT_NS, &status) != AWAITED_STOP ||
	    ptrace(PTRACE_GETREGS, visit->tid, 0, &visit->regs) < 0)
		return false;
	const int number = WSTOPSIG(status);
	const bool is_event = status >> 16;
	*done = !is_event && number == CALL_STOP && visit->regs.rip == place_of(code, flush_left);
	visit->was_stopped |= stops_process(number);
	if (is_event || (number != SIGSEGV && number != SIGBUS) || !has(code, visit->regs.rip))
		return status >> 16 != PTRACE_EVENT_EXIT;
	visit->regs.rip = place_of(code, flush_skip);
	return ptrace(PTRACE_SETREGS, visit->tid, 0, &visit->regs) == 0;
}

/* From a place in the code to the system call at its end. */
static bool run_from(struct visit *visit, const uint8_t *label, size_t n_ranges)
{
	bool done = false;
	visit->regs.rip = place_of(visit->code, label);
	visit->regs.rdi = visit->code->address;
	visit->regs.rsi = n_ranges;
	visit->regs.orig_rax = (uint64_t)-1;
	if (ptrace(PTRACE_SETREGS, visit->tid, 0, &visit->regs) < 0)
		return false;
	for (int stops = 0; !done && stops < MOST_STOPS; stops++)
		if (!go_on(visit, &done))
			return false;
	return done;
}

static bool keep(const struct flush_code *code, const struct program_memory *memory,
		 const struct user_regs_struct *regs, uint64_t mask)
{
	const struct flush_kept kept = {
		.mask = mask,
		.rax = regs->rax,
		.rcx = regs->rcx,
		.rdx = regs->rdx,
		.rsi = regs->rsi,
		.rdi = regs->rdi,
		.r10 = regs->r10,
		.r11 = regs->r11,
		.rip = regs->rip,
		.cs = regs->cs,
		.eflags = regs->eflags,
		.rsp = regs->rsp,
		.ss = regs->ss,
	};
	return program_memory_write(memory, code->end, &kept, sizeof(kept));
}

static bool flush_all(struct visit *visit, const struct program_memory *memory,
		      const struct resident *resident)
{
	bool ok = true;
	for (size_t at = 0, n; ok && at < resident->n_ranges; at += n) {
		n = resident->n_ranges - at < LIST_RANGES ? resident->n_ranges - at : LIST_RANGES;
		ok = program_memory_write(memory, visit->code->address, resident->ranges + at,
					  n * sizeof(*resident->ranges)) &&
		     run_from(visit, flush_loop, n);
	}
	return ok;
}

bool flush_code_run(const struct flush_code *code, const struct program_memory *memory, pid_t tid,
		    struct resident *resident)
{
	const uint64_t open = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);
	struct visit visit = {.code = code, .tid = tid};
	struct user_regs_struct regs;
	uint64_t mask;
	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0 || !inject_block_signals(tid, open, &mask))
		return false;
	visit.regs = regs;
	const bool ok = keep(code, memory, &regs, mask) && run_from(&visit, flush_leave, 0) &&
			resident_read(memory->pid, resident) && flush_all(&visit, memory, resident);
	regs.orig_rax = (uint64_t)-1;
	ptrace(PTRACE_SETREGS, tid, 0, &regs);
	inject_set_signals(tid, mask);
	if (visit.was_stopped)
		kill(tid, SIGSTOP);
	return ok;
}

uint64_t flush_code_end(const struct flush_code *code)
{
	return place_of(code, flush_leave);
}

bool flush_code_pass(const struct flush_code *code, pid_t tid)
{
	struct user_regs_struct regs, there;
	uint64_t mask;
	int status = 0;
	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0 || !inject_block_signals(tid, 0, &mask))
		return false;
	there = regs;
	there.rip = place_of(code, flush_skip);
	there.rsi = 1; /* behind the last range */
	there.orig_rax = (uint64_t)-1;
	const bool stops = ptrace(PTRACE_SETREGS, tid, 0, &there) == 0 &&
			   ptrace(PTRACE_CONT, tid, 0, 0) == 0 &&
			   stops_await(tid, LIMIT_NS, &status) == AWAITED_STOP &&
			   ptrace(PTRACE_GETREGS, tid, 0, &there) == 0 &&
			   there.rip == place_of(code, flush_leave);
	ptrace(PTRACE_SETREGS, tid, 0, &regs);
	inject_set_signals(tid, mask);
	if (stops_process(WSTOPSIG(status)))
		kill(tid, SIGSTOP);
	return stops;
}
