"""--caches=cold and warm: what kernels move between memory and caches that are empty, or have what they use (docs/kernels.md)."""

import os

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
LINE, N, SIDE = 64, 4096, 100
# Bytes that the arrays have which each kernel reads, or reads to write to them.
ARRAYS = {"kernel_sum": 8 * N, "kernel_copy": 2 * 8 * N, "kernel_dgemm": 3 * 8 * SIDE * SIDE}
CACHES = "--cache=L1=32K:8,L2=512K:8,L3=4M:16"
SUITE = "targets"


def kernels(t, words, *options):
    program = t.program(os.path.join(HERE, "programs", "cold_kernels.c"), ("-O1", "-fno-tree-loop-distribute-patterns"),
                        ("-pthread",))
    report = t.profile([program, *words], f"--kernel={','.join(ARRAYS)}", CACHES, *options).json
    return report["run"]["traffic"]["caches"], {row["name"]: row["per_call"] for row in report["kernels"]}


@pytest.mark.parametrize("options", [(), ("--once", "--traffic=trace")], ids=["twice", "once"])
def test_each_call_reads_its_arrays_once(t, options):
    """And the line of its return address: to the last byte, where all sets are simulated."""
    said, rows = kernels(t, ("7",), "--caches=cold", *options)
    assert said == "cold"
    assert {name: row["mem_read_bytes"] for name, row in rows.items()} == \
        {name: size + LINE for name, size in ARRAYS.items()}
    assert all(row["mem_write_bytes"] == 0 for row in rows.values()), rows


def test_other_threads_lose_their_lines_too(t):
    said, rows = kernels(t, ("5", "threads"), "--caches=cold")
    assert {name: row["mem_read_bytes"] for name, row in rows.items()} == \
        {name: size + LINE for name, size in ARRAYS.items()}


@pytest.mark.parametrize("words", [("7",), ("5", "threads")], ids=["alone", "threads"])
def test_what_fits_is_there(t, words):
    said, rows = kernels(t, words, "--caches=warm")
    assert said == "warm"
    assert all(row["mem_read_bytes"] == row["mem_write_bytes"] == 0 for row in rows.values()), rows


FIT, LARGE = 1 << 20, 8 << 20  # as in warm_kernels.c
WARM = ("kernel_sum", "kernel_large", "kernel_threads", "kernel_left", "kernel_exit")


def warm_kernels(t, words, *options):
    program = t.program(os.path.join(HERE, "programs", "warm_kernels.c"), ("-O1",), ("-pthread",))
    report = t.profile([program, *words], f"--kernel={','.join(WARM)}", CACHES, *options).json
    return {row["name"]: row for row in report["kernels"] if row["calls"]}


@pytest.mark.parametrize("caches", ["cold", "warm"])
def test_large_and_small_arrays_and_threads(t, caches):
    """Between calls all is thrown out.  What is used in a circle that is larger than the caches moves each time, and leaves
    no place for the line of the return address."""
    rows = warm_kernels(t, ("3",), f"--caches={caches}")
    assert {row["caches"] for row in rows.values()} == {caches}
    read = {name: row["per_call"]["mem_read_bytes"] for name, row in rows.items()}
    assert read["kernel_large"] == LARGE + LINE
    assert rows["kernel_large"]["per_call"]["mem_write_bytes"] == LARGE
    assert rows["kernel_threads"]["threads"] == 1 + 2 * 3
    if caches == "warm":
        assert read["kernel_sum"] == read["kernel_threads"] == 0, read
    else:
        assert read["kernel_sum"] == FIT + LINE
        assert FIT <= read["kernel_threads"] <= FIT + 400 * LINE, read


@pytest.mark.parametrize("caches", ["cold", "warm"])
@pytest.mark.parametrize("words", [("5", "again"), ("1", "exit")], ids=["longjmp", "exit"])
def test_calls_that_do_not_return(t, words, caches):
    """One that is left by longjmp and called again has ended; one in which the program ends, too."""
    rows = warm_kernels(t, words, f"--caches={caches}")
    (row,) = rows.values()
    assert row["calls"] == int(words[0])
    read = row["per_call"]["mem_read_bytes"]
    assert read == 0 if caches == "warm" else FIT <= read <= FIT + 400 * LINE, row


def test_sampled_sets(t):
    """Within the interval, and not what is left of it when the caches are as they are."""
    said, rows = kernels(t, ("40",), "--caches=cold", "--cache-sample=8")
    for name, size in ARRAYS.items():
        assert abs(rows[name]["mem_read_bytes"] - size) <= rows[name]["mem_read_halfwidth_bytes"] + 2 * LINE, rows
    said, rows = kernels(t, ("40",), "--cache-sample=1")
    assert said is None
    assert all(row["mem_read_bytes"] < 100 * LINE for row in rows.values()), rows


@pytest.mark.parametrize("caches", ["cold", "warm"])
def test_what_does_not_go_together(t, caches):
    done = t.rfprof(f"--caches={caches}", "/bin/echo", "ran")
    assert done.status == 2 and b"--kernel" in done.stderr and b"ran" not in done.stdout, str(done)
    done = t.rfprof(f"--caches={caches}", "--kernel=main", "--slowdown=2", "/bin/echo", "ran")
    assert done.status == 2 and b"--slowdown" in done.stderr and b"ran" not in done.stdout, str(done)
    done = t.rfprof("--caches=hot", "--kernel=main", "/bin/echo", "ran")
    assert done.status == 2 and b"--caches" in done.stderr, str(done)
