"""--caches=cold: what kernels move between empty caches and memory (docs/kernels.md)."""

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
    """What a thread did just before its end may be simulated behind the beginning of the call."""
    said, rows = kernels(t, ("5", "threads"), "--caches=cold")
    for name, size in ARRAYS.items():
        assert size - 50 * LINE <= rows[name]["mem_read_bytes"] <= size + LINE, rows


def test_sampled_sets(t):
    """Within the interval, and not what is left of it when the caches are as they are."""
    said, rows = kernels(t, ("40",), "--caches=cold", "--cache-sample=8")
    for name, size in ARRAYS.items():
        assert abs(rows[name]["mem_read_bytes"] - size) <= rows[name]["mem_read_halfwidth_bytes"] + 2 * LINE, rows
    said, rows = kernels(t, ("40",), "--cache-sample=1")
    assert said is None
    assert all(row["mem_read_bytes"] < 100 * LINE for row in rows.values()), rows


def test_what_does_not_go_together(t):
    done = t.rfprof("--caches=cold", "/bin/echo", "ran")
    assert done.status == 2 and b"--kernel" in done.stderr and b"ran" not in done.stdout, str(done)
    done = t.rfprof("--caches=cold", "--kernel=main", "--slowdown=2", "/bin/echo", "ran")
    assert done.status == 2 and b"--slowdown" in done.stderr and b"ran" not in done.stdout, str(done)
    done = t.rfprof("--caches=warm", "--kernel=main", "/bin/echo", "ran")
    assert done.status == 2 and b"--caches" in done.stderr, str(done)
