/* Code that the program writes itself: fresh, overwritten in place, made executable after. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef int function(void);

/* mov eax, value; ret */
static void write_function(unsigned char *code, int value)
{
	code[0] = 0xb8;
	memcpy(code + 1, &value, 4);
	code[5] = 0xc3;
}

static unsigned char *pages(int protection)
{
	unsigned char *code = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		exit(1);
	return code;
}

int main(void)
{
	unsigned char *code = pages(PROT_READ | PROT_WRITE | PROT_EXEC);
	int wrong = 0;

	for (int i = 0; i < 200; i++) {
		write_function(code, i);
		wrong += ((function *)(intptr_t)code)() != i;
	}
	printf("overwritten in place: %d wrong\n", wrong);
	code = pages(PROT_READ | PROT_WRITE);
	for (int i = 0; i < 100; i++) {
		mprotect(code, 4096, PROT_READ | PROT_WRITE);
		write_function(code, 3 * i);
		mprotect(code, 4096, PROT_READ | PROT_EXEC);
		wrong += ((function *)(intptr_t)code)() != 3 * i;
	}
	printf("write or execute: %d wrong\n", wrong);
	for (int i = 0; i < 100; i++) {
		code = pages(PROT_READ | PROT_WRITE | PROT_EXEC);
		write_function(code + i, 5 * i);
		wrong += ((function *)(intptr_t)(code + i))() != 5 * i;
		munmap(code, 4096);
	}
	printf("mapped anew: %d wrong\n", wrong);
	return wrong != 0;
}
