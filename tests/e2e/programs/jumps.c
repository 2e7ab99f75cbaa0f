/* setjmp and longjmp, contexts, deep recursion, alloca, tables of functions, variadic calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static jmp_buf out;

__attribute__((noinline)) static int dive(int depth)
{
	volatile char ballast[64];

	ballast[depth % 64] = (char)depth;
	if (depth == 0)
		longjmp(out, 42);
	return dive(depth - 1) + ballast[depth % 64];
}

static void long_jumps(void)
{
	volatile int total = 0;

	for (volatile int i = 0; i < 300; i++) {
		int value = setjmp(out);

		total += value ? value : dive(i);
	}
	printf("longjmp %d\n", total);
}

static ucontext_t main_context, other_context;
static int turns;

static void other(int a, int b)
{
	for (int i = 0; i < 100; i++) {
		turns += a + b;
		swapcontext(&other_context, &main_context);
	}
}

static void contexts(void)
{
	static char stack[65536];

	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = sizeof(stack);
	other_context.uc_link = &main_context;
	makecontext(&other_context, (void (*)(void))other, 2, 3, 4);
	for (int i = 0; i < 101; i++)
		swapcontext(&main_context, &other_context);
	printf("contexts %d\n", turns);
}

__attribute__((noinline)) static uint64_t ackermann(uint64_t m, uint64_t n)
{
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__attribute__((noinline)) static int with_alloca(int size)
{
	char *room = __builtin_alloca(size);

	memset(room, size, size);
	return room[size / 2];
}

__attribute__((noinline)) static double sum_of(int n, ...)
{
	double total = 0;
	va_list arguments;

	va_start(arguments, n);
	for (int i = 0; i < n; i++)
		total += va_arg(arguments, double);
	va_end(arguments);
	return total;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void sorted(void)
{
	int numbers[500];
	uint64_t hash = 0;

	for (int i = 0; i < 500; i++)
		numbers[i] = i * 7919 % 1000;
	qsort(numbers, 500, sizeof(*numbers), compare);
	for (int i = 0; i < 500; i++)
		hash = hash * 31 + (uint64_t)numbers[i];
	printf("qsort %016llx\n", (unsigned long long)hash);
}

int main(void)
{
	int total = 0;

	long_jumps();
	contexts();
	printf("ackermann %llu\n", (unsigned long long)ackermann(2, 300));
	for (int i = 1; i < 2000; i++)
		total += with_alloca(i);
	printf("alloca %d\n", total);
	printf("variadic %.3f\n", sum_of(9, 1., 2., 3., 4., 5., 6., 7., 8., 9.5));
	sorted();
	return 0;
}
