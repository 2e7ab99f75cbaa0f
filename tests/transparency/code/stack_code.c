/* Trampolines on an executable stack: nested functions whose address is taken.
 * @flags -Wl,-z,execstack -Wno-trampolines
 * @partly memory */
#include "../own.h"

static int apply(int (*function)(int), int value)
{
	return function(value);
}

NOINLINE static int nested(int base)
{
	volatile int calls = 0;
	int add(int value)
	{
		calls++;
		return value + base;
	}
	int sum = 0;

	for (int i = 0; i < 10; i++)
		sum += apply(add, i);
	return sum + calls;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 50; i++)
		sum += nested(i);
	printf("sum %d, work %d\n", sum, work(100));
	return done();
}
