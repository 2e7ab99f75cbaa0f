"""Counts stay exact under disturbance, and programs stay what they are when many run at once."""

import concurrent.futures
import os

from harness import PROGRAMS, add_case, functions
from test_targets import truths_of

HERE = os.path.dirname(os.path.abspath(__file__))


def counts_are_exact(signals, threads):
    """A case: work is the program's own truth after that many signals and threads, in a --once run."""

    def check(t):
        program = t.program(os.path.join(HERE, "disturbed.c"))
        result = t.profile([program, str(signals), str(threads)], "--once", timeout=900)
        for truth in truths_of(result.stdout):
            flop = sum(row["flop"] for row in functions(result.json, truth["kernel"]))
            assert flop == truth["flop"], f"{truth['kernel']}: {flop} flop, true {truth['flop']}"

    return check


add_case("transparency/stress/exact", counts_are_exact(20000, 500))
add_case("transparency/stress/exact_after_a_million_signals", counts_are_exact(1000000, 10000), slow=True, alone=True)


def in_parallel(source, arguments, repeats, at_once):
    """A case: so many runs, so many at a time, do what the native one does."""

    def check(t):
        program = t.program(os.path.join(PROGRAMS, source))
        command = [program, *arguments(t)]
        native = t.run(command)
        assert native.status == 0, str(native)

        def watched(_):
            return t.run([t.rfprof_path, "-q", "--no-save", "--once", *command], timeout=300)

        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for result in pool.map(watched, range(repeats)):
                assert (result.status, result.stdout, result.stderr) == \
                    (native.status, native.stdout, native.stderr), f"--- native\n{native}\n--- watched\n{result}"

    return check


def plugins(t):
    return [t.program(f"plugin_{letter}.c", ("-shared", "-fPIC")) for letter in "ab"]


for name, arguments in [("children.c", lambda t: []), ("threads.c", lambda t: ["40"]), ("signals.c", lambda t: []),
                        ("plugins.c", plugins)]:
    base = name.removesuffix(".c")
    add_case(f"transparency/stress/{base}", in_parallel(name, arguments, 8, 4))
    add_case(f"transparency/stress/{base}_200_times_20", in_parallel(name, arguments, 4000, 20), slow=True, alone=True)
