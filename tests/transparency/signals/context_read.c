/* A handler sees all registers as they were where the fault was, and its address.
 * @cases fault illegal trap divide far */
#include "../own.h"

#include <sys/ucontext.h>

extern char at_fault[], at_illegal[], at_trap[], at_divide[], at_far[];
static volatile int handled;
static const char *how;

static const int order[16] = { REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8, REG_R9,
			       REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *state = context;
	greg_t *registers = state->uc_mcontext.gregs;
	const char *at[] = { at_fault, at_illegal, at_trap + 1, at_divide, at_far };
	const char *names[] = { "fault", "illegal", "trap", "divide", "far" };

	for (int i = 0; i < 5; i++)
		if (!strcmp(how, names[i])) {
			CHECK((char *)registers[REG_RIP] == at[i]);
			CHECK(i == 2 || i == 0 || i == 4 || (char *)info->si_addr == at[i]);
			registers[REG_RIP] = (greg_t)at[i] + (i == 2 ? 0 : i == 4 ? 7 : i == 3 ? 3 : 2);
		}
	CHECK(info->si_signo == number);
	for (int i = 0; i < 14; i++)
		CHECK(registers[order[i]] == (order[i] == REG_RCX || order[i] == REG_RDX ? 0 : 0x1000 + i));
	CHECK(registers[REG_EFL] & 1);
	handled++;
}

extern void run_faulting(long which);
__asm__("run_faulting:\n\t"
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n\t"
	"mov %rdi, %rax\n\t"
	"mov $0x1000, %ebx; xor %ecx, %ecx; xor %edx, %edx; mov $0x1003, %esi; mov $0x1004, %edi\n\t"
	"mov $0x1005, %ebp; mov $0x1006, %r8d; mov $0x1007, %r9d; mov $0x1008, %r10d; mov $0x1009, %r11d\n\t"
	"mov $0x100a, %r12d; mov $0x100b, %r13d; mov $0x100c, %r14d; mov $0x100d, %r15d\n\t"
	"cmp $1, %rax; je 1f; cmp $2, %rax; je 2f; cmp $3, %rax; je 3f; cmp $4, %rax; je 4f\n\t"
	"stc\nat_fault: mov (%rcx), %eax\n\tjmp 9f\n"
	"1: stc\nat_illegal: ud2\n\tjmp 9f\n"
	"2: stc\nat_trap: int3\n\tjmp 9f\n"
	"3: stc\nat_divide: div %rcx\n\tjmp 9f\n"
	"4: stc\nat_far: mov 0x20(,%rcx,1), %eax\n"
	"9: pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n\tret\n");

int main(int argc, char **argv)
{
	const char *names[] = { "fault", "illegal", "trap", "divide", "far" };
	const int signals[] = { SIGSEGV, SIGILL, SIGTRAP, SIGFPE, SIGSEGV };

	how = argv[argc - 1];
	for (long i = 0; i < 5; i++)
		if (!strcmp(how, names[i])) {
			handle(signals[i], on_signal, 0);
			for (int k = 0; k < 20; k++)
				run_faulting(i);
		}
	printf("handled %d\n", handled);
	return done();
}
