/* Code in odd shapes: overlapping instructions, jumps into a prefix, code that ends at its page's end,
 * very many short blocks, loops by jrcxz and loop.
 * @cases overlap prefix loops page blocks long_nops */
#include "../own.h"

extern long overlap(long), prefix(long), loops(long), blocks(long), long_nops(long);
/* The constant of one instruction is another instruction: mov $…, %eax / add $1, %eax; ret. */
__asm__("overlap: xor %eax, %eax; test $1, %dil; jnz 1f+1\n1: .byte 0xb8, 0x83, 0xc0, 0x01, 0xc3; ret\n"
	/* jumping over a lock prefix */
	"prefix: push %rdi; test $1, %dil; jz 1f; jmp 2f\n1: lock\n2: incq (%rsp); pop %rax; ret\n"
	"loops: mov %rdi, %rcx; xor %eax, %eax; jrcxz 2f\n1: add %rcx, %rax; loop 1b\n"
	"2: mov %edi, %ecx; jecxz 4f\n3: inc %rax; cmp $5, %rax; loopne 3b\n4: ret\n"
	"blocks: xor %eax, %eax\n"
	".rept 2000\n test %rdi, %rdi; jz 1f; inc %rax\n1: dec %rdi; jns 1f; xor %edi, %edi\n1:\n.endr\n ret\n"
	"long_nops: mov %rdi, %rax\n .nops 1000\n"
	".byte 0x66,0x66,0x66,0x66,0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n .byte 0x66,0x66,0x66,0x48,0x90\n ret");

static long at_page_end(long n)
{
	static unsigned char *code;

	if (!code) {
		code = pages(2 * PAGE, PROT_READ | PROT_WRITE);
		memcpy(code + PAGE - 5, "\x48\x8d\x47\x03\xc3", 5);	/* lea 3(%rdi), %rax; ret */
		MUST(mprotect(code, PAGE, PROT_READ | PROT_EXEC) == 0 && mprotect(code + PAGE, PAGE, PROT_NONE) == 0);
	}
	return ((long (*)(long))(intptr_t)(code + PAGE - 5))(n);
}

int main(int argc, char **argv)
{
	const char *names[] = { "overlap", "prefix", "loops", "page", "blocks", "long_nops" };
	long (*const functions[])(long) = { overlap, prefix, loops, at_page_end, blocks, long_nops };
	long sum = 0;

	for (int i = 0; i < 6; i++)
		if (!strcmp(argv[argc - 1], names[i]))
			for (long k = 0; k < 40; k++)
				sum += functions[i](k);
	printf("sum %ld\n", sum);
	return done();
}
