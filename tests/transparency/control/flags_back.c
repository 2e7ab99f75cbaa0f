/* Returns whose status flags matter where they lead: what restores them last is popf or sahf, and the address is none
 * that any call has pushed, as where a thread goes on that its runtime has interrupted (Go's asyncPreempt).
 * @cases popf sahf deep */
#include "../own.h"

/* Two places a multiple of 65,536 bytes apart: behind a call, and within code where the flags are live. */
extern long by_call(long), by_popf(unsigned long flags), by_sahf(unsigned long flags), by_deep(unsigned long flags);
__asm__(".pushsection .text\n"
	"nothing: mov $1, %eax; ret\n"
	".balign 65536\n"
	".type by_call, @function\n"
	"by_call: call nothing\n"
	"	xor %ecx, %ecx\n"	/* the flags are dead here */
	"	add %rdi, %rax\n"
	"	ret\n"
	".balign 65536\n"
	"	nop; nop; nop; nop; nop\n"
	"popf_back: pushf; pop %rax; ret\n"
	".balign 65536\n"
	"	nop; nop; nop; nop; nop\n"
	"sahf_back: pushf; pop %rax; ret\n"
	".balign 65536\n"
	"	nop; nop; nop; nop; nop\n"
	"deep_back: pushf; pop %rax; ret\n"
	".type by_popf, @function\n"
	"by_popf: lea popf_back(%rip), %rax; push %rax; push %rdi; popf; ret\n"
	".type by_sahf, @function\n"
	"by_sahf: lea sahf_back(%rip), %rax; push %rax; mov %edi, %eax; shl $8, %eax; xor %ecx, %ecx; sahf; ret\n"
	/* other instructions that leave the flags alone, and a branch between */
	".type by_deep, @function\n"
	"by_deep: lea deep_back(%rip), %rax; push %rax; push %rbp; push %rdi; popf; pop %rbp; jrcxz 1f\n"
	"	mov %rdi, %rcx\n"
	"1:	lea 1(%rcx), %rcx; ret\n"
	".popsection");

enum { CF = 1, PF = 4, AF = 16, ZF = 64, SF = 128, OF = 2048, FIXED = 2 };

int main(int argc, char **argv)
{
	static const unsigned long flags[] = {CF, ZF, SF, OF, CF | ZF, PF | AF, SF | OF | CF, 0};
	const char *name = argv[argc - 1];
	long (*const function)(unsigned long) = !strcmp(name, "popf") ? by_popf : !strcmp(name, "sahf") ? by_sahf : by_deep;
	const unsigned long mask = (CF | PF | AF | ZF | SF) | (function == by_sahf ? 0 : OF);
	long sum = 0;
	for (long i = 0; i < 100; i++)
		sum += by_call(i);
	printf("sum %ld\n", sum);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
			printf("%lx\n", (unsigned long)function(flags[i] | FIXED | 0x200) & mask);
	return done();
}
