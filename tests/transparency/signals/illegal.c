/* Instructions that are refused: each raises its signal at its own address and is skipped.
 * @cases ud2 lock hlt in cli int3 int1 int80x privileged sysret
 * @partly lock: the decoder does not know
 * @partly sysret: far transfer */
#include "../own.h"

static volatile int number_seen, code, right_place;

static void on_signal(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const char *pc = (char *)registers[REG_RIP];

	number_seen = number;
	code = info->si_code;
	right_place += pc >= (char *)registers[REG_RBX] && pc <= (char *)registers[REG_R12];
	registers[REG_RIP] = registers[REG_R12];
}

#define TRY(instruction) \
	__asm__ volatile("lea 1f(%%rip), %%rbx; lea 2f(%%rip), %%r12\n1:\t" instruction "\n2:" \
			 : : : "rax", "rbx", "rcx", "rdx", "r11", "r12", "memory")

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	const int signals[] = { SIGILL, SIGSEGV, SIGTRAP, SIGBUS };

	for (int i = 0; i < 4; i++)
		handle(signals[i], on_signal, 0);
	for (int i = 0; i < 10; i++) {
		if (!strcmp(how, "ud2"))
			TRY("ud2");
		else if (!strcmp(how, "lock"))
			TRY(".byte 0xf0, 0x01, 0xc0");
		else if (!strcmp(how, "hlt"))
			TRY("hlt");
		else if (!strcmp(how, "in"))
			TRY("in $0x80, %%al");
		else if (!strcmp(how, "cli"))
			TRY("cli");
		else if (!strcmp(how, "int3"))
			TRY("int3");
		else if (!strcmp(how, "int1"))
			TRY(".byte 0xf1");
		else if (!strcmp(how, "int80x"))
			TRY("int $0x81");
		else if (!strcmp(how, "privileged"))
			TRY("mov %%cr0, %%rax");
		else
			TRY("sysretq");
	}
	printf("signal %d, code %d, right place %d\n", number_seen, code, right_place);
	return done();
}
