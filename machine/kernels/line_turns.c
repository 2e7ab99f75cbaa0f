/* Turns at a line: plain moves, which are atomic, and nothing else in the loop. */
#include "machine/kernels/line_turns.h"

void line_turns(struct turn_line *line, int thread, uint64_t count)
{
	uint64_t wanted = __atomic_load_n(&line->turn, __ATOMIC_RELAXED) & ~1ull;
	wanted += (uint64_t)thread;
	__asm__ volatile(".p2align 4\n"
			 "1:\n\t"
			 "cmp %[wanted], (%[turn])\n\t"
			 "jne 1b\n\t"
			 "lea 1(%[wanted]), %%rax\n\t"
			 "mov %%rax, (%[turn])\n\t"
			 "add $2, %[wanted]\n\t"
			 "dec %[count]\n\t"
			 "jnz 1b"
			 : [wanted] "+r"(wanted), [count] "+r"(count)
			 : [turn] "r"(&line->turn)
			 : "rax", "cc", "memory");
}
