/* Adds up one byte of each page of a file that is mapped and not in memory.  Usage: cold_pages FILE */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

__attribute__((noinline)) static long add_up(const unsigned char *bytes, long size)
{
	long sum = 0;

	for (long i = 0; i < size; i += PAGE)
		sum += bytes[i];
	return sum;
}

int main(int argc, char **argv)
{
	struct stat status;
	int file = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (file < 0 || fstat(file, &status) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED))
		return 1;
	unsigned char *bytes = mmap(NULL, (size_t) status.st_size, PROT_READ, MAP_PRIVATE, file, 0);

	if (bytes == MAP_FAILED || madvise(bytes, (size_t) status.st_size, MADV_RANDOM))
		return 1;
	printf("%ld\n", add_up(bytes, status.st_size));
	return 0;
}
