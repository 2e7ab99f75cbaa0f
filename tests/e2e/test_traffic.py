"""Traffic of programs whose truth is known, simulated in small caches so that it takes no time."""

import contextlib
import os
import sqlite3

import pytest

from harness import functions, named

SUITE = "traffic"

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "traffic")
CACHE = "--cache=L1=16K:4,L2=32K:8,L3=128K:16"
FLAGS = ("-O2", "-fno-tree-loop-distribute-patterns", "-pthread")
ARRAY = 8 << 17  # bytes


def truths(stdout):
    text = stdout if isinstance(stdout, str) else stdout.decode()
    return {name: (float(read), float(written))
            for name, read, written in (line.split() for line in text.splitlines())}


def moved(report, name):
    """Bytes read from memory and written to it, with those that were still in a cache at the end."""
    rows = functions(report, name)
    assert rows, f"no function {name}"
    read = sum(row["mem_read_bytes"] + row["mem_write_allocate_bytes"] for row in rows)
    return read, sum(row["mem_write_bytes"] + row["mem_left_bytes"] for row in rows)


@pytest.mark.parametrize("source, sample, tolerance", named({
    "streams": ("streams.c", 1, 0.02),
    "streams_sampled": ("streams.c", 16, 0.10),
    "two_threads": ("two_threads.c", 1, 0.02),
    "two_threads_sampled": ("two_threads.c", 16, 0.10),
    "interrupted_strings": ("interrupted_strings.c", 1, 0.02),
}))
def test_truth(t, source, sample, tolerance):
    program = t.program(os.path.join(HERE, source), FLAGS)
    result = t.profile([program], CACHE, f"--cache-sample={sample}", timeout=300)
    traffic = result.json["run"]["traffic"]
    assert traffic["source"] == "traced", str(traffic)
    assert traffic["classes"] == 64 // sample, str(traffic)
    assert result.json["run"].get("exit_same", True), "the traced run ended otherwise"
    for name, truth in truths(result.stdout).items():
        if name == "gather" or (name == "masked" and sample > 1):  # only even lines: not like all classes
            continue
        for what, true, seen in zip(("read", "written"), truth, moved(result.json, name)):
            limit = tolerance * max(true, ARRAY)
            assert abs(seen - true) <= limit, f"{name}: {seen:.0f} bytes {what}, true {true:.0f}"


def test_gather(t):
    """Each index once, in an order without locality: more than the array, less than a line for each lane; and
    what the full and the sampled simulation say of it is near each other."""
    program = t.program(os.path.join(HERE, "streams.c"), FLAGS)
    result = t.profile([program], CACHE, "--cache-sample=1", timeout=300)
    if "gather" not in truths(result.stdout):
        return
    read, written = moved(result.json, "gather")
    lanes = 4 << 17
    assert 4 * (ARRAY + ARRAY / 2) <= read <= 64 * lanes + 4 * ARRAY / 2, f"{read:.0f} bytes read"
    assert written <= 0.02 * ARRAY, f"{written:.0f} bytes written"


@pytest.mark.parametrize("option", named({"once": "--once", "not_asked": "--traffic=none"}))
def test_none(t, option):
    program = t.program(os.path.join(HERE, "two_threads.c"), FLAGS)
    traffic = t.profile([program], option).json["run"]["traffic"]
    assert (traffic["source"], traffic["why"]) == ("none", option), str(traffic)


def test_once(t):
    """One run that is traced has the work, and about the traffic, of the second run; its times are marked."""
    program = t.target("triad")
    fixed = ("--slowdown=none", "--cache-sample=1", "--cache=L1=4K:8,L2=16K:8,L3=64K:16")
    twice = t.profile([program], *fixed).json
    once = t.profile([program], *fixed, "--once", "--traffic=trace").json
    for name in ("triad", "triad_stream"):
        (one,), (two,) = (functions(report, name) for report in (once, twice))
        assert one["flop"] == two["flop"] and one["time_s"] > 0
        for member in ("mem_read_bytes", "mem_write_bytes"):
            assert one[member] == pytest.approx(two[member], rel=0.01), (name, member)
    assert any("the times include both" in note.replace("\n", " ") for note in once["run"]["notes"]), once["run"]["notes"]
    assert once["run"]["traffic"]["source"] == "traced"


def test_disturbed(t):
    """The traced run of a program that looks at its registers prints and ends as the native one."""
    program = t.program(os.path.join(HERE, "disturbed.c"))
    for sample in (1, 16):
        path = os.path.join(t.directory, "disturbed.rfp")
        result = t.rfprof("-q", "--save", path, CACHE, f"--cache-sample={sample}", program, "300", timeout=300)
        assert result.status == 0, str(result)
        with contextlib.closing(sqlite3.connect(path)) as database:
            facts = dict(database.execute("SELECT key, value FROM facts"))
        assert facts["traffic_source"] == "traced", str(facts)
        assert (facts["stdout_same"], facts["exit_same"]) == ("same", "same"), str(facts)


def test_evadable(t):
    """All write-allocates of lines that are written whole, none of others; told by full lines alone."""
    program = t.program(os.path.join(HERE, "evadable.c"), FLAGS)
    for sample in (1, 16):
        cache = "--cache=L1=16K:4,L2=32K:8,L3=256K:16"
        report = t.profile([program], cache, f"--cache-sample={sample}", timeout=300).json
        for name, allocated, share in [("write_whole", 4 << 23, 1), ("write_two", 4 << 23, 1), ("write_four", 4 << 23, 1),
                                       ("write_half", 4 << 23, 0), ("change", 0, 0)]:
            row = functions(report, name)[0]
            assert abs(row["mem_write_allocate_bytes"] - allocated) <= 0.02 * (4 << 23), f"{name}: {row}"
            assert abs(row["mem_evadable_bytes"] - share * allocated) <= 0.02 * (4 << 23), f"{name}: {row}"


def test_working_sets(t):
    """The curves of one run against simulations of last caches of six sizes, none beside a knee."""
    program = t.program(os.path.join(HERE, "working_set.c"), FLAGS)

    def run(size):
        cache = f"--cache=L1=16K:4,L2=32K:8,L3={size}K:16"
        return t.profile([program], cache, "--cache-sample=1", timeout=300).json

    def memory(row):
        return row["mem_read_bytes"] + row["mem_write_allocate_bytes"] + row["mem_write_bytes"]

    names = ("read_lines", "change_lines", "read_anywhere")
    curves = {name: functions(one, name)[0]["working_set"]["curve"] for one in [run(512)] for name in names}
    for size in (256, 512, 1024, 1448, 2048, 8192):
        report = run(size)
        for name in names:
            seen = [step["mem_bytes"] for step in curves[name] if step["capacity_bytes"] <= size * 1030]
            true = sum(memory(row) for row in functions(report, name))
            most = max(step["mem_bytes"] for step in curves[name])
            said = seen[-1] if seen else most
            assert abs(said - true) <= 0.05 * max(true, most / 20), f"{name}, {size} KiB: {said:.0f}, simulated {true:.0f}"
