"""Code that runs for long is laid out anew by what is hot in it; its counts stay exact."""

import os
import platform
import re

import pytest

from harness import functions, text

SUITE = "targets"

HERE = os.path.dirname(os.path.abspath(__file__))
MEMBERS = ("instructions", "load_bytes", "store_bytes", "string_bytes")


def counts(t, program, rounds, *words, options=()):
    """By function; and how many blocks were laid out anew."""
    report = t.profile([program, str(rounds), *words], "--work=count", "--traffic=none", *options).json
    rows = {row["name"]: tuple(row[member] for member in MEMBERS) for row in functions(report, module="hot_code")
            if row["name"].startswith(("round_", "one_round"))}
    assert len(rows) == 8, sorted(rows)
    return rows, report["run"]["hot_blocks"]


@pytest.mark.parametrize("options", [(), ("--once",)], ids=["twice", "once"])
@pytest.mark.parametrize("words", [(), ("threads",), ("signals",)], ids=["plain", "threads", "signals"])
def test_each_round_counts_as_much(t, words, options):
    program = t.program(os.path.join(HERE, "programs", "hot_code.c"), ("-O2",), ("-lpthread",))
    (one, _), (two, _) = (counts(t, program, n, *words, options=options) for n in (1, 2))
    # Code is laid out anew once the program has run for some time: how many rounds that takes depends on the machine.
    n, n_hot = 4000 if words == ("threads",) else 12500, None
    while not n_hot and n < 400000:
        n *= 2
        many, n_hot = counts(t, program, n, *words, options=options)
    assert n_hot, "nothing was laid out anew"
    for name, row in many.items():
        truth = tuple(a + (n - 1) * (b - a) for a, b in zip(one[name], two[name]))
        assert row == truth, f"{name}: {dict(zip(MEMBERS, row))}, true {dict(zip(MEMBERS, truth))}"


@pytest.mark.parametrize("options", [(), ("--once",)], ids=["twice", "once"])
def test_code_that_goes_away_before_a_thread_comes_to_hot_code(t, options):
    program = t.program(os.path.join(HERE, "programs", "code_gone.c"), ("-O2",), ("-lpthread",))
    library = t.program(os.path.join(HERE, "programs", "aligned_library.c"),
                        ("-shared", "-fPIC", "-Wl,-z,max-page-size=65536"))
    profiled = t.profile([program, library], "--work=count", "--traffic=none", *options)
    assert profiled.stdout == b"the other thread went on to its end\n", profiled.stdout
    assert profiled.json["run"]["exit_status"] == "0"
    assert profiled.json["processes"][0]["native_reason"] is None
    assert profiled.json["run"]["hot_blocks"], "nothing was laid out anew"


def hot_blocks(t, program, times):
    """How many blocks were laid out anew where nobody knows how long the program lives natively."""
    command = ["sh", "-c", f"for i in $(seq {times}); do {program} 600; done"]
    return int(t.profile(command, "--run=count", "--work=count", "--traffic=none").json["run"]["hot_blocks"] or 0)


def test_code_of_short_lives_is_laid_out_once(t):
    program = t.program(os.path.join(HERE, "programs", "wide_code.c"), ("-O2",))
    one, many = hot_blocks(t, program, 1), hot_blocks(t, program, 6)
    assert one > 0 and many > 0
    assert many < 2 * one, f"{one} and {many}"


@pytest.mark.parametrize("options", [(), ("--traffic=none",), ("--once",)], ids=["traced", "counted", "once"])
def test_writes_of_calls_that_go_on_in_the_other_copy(t, options):
    """Threads change between copies of the code while they are in a library: its calls stay those of who called it."""
    program = t.program(os.path.join(HERE, "programs", "long_prints.c"), ("-O1",))
    result = t.profile([program, "20000"], *options)
    true = dict(zip(("print_one", "print_other"), map(int, result.stdout.split())))
    told = {row["function"]: row["bytes"] for row in result.json["system_calls"]
            if row["name"] == "write" and row["bytes"] > 1000}
    assert told == true, told


def collapses():
    """Whether this kernel puts shared memory into huge pages when it is asked to (MADV_COLLAPSE)."""
    enabled = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
    version = tuple(map(int, re.match(r"(\d+)\.(\d+)", platform.release()).groups()))
    return version >= (6, 1) and os.path.exists(enabled) and "[deny]" not in text(enabled)


def test_huge_pages_change_no_count(t):
    program = t.program(os.path.join(HERE, "programs", "wide_code.c"), ("-O1",))
    result = t.profile([program, "800"], "--run=count", "--traffic=none", "--no-cache")
    rounds, kib = map(int, result.stdout.split())
    assert sum(row["flop"] for row in functions(result.json) if re.fullmatch("f[0-7]+", row["name"])) == 4096 * rounds
    if not collapses():
        pytest.skip("this kernel has no huge pages of shared memory")
    assert kib >= 4096, kib
