/* Returns through memory that cannot be written: a table of addresses as the stack, and a stack that is
 * used up to its last word.
 * @cases table full guarded */
#include "../own.h"

__attribute__((used, visibility("hidden"))) long steps[4];

__asm__(".pushsection .text\n"
	"one: incq steps(%rip); ret\n"
	"two: incq steps+8(%rip); ret\n"
	"three: incq steps+16(%rip); ret\n"
	"last: mov %r12, %rsp; ret\n"
	".globl along_table, at_bottom\n"
	/* rdi: table of addresses that ends with `last` */
	"along_table: push %r12; lea 1f(%rip), %rax; push %rax; mov %rsp, %r12; mov %rdi, %rsp; ret\n"
	"1: pop %r12; ret\n"
	/* rdi: lowest address of a stack; calls with room for nothing but the return address */
	"at_bottom: push %r12; mov %rsp, %r12; lea 8(%rdi), %rsp; call one; mov %r12, %rsp; pop %r12; ret\n"
	".popsection");

extern void along_table(const void *table), at_bottom(void *stack);
extern char one[], two[], three[], last[];

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	void **memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(memory != MAP_FAILED);
	void **page = memory + PAGE / 8;

	if (!strcmp(how, "table")) {
		for (int i = 0; i < 9; i++)
			memory[i] = i % 3 == 0 ? one : i % 3 == 1 ? two : three;
		memory[9] = last;
		MUST(mprotect(memory, PAGE, PROT_READ) == 0);
		for (int i = 0; i < 100; i++)
			along_table(memory);
	} else {
		MUST(!strcmp(how, "full") ? munmap(memory, PAGE) == 0 : mprotect(memory, PAGE, PROT_READ) == 0);
		for (int i = 0; i < 100; i++)
			at_bottom(page);
	}
	printf("%ld %ld %ld, work %d\n", steps[0], steps[1], steps[2], work(1000));
	return done();
}
