/* Looks settings up, each in the first of many folders that has a file of that name.  Its problem: the stat and open calls,
 * of which most find nothing, and all are made again for each look. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOKS = 40000, FOLDERS = 12 };

static int find(const char *name)
{
	char path[256];
	struct stat status;
	int found = 0;

	for (int i = 0; i < FOLDERS; i++) {
		snprintf(path, sizeof(path), "/usr/share/settings/of/folder/%d/%s", i, name);
		if (stat(path, &status) == 0)
			found++;
	}
	int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	if (file >= 0) {
		found += fstat(file, &status) == 0;
		close(file);
	}
	return found;
}

int main(void)
{
	int found = 0;

	for (int i = 0; i < LOOKS; i++)
		found += find(i % 2 ? "colours.conf" : "fonts.conf");
	printf("%d found\n", found);
	return 0;
}
