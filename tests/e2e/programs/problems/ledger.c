/* A ledger that is safe against a crash after each entry.  Its problem: an fsync per record, for whose end it waits. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES = 2000 };

static int book_entry(int file, int number)
{
	char entry[64];
	int length = snprintf(entry, sizeof(entry), "entry %d: amount %d\n", number, number * 37 % 1000);

	if (write(file, entry, (size_t) length) != length)
		return -1;
	return fsync(file);
}

int main(void)
{
	int file = open("ledger.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (file < 0)
		return 1;
	for (int i = 0; i < ENTRIES; i++)
		if (book_entry(file, i))
			return 1;
	close(file);
	unlink("ledger.txt");
	printf("%d entries\n", ENTRIES);
	return 0;
}
