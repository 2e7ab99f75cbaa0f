"""Traffic whose truth is known by a formula, and that of threads: everything is simulated, in small caches."""

import collections
import os

from harness import functions

SUITE = "traffic"

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "traffic", "accuracy.c")
FLAGS = ("-O2", "-fno-tree-loop-distribute-patterns", "-pthread")
SMALL = "--cache=L1=16K:4,L2=32K:8,L3=128K:16"
SHARED = "--cache=L1=32K:8,L2=128K:8,L3=1M:16"
LINE = 64


def rows_of(t, cache, name, *words):
    command = [t.program(PROGRAM, FLAGS), *(str(word) for word in words)]
    report = t.profile(command, cache, "--cache-sample=1", timeout=300).json
    assert report["run"]["traffic"]["classes"] == 64, str(report["run"]["traffic"])
    found = functions(report, name)
    assert found, f"no function {name}"
    return found


def level(rows, name, what="bytes"):
    return sum(one[what] for row in rows for one in row["levels"] if one["level"] == name)


def intensity(t, name, *words):
    rows = rows_of(t, SMALL, name, name, *words)
    return sum(row["flop"] for row in rows) / level(rows, "DRAM")


# ---- dense matrices: B is larger than the last cache ----


def test_dgemm_rows(t):
    """B comes from memory for each row of the result: 2n³ flop, 8n³ bytes of B, 24n² of A and C."""
    for n in (150, 200):
        seen, true = intensity(t, "dgemm_rows", n), 1 / 4 / (1 + 3 / n)
        assert abs(seen - true) <= 0.02 * true, f"n = {n}: {seen:.4f} flop/B, not {true:.4f}"
    assert abs(seen - 1 / 4) <= 0.03 / 4, f"{seen:.4f} flop/B is not near 1/4"


def test_dgemm_blocks(t):
    """B comes from memory for each row of blocks: 8n³/N_B bytes of it, 24n² of A and C."""
    n, seen = 160, {}
    for block in (8, 16, 32):
        seen[block], true = intensity(t, "dgemm_blocked", n, block), block / 4 / (1 + 3 * block / n)
        assert abs(seen[block] - true) <= 0.05 * true, f"N_B = {block}: {seen[block]:.4f} flop/B, not {true:.4f}"


# ---- cache conflicts ----

ELEMENTS, OPERATIONS = 1 << 16, 1 << 18


def misses(offset, sets, ways):
    """Of a level with LRU: a set misses always where more lines take turns in it than it has ways, else never."""
    lines = range(0, ELEMENTS * 8 // LINE, offset * 8 // LINE)
    in_set = collections.Counter(line % sets for line in lines)
    trials = OPERATIONS * offset // ELEMENTS
    return trials * sum(n for n in in_set.values() if n > ways)


def test_conflict_spikes(t):
    """[G] algorithm 3: at all offsets as many loads and stores; those of few sets miss L1, their neighbours do not.
    L2 has them all."""
    spikes = {}
    for offset in (504, 512, 520, 384, 376, 256, 264, 448):  # doubles: 8 to a line
        rows = rows_of(t, "--cache=L1=32K:8,L2=1M:16", "conflict", "conflict", offset)
        seen, true = level(rows, "L2", "read_bytes") / LINE, misses(offset, 64, 8)
        at_first = ELEMENTS / offset  # once each
        assert abs(seen - true) <= at_first + 0.01 * true, f"offset {offset}: {seen:.0f} lines, not {true}"
        assert level(rows, "DRAM") <= 2 * LINE * at_first, f"offset {offset} misses L2"
        work = sum(row["load_bytes"] + row["store_bytes"] for row in rows)
        assert abs(work - 16 * OPERATIONS) <= 0.02 * 16 * OPERATIONS, f"offset {offset}: {work} bytes"
        spikes[offset] = seen > OPERATIONS / 2
    assert {offset for offset, is_one in spikes.items() if is_one} == {512, 384, 256, 448}, str(spikes)


# ---- threads ----


def test_stencil_of_two_threads(t):
    one, two = (level(rows_of(t, SHARED, "stencil_rows", "stencil_threads", 500, n), "DRAM") for n in (1, 2))
    assert one > 8 * 2 * 8 * 500 * 500, f"{one:.0f} bytes: it does not leave the cache"
    assert abs(two - one) <= 0.05 * one, f"{two:.0f} bytes with two threads, {one:.0f} with one"


def test_one_last_level(t):
    """What both threads read comes from memory at most once; what fits for each alone and not together does not stay."""
    n = 1 << 16  # 512 KiB
    both = level(rows_of(t, SHARED, "read_range", "read_by_all", n, 2), "DRAM")
    assert both <= 1.05 * 8 * n, f"{both:.0f} bytes of memory for an array of {8 * n} that two threads read"
    n = 49152  # 768 KiB of two arrays
    alone, together = (level(rows_of(t, SHARED, "scale", "own_arrays", n, threads), "DRAM") for threads in (1, 2))
    assert alone <= 1.5 * 16 * n, f"{alone:.0f} bytes: one thread's arrays do not stay"
    assert together >= 2 * 8 * 0.9 * 16 * n, f"{together:.0f} bytes: two threads' arrays stay"
