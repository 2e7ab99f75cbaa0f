/* Functions that are resolved late: by the loader at the first call, by an indirect function's choice. */
#include "../own.h"

#include <dlfcn.h>
#include <math.h>

static int chosen(void)
{
	return 33;
}

UNUSED static int (*choose(void))(void)
{
	return chosen;
}

int indirect(void) __attribute__((ifunc("choose")));

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(void)
{
	int numbers[300], key = 300, (*absolute)(int) = (int (*)(int))(intptr_t)dlsym(RTLD_DEFAULT, "abs");

	for (int i = 0; i < 300; i++)
		numbers[i] = (i * 7919 + 300) % 1000;
	qsort(numbers, 300, sizeof(int), compare);
	CHECK(bsearch(&key, numbers, 300, sizeof(int), compare) != NULL);
	CHECK(absolute && absolute(-7) == 7);
	printf("%d %d\n", indirect(), numbers[150]);
	return done();
}
