/* Each of its runs is another one: the file that it is given counts them.
 *
 * repeated FILE WORK...: run n works as the n-th of WORK says (the last one for all behind it): `K`
 * takes K units, `K=S` ends with status S then, `K!` puts the number of its process group into
 * FILE.waits and goes on for ever.  It appends
 * what it has read from standard input to FILE.in, and prints one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile double sink;

static double work(double s, long n)
{
	for (long i = 0; i < n; i++)
		s = s * 1.0000001 + 1e-9;
	return s;
}

__attribute__((noinline)) void varying(long n)
{
	sink = work(sink, n);
}

__attribute__((noinline)) void steady(long n)
{
	sink = work(sink, n) + 1;
}

static int count_run(const char *path)
{
	int run = 0;
	FILE *file = fopen(path, "r");
	if (file) {
		if (fscanf(file, "%d", &run) != 1)
			abort();
		fclose(file);
	}
	file = fopen(path, "w");
	fprintf(file, "%d\n", run + 1);
	fclose(file);
	return run;
}

static void keep_input(const char *path)
{
	char name[4096], buffer[4096];
	size_t n;
	snprintf(name, sizeof(name), "%s.in", path);
	FILE *file = fopen(name, "a");
	while ((n = fread(buffer, 1, sizeof(buffer), stdin)) > 0)
		fwrite(buffer, 1, n, file);
	fputc('\n', file);
	fclose(file);
}

static void wait_for_signal(const char *path)
{
	char name[4096], whole[4096];
	snprintf(whole, sizeof(whole), "%s.waits", path);
	snprintf(name, sizeof(name), "%s.part", whole);
	FILE *file = fopen(name, "w");
	fprintf(file, "%d\n", (int)getpgrp());
	fclose(file);
	rename(name, whole);
	for (;;)
		steady(1000000);
}

int main(int argc, char **argv)
{
	const int run = count_run(argv[1]);
	const char *what = argv[run + 2 < argc ? run + 2 : argc - 1];
	char *end;
	keep_input(argv[1]);
	varying(strtol(what, &end, 10) * 1000000);
	steady(30000000);
	if (*end == '!')
		wait_for_signal(argv[1]);
	puts("done");
	return *end == '=' ? atoi(end + 1) : 0;
}
