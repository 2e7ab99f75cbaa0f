"""How near a sample of classes comes to the simulation of all: the same programs simulated in full once, then
sampled again and again, each time by other classes.

The slow test holds to the bars: of each target the median of all relative differences is at most 3 %, the worst at
most 10 %, and of all of them the printed half-width (95 %) covers the true value in at least 90 of 100.  It prints a
table.  What the default suite runs is so even over the classes that no choice of them can miss its bars.
"""

import os
import statistics

import pytest

from harness import named, need_file

SUITE = "traffic"

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "traffic")
FLAGS = ("-O2", "-fno-tree-loop-distribute-patterns", "-pthread")
LARGE, SMALL = "--cache=L1=32K:8,L2=128K:8,L3=1M:16", "--cache=L1=16K:4,L2=32K:8,L3=128K:16"
LEVELS = ("L2", "L3", "DRAM")
RUNS = 10
MATTERS = 0.05  # of the traffic of a level
MEDIAN, WORST, COVERED = 0.03, 0.10, 0.90


class Target:
    """A program of tests/traffic or tests/e2e/programs with its words."""

    def __init__(self, name, words, cache=LARGE, source=os.path.join(HERE, "accuracy.c"), libraries=(), needs=None,
                 threads=1, bars=True):
        self.name, self.words, self.cache, self.source = name, words.split(), cache, source
        self.libraries, self.needs, self.threads = libraries, needs, threads
        self.bars = bars  # False: fewer classes have lines of it than are left out (docs/traffic.md, "Accuracy")

    def command(self, t):
        if self.needs:
            need_file(self.needs)
        return [t.program(self.source, FLAGS if os.path.isabs(self.source) else (), self.libraries), *self.words]

    def moved(self, t, *options):
        """(function, level) → bytes and half-width."""
        report = t.profile(self.command(t), self.cache, *options, timeout=900,
                           env={"OPENBLAS_NUM_THREADS": "1"}).json
        assert report["run"]["traffic"]["source"] == "traced", str(report["run"]["traffic"])
        cells = {}
        for row in report["functions"]:
            for level in row.get("levels") or []:
                if level["level"] in LEVELS:
                    key = (row["module"], row["name"], level["level"])
                    size, width = cells.get(key, (0, 0))
                    cells[key] = (size + level["bytes"], width + (level["halfwidth_bytes"] or 0))
        return cells

    def truth(self, t):
        """Of the functions that matter, from full simulations: threads meet in another order each time."""
        runs = [self.moved(t, "--cache-sample=1") for _ in range(1 if self.threads == 1 else 3)]
        means = {key: statistics.fmean(run.get(key, (0, 0))[0] for run in runs) for key in runs[0]}
        sums = {level: sum(size for key, size in means.items() if key[2] == level) for level in LEVELS}
        return {key: size for key, size in means.items() if size and size >= MATTERS * sums[key[2]]}


BLAS = dict(source="dgemm_blas.c", libraries=("-lopenblas",), needs="/usr/lib/x86_64-linux-gnu/libopenblas.so.0")
FFTW = dict(source="fft_fftw.c", libraries=("-lfftw3", "-lm"), needs="/usr/include/fftw3.h")
TARGETS = [
    Target("sum", "sum"), Target("copy", "copy"), Target("triad", "triad"), Target("daxpy", "daxpy"),
    Target("copy, non-temporal", "copy_non_temporal"), Target("dgemv", "dgemv 700"),
    Target("dgemm, naive", "dgemm_naive 150", SMALL), Target("dgemm, rows", "dgemm_rows 150", SMALL),
    Target("dgemm, transposed", "dgemm_transposed 150", SMALL), Target("dgemm, blocked", "dgemm_blocked 160 32", SMALL),
    Target("dgemm, OpenBLAS", "400", SMALL, **BLAS), Target("FFT, 2^15", "32768 5", SMALL, **FFTW),
    Target("FFT, 30000", "30000 5", SMALL, **FFTW), Target("stencil", "stencil 500"), Target("SpMV", "spmv 20000", SMALL),
    Target("random access", "random_updates 400000"), Target("pointer chase", "chase 40000"),
    Target("stride 136", "conflict 17", SMALL), Target("stride 128", "conflict 16", SMALL),
    Target("stride 256", "conflict 32", SMALL), Target("stride 1024", "conflict 128", SMALL),
    Target("stride 4096", "conflict 512", SMALL, bars=False),
    Target("2 threads, shared", "shared 262144", threads=2), Target("2 threads, disjoint", "disjoint 131072", threads=2),
]


class Outcome:
    """Relative differences and coverage of one target at one level."""

    def __init__(self):
        self.differences, self.covered = [], 0

    def note(self, true, seen, width):
        self.differences.append(abs(seen - true) / true)
        self.covered += abs(seen - true) <= max(width, 1e-9 * true)


def outcomes(t, target, runs, *options):
    """Level → outcome, of the functions that matter there."""
    truth = target.truth(t)
    found = {level: Outcome() for level in LEVELS}
    for _ in range(runs):
        seen = target.moved(t, *options)
        for key, true in truth.items():
            found[key[2]].note(true, *seen.get(key, (0, 0)))
    return found


def row_of(name, level, differences, covered):
    return (f"| {name} | {level} | {100 * statistics.median(differences):.2f} | {100 * max(differences):.2f} | "
            f"{100 * covered / len(differences):.0f} |")


@pytest.mark.slow
@pytest.mark.alone
def test_accuracy(t):
    rows, missed, covered, n = ["| target | level | median % | worst % | covered % |", "|---|---|---|---|---|"], [], 0, 0
    for target in TARGETS:
        try:
            found = {level: one for level, one in outcomes(t, target, RUNS).items() if one.differences}
        except pytest.skip.Exception as skip:
            rows.append(f"| {target.name} | not run: {skip} | | | |")
            continue
        differences = [value for one in found.values() for value in one.differences]
        if target.bars and (statistics.median(differences) > MEDIAN or max(differences) > WORST):
            missed.append(target.name)
        for level, one in found.items():
            rows.append(row_of(target.name, level, one.differences, one.covered))
            covered, n = covered + one.covered, n + len(one.differences)
    print("\n".join(rows))
    print(f"covered: {covered} of {n}", flush=True)
    assert not missed, f"beyond 3 % (median) or 10 % (worst): {', '.join(missed)}"
    assert covered >= COVERED * n, f"half-widths cover {covered} of {n}"


@pytest.mark.parametrize("name", named({
    "accuracy_copy": "copy", "accuracy_copy_non_temporal": "copy, non-temporal", "accuracy_stride_128": "stride 128"}))
def test_even(t, name):
    """What is the same in all classes but for the ends of arrays: any choice of them tells it."""
    target = next(target for target in TARGETS if target.name == name)
    for level, one in outcomes(t, target, 2, "--cache-sample=16").items():
        assert one.differences, f"nothing moves at {level}"
        assert max(one.differences) <= WORST, f"{level}: {one.differences}"
