/* Lists numbers in a file, a line for each.  Its problem: the stream has no buffer, so each line is a write. */
#include <stdio.h>
#include <unistd.h>

enum { LINES = 400000 };

static void list(FILE *file, int number)
{
	fprintf(file, "item %d\n", number);
}

int main(void)
{
	FILE *file = fopen("listing.txt", "w");

	if (!file)
		return 1;
	setvbuf(file, NULL, _IONBF, 0);
	for (int i = 0; i < LINES; i++)
		list(file, i);
	fclose(file);
	unlink("listing.txt");
	printf("%d lines\n", LINES);
	return 0;
}
