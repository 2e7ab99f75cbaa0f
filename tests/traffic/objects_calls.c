/* Memory from every kind of call, each block walked through as often as it says: prints for each
 * KIND NAME LINE BYTES ALLOCATIONS LINES-READ AT-MOST, where LINE is that of the call (of a variable: its own),
 * and the allocator may read more lines, up to AT-MOST.
 * The blocks are much larger than the cache that the test simulates. */
#include <malloc.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES (1u << 20)
#define LINES (BYTES / 64)

enum { VARIABLE_LINE = __LINE__ + 1, OTHER_LINE };
double variable[BYTES / 8] = {1};
static double other[BYTES / 8];
static double sum;

__attribute__((noinline)) static void walk(const void *block, size_t bytes, int times)
{
	const volatile double *data = block;
	for (int i = 0; i < times; i++)
		for (size_t k = 0; k < bytes / sizeof(*data); k += 8)
			sum += data[k];
}

static void tell_range(const char *kind, const char *name, int line, size_t bytes, int n, int lines, int most)
{
	printf("%s %s %d %zu %d %d %d\n", kind, name, line, bytes, n, lines, most);
}

static void tell(const char *kind, const char *name, int line, size_t bytes, int n, int lines)
{
	tell_range(kind, name, line, bytes, n, lines, lines);
}

__attribute__((noinline)) static void *calls(void)
{
	void *p;
	int line;
	p = malloc(BYTES); line = __LINE__;
	walk(p, BYTES, 3);
	tell("heap", "calls", line, BYTES, 1, 3 * LINES);
	free(p);
	p = calloc(BYTES / 16, 16); line = __LINE__;
	walk(p, BYTES, 2);
	tell_range("heap", "calls", line, BYTES, 1, 2 * LINES, 3 * LINES); /* realloc may copy it */
	p = realloc(p, 2 * BYTES); line = __LINE__;
	walk(p, 2 * BYTES, 1);
	tell("heap", "calls", line, 2 * BYTES, 1, 2 * LINES);
	free(p);
	p = aligned_alloc(64, BYTES); line = __LINE__;
	walk(p, BYTES, 1);
	tell("heap", "calls", line, BYTES, 1, LINES);
	free(p);
	if (posix_memalign(&p, 4096, BYTES)) return NULL; line = __LINE__;
	walk(p, BYTES, 4);
	tell("heap", "calls", line, BYTES, 1, 4 * LINES);
	free(p);
	p = memalign(128, BYTES); line = __LINE__;
	walk(p, BYTES, 1);
	tell("heap", "calls", line, BYTES, 1, LINES);
	return p;
}

/* Many small ones of one place, all there at one time. */
__attribute__((noinline)) static void list(void)
{
	enum { N = BYTES / 64 };
	void **blocks = malloc(N * sizeof(*blocks));
	int line = 0;
	for (int i = 0; i < N; i++) {
		blocks[i] = malloc(48); line = __LINE__;
	}
	for (int times = 0; times < 2; times++)
		for (int i = 0; i < N; i++)
			sum += *(volatile char *)blocks[i];
	for (int i = 0; i < N; i++)
		free(blocks[i]);
	free(blocks);
	tell_range("heap", "list", line, N * 48, N, 2 * LINES, 5 * LINES); /* free looks at each and its neighbours */
}

__attribute__((noinline)) static void mappings(void)
{
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); int line = __LINE__;
	walk(p, BYTES, 3);
	munmap(p, BYTES);
	tell("mapping", "mappings", line, BYTES, 1, 3 * LINES);
}

/* Memory that is used again and again is each time its owner's. */
__attribute__((noinline)) static void reuse(void)
{
	int lines[2] = {0};
	for (int i = 0; i < 4; i++) {
		void *p = malloc(BYTES); lines[0] = __LINE__;
		walk(p, BYTES, 1);
		free(p);
		p = malloc(BYTES); lines[1] = __LINE__;
		walk(p, BYTES, 2);
		free(p);
	}
	tell("heap", "reuse", lines[0], BYTES, 4, 4 * LINES);
	tell("heap", "reuse", lines[1], BYTES, 4, 8 * LINES);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOFBF, 4096);
	void *rest = calls();
	list();
	mappings();
	reuse();
	walk(variable, BYTES, 2);
	tell("static", "variable", VARIABLE_LINE, BYTES, 1, 2 * LINES);
	walk(other, BYTES, 3);
	tell("static", "other", OTHER_LINE, BYTES, 1, 3 * LINES);
	free(rest);
	return sum == 1234567;
}
