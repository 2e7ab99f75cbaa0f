/* Hand-written coroutines: a switch in assembly that returns on another stack. */
#include "../own.h"

extern void switch_stack(void **save, void *load);
__asm__("switch_stack: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n\t"
	"mov %rsp, (%rdi); mov %rsi, %rsp\n\t"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret");

enum { FIBERS = 8 };

static void *saved[FIBERS + 1];
static int running;
static long sums[FIBERS];

static void fiber(void)
{
	const int self = running;

	for (long i = 0;; i++) {
		sums[self] += i * (self + 1);
		switch_stack(&saved[self], saved[FIBERS]);
		CHECK(running == self);
	}
}

int main(void)
{
	static char stacks[FIBERS][16384] __attribute__((aligned(16)));

	for (int i = 0; i < FIBERS; i++) {
		void **top = (void **)(stacks[i] + sizeof(stacks[i])) - 8;

		top[6] = (void *)fiber;	/* where switch_stack returns to the first time */
		saved[i] = top;
	}
	for (int i = 0; i < FIBERS * 1000; i++) {
		running = i * 5 % FIBERS;
		switch_stack(&saved[FIBERS], saved[running]);
	}
	for (int i = 0; i < FIBERS; i++)
		printf("%ld ", sums[i]);
	return done();
}
