/* An interpreter of a small stack machine, for instruction counts: no function of libc runs inside
 * the functions that are compared, so that their path does not depend on the CPU. */
#include <stdint.h>
#include <stdio.h>

#define KEPT __attribute__((noinline, noclone)) static

enum opcode { PUSH, ADD, MUL, XOR, DUP, SWAP, DROP, JUMP_IF, HALT };

struct machine { uint64_t stack[64]; int depth; uint64_t steps; };

KEPT void push(struct machine *machine, uint64_t value)
{
	machine->stack[machine->depth++ & 63] = value;
}

KEPT uint64_t pop(struct machine *machine)
{
	return machine->stack[--machine->depth & 63];
}

KEPT uint64_t apply(enum opcode opcode, uint64_t a, uint64_t b)
{
	switch (opcode) {
	case ADD: return a + b;
	case MUL: return a * b + (a >> 7);
	case XOR: return a ^ b << 3;
	default: return 0;
	}
}

KEPT uint64_t run(struct machine *machine, const uint8_t *code)
{
	uint64_t rounds = 15000;

	for (int pc = 0;; machine->steps++) {
		uint64_t a, b;

		switch ((enum opcode)code[pc]) {
		case PUSH: push(machine, code[pc + 1]); pc += 2; break;
		case ADD: case MUL: case XOR:
			b = pop(machine);
			a = pop(machine);
			push(machine, apply((enum opcode)code[pc++], a, b));
			break;
		case DUP: a = pop(machine); push(machine, a); push(machine, a); pc++; break;
		case SWAP: a = pop(machine); b = pop(machine); push(machine, a); push(machine, b); pc++; break;
		case DROP: pop(machine); pc++; break;
		case JUMP_IF: pc = --rounds ? code[pc + 1] : pc + 2; break;
		case HALT: return pop(machine);
		}
	}
}

int main(void)
{
	static const uint8_t code[] = { PUSH, 1, PUSH, 7, ADD, DUP, MUL, PUSH, 3, SWAP, XOR, DUP, DROP,
					PUSH, 5, ADD, JUMP_IF, 2, HALT };
	static struct machine machine;
	uint64_t result = run(&machine, code);

	printf("%016llx after %llu steps\n", (unsigned long long)result, (unsigned long long)machine.steps);
	return 0;
}
