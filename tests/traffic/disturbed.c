/* Timer signals amid traced code: every register that the program holds, its flags and its data stay what they are.
 * One kernel uses all general registers, so that every check of an address has to borrow one; the other leaves most
 * alone, and its handler looks at them. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

static volatile sig_atomic_t signals, seen_wrong;

extern const char rest_begin[], rest_end[];

static void on_alarm(int number, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const greg_t pc = regs[REG_RIP];
	(void)number, (void)info;
	signals++;
	if (pc < (greg_t)rest_begin || pc >= (greg_t)rest_end)
		return;
	for (int i = REG_R8; i <= REG_R15; i++)
		seen_wrong |= regs[i] != 0x123456780 + i - REG_R8;
}

/* Loads and stores by rsi, while r8 to r15 hold what the handler knows. */
static __attribute__((noinline, noclone)) uint64_t rest(uint64_t *memory, uint64_t rounds)
{
	uint64_t a = 0;
	__asm__ volatile("movabs $0x123456780, %%r8\n\tlea 1(%%r8), %%r9\n\tlea 2(%%r8), %%r10\n\t"
			 "lea 3(%%r8), %%r11\n\tlea 4(%%r8), %%r12\n\tlea 5(%%r8), %%r13\n\t"
			 "lea 6(%%r8), %%r14\n\tlea 7(%%r8), %%r15\n"
			 "rest_begin:\n1:\tmov (%%rsi), %%rax\n\tmov %%rax, 192(%%rsi)\n\tadd 320(%%rsi), %%rax\n\t"
			 "mov %%rax, 768(%%rsi)\n\tdec %%rcx\n\tjz 2f\n\tmov 1024(%%rsi), %%rax\n\t"
			 "add %%rax, 1024(%%rsi,%%rax)\n\tjmp 1b\n2:\tnop\nrest_end:"
			 : "+a"(a), "+c"(rounds)
			 : "S"(memory)
			 : "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	return a;
}

/* 14 registers with known values, and memory through all of them; returns 0 when they are intact. */
static __attribute__((noinline)) uint64_t hold(uint64_t *memory, uint64_t rounds)
{
	uint64_t wrong;
	__asm__ volatile("push %%rbp\n\t"
			 "mov $2, %%rax\n\tmov $3, %%rbx\n\tmov $5, %%rdx\n\tmov $6, %%r8\n\tmov $7, %%r9\n\t"
			 "mov $8, %%r10\n\tmov $9, %%r11\n\tmov $10, %%r12\n\tmov $11, %%r13\n\tmov $12, %%r14\n\t"
			 "mov $13, %%r15\n\tmov $14, %%rbp\n"
			 "1:\tmov %%rax, (%%rsi)\n\tadd 64(%%rsi), %%rax\n\tmov %%rbx, 136(%%rsi,%%r15,8)\n\t"
			 "mov 136(%%rsi,%%r15,8), %%rbx\n\tmov %%rdx, 200(%%rsi,%%r8,4)\n\t"
			 "mov 200(%%rsi,%%r8,4), %%rdx\n\tadd 1024(%%rsi,%%r9,8), %%r10\n\t"
			 "add 1024(%%rsi,%%r11,8), %%r12\n\tadd 2048(%%rsi,%%r14,2), %%r13\n\t"
			 "cmp %%rbp, %%rdi\n\tmov 512(%%rsi), %%rax\n\tjz 2f\n\t"
			 "lea 2(%%rax), %%rax\n\tdec %%rcx\n\tjnz 1b\n"
			 "2:\tsub $2, %%rax\n\tsub $3, %%rbx\n\tsub $5, %%rdx\n\tsub $6, %%r8\n\tsub $7, %%r9\n\t"
			 "sub $8, %%r10\n\tsub $9, %%r11\n\tsub $10, %%r12\n\tsub $11, %%r13\n\tsub $12, %%r14\n\t"
			 "sub $13, %%r15\n\tsub $14, %%rbp\n\t"
			 "or %%rbx, %%rax\n\tor %%rdx, %%rax\n\tor %%r8, %%rax\n\tor %%r9, %%rax\n\tor %%r10, %%rax\n\t"
			 "or %%r11, %%rax\n\tor %%r12, %%rax\n\tor %%r13, %%rax\n\tor %%r14, %%rax\n\t"
			 "or %%r15, %%rax\n\tor %%rbp, %%rax\n\tor %%rcx, %%rax\n\tpop %%rbp"
			 : "=a"(wrong), "+c"(rounds)
			 : "S"(memory), "D"(0l)
			 : "rbx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	return wrong;
}

int main(int argc, char **argv)
{
	const int wanted = argc > 1 ? atoi(argv[1]) : 100;
	const struct itimerval often = {{0, 100}, {0, 100}};
	uint64_t *memory = calloc(8192, 1), wrong = 0;
	struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (signals < wanted && !wrong && !seen_wrong)
		wrong = hold(memory, 100) | rest(memory + 512, 100);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	wrong |= (uint64_t)seen_wrong;
	printf("%s\n", wrong ? "registers differ" : "registers are intact");
	return wrong != 0;
}
