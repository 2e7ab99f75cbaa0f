"""Accesses that are checked in windows of time: what is told of the time between them, and that counts stay exact."""

import os
import re
import sqlite3
import statistics

import pytest

from harness import functions
from test_targets import truths_of
from test_traffic_patterns import figures, misses

SUITE = "traffic"

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "traffic")
DISTURBED = os.path.join(os.path.dirname(HERE), "transparency", "disturbed.c")
CACHE = "--cache=L1=32K:8,L2=256K:8,L3=1M:16"


def windows_in(said):
    return int(re.search(r"in (\d+) windows", said).group(1)) if said else 0


def n_windows(report):
    return windows_in(report["run"]["traffic"]["windows"])


def test_windows_hold(t):
    """Streams, what stays in the second and in the last cache, random reads, and memory that is new each time."""
    program = t.program(os.path.join(HERE, "windows.c"), ("-O2", "-fno-tree-vectorize"))
    truth = figures(t, [program, "3"], "window_", CACHE, "--cache-sample=1")
    per_round = {key: (value / 3, width) for key, (value, width) in truth.items()}
    wrong, all_figures, widths = [], 0, []
    for rounds in (20, 40):
        seen = figures(t, [program, str(rounds)], "window_", CACHE)
        # the first round has what comes from memory for the first time
        expected = {key: (value * rounds, width) for key, (value, width) in per_round.items()}
        missed, n = misses(expected, {key: (value, width + 0.01 * value) for key, (value, width) in seen.items()})
        wrong += missed
        all_figures += n
        widths += [width / value for key, (value, width) in seen.items() if key in expected and value > 1e7]
    assert statistics.median(widths) < 0.1, f"the intervals tell nothing: {sorted(widths)}"
    assert all_figures >= 60 and len(wrong) <= 0.05 * all_figures, f"{len(wrong)} of {all_figures}\n" + "\n".join(wrong)


def test_windows_are_told(t):
    """Not all is checked, the report says so, and with none all is."""
    program = t.program(os.path.join(HERE, "windows.c"), ("-O2", "-fno-tree-vectorize"))
    assert n_windows(t.profile([program, "20"], CACHE).json) >= 3
    for options in (["--slowdown=none"], ["--cache-sample=16"]):
        assert n_windows(t.profile([program, "1"], CACHE, *options).json) == 0


@pytest.mark.parametrize("slowdown", ["0", "1", "-2", "fast", "", "2x", "1001"])
def test_bad_slowdown(t, slowdown):
    done = t.rfprof(f"--slowdown={slowdown}", "/bin/echo", "ran")
    assert done.status == 2 and b"--slowdown" in done.stderr and b"ran" not in done.stdout, str(done)


def test_allocations_are_seen(t):
    """Also those during which the thread changes from one copy of its code to the other."""
    program = t.program(os.path.join(HERE, "blocks.c"), ("-O1", "-g", "-fno-optimize-sibling-calls"))
    path = os.path.join(t.directory, "profile.rfp")
    # A short run has no windows: how many allocations take long enough depends on the machine.
    n, seen = 50000, 0
    while seen < 3 and n < 1600000:
        n *= 2
        done = t.rfprof("-q", f"--save={path}", program, str(n), timeout=300)
        assert done.status == 0, str(done)
        profile = sqlite3.connect(path)
        said = profile.execute("SELECT value FROM facts WHERE key = 'traffic_windows'").fetchone()
        seen = windows_in(said[0]) if said else 0
    assert seen >= 3, str(said)
    rows = profile.execute("SELECT sum(allocations) FROM objects WHERE name = 'make_block'").fetchall()
    assert rows == [(n,)], str(rows)


def test_counts_are_exact(t):
    """Threads that come and go, and signals, while all change between the two copies of their code."""
    program = t.program(DISTURBED)
    # A fast machine checks all of a few rounds before the first window would end.
    rounds, n = 3000, 0
    while n < 3 and rounds < 200000:
        rounds *= 2
        result = t.profile([program, "0", "300", str(rounds)], timeout=300)
        n = n_windows(result.json)
    assert n >= 3, result.json["run"]["traffic"]
    for truth in truths_of(result.stdout):
        flop = sum(row["flop"] for row in functions(result.json, truth["kernel"]))
        said = f"{truth['kernel']}: {flop} flop, true {truth['flop']}; not counted: {result.json['run']['uncounted']}"
        assert flop == truth["flop"], said
