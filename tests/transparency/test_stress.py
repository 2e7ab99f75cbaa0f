"""Counts stay exact under disturbance, and programs stay what they are when many run at once."""

import concurrent.futures
import os

import pytest

from harness import PROGRAMS, functions, named, text
from test_targets import truths_of

HERE = os.path.dirname(os.path.abspath(__file__))


LONG = (pytest.mark.slow, pytest.mark.alone)


@pytest.mark.parametrize("arguments, options", [
    pytest.param(["20000", "500"], ["--once"], id="exact"),
    pytest.param(["0", "50", "400"], ["--cache-sample=1"], id="exact_while_all_is_traced"),
    pytest.param(["1000000", "10000"], ["--once"], id="exact_after_a_million_signals", marks=LONG)])
def test_counts_are_exact(t, arguments, options):
    """Work is the program's own truth after that many signals and threads."""
    program = t.program(os.path.join(HERE, "disturbed.c"))
    result = t.profile([program, *arguments], *options, timeout=900)
    for truth in truths_of(result.stdout):
        flop = sum(row["flop"] for row in functions(result.json, truth["kernel"]))
        assert flop == truth["flop"], f"{truth['kernel']}: {flop} flop, true {truth['flop']}"


@pytest.mark.parametrize("options, megabytes", named({"once": (["--once"], 32), "all_is_traced": (["--cache-sample=1"], 4),
                                                      "windows": ([], 32), "anew": (["--no-cache"], 32)}))
def test_interrupted_strings_are_exact(t, options, megabytes):
    """What is left of a string instruction where a signal comes is counted once, also of one that was interrupted before
    and has been translated again there, and where that is kept from another run."""
    program = t.program(os.path.join(HERE, "strings.c"))
    for _ in range(2):
        result = t.profile([program, "4", str(megabytes << 20)], *options, timeout=300)
        signals = int(result.stdout.split()[0])
        assert signals >= 5, "hardly any string was interrupted"  # in the timed run; the counted one takes longer
        for truth in truths_of(result.stdout):
            rows = functions(result.json, truth["kernel"])
            bytes_of = {key: sum(row[key] for row in rows) for key in ("load_bytes", "store_bytes")}
            assert bytes_of == {key: truth[key] for key in bytes_of}, f"{truth['kernel']}, {signals} signals"


@pytest.mark.parametrize("options", named({"once": ["--once"], "all_is_traced": ["--cache-sample=1"], "counted": ["--traffic=none"]}))
def test_lanes_of_instructions_that_fault_count_once(t, options):
    """The handler of a fault gives the instruction its page, and it begins anew: so does its count."""
    program = t.program(os.path.join(HERE, "masked_faults.c"), ("-O2",))
    if t.run([program, "1"]).status == 77:
        pytest.skip("no AVX2 here")
    result = t.profile([program, "200"], *options, timeout=300)
    for truth in truths_of(result.stdout):
        row, = functions(result.json, truth["kernel"])
        counted = {key: row[key] for key in ("flop", "load_bytes", "store_bytes")}
        assert counted == {key: truth[key] for key in counted}, truth["kernel"]


@pytest.mark.parametrize("every", ["11", "19"])
def test_counts_are_exact_where_steps_take_long(t, every):
    """A thread that is stepped, or given a signal, and has no processor for half a second (programs/late.c): it goes on
    translated, and nothing that it does from then on is missing."""
    program = t.program(os.path.join(HERE, "disturbed.c"))
    said = os.path.join(t.directory, "late")
    late = {"LD_PRELOAD": t.program("late.c", ("-shared", "-fPIC"), ("-ldl",)), "LATE_EVERY": every, "LATE_COUNT": said}
    result = t.profile([program, "300", "10"], "--once", env=late, timeout=300)
    n_late = int(text(said))
    assert n_late >= 5, "hardly any step was late"
    for truth in truths_of(result.stdout):
        flop = sum(row["flop"] for row in functions(result.json, truth["kernel"]))
        assert flop == truth["flop"], f"{truth['kernel']}: {flop} flop, true {truth['flop']}; {n_late} late"


def plugins(t):
    return [t.program(f"plugin_{letter}.c", ("-shared", "-fPIC")) for letter in "ab"]


SOURCES = {"children.c": lambda t: [], "threads.c": lambda t: ["40"], "signals.c": lambda t: [], "plugins.c": plugins}


@pytest.mark.parametrize("source, repeats, at_once", [
    *[pytest.param(name, 8, 4, id=name.removesuffix(".c")) for name in SOURCES],
    *[pytest.param(name, 4000, 20, id=name.removesuffix(".c") + "_200_times_20", marks=LONG) for name in SOURCES]])
def test_in_parallel(t, source, repeats, at_once):
    """So many runs, so many at a time, do what the native one does."""
    program = t.program(os.path.join(PROGRAMS, source))
    command = [program, *SOURCES[source](t)]
    native = t.run(command)
    assert native.status == 0, str(native)

    def watched(_):
        return t.run([t.rfprof_path, "-q", "--no-save", "--once", *command], timeout=300)

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for result in pool.map(watched, range(repeats)):
            assert (result.status, result.stdout, result.stderr) == \
                (native.status, native.stdout, native.stderr), f"--- native\n{native}\n--- watched\n{result}"
