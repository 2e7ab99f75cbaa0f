/* Makes functions at run time, tells them in jit-PID.dump in the working directory, and runs them: "first", then
 * "second" at the same addresses, "mover" where it was made and where it was moved, "third" where mover had been.  It
 * prints the processor time of each.  An argument of these letters: "d" deletes the file at the end, "c" says that times are of another
 * clock (and writes such), "l" has lines of source, "p" has a perf-PID.map as well, in which all is "stale", "b" ends the file amid a record. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* mov %rdi,%rax; 1: dec %rax; jnz 1b; ret */
static const unsigned char code[] = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};

enum { LOAD, MOVE, DEBUG_INFO };

static FILE *dump;
static int other_clock;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1000000000 * (uint64_t)t.tv_sec + (uint64_t)t.tv_nsec;
}

static void put(const void *bytes, size_t size)
{
	fwrite(bytes, 1, size, dump);
}

static void put_head(uint32_t kind, size_t size)
{
	const uint32_t words[] = {kind, (uint32_t)(size + 16)};
	const uint64_t time = other_clock ? 77 : now();
	put(words, sizeof(words));
	put(&time, sizeof(time));
}

static void load(const char *name, unsigned char *at, uint64_t index)
{
	const uint32_t ids[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	const uint64_t words[] = {(uint64_t)at, (uint64_t)at, sizeof(code), index};
	memcpy(at, code, sizeof(code));
	put_head(LOAD, sizeof(ids) + sizeof(words) + strlen(name) + 1 + sizeof(code));
	put(ids, sizeof(ids));
	put(words, sizeof(words));
	put(name, strlen(name) + 1);
	put(code, sizeof(code));
	fflush(dump);
}

static void move(unsigned char *from, unsigned char *to, uint64_t index)
{
	const uint32_t ids[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	const uint64_t words[] = {(uint64_t)from, (uint64_t)from, (uint64_t)to, sizeof(code), index};
	memcpy(to, code, sizeof(code));
	put_head(MOVE, sizeof(ids) + sizeof(words));
	put(ids, sizeof(ids));
	put(words, sizeof(words));
	fflush(dump);
}

/* The loop is in the line behind that of the function. */
static void lines(unsigned char *at, uint32_t first)
{
	const uint64_t head[] = {(uint64_t)at, 2}, loop = (uint64_t)at + 3;
	const uint32_t second[] = {first + 1, 0}, line[] = {first, 0};
	const char name[] = "made.js", same[] = "\xff";
	put_head(DEBUG_INFO, sizeof(head) + 2 * 16 + sizeof(name) + sizeof(same));
	put(head, sizeof(head));
	put(&head[0], 8);
	put(line, sizeof(line));
	put(name, sizeof(name));
	put(&loop, 8);
	put(second, sizeof(second));
	put(same, sizeof(same));
}

static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Gives the processor time that it took, s. */
static double run(unsigned char *at, int parts)
{
	const double start = cpu();
	for (int i = 0; i < parts; i++)
		((void (*)(uint64_t))(void *)at)(60000000);
	return cpu() - start;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char path[64];
	unsigned char *page = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	dump = fopen(path, "w+");
	if (page == MAP_FAILED || !dump)
		return 3;
	other_clock = strchr(how, 'c') != NULL;
	const uint32_t header[] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
	const uint64_t rest[] = {now(), (uint64_t)other_clock};
	put(header, sizeof(header));
	put(rest, sizeof(rest));
	fflush(dump);
#ifdef OWNER /* as if another user had put the file there */
	if (fchown(fileno(dump), OWNER, OWNER) != 0)
		return 3;
#endif
	/* so that a profiler sees where it is */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		return 3;
	char map_path[64];
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	if (strchr(how, 'p')) {
		FILE *map = fopen(map_path, "w");
		if (!map)
			return 3;
		fprintf(map, "%lx 4000 stale\n", (unsigned long)page);
		fclose(map);
	}
	if (strchr(how, 'l'))
		lines(page, 7);
	load("first", page, 0);
	const double first = run(page, 6);
	load("second", page, 1);
	const double second = run(page, 2);
	if (strchr(how, 'l'))
		lines(page + 4096 - 3, 20);
	load("mover", page + 4096 - 3, 2); /* on two pages, its loop on the second */
	double mover = run(page + 4096 - 3, 2);
	move(page + 4096 - 3, page + 2 * 4096, 2);
	mover += run(page + 2 * 4096, 2);
	load("third", page + 4096 - 3, 3);
	const double third = run(page + 4096 - 3, 2);
	if (strchr(how, 'b'))
		put("\0\0\0\0\1\0", 6);
	fclose(dump);
	if (strchr(how, 'd'))
		unlink(path);
	unlink(map_path);
	printf("{\"first\": %f, \"second\": %f, \"mover\": %f, \"third\": %f}\n", first, second, mover, third);
	return 0;
}
