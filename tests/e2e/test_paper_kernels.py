"""The kernels of the papers say what a pass over their data does; rfprof's figures must be equal, tolerance 0.

What a call does around its passes is the compiler's choice, so two numbers of passes are compared."""

import os
import shlex
import shutil

import pytest

from harness import SOURCE, functions

SUITE = "targets"

# As the source says, access by access; for one size.
EXACT = ("-no-pie", "-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-ffp-contract=off")
FAST = ("-O3", "-march=native")

KERNELS = [("memory", "read_all", 1000), ("memory", "write_all", 1000), ("memory", "write_stream", 1000),
           ("memory", "triad", 1000), ("memory", "add", 1000), ("memory", "mul", 1000), ("memory", "fp_crunch", 10),
           ("memory", "conflict", 64), ("memory", "conflict", 96), ("memory", "by_rows", 1000),
           ("memory", "by_columns", 1000), ("intensity", "listing2", 1000), ("intensity", "simple16", 1000), ("intensity", "fma16", 1000),
           ("intensity", "simple8", 100), ("intensity", "fma8", 100), ("intensity", "simple8fastmath", 100),
           ("intensity", "fma8manpack", 100), ("matrix", "triple", 40), ("matrix", "six", 100),
           ("matrix", "scalar", 100), ("matrix", "transposed", 40), ("matrix", "unroll_jam", 40),
           ("matrix", "blocked", 64), ("transforms", "fft_recurrence", 256), ("transforms", "fft_recurrence", 512),
           ("transforms", "fft_table", 256), ("transforms", "fft_table", 512), ("transforms", "wht", 1024),
           ("bodies", "n_body", 40), ("pcg", "stencil", 30), ("pcg", "dot", 30), ("pcg", "norm", 30),
           ("pcg", "daxpby", 30), ("pcg", "gs_forward", 30), ("pcg", "gs_backward", 30),
           ("miniapps", "lookup_random", 64), ("miniapps", "lookup_material", 64), ("miniapps", "lookup_energy", 64),
           ("miniapps", "pdv", 64), ("miniapps", "pdv_blocks", 64), ("miniapps", "sides_64", 1024),
           ("miniapps", "sides_4", 1024), ("miniapps", "push_aos", 512), ("miniapps", "push_aosoa", 512)]


def build(t, name, options, libraries=("-lm",)):
    return t.program(os.path.join(SOURCE, "tests", "papers", name + ".c"), options, libraries)


def counted(t, program, kernel, n, passes, threads=1):
    """What rfprof has of the kernel, and what the program says of a pass."""
    result = t.profile([program, kernel, str(n), "1", str(passes), "1", str(threads)], "--run=count", "--traffic=none")
    if result.status == 77:
        pytest.skip(result.stderr.decode().strip())
    rows = functions(result.json, kernel)
    assert len(rows) == 1, f"{len(rows)} rows for {kernel}"
    line = next(line for line in result.stdout.decode().splitlines() if line.startswith("truth "))
    return rows[0], dict(word.split("=", 1) for word in shlex.split(line)[1:])


def by_pass(t, program, kernel, n, threads=1):
    (one, truth), (four, _) = (counted(t, program, kernel, n, passes, threads) for passes in (1, 4))
    keys = ("flop", "load_bytes", "store_bytes")
    return {key: (four[key] - one[key]) / 3 for key in keys}, {key: int(truth[key]) for key in keys}


@pytest.mark.parametrize("source,kernel,n", KERNELS)
def test_exact(t, source, kernel, n):
    measured, truth = by_pass(t, build(t, source, (f"-DEXACT={n}", *EXACT)), kernel, n)
    assert measured == truth


@pytest.mark.parametrize("source,kernel,n", KERNELS)
def test_flop_are_the_same_in_fast_code(t, source, kernel, n):
    """However the compiler vectorizes, the work is that of the source."""
    measured, truth = by_pass(t, build(t, source, FAST), kernel, n)
    assert measured["flop"] == truth["flop"]


@pytest.mark.parametrize("kernel", ["add", "triad"])
def test_threads_do_the_same(t, kernel):
    """Each thread has data of its own, and does what the source says."""
    measured, truth = by_pass(t, build(t, "memory", ("-O2", "-fno-tree-vectorize")), kernel, 1000, threads=3)
    assert measured == {key: 3 * value for key, value in truth.items()}


def test_fast_math_drops_work(t):
    """What [W] saw: a product of 129 factors by squaring is 8 multiplications, and no longer 8 flop per byte."""
    measured, truth = by_pass(t, build(t, "intensity", FAST + ("-ffast-math",)), "simple8", 1000)
    assert measured["flop"] == 8 * 1000 < truth["flop"]


def test_solver(t):
    """One iteration is what its parts do; it comes to a solution."""
    n, iterations = 40, 60
    program = build(t, "pcg", (f"-DEXACT={n}", *EXACT))
    result = t.profile([program, "pcg", str(n), "1", str(iterations)], "--run=count", "--traffic=none")
    residual = float(result.stdout.decode().split("residual ")[1])
    assert residual < 1e-6
    flop = {"stencil_part": 7, "dot_part": 2 * 2, "norm_part": 2, "daxpby_part": 3 * 3, "forward_part": 5,
            "backward_part": 5}
    for name, by_point in flop.items():
        row = functions(result.json, name)[0]
        assert row["flop"] == by_point * n * n * iterations, name


@pytest.mark.parametrize("kernel,n", [("daxpy", 4096), ("dgemv", 256), ("dgemm", 256), ("fftw", 1024)])
def test_libraries_are_called(t, kernel, n):
    """What calls of a library do is in the row of the kernel: at least what the mathematics asks for."""
    if not all(os.path.exists(os.path.join("/usr/include/x86_64-linux-gnu", header)) or
               os.path.exists(os.path.join("/usr/include", header)) for header in ("cblas.h", "fftw3.h")):
        pytest.skip("needs OpenBLAS and FFTW")
    if not shutil.which("cc"):
        pytest.skip("needs a compiler")
    program = build(t, "libraries", (), ("-lopenblas", "-lfftw3", "-lm"))
    result = t.profile([program, kernel, str(n)], "--kernel=kernel", "--run=count", "--traffic=none",
                       env={"OPENBLAS_NUM_THREADS": "1"})
    flop = result.json["kernels"][0]["flop"]
    least = {"daxpy": 2 * n, "dgemv": 2 * n * n, "dgemm": 2 * n ** 3, "fftw": 0}[kernel]
    most = {"daxpy": 2 * n, "dgemv": 2.2 * n * n + 100 * n, "dgemm": 2 * n ** 3 + 6 * n * n, "fftw": 5 * n * 10}[kernel]
    assert least <= flop <= most and flop > 0
