/* The child: where the loop touches a page that is not there, the page appears; then it is timed.
 */
#include "machine/replay/replay_child.h"

#include "base/confined.h"
#include "machine/core/turn_cycles.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#define PAGE ((size_t)4096)
/* Between general registers.  AMD's cores find lines of L1 by bits 12 to 19 and 20 to 27 of the
 * address, folded (Lipp et al. 2020, Take A Way): those of two registers are not alike. */
#define REGISTER_APART UINT64_C(0x20000)
#define ROOM 6 /* pages that stay in an L1 of 32 KiB beside the state */
#define MOST_PAGES 1024
#define MOST_TURNS 3072   /* of a pass, at most */
#define TRACED_TURNS 64   /* whose branches are looked at, one by one */
#define TRACED_STEPS 6000 /* instructions, at most */
#define TARGET_TICKS 9000
#define MOST_PASSES 64
#define TINY_IS_ZERO 0x8040u /* MXCSR: subnormal numbers are 0 */

typedef void replayed(uint64_t passes, uint64_t repeats);

enum content { POINTERS, SINGLES, DOUBLES };

/* What the handlers of faults know; there is one loop in a child. */
static struct {
	struct replay_code *code;
	uint8_t *writable; /* the pages of code */
	replayed *run;     /* the same, to be executed */
	uint8_t *memory;   /* ROOM pages for data */
	int fd;            /* of the same */
	FILE *answer;
	uint64_t pages; /* that have appeared */
	bool folded;    /* more than there is room for, in as few turns as can be timed */
	enum content content[ROOM];
	int32_t *outcomes; /* per branch: as it should be, less otherwise */
} child;

/* In handlers as well, on their own stack (confined_finish). */
#define ON_ANY_STACK __attribute__((no_sanitize("address")))

static void finish(enum replay_why why, double cycles) __attribute__((noreturn));

ON_ANY_STACK static void finish(enum replay_why why, double cycles)
{
	uint64_t bits;
	memcpy(&bits, &cycles, sizeof(bits));
	confined_put_tag(child.answer, REPLAY_ANSWER);
	confined_put_number(child.answer, why);
	confined_put_number(child.answer, child.folded);
	confined_put_number(child.answer, bits);
	confined_finish(child.answer);
}

/* ---- memory ---- */

static void fill(uint8_t *page, enum content content)
{
	const uint64_t pointer = REPLAY_POINTER;
	for (size_t at = 0; at < PAGE; at += 8) {
		if (content == POINTERS)
			memcpy(page + at, &pointer, 8);
		else if (content == DOUBLES)
			memcpy(page + at, &(double){1.0001}, 8);
		else
			memcpy(page + at, (float[]){1.0001f, 1.0001f}, 8);
	}
}

static void restore(void)
{
	for (size_t i = 0; i < ROOM && i < child.pages; i++)
		fill(child.memory + i * PAGE, child.content[i]);
}

/* What the instruction would like to find: numbers for vectors. */
static enum content content_for(uint64_t pc)
{
	struct full_insn insn;
	bool vector = false;
	if (!decode_full((const uint8_t *)(uintptr_t)pc, ZYDIS_MAX_INSTRUCTION_LENGTH, &insn))
		return POINTERS;
	for (int i = 0; i < insn.insn.operand_count_visible; i++)
		if (insn.operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
			vector |= insn.operands[i].reg.value >= ZYDIS_REGISTER_XMM0 &&
				  insn.operands[i].reg.value <= ZYDIS_REGISTER_ZMM31;
	return !vector ? POINTERS : child.code->single ? SINGLES : DOUBLES;
}

ON_ANY_STACK static void on_missing(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *at = context;
	const uint64_t address = (uint64_t)(uintptr_t)info->si_addr,
		       pc = (uint64_t)at->uc_mcontext.gregs[REG_RIP];
	const bool ours = pc >= REPLAY_CODE + child.code->from && pc < REPLAY_CODE + child.code->to;
	if (signal != SIGSEGV || !ours || info->si_code != SEGV_MAPERR)
		finish(signal == SIGSEGV || signal == SIGBUS ? REPLAY_ADDRESS : REPLAY_FAULT, 0);
	if (child.pages == MOST_PAGES)
		finish(REPLAY_PAGES, 0);
	const size_t place = child.pages % ROOM;
	void *page = mmap((void *)(uintptr_t)(address & ~(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED_NOREPLACE, child.fd, (off_t)(place * PAGE));
	if (page == MAP_FAILED)
		finish(REPLAY_ADDRESS, 0);
	if (child.pages++ < ROOM) {
		child.content[place] = content_for(pc);
		fill(child.memory + place * PAGE, child.content[place]);
	}
}

/* ---- branches ---- */

/* Whether condition `code` (0: O … 15: G) holds (Intel SDM vol. 1, appendix B). */
static bool holds(unsigned code, uint64_t flags)
{
	const bool carry = flags & 1, parity = flags & 4, zero = flags & 0x40, sign = flags & 0x80,
		   overflow = flags & 0x800;
	const bool of[] = {overflow,
			   carry,
			   zero,
			   carry || zero,
			   sign,
			   parity,
			   sign != overflow,
			   zero || sign != overflow};
	return of[code >> 1] != (code & 1);
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *at = context;
	const uint64_t pc = (uint64_t)at->uc_mcontext.gregs[REG_RIP] - REPLAY_CODE;
	const struct replay_code *code = child.code;
	(void)signal;
	(void)info;
	if (pc < code->from || pc >= code->to)
		return;
	size_t low = 0, high = code->n_branches;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (code->branches[middle].pc < pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == code->n_branches || code->branches[low].pc != pc)
		return;
	const struct replay_branch *branch = &code->branches[low];
	const uint64_t flags = (uint64_t)at->uc_mcontext.gregs[REG_EFL];
	const bool taken = holds(code->bytes[branch->at] & 15, flags);
	child.outcomes[low] += taken == branch->is_taken ? 1 : -1;
}

/* With the flag for single steps, which the handler sees. */
static void run_stepwise(replayed *run, uint64_t repeats)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torl $256, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
	run(1, repeats);
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandl $~256, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
}

/* Turns the conditions round that mostly lead the other way than in the program. */
static void resolve_branches(replayed *run, size_t n_steps)
{
	struct replay_code *code = child.code;
	const uint64_t turns = TRACED_STEPS / (n_steps ? n_steps : 1);
	const uint64_t repeats = (turns < TRACED_TURNS ? turns : TRACED_TURNS) / code->copies;
	if (!code->n_branches)
		return;
	run_stepwise(run, repeats ? repeats : 1);
	for (size_t i = 0; i < code->n_branches; i++)
		if (child.outcomes[i] < 0) {
			code->bytes[code->branches[i].at] ^= 1;
			child.writable[code->branches[i].at] ^= 1;
		}
}

/* ---- time ---- */

struct timed {
	replayed *run;
	uint64_t passes;
};

static uint64_t ticks(void *context, uint64_t repeats)
{
	const struct timed *timed = context;
	restore();
	timed->run(1, repeats);
	_mm_lfence();
	const uint64_t start = __rdtsc();
	_mm_lfence();
	timed->run(timed->passes, repeats);
	_mm_lfence();
	return __rdtsc() - start;
}

/* As many turns as touch no more pages than there is room for. */
static uint64_t find_repeats(replayed *run)
{
	uint64_t repeats = 1;
	run(1, 3);
	child.folded = child.pages > ROOM;
	while (6 * repeats * child.code->copies <= MOST_TURNS) {
		run(1, 6 * repeats);
		if (child.pages > ROOM)
			break;
		repeats *= 2;
	}
	return repeats;
}

static double time_it(replayed *run, uint64_t repeats)
{
	struct timed timed = {run, 1};
	uint64_t pages = 0;
	double cycles = NAN;
	while (timed.passes < MOST_PASSES && ticks(&timed, repeats) < TARGET_TICKS)
		timed.passes *= 2;
	/* again where new pages came while it was timed */
	for (int i = 0; i < 3 && (isnan(cycles) || pages != child.pages); i++) {
		pages = child.pages;
		cycles = turn_cycles(ticks, &timed, repeats, child.code->is_wide);
	}
	return cycles / (double)(timed.passes * child.code->copies);
}

/* ---- the child's life ---- */

static void *map_at(uint64_t address, size_t size, int rights, int fd)
{
	const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *at = mmap((void *)(uintptr_t)address, size, rights,
			flags | (address ? MAP_FIXED_NOREPLACE : 0), fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaction(signal, &action, NULL);
}

static void set_state(const struct replay_code *code, struct replay_state *state)
{
	for (uint64_t i = 0; i < 16; i++)
		state->general[i] =
			REPLAY_REGISTERS + REGISTER_APART / 2 + i * (REGISTER_APART + 0x240);
	memset(state->ones, 0xff, sizeof(state->ones));
	for (int i = 0; i < 16 && code->single; i++)
		memcpy(state->vector + 4 * i, &(float){1.0001f}, 4);
	for (int i = 0; i < 8 && !code->single; i++)
		memcpy(state->vector + 8 * i, &(double){1.0001}, 8);
}

void replay_child_prepare(void *context)
{
	struct replay_code *code = context;
	const size_t stack_size = 65536;
	const int code_fd = memfd_create("rfprof-replay", MFD_CLOEXEC);
	child.fd = memfd_create("rfprof-replay", MFD_CLOEXEC);
	if (code_fd < 0 || child.fd < 0 || ftruncate(code_fd, REPLAY_CODE_BYTES) ||
	    ftruncate(child.fd, ROOM * PAGE))
		_exit(1);
	struct replay_state *state = map_at(REPLAY_STATE, PAGE, PROT_READ | PROT_WRITE, -1);
	child.memory = map_at(0, ROOM * PAGE, PROT_READ | PROT_WRITE, child.fd);
	child.writable = map_at(0, REPLAY_CODE_BYTES, PROT_READ | PROT_WRITE, code_fd);
	child.outcomes = map_at(0, sizeof(int32_t) * (REPLAY_MOST_STEPS * 2 + 1),
				PROT_READ | PROT_WRITE, -1);
	void *stack = map_at(0, stack_size, PROT_READ | PROT_WRITE, -1);
	void *run = map_at(REPLAY_CODE, REPLAY_CODE_BYTES, PROT_READ | PROT_EXEC, code_fd);
	if (!state || !child.memory || !child.writable || !child.outcomes || !stack || !run)
		_exit(1);
	child.run = (replayed *)(uintptr_t)run;
	child.code = code;
	memcpy(child.writable, code->bytes, code->size);
	set_state(code, state);
	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = stack_size}, NULL);
	handle(SIGSEGV, on_missing);
	handle(SIGBUS, on_missing);
	handle(SIGFPE, on_missing);
	handle(SIGILL, on_missing);
	handle(SIGTRAP, on_step);
	sigset_t trap;
	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	sigprocmask(SIG_UNBLOCK, &trap, NULL);
}

void replay_child_run(void *context, FILE *answer)
{
	const struct replay_code *code = context;
	replayed *const run = child.run;
	child.answer = answer;
	_mm_setcsr(_mm_getcsr() | TINY_IS_ZERO);
	run(1, 1);
	resolve_branches(run, (code->to - code->from) / code->copies / 4);
	const uint64_t repeats = find_repeats(run);
	const double cycles = time_it(run, repeats);
	finish(isnan(cycles) || cycles <= 0 ? REPLAY_UNSTEADY : REPLAY_DONE, cycles);
}
