/* Looks into its maps for memory that it has not mapped, shared and writable, writes over parts of it, and
 * goes on.  Natively there is none, and it ends with 0.
 *
 *   overwrites WHAT VALUE   WHAT: all, first (the part of the process), blocks (of threads), states, table,
 *                           none; VALUE: the byte to write, or -1: random ones */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { STRIDE = 16 << 20, STATES = 0x20000, TABLE = 0x100000 };

static int value;

static void fill(char *at, size_t size)
{
	volatile char *to = at;

	for (size_t i = 0; i < size; i++)
		to[i] = (char)(value < 0 ? rand() : value);
}

static void write_over(const char *what, char *start, size_t size)
{
	const int all = !strcmp(what, "all");

	if (size < 4 * (size_t)STRIDE)
		return;
	if (all || !strcmp(what, "table"))
		fill(start + TABLE, 65536);
	if (all || !strcmp(what, "states"))
		for (int round = 0; round < 20000; round++) /* while the other thread asks and waits */
			fill(start + STATES, 64);
	if (all || !strcmp(what, "blocks"))
		for (int slot = 3; slot >= 1; slot--)
			fill(start + (size_t)slot * STRIDE, 1 << 20);
	if (all || !strcmp(what, "first"))
		fill(start, 0x10000);
}

static void look(const char *what)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long start, end;
		char rights[8];

		if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && !strcmp(rights, "rw-s"))
			write_over(what, (char *)start, end - start);
	}
	if (maps)
		fclose(maps);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void *works(void *unused)
{
	for (int round = 0; round < 200; round++) {
		int numbers[64];
		char name[16];

		for (int i = 0; i < 64; i++)
			numbers[i] = (i * 37 + round) % 64;
		qsort(numbers, 64, sizeof(numbers[0]), compare);
		prctl(PR_GET_NAME, name);
		usleep(500);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3 || pthread_create(&thread, NULL, works, NULL))
		return 9;
	value = atoi(argv[2]);
	usleep(20000);
	look(argv[1]);
	works(NULL);
	pthread_join(thread, NULL);
	time_t now = time(NULL);
	struct tm parts;
	printf("%d\n", localtime_r(&now, &parts) != NULL && strtod("2.5", NULL) == 2.5);
	return 0;
}
