// Operators new, containers, exceptions out of an allocator: prints as objects_calls.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

static constexpr size_t BYTES = 1u << 20, LINES = BYTES / 64;
static double sum;

struct alignas(128) wide { double values[16]; };

__attribute__((noinline)) static void walk(const void *block, size_t bytes, int times)
{
	const volatile double *data = static_cast<const volatile double *>(block);
	for (int i = 0; i < times; i++)
		for (size_t k = 0; k < bytes / sizeof(*data); k += 8)
			sum = sum + data[k];
}

static void tell(const char *name, int line, size_t bytes, int n, size_t lines)
{
	printf("heap %s %d %zu %d %zu %zu\n", name, line, bytes, n, lines, lines);
}

__attribute__((noinline)) static int impossible(size_t bytes)
{
	try {
		char *p = new char[bytes];
		p[0] = 1;
		return p[0];
	} catch (const std::bad_alloc &) {
		return 0;
	}
}

__attribute__((noinline)) static void work()
{
	int line;
	double *array = new double[BYTES / 8]; line = __LINE__;
	walk(array, BYTES, 3);
	tell("work()", line, BYTES, 1, 3 * LINES);
	delete[] array;
	sum += impossible(static_cast<size_t>(1) << 60);
	wide *aligned = new wide[BYTES / sizeof(wide)]; line = __LINE__;
	walk(aligned, BYTES, 2);
	tell("work()", line, BYTES, 1, 2 * LINES);
	delete[] aligned;
	std::vector<double> values(BYTES / 8); line = __LINE__;
	walk(values.data(), BYTES, 4);
	tell("work()", line, BYTES, 1, 4 * LINES);
	char *text = static_cast<char *>(malloc(BYTES));
	memset(text, 'x', BYTES - 1);
	text[BYTES - 1] = 0;
	char *copy = strdup(text); line = __LINE__;
	walk(copy, BYTES, 2);
	tell("work()", line, BYTES, 1, 2 * LINES);
	free(copy);
	free(text);
}

int main()
{
	work();
	return sum == 1234567;
}
