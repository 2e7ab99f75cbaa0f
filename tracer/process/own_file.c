/* Finds this program's file among its mappings. */
#include "tracer/process/own_file.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char executable[] = "/proc/self/exe";
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char mapped[PATH_MAX]; /* "": this is the executable */
static char linker_folder[PATH_MAX];

/* The path of the mapping that has this address; false: not found. */
static bool mapping_of(const void *address, char path[static PATH_MAX])
{
	char line[PATH_MAX + 128];
	unsigned long start, end;
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		const char *name = strchr(line, '/');
		line[strcspn(line, "\n")] = '\0';
		found = name && sscanf(line, "%lx-%lx", &start, &end) == 2 &&
			(uintptr_t)address - start < end - start && strlen(name) < PATH_MAX;
		if (found)
			strcpy(path, name);
	}
	if (maps)
		fclose(maps);
	return found;
}

static void find(void)
{
	const ssize_t n = readlink(executable, linker_folder, sizeof(linker_folder) - 1);
	linker_folder[n < 0 ? 0 : n] = '\0';
	if (n <= 0 || !mapping_of(executable, mapped) || strcmp(mapped, linker_folder) == 0)
		mapped[0] = '\0';
	char *slash = strrchr(linker_folder, '/');
	if (slash)
		*slash = '\0';
}

const char *own_file(void)
{
	pthread_once(&once, find);
	return mapped[0] ? mapped : executable;
}

/* The dynamic linker lies in the folder of the C library that it is to take. */
size_t own_words(char *words[OWN_WORDS])
{
	static char name[] = "rfprof", argv0[] = "--argv0", path[] = "--library-path";
	char *const all[OWN_WORDS] = {name, argv0, name, path, linker_folder, mapped};
	pthread_once(&once, find);
	const size_t n = mapped[0] ? OWN_WORDS : 1;
	memcpy(words, all, n * sizeof(*words));
	return n;
}
