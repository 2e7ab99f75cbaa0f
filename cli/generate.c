/* Writes what is made from the table of options to standard output: the man page with its sections
 * of options (`man PAGE`), or the completion of a shell (`bash`, `zsh`, `fish`).  A tool of the
 * build, no part of rfprof. */
#include "cli/generate_completion.h"
#include "cli/generate_man.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	void (*write)(FILE *out);
} shells[] = {
	{"bash", generate_bash},
	{"zsh", generate_zsh},
	{"fish", generate_fish},
};

static int write_man_page(const char *path)
{
	FILE *page = fopen(path, "re");
	if (!page) {
		perror(path);
		return 1;
	}
	generate_man(page, stdout);
	fclose(page);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "man") == 0)
		return write_man_page(argv[2]);
	for (size_t i = 0; argc == 2 && i < sizeof(shells) / sizeof(shells[0]); i++)
		if (strcmp(argv[1], shells[i].name) == 0) {
			shells[i].write(stdout);
			return 0;
		}
	fputs("usage: generate man PAGE | bash | zsh | fish\n", stderr);
	return 2;
}
