"""Misses of the full simulation beside those that cachegrind counts in the same caches (docs/traffic.md says where
the two must differ)."""

import os

import pytest

from harness import functions, named, need_command

SUITE = "traffic"

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "traffic", "accuracy.c")
FLAGS = ("-O2", "-fno-tree-loop-distribute-patterns", "-pthread")
OURS, THEIRS = "--cache=L1=32K:8,L2=1M:16", ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
LINE = 64


def cachegrind(t, command, name):
    """Misses of loads and stores in that function: of the first level's, and of the last's."""
    path = os.path.join(t.directory, "cachegrind.out")
    result = t.run([need_command("/usr/bin/valgrind"), "--tool=cachegrind", "--cache-sim=yes", *THEIRS,
                    f"--cachegrind-out-file={path}", *command], timeout=300)
    assert result.status == 0, str(result)
    events, function, first, last = [], None, 0, 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if line.startswith("events:"):
                events = words[1:]
            elif line.startswith("fn="):
                function = line[3:].strip()
            elif function == name and words and words[0].isdigit():
                counts = dict(zip(events, map(int, words[1:])))
                first += counts.get("D1mr", 0) + counts.get("D1mw", 0)
                last += counts.get("DLmr", 0) + counts.get("DLmw", 0)
    return first, last


def ours(t, command, name):
    report = t.profile(command, OURS, "--cache-sample=1", timeout=300).json
    levels = {"L2": 0, "DRAM": 0}
    for row in functions(report, name):
        for level in row["levels"]:
            if level["level"] in levels:
                levels[level["level"]] += level["read_bytes"] / LINE
    return levels["L2"], levels["DRAM"]


@pytest.mark.parametrize("name, size", [
    pytest.param("dgemm_transposed", "400", id="cachegrind_dgemm_transposed", marks=pytest.mark.slow),
    *named({f"cachegrind_{name}": (name, size) for name, size in (("stencil", "500"), ("spmv", "20000"), ("chase", "20000"))}),
])
def test_cachegrind(t, name, size):
    command = [t.program(PROGRAM, FLAGS), name, size]
    pairs = list(zip(("L1", "last level"), ours(t, command, name), cachegrind(t, command, name)))
    for what, mine, other in pairs:
        print(f"{name}: {what}: {mine:.0f} misses, cachegrind {other}", flush=True)
        assert other > 1000 and abs(mine - other) <= 0.01 * other, f"{what}: {mine:.0f} misses, cachegrind {other}"
