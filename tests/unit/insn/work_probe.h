/* What an instruction really accesses, asked of the processor: its memory operand is moved byte
 * by byte towards a page that cannot be accessed, until it faults.
 *
 * The first distance from that page at which it does not fault is the number of bytes that it
 * accesses.  On a read-only page it faults if and only if it stores. */
#pragma once

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PROBE_PAGE 4096
#define PROBE_MAX_BYTES 640

enum probe_outcome { PROBE_RAN, PROBE_PAGE_FAULT, PROBE_OTHER_FAULT, PROBE_ILLEGAL };

/* Loaded by probe_enter, in this order. */
struct probe_registers {
	uint64_t general[16]; /* in encoding order: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8… */
	uint64_t k1;
	uint8_t vector[64]; /* every vector register but number 2 */
	uint8_t index[64];  /* vector register 2 */
};

struct probe {
	uint8_t *pages;       /* two accessible pages, then one that is not */
	uint8_t *edge;        /* the start of the latter */
	uint8_t *scratch;     /* two accessible pages for the other operands */
	uint8_t scratch_fill; /* what is in them */
	uint8_t *code;
};

static sigjmp_buf probe_return;
static volatile sig_atomic_t probe_signal;
static uint8_t *volatile probe_fault_address;
static volatile bool probe_fault_has_address;
uint64_t probe_saved_stack, probe_entry;
void probe_enter(const struct probe_registers *registers);
void probe_enter_256(const struct probe_registers *registers);
void probe_enter_512(const struct probe_registers *registers);
void probe_exit(void);

/* The code under test ends in a jump to probe_exit, which needs no register and no stack. */
#define PROBE_ENTER(name, load_vectors)                                                          \
	".globl " name "\n" name ":\n"                                                           \
	"push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"                \
	"mov %rsp, probe_saved_stack(%rip)\n" load_vectors                                       \
	"mov (%rdi), %rax\n mov 8(%rdi), %rcx\n mov 16(%rdi), %rdx\n mov 24(%rdi), %rbx\n"       \
	"mov 32(%rdi), %rsp\n mov 40(%rdi), %rbp\n mov 48(%rdi), %rsi\n"                         \
	"mov 64(%rdi), %r8\n mov 72(%rdi), %r9\n mov 80(%rdi), %r10\n mov 88(%rdi), %r11\n"      \
	"mov 96(%rdi), %r12\n mov 104(%rdi), %r13\n mov 112(%rdi), %r14\n mov 120(%rdi), %r15\n" \
	"mov 56(%rdi), %rdi\n"                                                                   \
	"jmp *probe_entry(%rip)\n"
#define PROBE_VECTORS(mov, reg)                                                             \
	mov " 136(%rdi), %" reg "0\n" mov " 136(%rdi), %" reg "1\n" mov " 200(%rdi), %" reg \
	    "2\n" mov " 136(%rdi), %" reg "3\n" mov " 136(%rdi), %" reg "4\n" mov           \
	    " 136(%rdi), %" reg "5\n"

#define PROBE_MMX "fninit\n movq 136(%rdi), %mm0\n movq 136(%rdi), %mm3\n"

/* With as much of each vector register as the processor has. */
__asm__(".text\n" PROBE_ENTER("probe_enter", PROBE_MMX PROBE_VECTORS("movups", "xmm")) PROBE_ENTER(
	"probe_enter_256", PROBE_MMX PROBE_VECTORS("vmovdqu", "ymm"))
		PROBE_ENTER(
			"probe_enter_512",
			PROBE_MMX PROBE_VECTORS(
				"vmovdqu64",
				"zmm") "kmovq 128(%rdi), %k1\n") ".globl probe_exit\nprobe_exit:\n"
								 "mov probe_saved_stack(%rip), "
								 "%rsp\n"
								 "pop %r15\n pop %r14\n pop %r13\n "
								 "pop %r12\n pop %rbp\n pop %rbx\n"
								 "ret\n");

static inline void probe_on_signal(int signal, siginfo_t *info, void *context)
{
	(void)context;
	probe_signal = signal;
	probe_fault_address = info->si_addr;
	probe_fault_has_address = info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR;
	siglongjmp(probe_return, 1);
}

static inline void probe_init(struct probe *probe)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	probe->pages = mmap(NULL, 3 * PROBE_PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
	probe->scratch = mmap(NULL, 2 * PROBE_PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
	probe->code = mmap(NULL, PROBE_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0);
	if (probe->pages == MAP_FAILED || probe->scratch == MAP_FAILED || probe->code == MAP_FAILED)
		abort();
	probe->edge = probe->pages + 2 * PROBE_PAGE;
	mprotect(probe->edge, PROBE_PAGE, PROT_NONE);
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&stack, NULL);
	struct sigaction action = {.sa_sigaction = probe_on_signal,
				   .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &action, NULL);
}

/* Puts the instruction and a jump to probe_exit into the code page. */
static inline void probe_load(struct probe *probe, const uint8_t *bytes, size_t size)
{
	uint8_t *at = probe->code;
	memcpy(at, bytes, size);
	at += size;
	memcpy(at, "\xFF\x25\x00\x00\x00\x00", 6); /* jmp *(%rip) */
	uint64_t target = (uint64_t)probe_exit;
	memcpy(at + 6, &target, 8);
	probe_entry = (uint64_t)probe->code;
}

static inline enum probe_outcome probe_outcome_of_signal(const struct probe *probe)
{
	if (probe_signal == SIGILL)
		return PROBE_ILLEGAL;
	if (probe_signal == SIGFPE)
		return PROBE_RAN; /* the operands were read before the division failed */
	uint8_t *at = probe_fault_address;
	bool is_ours = (at >= probe->edge && at < probe->edge + PROBE_PAGE) ||
		       (at >= probe->pages && at < probe->edge);
	return probe_fault_has_address && is_ours ? PROBE_PAGE_FAULT : PROBE_OTHER_FAULT;
}

static inline enum probe_outcome probe_run(const struct probe *probe,
					   const struct probe_registers *registers)
{
	static const uint32_t default_mxcsr = 0x1F80;
	enum probe_outcome outcome = PROBE_RAN;
	if (!sigsetjmp(probe_return, 0)) {
		if (__builtin_cpu_supports("avx512bw"))
			probe_enter_512(registers);
		else if (__builtin_cpu_supports("avx"))
			probe_enter_256(registers);
		else
			probe_enter(registers);
	} else {
		outcome = probe_outcome_of_signal(probe);
	}
	__asm__ volatile("fninit\n ldmxcsr %0" : : "m"(default_mxcsr));
	return outcome;
}

/* Runs it with the operand at *pointer (one of `registers`) `n` bytes before the edge.  `bias` is
 * added to the pointer (push writes below it). */
static inline enum probe_outcome probe_at(const struct probe *probe,
					  struct probe_registers *registers, uint64_t *pointer,
					  int bias, int n)
{
	memset(probe->pages + PROBE_PAGE, 0, PROBE_PAGE);
	memset(probe->scratch, probe->scratch_fill, 2 * PROBE_PAGE);
	*pointer = (uint64_t)(probe->edge - n + bias);
	return probe_run(probe, registers);
}

/* Finds how many bytes the operand reaches: the smallest distance from the edge without a fault.
 * Tries `guess` first and searches when it is wrong.  Returns -1 when the instruction does not
 * run on this processor.  Faults for alignment only (#GP) between 0 and the result leave the
 * exact extent open within its alignment, which is then the width of the access [SDM vol. 1,
 * 4.1.1: natural alignment]. */
static inline int probe_extent(const struct probe *probe, struct probe_registers *registers,
			       uint64_t *pointer, int bias, int guess)
{
	if (probe_at(probe, registers, pointer, bias, guess) == PROBE_RAN &&
	    (!guess || probe_at(probe, registers, pointer, bias, guess - 1) != PROBE_RAN))
		return guess;
	for (int n = 0; n <= PROBE_MAX_BYTES; n++) {
		enum probe_outcome outcome = probe_at(probe, registers, pointer, bias, n);
		if (outcome == PROBE_ILLEGAL)
			return -1;
		if (outcome == PROBE_RAN)
			return n;
	}
	return -1;
}

/* Whether it stores: runs it on read-only pages, far from the edge.  -1: it does not run. */
static inline int probe_stores(const struct probe *probe, struct probe_registers *registers,
			       uint64_t *pointer)
{
	*pointer = (uint64_t)(probe->pages + PROBE_PAGE);
	mprotect(probe->pages, 2 * PROBE_PAGE, PROT_READ);
	enum probe_outcome outcome = probe_run(probe, registers);
	mprotect(probe->pages, 2 * PROBE_PAGE, PROT_READ | PROT_WRITE);
	return outcome == PROBE_RAN ? 0 : outcome == PROBE_PAGE_FAULT ? 1 : -1;
}

struct probe_effect {
	int bytes;    /* how many bytes it wrote */
	bool depends; /* the first `size` of them depend on what was there: it loads as well */
};

/* Runs it over two patterns of opposite bits: a byte that is as it was after both runs was not
 * written, or was loaded first. */
static inline struct probe_effect probe_effect(const struct probe *probe,
					       struct probe_registers *registers, uint64_t *pointer,
					       int bias, int size)
{
	static const uint8_t fills[] = {0x35, 0xCA};
	struct probe_effect effect = {0};
	uint8_t first[PROBE_MAX_BYTES];
	uint8_t *at =
		probe->pages + PROBE_PAGE + 0x140; /* no byte of the low word is zero (and %bh) */
	for (int i = 0; i < 2; i++) {
		memset(probe->pages, fills[i], 2 * PROBE_PAGE);
		memset(probe->scratch, probe->scratch_fill, 2 * PROBE_PAGE);
		*pointer = (uint64_t)(at + bias);
		probe_run(probe, registers);
		if (!i)
			memcpy(first, at, sizeof first);
	}
	for (int i = 0; i < PROBE_MAX_BYTES; i++)
		effect.bytes += first[i] != fills[0] || at[i] != fills[1];
	effect.depends = memcmp(first, at, size) != 0;
	return effect;
}
