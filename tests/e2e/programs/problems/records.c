/* Adds up the records of a file.  Its problem: it reads 16 bytes at a time, with a system call for each record. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 50000, PASSES = 30 };

struct record {
	long key, amount;
};

static long total(int file)
{
	struct record record;
	long sum = 0;

	lseek(file, 0, SEEK_SET);
	while (read(file, &record, sizeof(record)) == sizeof(record))
		sum += record.key % 3 ? record.amount : -record.amount;
	return sum;
}

int main(void)
{
	static struct record records[RECORDS];
	int file = open("records.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	long sum = 0;

	for (long i = 0; i < RECORDS; i++)
		records[i] = (struct record){i * 7919 % 1000, i % 97};
	if (file < 0 || write(file, records, sizeof(records)) != sizeof(records))
		return 1;
	for (int i = 0; i < PASSES; i++)
		sum += total(file);
	close(file);
	unlink("records.bin");
	printf("%ld\n", sum);
	return 0;
}
