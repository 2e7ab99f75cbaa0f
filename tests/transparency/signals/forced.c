/* Handlers whose frames the kernel cannot write: it forces a SIGSEGV, which runs on the alternate stack or ends
 * the program; and the signal itself is lost.
 * @cases survived fatal full */
#include "../own.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/time.h>

/* rdi: the stack pointer meanwhile, rsi: signal.  Sends it to its own thread. */
void send_without_stack(uint64_t stack, long number);
/* rdi: the stack pointer meanwhile, rsi: a word.  Turns until the word is not 0. */
void turn_without_stack(uint64_t stack, const volatile int *word);
extern char odd_begin[], odd_end[];

__asm__(".pushsection .text\n.globl send_without_stack, turn_without_stack, odd_begin, odd_end\n"
	"odd_begin: send_without_stack:\n"
	"push %r12; push %r13; mov %rsp, %r12; mov %rsi, %r13; mov %rdi, %rsp\n"
	"mov $39, %eax; syscall; mov %eax, %edi; mov $186, %eax; syscall; mov %eax, %esi\n" /* getpid, gettid */
	"mov %r13, %rdx; mov $234, %eax; syscall\n"                                          /* tgkill */
	"mov %r12, %rsp; pop %r13; pop %r12; ret\n"
	"turn_without_stack:\n"
	"push %r12; mov %rsp, %r12; mov %rdi, %rsp\n"
	"1: cmpl $0, (%rsi); je 1b\n"
	"mov %r12, %rsp; pop %r12; ret\nodd_end:\n.popsection");

enum { BAD = 0x1008, ALTERNATE = 65536 };

static volatile int lost, forced;
static _Thread_local volatile int forced_here;
static _Thread_local sigjmp_buf out;

static void on_lost(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	lost++;
}

/* The program goes on where it was. */
static void on_forced(int number, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	CHECK(number == SIGSEGV && info->si_code == SI_KERNEL && info->si_addr == NULL);
	CHECK(regs[REG_RSP] == BAD);
	CHECK(regs[REG_RIP] >= (greg_t)odd_begin && regs[REG_RIP] < (greg_t)odd_end);
	__atomic_add_fetch(&forced, 1, __ATOMIC_SEQ_CST);
	forced_here++;
}

static void jump_out(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	siglongjmp(out, 1);
}

static void use_alternate_stack(void)
{
	MUST(sigaltstack(&(stack_t){ .ss_sp = pages(ALTERNATE, PROT_READ | PROT_WRITE), .ss_size = ALTERNATE }, NULL) == 0);
}

static void start_timer(void)
{
	const struct itimerval soon = { { 0, 1000 }, { 0, 1000 } };

	handle(SIGALRM, on_lost, 0);
	setitimer(ITIMER_REAL, &soon, NULL);
}

static void *in_thread(void *unused)
{
	use_alternate_stack();
	for (int i = 0; i < 20; i++)
		send_without_stack(BAD, SIGUSR1);
	CHECK(forced_here == 20);
	return unused;
}

static void *fatal_in_thread(void *unused)
{
	send_without_stack(BAD, SIGUSR1);
	return unused;
}

static void with_threads(int n, void *(*run)(void *))
{
	pthread_t threads[8];

	for (int i = 0; i < n; i++)
		MUST(pthread_create(&threads[i], NULL, run, NULL) == 0);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

NOINLINE static int deeper(volatile int *depth)
{
	volatile char here[200] = { 0 };

	++*depth;
	raise(SIGUSR1);
	return deeper(depth) + here[100];
}

/* Until a frame does not fit any more. */
static void *recurse(void *unused)
{
	volatile int depth = 0;

	use_alternate_stack();
	handle(SIGSEGV, jump_out, SA_ONSTACK);
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(out, 1))
			deeper(&depth);
	CHECK(depth > 3 && lost > 3);
	return unused;
}

static void recurse_in_small_thread(void)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32768);
	MUST(pthread_create(&thread, &small, recurse, NULL) == 0);
	pthread_join(thread, NULL);
}

/* A handler that raises its own signal until its alternate stack is full. */
static void on_nested(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	raise(number);
}

static void one_signal(int flags)
{
	handle(SIGSEGV, on_forced, flags);
	send_without_stack(BAD, SIGUSR1);
}

static int fatal(const char *how)
{
	sigset_t segv;

	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	if (!strcmp(how, "timer")) {
		start_timer();
		turn_without_stack(BAD, &forced);
	} else if (!strcmp(how, "thread")) {
		with_threads(4, fatal_in_thread);
	} else if (!strcmp(how, "nowhere")) {
		MUST(sigaltstack(&(stack_t){ .ss_sp = pages(ALTERNATE, PROT_NONE), .ss_size = ALTERNATE }, NULL) == 0);
		handle(SIGSEGV, on_forced, SA_ONSTACK);
		handle(SIGUSR1, on_lost, SA_ONSTACK);
		raise(SIGUSR1);
	} else if (!strcmp(how, "nested")) {
		use_alternate_stack();
		handle(SIGUSR1, on_nested, SA_ONSTACK | SA_NODEFER);
		raise(SIGUSR1);
	} else if (!strcmp(how, "blocked")) {
		use_alternate_stack();
		sigprocmask(SIG_BLOCK, &segv, NULL);
		one_signal(SA_ONSTACK);
	} else if (!strcmp(how, "ignored")) {
		signal(SIGSEGV, SIG_IGN);
		send_without_stack(BAD, SIGUSR1);
	} else if (!strcmp(how, "again")) {
		one_signal(0);
	} else {
		send_without_stack(BAD, SIGUSR1);
	}
	return 0;
}

static int survive(const char *how)
{
	const int n = !strcmp(how, "often") ? 200 : 1;

	use_alternate_stack();
	handle(SIGSEGV, on_forced, SA_ONSTACK);
	if (!strcmp(how, "timer")) {
		start_timer();
		turn_without_stack(BAD, &forced);
		setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
		CHECK(forced > 0);
	} else if (!strcmp(how, "threads")) {
		with_threads(8, in_thread);
		CHECK(lost == 0 && forced == 160);
	} else {
		for (int i = 0; i < n; i++)
			send_without_stack(BAD, SIGUSR1);
		CHECK(lost == 0 && forced == n);
	}
	return failures;
}

static int fill(const char *how)
{
	if (!strcmp(how, "small")) {
		recurse_in_small_thread();
	} else {
		MUST(setrlimit(RLIMIT_STACK, &(struct rlimit){ 131072, 131072 }) == 0);
		recurse(NULL);
	}
	return failures;
}

/* In children, which say how they ended: 0, or 1011 for SIGSEGV. */
static void each(const char *const *names, int (*run)(const char *))
{
	for (; *names; names++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(run(*names));
		printf("%s: %d\n", *names, ended(pid));
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];

	handle(SIGUSR1, on_lost, 0);
	if (!strcmp(how, "survived"))
		each((const char *[]){ "once", "often", "timer", "threads", NULL }, survive);
	else if (!strcmp(how, "full"))
		each((const char *[]){ "small", "limit", NULL }, fill);
	else
		each((const char *[]){ "plain", "timer", "thread", "nowhere", "nested", "blocked", "ignored", "again", NULL }, fatal);
	return done();
}
