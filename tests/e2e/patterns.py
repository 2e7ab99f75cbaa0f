"""Programs of random loads and stores: what a sample of sets says of them must agree with all sets.

A pattern is a loop of a few accesses a turn, with random widths, offsets, steps, order and unrolling, over one or two
arrays, upward or downward; accesses may overlap, skip lines or leave gaps.  The accesses are single instructions, so
that the compiler changes nothing of them.
"""

import random

STEPS = (8, 8, 16, 24, 32, 40, 64, 72, 96, 128, 136, 192, 256, 320)  # bytes from turn to turn
WIDTHS = {1: ("movb", "%%al"), 4: ("movl", "%%eax"), 8: ("movq", "%%rax"), 16: ("movups", "%%xmm0")}
SPAN = 256  # bytes around the place of a turn
SIZES = (1 << 16, 1 << 18, 1 << 20, 3 << 20)  # bytes that a loop goes over


def access(rng, pointer, shift):
    move, register = WIDTHS[rng.choice(list(WIDTHS))]
    at = f"{rng.randrange(-SPAN // 8, SPAN // 8) * rng.choice((1, 8)) + shift}(%0)"
    kind = rng.choice(("load", "load", "store", "update"))
    texts = {"load": f"{move} {at}, {register}", "store": f"{move} {register}, {at}",
             "update": f"{move} {at}, {register}\\n\\t{move} {register}, {at}"}
    return f'\t\t__asm__ volatile("{texts[kind]}" : : "r"({pointer}) : "rax", "xmm0", "memory");'


def pattern(rng, name):
    """One function, in C."""
    step, unroll, size = rng.choice(STEPS), rng.choice((1, 1, 2, 4)), rng.choice(SIZES)
    turn = step * unroll
    pointers = ["p"] if rng.random() < 0.6 else ["p", "q"]
    one = [(rng.choice(pointers), rng.getrandbits(32)) for _ in range(rng.randint(1, 6))]
    lines = [access(random.Random(seed), pointer, copy * step) for copy in range(unroll) for pointer, seed in one]
    if rng.random() < 0.3:
        rng.shuffle(lines)
    turns = max(1, size // turn)
    begin, move = ("", "+=") if rng.random() < 0.7 else (f" + {(turns - 1) * turn}", "-=")
    repeats = max(1, (3 << 20) // size)
    other = f", *q = b{begin}" if "q" in pointers else ""
    moves = f"p {move} {turn}" + (f", q {move} {turn}" if "q" in pointers else "")
    return "\n".join([
        f"__attribute__((noinline)) static void {name}(char *a, char *b)", "{", "\t(void)b;",
        f"\tfor (int k = 0; k < {repeats}; k++) {{", f"\t\tchar *p = a{begin}{other};",
        f"\t\tfor (long i = 0; i < {turns}; i++, {moves}) {{", *lines, "\t\t}", "\t}", "}", ""])


def program(seed, n):
    """The source of a program of n patterns, named pattern_0 and so on."""
    rng = random.Random(seed)
    functions = [pattern(rng, f"pattern_{i}") for i in range(n)]
    calls = "\n".join(f"\tpattern_{i}(memory + {1 << 13}, memory + {(4 << 20) + (1 << 13)});" for i in range(n))
    return "\n".join(["#include <stdlib.h>", "", *functions, "int main(void)", "{",
                      f"\tchar *memory = aligned_alloc(64, {9 << 20});", calls, "\treturn 0;", "}", ""])
