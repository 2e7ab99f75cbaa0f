/* A filter that takes new memory for each frame.  Its problem: page faults.  Of each fresh page it writes one histogram
 * entry only, so the kernel, which clears the page at the first touch, has nearly all of the work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FRAMES = 24, ROWS = 12000, ROW = 4096 };

static unsigned brightness(unsigned char *frame, unsigned seed)
{
	unsigned sum = 0;

	for (int row = 0; row < ROWS; row++) {
		unsigned char *pixel = frame + (size_t) row * ROW + seed % 64;

		*pixel = (unsigned char) (seed + (unsigned) row);
		sum += *pixel;
	}
	return sum;
}

int main(void)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < FRAMES; i++) {
		size_t size = (size_t) ROWS * ROW;
		unsigned char *frame = mmap(NULL, size, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (frame == MAP_FAILED)
			return 1;
		madvise(frame, size, MADV_NOHUGEPAGE); /* the same on machines with huge pages */
		sum += brightness(frame, i);
		munmap(frame, size);
	}
	printf("%u\n", sum);
	return 0;
}
