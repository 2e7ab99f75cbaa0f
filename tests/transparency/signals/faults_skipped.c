/* Handlers that repair or skip what faulted, again and again.
 * @libraries -lm
 * @cases load store divide x87 sse bus string noncanonical protect */
#include "../own.h"

#include <fenv.h>
#include <immintrin.h>

static volatile int caught;
static volatile int code;
static char *guarded;
static const char *how;

static void on_signal(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct _libc_fpstate *vector = ((ucontext_t *)context)->uc_mcontext.fpregs;

	(void)number;
	caught++;
	code = info->si_code;
	if (!strcmp(how, "load")) {		/* mov (%rcx), %rax */
		registers[REG_RAX] = 1234;
		registers[REG_RIP] += 3;
	} else if (!strcmp(how, "divide")) {
		registers[REG_RCX] = 4;
	} else if (!strcmp(how, "x87")) {
		vector->cwd |= 0x3f;
		vector->swd = (uint16_t)(vector->swd & ~0x80ffU);
	} else if (!strcmp(how, "sse")) {
		vector->mxcsr = 0x1f80;
	} else if (!strcmp(how, "bus")) {
		CHECK((char *)info->si_addr == guarded + PAGE);
		MUST(mmap(guarded, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		     guarded);
	} else if (!strcmp(how, "noncanonical")) {
		CHECK(info->si_addr == NULL && info->si_code == SI_KERNEL);
		registers[REG_RCX] = (greg_t)guarded;
	} else {
		CHECK((char *)info->si_addr >= guarded && (char *)info->si_addr < guarded + 2 * PAGE);
		mprotect((void *)((intptr_t)info->si_addr & -PAGE), PAGE, PROT_READ | PROT_WRITE);
	}
}

static uint64_t once(void)
{
	uint64_t a = 40, c = 8, d = 0;
	volatile double zero = 0, x;

	if (!strcmp(how, "divide")) {
		c = 0;
		__asm__ volatile("div %%rcx" : "+a"(a), "+d"(d), "+c"(c));
		return a;
	}
	if (!strcmp(how, "x87")) {
		feenableexcept(FE_DIVBYZERO);
		__asm__ volatile("fld1; fldz; fdivrp; fwait; fstp %%st(0)" : : : "memory");
		fedisableexcept(FE_ALL_EXCEPT);
		return a;
	}
	if (!strcmp(how, "sse")) {
		_mm_setcsr(0x1f80 & ~0x200U);
		x = 1 / zero;
		return x > 1e300;
	}
	if (!strcmp(how, "string")) {
		mprotect(guarded, 2 * PAGE, PROT_NONE);
		void *to = guarded + PAGE - 100;

		c = 200;
		__asm__ volatile("rep stosb" : "+D"(to), "+c"(c) : "a"(7) : "memory");
		return (uint64_t)((char *)to - guarded) + (uint64_t)guarded[PAGE + 99] + c;
	}
	if (!strcmp(how, "store") || !strcmp(how, "protect")) {
		mprotect(guarded, PAGE, !strcmp(how, "store") ? PROT_NONE : PROT_READ);
		guarded[5]++;
		return (uint64_t)guarded[5];
	}
	if (!strcmp(how, "bus")) {
		int fd = memfd_create("short", 0);

		MUST(ftruncate(fd, PAGE) == 0 &&
		     mmap(guarded, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == guarded);
		close(fd);
		guarded[PAGE] = 3;
		return (uint64_t)guarded[PAGE];
	}
	c = !strcmp(how, "load") ? 8 : 0x8000000000000000;
	__asm__ volatile("mov (%%rcx), %%rax" : "=a"(a) : "c"(c));
	return a;
}

int main(int argc, char **argv)
{
	uint64_t result = 0;

	how = argv[argc - 1];
	guarded = pages(2 * PAGE, PROT_READ | PROT_WRITE);
	handle(SIGSEGV, on_signal, 0);
	handle(SIGFPE, on_signal, 0);
	handle(SIGBUS, on_signal, 0);
	for (int i = 0; i < 20; i++)
		result = once();
	printf("caught %d, code %d, result %llu\n", caught, code, (unsigned long long)result);
	return done();
}
