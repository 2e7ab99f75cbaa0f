/* Prints its arguments byte by byte, all but the program's directory. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	printf("%d %s\n", argc, strrchr(argv[0], '/'));
	for (int i = 1; i < argc; i++) {
		for (const unsigned char *c = (unsigned char *)argv[i]; *c; c++)
			printf("%02x", *c);
		printf("|\n");
	}
	return argv[argc] != NULL;
}
