/* Handlers within handlers: other signals, the same one, with and without masks.
 * @cases others nodefer masked resethand recursion */
#include "../own.h"

static volatile int depth, deepest, order, total;
static const char *how;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	depth++;
	deepest = depth > deepest ? depth : deepest;
	order = order * 10 + depth;
	if (!strcmp(how, "others") && number == SIGUSR1) {
		raise(SIGUSR2);
		raise(SIGTERM);
	}
	if (!strcmp(how, "nodefer") && depth < 30)
		raise(number);
	if (!strcmp(how, "masked") && total++ < 5)
		raise(number == SIGUSR1 ? SIGUSR2 : SIGUSR1);
	if (!strcmp(how, "recursion") && depth < 10)
		__asm__ volatile("movb $0, (%0)" : : "a"((long)depth) : "memory");
	if (number == SIGSEGV)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 3;
	depth--;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	how = argv[argc - 1];
	if (!strcmp(how, "masked"))
		sigfillset(&action.sa_mask);
	action.sa_flags |= !strcmp(how, "nodefer") || !strcmp(how, "recursion") ? SA_NODEFER : 0;
	action.sa_flags |= !strcmp(how, "resethand") ? (int)SA_RESETHAND : 0;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	if (!strcmp(how, "recursion"))
		__asm__ volatile("movb $0, (%0)" : : "a"(1L) : "memory");
	else
		raise(SIGUSR1);
	sigaction(SIGUSR1, NULL, &action);
	printf("deepest %d, order %d, reset %d\n", deepest, order, action.sa_handler == SIG_DFL);
	return done();
}
