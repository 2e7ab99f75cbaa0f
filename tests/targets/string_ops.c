/* `rep` string instructions: one instruction each, bytes by the repeats that really happened. */
#include "truth.h"

#include <string.h>

enum { SIZE = 10000, CALLS = 50 };

/* rdi = to, rsi = from, rdx = repeats; what is left of rcx comes back in rax */
KERNEL(rep_movsb, mov rcx, rdx; rep movsb; mov rax, rcx; ret);
KERNEL(rep_movsq, mov rcx, rdx; rep movsq; mov rax, rcx; ret);
KERNEL(rep_stosq, mov rcx, rdx; mov rax, rsi; rep stosq; mov rax, rcx; ret);
KERNEL(rep_lodsw, mov rcx, rdx; rep lodsw; mov rax, rcx; ret);
KERNEL(repe_cmpsb, mov rcx, rdx; repe cmpsb; mov rax, rcx; ret);
KERNEL(repne_scasb, mov rcx, rdx; mov al, 1; repne scasb; mov rax, rcx; ret);
/* Downwards, from the last byte on. */
KERNEL(rep_movsb_down,
	lea rdi, [rdi + rdx - 1];
	lea rsi, [rsi + rdx - 1];
	mov rcx, rdx;
	std;
	rep movsb;
	cld;
	mov rax, rcx;
	ret);
/* Without a prefix: once. */
KERNEL(single_movsd_stosb, movsd; stosb; lodsq; xor eax, eax; ret);

typedef uint64_t string_fn(void *to, const void *from, uint64_t repeats);
string_fn rep_movsb, rep_movsq, rep_stosq, rep_lodsw, repe_cmpsb, repne_scasb, rep_movsb_down,
	single_movsd_stosb;

/* Calls `kernel` with 0, 1, … repeats and prints its truth: `load` and `store` bytes a repeat. */
static void run(const char *name, string_fn *kernel, char *to, char *from, int step, int instructions,
		int load, int store)
{
	uint64_t repeats = 0;

	for (int call = 0; call < CALLS; call++) {
		uint64_t left = kernel(to, from, call * step);

		repeats += call * step - left;
	}
	TRUTH(name, .instructions = (uint64_t)CALLS * instructions,
	      .load_bytes = load * repeats + 8 * CALLS, .store_bytes = store * repeats);
}

int main(void)
{
	static char to[SIZE], from[SIZE];

	memset(from, 7, SIZE);
	run("rep_movsb", rep_movsb, to, from, SIZE / CALLS, 4, 1, 1);
	run("rep_movsq", rep_movsq, to, from, SIZE / CALLS / 8, 4, 8, 8);
	run("rep_lodsw", rep_lodsw, to, from, SIZE / CALLS / 2, 4, 2, 0);
	run("rep_movsb_down", rep_movsb_down, to, from, SIZE / CALLS, 8, 1, 1);
	/* The blocks differ at byte 4321, which is compared too; the search meets a 1 there. */
	to[4321] = 1;
	run("repe_cmpsb", repe_cmpsb, to, from, SIZE / CALLS, 4, 2, 0);
	run("repne_scasb", repne_scasb, to, from, SIZE / CALLS, 5, 1, 0);
	run("rep_stosq", rep_stosq, to, from, SIZE / CALLS / 8, 5, 0, 8);
	for (int call = 0; call < CALLS; call++)
		single_movsd_stosb(to, from, 0);
	TRUTH("single_movsd_stosb", .instructions = 5 * CALLS, .load_bytes = (4 + 8 + 8) * CALLS,
	      .store_bytes = (4 + 1) * CALLS);
	return 0;
}
