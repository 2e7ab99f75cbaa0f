/* What a handler writes into its context is so when it has returned.
 * @cases registers flags vector mxcsr x87 mask stack */
#include "../own.h"

#include <immintrin.h>

static const char *how;
static char other_stack[32768] __attribute__((aligned(16)));
static volatile int there;

static void landed(void)
{
	char here;

	there = &here > other_stack && &here < other_stack + sizeof(other_stack);
	printf("there %d\n", there);
	exit(done());
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *state = context;
	greg_t *registers = state->uc_mcontext.gregs;
	struct _libc_fpstate *vector = state->uc_mcontext.fpregs;

	(void)number;
	(void)info;
	registers[REG_RIP] += 2;
	if (!strcmp(how, "registers"))
		for (int i = REG_R8; i <= REG_R15; i++)
			registers[i] = 100 + i;
	else if (!strcmp(how, "flags"))
		registers[REG_EFL] ^= 0x8d5;
	else if (!strcmp(how, "vector"))
		memset(vector->_xmm, 0x5a, sizeof(vector->_xmm));
	else if (!strcmp(how, "mxcsr"))
		vector->mxcsr |= 0x6000;
	else if (!strcmp(how, "x87"))
		vector->cwd |= 0xc00;
	else if (!strcmp(how, "mask"))
		sigaddset(&state->uc_sigmask, SIGUSR1);
	else {
		registers[REG_RIP] = (greg_t)landed;
		registers[REG_RSP] = (greg_t)(other_stack + sizeof(other_stack) - 8);
	}
}

static void registers(void)
{
	uint64_t r[8];

	__asm__ volatile("ud2\n\tmov %%r8, 0(%0); mov %%r9, 8(%0); mov %%r10, 16(%0); mov %%r11, 24(%0)\n\t"
			 "mov %%r12, 32(%0); mov %%r13, 40(%0); mov %%r14, 48(%0); mov %%r15, 56(%0)"
			 : : "D"(r) : "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory");
	for (uint64_t i = 0; i < 8; i++)
		CHECK(r[i] == 100 + i);
}

static void flags(void)
{
	uint64_t before, after;

	__asm__ volatile("xor %%eax, %%eax; pushf; ud2; pushf; pop %0; pop %1" : "=r"(after), "=r"(before) : : "rax", "cc");
	CHECK((before ^ after) == 0x8d5);
}

static void vector(void)
{
	__m128i x = _mm_setzero_si128();
	unsigned char bytes[16];

	__asm__ volatile("ud2" : "+x"(x));
	_mm_storeu_si128((__m128i *)bytes, x);
	for (int i = 0; i < 16; i++)
		CHECK(bytes[i] == 0x5a);
}

static void controls(void)
{
	uint16_t control = 0;
	sigset_t set;
	const unsigned mxcsr = _mm_getcsr();

	__asm__ volatile("ud2");
	__asm__ volatile("fnstcw %0" : "=m"(control));
	sigprocmask(SIG_BLOCK, NULL, &set);
	printf("mxcsr %x, x87 %x, blocked %d\n", _mm_getcsr() ^ mxcsr, control, sigismember(&set, SIGUSR1));
}

int main(int argc, char **argv)
{
	how = argv[argc - 1];
	handle(SIGILL, on_signal, 0);
	if (!strcmp(how, "registers"))
		registers();
	else if (!strcmp(how, "flags"))
		flags();
	else if (!strcmp(how, "vector"))
		vector();
	else
		controls();
	return done();
}
