/* Makes functions at run time, tells them in jit-PID.dump in the working directory, and runs them for known parts of its
 * time: "first" 6, then "second" 2 at the same addresses, "mover" 2 where it was made and 2 where it was moved, "third" 2
 * where mover had been.  An argument of these letters: "d" deletes the file at the end, "c" says that times are of another
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

static void lines(unsigned char *at)
{
	const uint64_t words[] = {(uint64_t)at, 1, (uint64_t)at};
	const uint32_t line[] = {7, 0};
	const char name[] = "made.js";
	put_head(DEBUG_INFO, sizeof(words) + sizeof(line) + sizeof(name));
	put(words, sizeof(words));
	put(line, sizeof(line));
	put(name, sizeof(name));
}

static void run(unsigned char *at, int parts)
{
	for (int i = 0; i < parts; i++)
		((void (*)(uint64_t))(void *)at)(60000000);
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
		lines(page);
	load("first", page, 0);
	run(page, 6);
	load("second", page, 1);
	run(page, 2);
	load("mover", page + 4096 - 3, 2); /* on two pages, its loop on the second */
	run(page + 4096 - 3, 2);
	move(page + 4096 - 3, page + 2 * 4096, 2);
	run(page + 2 * 4096, 2);
	load("third", page + 4096 - 3, 3);
	run(page + 4096 - 3, 2);
	if (strchr(how, 'b'))
		put("\0\0\0\0\1\0", 6);
	fclose(dump);
	if (strchr(how, 'd'))
		unlink(path);
	unlink(map_path);
	return 0;
}
