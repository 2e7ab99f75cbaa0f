/* Dispatch by computed goto, by a switch's table, by a table of functions; all give the same.
 * @flags -fno-gcse */
#include "../own.h"

enum { ADD, XOR, SHIFT, LOOP, END };

static const unsigned char program[] = { ADD, XOR, ADD, SHIFT, XOR, XOR, ADD, LOOP, END };

NOINLINE static uint64_t by_goto(int loops)
{
	static const void *const labels[] = { &&add, &&xor, &&shift, &&loop, &&end };
	const unsigned char *pc = program;
	uint64_t x = 1;

	goto *labels[*pc];
add:	x += 0x9e3779b97f4a7c15; goto *labels[*++pc];
xor:	x ^= x >> 29; goto *labels[*++pc];
shift:	x = x << 7 | x >> 57; goto *labels[*++pc];
loop:	if (--loops) { pc = program; goto *labels[*pc]; }
	goto *labels[*++pc];
end:	return x;
}

NOINLINE static uint64_t by_switch(int loops)
{
	uint64_t x = 1;

	for (const unsigned char *pc = program;; pc++)
		switch (*pc) {
		case ADD: x += 0x9e3779b97f4a7c15; break;
		case XOR: x ^= x >> 29; break;
		case SHIFT: x = x << 7 | x >> 57; break;
		case LOOP: if (--loops) pc = program - 1; break;
		case END: return x;
		default: abort();
		}
}

static uint64_t add(uint64_t x) { return x + 0x9e3779b97f4a7c15; }
static uint64_t xor(uint64_t x) { return x ^ x >> 29; }
static uint64_t shift(uint64_t x) { return x << 7 | x >> 57; }

NOINLINE static uint64_t by_table(int loops)
{
	uint64_t (*const volatile table[])(uint64_t) = { add, xor, shift };
	uint64_t x = 1;

	while (loops--)
		for (const unsigned char *pc = program; *pc < LOOP; pc++)
			x = table[*pc](x);
	return x;
}

int main(void)
{
	const uint64_t x = by_goto(20000);

	CHECK(by_switch(20000) == x);
	CHECK(by_table(20000) == x);
	printf("%016llx\n", (unsigned long long)x);
	return done();
}
