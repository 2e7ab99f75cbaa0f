/* Reading the small text files of /proc and /sys. */
#include "base/small_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* `between`: "" or "/". */
static FILE *open_file(const char *directory, const char *between, const char *name)
{
	char path[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s%s%s", directory, between, name) >=
	    sizeof(path))
		return NULL;
	return fopen(path, "re");
}

bool small_file_exists(const char *root, const char *path)
{
	char whole[4096];
	return (size_t)snprintf(whole, sizeof(whole), "%s%s", root, path) < sizeof(whole) &&
	       access(whole, F_OK) == 0;
}

bool small_file_line(const char *directory, const char *name, char *line, size_t size)
{
	FILE *file = open_file(directory, "/", name);
	bool whole = file && fgets(line, (int)size, file) && (strchr(line, '\n') || feof(file));
	line[whole ? strcspn(line, "\n") : 0] = '\0';
	if (file)
		fclose(file);
	return whole;
}

int small_file_number(const char *root, const char *path)
{
	int number;
	FILE *file = open_file(root, "", path);
	if (!file || fscanf(file, "%d", &number) != 1)
		number = SMALL_FILE_UNKNOWN;
	if (file)
		fclose(file);
	return number;
}

bool small_file_field(const char *root, const char *path, const char *name, char *value,
		      size_t size)
{
	char line[8192];
	const size_t length = strlen(name);
	bool found = false;
	FILE *file = open_file(root, "", path);
	while (file && !found && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, length) != 0)
			continue;
		const char *at = line + length + strspn(line + length, " \t");
		found = *at == ':';
		line[strcspn(line, "\n")] = '\0';
		if (found)
			snprintf(value, size, "%s", at + 1 + strspn(at + 1, " \t"));
	}
	if (file)
		fclose(file);
	return found;
}

bool small_file_status(pid_t pid, const char *name, char *value, size_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return small_file_field("", path, name, value, size);
}
