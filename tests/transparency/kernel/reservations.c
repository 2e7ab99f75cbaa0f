/* Address space by the terabyte, as run-time systems reserve it, with what lies in it changed piece by piece; and many
 * small mappings.
 * @cases vast many */
#include "../own.h"

#include <sys/resource.h>

enum { MANY = 20000, STEPS = 64 };
static const size_t terabyte = 1ull << 40, megabyte = 1u << 20;

static char *reserve(size_t size)
{
	char *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	MUST(memory != MAP_FAILED);
	return memory;
}

/* Pieces of the reservation are made memory in each of the ways there are, and given back. */
static void commit(char *memory)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	for (size_t i = 0; i < STEPS; i++) {
		char *piece = memory + i * (terabyte / STEPS);

		if (i % 2)
			CHECK(mprotect(piece, megabyte, PROT_READ | PROT_WRITE) == 0);
		else
			CHECK(mmap(piece, megabyte, PROT_READ | PROT_WRITE, flags, -1, 0) == piece);
		piece[i] = (char)i;
		piece[megabyte - 1] = 1;
		CHECK(piece[i] == (char)i);
		if (i % 3 == 0)
			CHECK(madvise(piece, megabyte, MADV_DONTNEED) == 0 && piece[i] == 0);
		if (i % 3 == 1)
			CHECK(munmap(piece, megabyte) == 0);
		if (i % 3 == 2)
			CHECK(mprotect(piece, megabyte, PROT_NONE) == 0);
	}
}

static void vast(void)
{
	char *memory = reserve(terabyte);

	CHECK(madvise(memory, terabyte, MADV_DONTDUMP) == 0);
	commit(memory);
	CHECK(madvise(memory, terabyte / STEPS, MADV_DONTNEED) == 0);
	CHECK(munmap(memory, terabyte) == 0);
	memory = reserve(terabyte);
	memory = mremap(memory, terabyte, terabyte / 2, MREMAP_MAYMOVE);
	MUST(memory != MAP_FAILED);
	memory = mremap(memory, terabyte / 2, terabyte, MREMAP_MAYMOVE);
	MUST(memory != MAP_FAILED);
	CHECK(mprotect(memory, terabyte, PROT_READ) == 0 && memory[terabyte - 1] == 0);
	CHECK(munmap(memory, terabyte) == 0);
}

/* Each other one is of another kind, so that they do not become one. */
static void many(void)
{
	static char *pieces[MANY];

	for (int i = 0; i < MANY; i++) {
		pieces[i] = mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(pieces[i] != MAP_FAILED);
		if (i % 2 == 0)
			pieces[i][i % PAGE] = (char)i;
	}
	for (int i = 0; i < MANY; i += 2)
		CHECK(pieces[i][i % PAGE] == (char)i && mprotect(pieces[i], PAGE, PROT_NONE) == 0);
	for (int i = 0; i < MANY; i++)
		CHECK(madvise(pieces[i], PAGE, MADV_DONTNEED) == 0 && munmap(pieces[i], PAGE) == 0);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "many"))
		many();
	else
		vast();
	printf("work: %d\n", work(50));
	return done();
}
