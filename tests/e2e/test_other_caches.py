"""What programs would move in the caches of another machine: lines of 32 to 512 bytes, an L1 that writes through."""

import json
import os
import re

import pytest

from harness import functions, named

SUITE = "traffic"

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "traffic")
FLAGS = ("-O2", "-fno-tree-vectorize", "-pthread")

# Smaller than the program's arrays, so that each time that it goes over them all lines move.
SMALL = {
    "line_32": "line=32,L1=8K:2,L2=32K:8",
    "line_64": "L1=8K:2,L2=32K:8,L3=64K:16:victim",
    "line_128": "line=128,L1=16K:4,L2=64K:8:inclusive",
    "line_256": "line=256,L1=64K:4,L2=256K:16",
    "line_512": "line=512,L1=32K:4,L2=256K:8",
    "through": "line=128,L1=16K:8:write-through:no-write-allocate,L2=64K:8:inclusive:private,L3=256K:16:victim",
    "through_allocates": "line=256,L1=16K:8:write-through,L2=64K:8:inclusive",
}
STRAY = 8  # lines of the stack and of main's own data that may move on account of a function, at each call


def loops(result):
    """(name, step, bytes, times) of the program's functions."""
    rows = [line.split() for line in result.stdout.decode().splitlines()]
    assert len(rows) == 7
    return [(name, int(step), int(size), int(times)) for name, step, size, times in rows]


def row_of(other, name):
    rows = [row for row in other["functions"] if row["name"] == name]
    assert len(rows) == 1, f"{name}: {rows}"
    return rows[0]


def assert_lines(seen, lines, line, calls, what):
    assert lines * line <= seen <= (lines + STRAY * calls) * line, f"{what}: {seen / line} lines, truth {lines}"


@pytest.mark.parametrize("caches", named({key: (text,) for key, text in SMALL.items()}))
def test_lines(t, caches):
    """Each line that a loop touches moves once each time, whatever its size; stores that are written through reach
    L2 byte by byte."""
    program = t.program(os.path.join(HERE, "other_caches.c"), FLAGS)
    result = t.profile([program], f"--other-caches={caches}", timeout=300)
    other = result.json["other_caches"]
    line, through = other["line_bytes"], "write-through" in caches
    allocates = "no-write-allocate" not in caches
    assert other["write_through"] == through
    for name, step, size, times in loops(result):
        row, lines = row_of(other, name), size // max(step, line) * times
        calls = 2 if "thread" in name else times
        stores = size // step * times * 8 if name.startswith("write") else 0
        if name.startswith("read"):
            assert_lines(row["mem_read_bytes"], lines, line, calls, name)
            assert_lines(row["l2_read_bytes"], lines, line, calls, name)
        else:
            assert_lines(row["mem_write_allocate_bytes"], lines, line, calls, name)
            assert_lines(row["mem_write_back_bytes"] + row["mem_left_bytes"], lines, line, calls, name)
            if allocates:
                assert_lines(row["l2_write_allocate_bytes"], lines, line, calls, name)
            else:
                assert row["l2_write_allocate_bytes"] == 0
        if through:
            assert row["l2_write_through_bytes"] == stores, name
            assert row["l2_write_back_bytes"] == 0
            assert row["mem_evadable_bytes"] is None
        else:
            assert row["l2_write_through_bytes"] == 0
            if stores:
                first = 1024 * int(re.search(r"L1=(\d+)K", caches).group(1))  # bytes that may not have left it
                assert lines * line - calls * first <= row["l2_write_back_bytes"] <= (lines + STRAY * calls) * line
                whole = lines if step == 8 else 0
                # an inclusive L2 takes a line that is half written away for another thread's: it comes twice
                assert abs(row["mem_evadable_bytes"] - whole * line) <= STRAY * calls * line, name


def test_stores_are_the_counted_ones(t):
    """Of an L1 that writes through: the bytes that reach L2 are those of the stores, which are counted exactly."""
    program = t.program(os.path.join(HERE, "other_caches.c"), FLAGS)
    result = t.profile([program], "--other-caches=power9", timeout=300)
    assert result.json["other_caches"]["line_bytes"] == 128
    for name, *_ in loops(result):
        counted = sum(row["store_bytes"] for row in functions(result.json, name))
        assert row_of(result.json["other_caches"], name)["l2_write_through_bytes"] == counted


@pytest.mark.parametrize("whose", named({name: (name,) for name in ("a64fx", "power9", "thunderx2")}))
def test_times_and_roofs_stay_this_machines(t, whose):
    """The other caches' traffic goes into no figure of the report but its own table, which says whose it is."""
    program = t.program(os.path.join(HERE, "other_caches.c"), FLAGS)
    plain = t.profile([program], "--cache-sample=1", "--slowdown=none", timeout=300)
    other = t.profile([program], f"--other-caches={whose}", timeout=300)
    assert plain.json["other_caches"] is None
    for key in ("geometry", "geometry_source", "policy", "classes", "windows"):
        assert plain.json["run"]["traffic"][key] == other.json["run"]["traffic"][key]
    for name, *_ in loops(other):
        mine, its = functions(plain.json, name)[0], functions(other.json, name)[0]
        assert mine["load_bytes"] == its["load_bytes"] and mine["store_bytes"] == its["store_bytes"]
        for key in ("mem_read_bytes", "mem_write_allocate_bytes"):
            assert abs(mine[key] - its[key]) <= 64 * 100 + 0.01 * mine[key], f"{name}: {key}"
    table = t.rfprof("report", "--no-config", "--stdout", os.path.join(t.directory, "profiled.rfp")).stdout.decode()
    assert "another machine's caches" in table and "this machine's" in " ".join(table.split()), table
    assert "write_by_a_thread" in table.split("another machine's caches")[1], table


def test_it_is_kept(t):
    """A report that is made of the saved profile has the same."""
    program = t.program(os.path.join(HERE, "other_caches.c"), FLAGS)
    result = t.profile([program], "--other-caches=a64fx", timeout=300)
    again = t.rfprof("report", "--json", "-", os.path.join(t.directory, "profiled.rfp"))
    assert again.status == 0, str(again)
    assert json.loads(again.stdout)["other_caches"] == result.json["other_caches"]


def test_what_it_costs_is_said(t):
    """Where the counted run took much longer than the program, and what for; not where nothing of that was asked for."""
    program = t.program(os.path.join(HERE, "other_caches.c"), FLAGS)
    for options, whose in ((("--other-caches=a64fx", "--tlb"), "another machine's caches and the TLB"), (("--cache-sample=16",), None)):
        run = t.profile([program], *options, timeout=300).json["run"]
        told = [note for note in run["notes"] if "none in windows of time" in note]
        assert len(told) == (1 if whose and run["counted_wall_s"] > 3 * run["wall_s"] else 0), (run["notes"], run["counted_wall_s"])
        assert not told or f"for {whose}: the counted run took {run['counted_wall_s']:.3g} s" in told[0], told
    assert not whose


@pytest.mark.parametrize("options, words", named({
    "sample": (["--other-caches=a64fx", "--cache-sample=4"], "all accesses are traced"),
    "windows": (["--other-caches=a64fx", "--slowdown=1.5"], "all accesses are traced"),
    "cold": (["--other-caches=a64fx", "--caches=cold"], "needs --kernel"),
    "span": (["--other-caches=a64fx", "--delay=1s"], "of the whole program"),
    "untraced": (["--other-caches=a64fx", "--traffic=none"], "traced in the counted run"),
    "timed": (["--other-caches=a64fx", "--run=time"], "traced in the counted run"),
    "unknown": (["--other-caches=pentium"], "cannot open pentium"),
    "line": (["--other-caches=line=48,L1=48K:4"], "a line must have 32, 64, 128, 256 or 512 bytes"),
    "through": (["--other-caches=L1=32K:4:write-through,L2=1M:16"], "needs an inclusive L2"),
    "own_line": (["--cache=line=128,L1=32K:8"], "have lines of 64 bytes"),
}))
def test_what_is_not_supported_is_said(t, options, words):
    result = t.rfprof(*options, "--no-save", "/bin/true")
    assert result.status != 0 and words in result.stderr.decode(), str(result)
