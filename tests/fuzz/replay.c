/* Runs a fuzz target over the files and folders named on the command line, without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_LIMIT (1 << 20)

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(INPUT_LIMIT);
	if (!file || !data) {
		perror(path);
		if (file)
			fclose(file);
		free(data);
		return -1;
	}
	size_t size = fread(data, 1, INPUT_LIMIT, file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

/* Returns how many inputs were run, or -1. */
static int replay_folder(const char *path)
{
	struct dirent *entry;
	int n = 0;
	DIR *folder = opendir(path);
	if (!folder) {
		perror(path);
		return -1;
	}
	while (n >= 0 && (entry = readdir(folder))) {
		char name[4096];
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		n = replay_file(name) < 0 ? -1 : n + 1;
	}
	closedir(folder);
	return n;
}

int main(int argc, char **argv)
{
	int total = 0;
	for (int i = 1; i < argc; i++) {
		struct stat status;
		int n = !stat(argv[i], &status) && S_ISDIR(status.st_mode) ? replay_folder(argv[i])
									   : replay_file(argv[i]);
		if (n < 0)
			return 1;
		total += n;
	}
	printf("%d inputs\n", total);
	return total ? 0 : 1; /* a corpus that is not there must not pass */
}
