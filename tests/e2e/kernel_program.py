"""Random C++ programs of calls whose flop are known: a tree of functions that call each other, directly, by
pointers, by tail calls and recursively, throw and catch, jump out by longjmp, raise signals, start threads, end
them amid a call, and give work to a thread that was started before.  Some functions are kernels.  What the
functions do is played here once, which gives the calls and the flop of each kernel."""

import random

MOST_FUNCTIONS = 40
N_KERNELS = 3
MOST_PLAYS = 20000


class Thrown(Exception):
    """A C++ exception."""


class Jumped(Exception):
    """A longjmp to that buffer."""


class TooLong(Exception):
    """It would call too often."""


class Ended(Exception):
    """pthread_exit."""


HEAD = """
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#define OWN extern "C" __attribute__((noinline, noipa))
static thread_local volatile double sum = 1;
OWN void work(long n) { double x = sum; for (long i = 0; i < n; i++) x += 1.0; sum = x; }
static jmp_buf buffers[64];
static sigjmp_buf out;
static void (*volatile pointer)();
static std::atomic<long> wanted{0};
static void (*volatile pool_work)(long) = work;
static std::atomic<bool> over{false};
static void pool() {
	while (!over) {
		const long n = wanted;
		if (n) { pool_work(n); wanted = 0; } else { usleep(50); }
	}
}
static void give(long n) { wanted = n; while (wanted) usleep(50); }
static void on_signal(int) { work(3); }
static void on_escape(int) { work(5); siglongjmp(out, 1); }
static void handle(int number, void (*handler)(int), int flags) {
	struct sigaction action = {};
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaction(number, &action, nullptr);
}
static void *on_thread(void *function) { ((void (*)())function)(); return nullptr; }
static void run(void (*function)()) {
	pthread_t thread;
	pthread_create(&thread, nullptr, on_thread, (void *)function);
	pthread_join(thread, nullptr);
}
"""

TAIL = """
int main() {
	static char stack[1 << 16];
	stack_t other = {};
	other.ss_sp = stack;
	other.ss_size = sizeof(stack);
	sigaltstack(&other, nullptr);
	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_signal, SA_ONSTACK);
	handle(SIGHUP, on_escape, SA_NODEFER);
	std::thread worker(pool);
	for (int i = 0; i < %d; i++) { f0(); work(7); }
	over = true;
	worker.join();
	return 0;
}
"""


class Program:
    """`source`: its text; `flop`, `calls`: by kernel, None: outside."""

    def __init__(self, seed, rounds=3):
        self.draw = random.Random(seed)
        self.bodies = []       # of functions: lists of operations
        self.kernels = set()
        self.n_buffers = 0
        self.make(0, thrown=False, buffers=(), thread=False)
        others = range(1, len(self.bodies))
        self.kernels = set(self.draw.sample(others, min(N_KERNELS, len(others))))
        self.source = HEAD + self.declarations() + "".join(
            self.function(number) for number in reversed(range(len(self.bodies)))) + TAIL % rounds
        self.flop, self.calls = {None: 0}, {}
        for kernel in self.kernels:
            self.flop[self.name(kernel)] = self.calls[self.name(kernel)] = 0
        self.n_plays = 0
        thread = self.main = [None, {}]
        for _ in range(rounds):
            self.play(0, thread)
            self.flop[None] += 7

    def name(self, number):
        return ("kernel" if number in self.kernels else "f") + str(number)

    # ---- what functions do ----

    def make(self, depth, thrown, buffers, thread):
        """A function of which exceptions may come (`thrown`), that may jump to `buffers`, of a thread that it may
        end."""
        number = len(self.bodies)
        body = []
        self.bodies.append(body)
        for _ in range(self.draw.randrange(1, 5)):
            self.operation(body, depth + 1, thrown, buffers, thread)
        last = self.draw.random()
        if depth < 7 and last < 0.2 and len(self.bodies) < MOST_FUNCTIONS:
            body.append(("tail", self.make(depth + 1, thrown, buffers, thread)))
        elif depth and last < 0.3 and thrown:
            body.append(("throw",))
        elif depth and last < 0.4 and buffers:
            body.append(("jump", self.draw.choice(buffers)))
        elif thread and last < 0.45:
            body.append(("end",))
        return number

    def operation(self, body, depth, thrown, buffers, thread):
        kind = self.draw.choice(("work", "call", "call", "pointer", "recursive", "catch", "set", "signal", "escape", "thread",
                                 "give", "repeat"))
        if depth > 7 or len(self.bodies) >= MOST_FUNCTIONS:
            kind = "work"
        child = lambda **other: self.make(depth, **{"thrown": thrown, "buffers": buffers, "thread": thread, **other})
        if kind == "work":
            body.append(("work", self.draw.randrange(1, 200)))
        elif kind in ("call", "pointer", "repeat"):
            body.append((kind, child()))
        elif kind == "recursive":
            body.append((kind, self.draw.randrange(1, 3), child(thrown=False, buffers=(), thread=False)))
        elif kind == "catch":
            body.append((kind, child(thrown=True)))
        elif kind == "set" and self.n_buffers < 64:
            buffer = self.n_buffers
            self.n_buffers += 1
            body.append((kind, buffer, child(thrown=False, buffers=(*buffers, buffer))))
        elif kind == "signal":
            body.append((kind, self.draw.choice(("SIGUSR1", "SIGUSR2"))))
        elif kind == "thread":
            body.append((kind, child(thrown=False, buffers=(), thread=True)))
        elif kind in ("give", "escape"):
            body.append((kind, self.draw.randrange(1, 200)))

    # ---- as C++ ----

    def declarations(self):
        return "".join(f"OWN void {self.name(number)}();\n" for number in range(len(self.bodies)))

    def function(self, number):
        lines = "".join(f"\t{self.statement(number, operation)}\n" for operation in self.bodies[number])
        return f"OWN void {self.name(number)}() {{\n{lines}}}\n"

    def statement(self, number, operation):
        kind, *rest = operation
        called = self.name(rest[-1]) if rest and isinstance(rest[-1], int) and rest[-1] < len(self.bodies) else ""
        return {
            "work": lambda: f"work({rest[0]});",
            "call": lambda: f"{called}(); asm volatile(\"\");",
            "pointer": lambda: f"pointer = {called}; pointer(); asm volatile(\"\");",
            "repeat": lambda: f"for (int i = 0; i < 3; i++) {called}();",
            "recursive": lambda: f"{{ static thread_local int depth; if (depth < {rest[0]}) {{ depth++; {self.name(number)}(); "
                                 f"depth--; }} else {{ {called}(); asm volatile(\"\"); }} }}",
            "catch": lambda: f"try {{ {called}(); }} catch (int n) {{ work(n); }}",
            "set": lambda: f"if (!setjmp(buffers[{rest[0]}])) {called}(); else work(2);",
            "signal": lambda: f"raise({rest[0]});",
            "escape": lambda: f"if (!sigsetjmp(out, 1)) {{ work({rest[0]}); raise(SIGHUP); }}",
            "thread": lambda: f"run({called});",
            "give": lambda: f"give({rest[0]});",
            "tail": lambda: f"return {called}();",
            "throw": lambda: "throw 11;",
            "jump": lambda: f"longjmp(buffers[{rest[0]}], 1);",
            "end": lambda: "pthread_exit(nullptr);",
        }[kind]()

    # ---- played ----

    def play(self, number, thread):
        """thread: [the kernel that it works for, the depths of its recursions]."""
        self.n_plays += 1
        if self.n_plays > MOST_PLAYS:
            raise TooLong
        came_in = number in self.kernels and thread[0] is None
        if came_in:
            thread[0] = self.name(number)
            self.calls[thread[0]] += 1
        try:
            for operation in self.bodies[number]:
                self.do(number, operation, thread)
        finally:
            if came_in:
                thread[0] = None

    def work(self, n, thread):
        self.flop[thread[0]] += n

    def do(self, number, operation, thread):
        kind, *rest = operation
        if kind == "work":
            self.work(rest[0], thread)
        elif kind == "give":  # the pool was started by main's thread
            self.work(rest[0], self.main)
        elif kind in ("call", "pointer", "tail"):
            self.play(rest[0], thread)
        elif kind == "repeat":
            for _ in range(3):
                self.play(rest[0], thread)
        elif kind == "recursive":
            depths, key = thread[1], (number, rest[1])
            if depths.get(key, 0) < rest[0]:
                depths[key] = depths.get(key, 0) + 1
                self.play(number, thread)
                depths[key] -= 1
            else:
                self.play(rest[1], thread)
        elif kind == "catch":
            try:
                self.play(rest[0], thread)
            except Thrown:
                self.work(11, thread)
        elif kind == "set":
            try:
                self.play(rest[1], thread)
            except Jumped as jumped:
                if jumped.args[0] != rest[0]:
                    raise
                self.work(2, thread)
        elif kind == "signal":
            self.work(3, thread)
        elif kind == "escape":
            self.work(rest[0] + 5, thread)
        elif kind == "thread":
            try:
                self.play(rest[0], [thread[0], {}])
            except Ended:
                pass
        elif kind == "throw":
            raise Thrown
        elif kind == "jump":
            raise Jumped(rest[0])
        elif kind == "end":
            raise Ended


def programs(first_seed):
    """Those from a seed on that do not call too often, and their seeds."""
    seed = first_seed
    while True:
        try:
            program = Program(seed)
        except TooLong:
            program = None
        if program and sum(program.calls.values()) > 3:
            yield seed, program
        seed += 1
