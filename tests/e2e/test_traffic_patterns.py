"""Samples of cache sets against simulations of all sets, on programs that nobody thought of (patterns.py), and on those
whose accesses keep to few sets.

Each figure of a function (bytes, read and written bytes at each level) is held against its own interval of 95 %.
"""

import os

import pytest

import patterns
from harness import named

SUITE = "traffic"

CACHE = "--cache=L1=16K:4,L2=64K:8,L3=512K:16"
SAMPLES = ((), ("--cache-sample=4",), ("--cache-sample=8",), ("--cache-sample=16",), ("--cache-sample=32",))
PATTERNS = 10  # of a program
FIGURES = {"bytes": "halfwidth_bytes", "read_bytes": "read_halfwidth_bytes", "write_bytes": "write_halfwidth_bytes"}
RESOLUTION = 1 << 12  # bytes: a line in each class


def figures(t, command, prefix, *options):
    """(function, level, figure) → value and half-width."""
    report = t.profile(command, *options, timeout=300).json
    assert report["run"]["traffic"]["source"] == "traced", str(report["run"]["traffic"])
    found = {}
    for row in report["functions"]:
        for level in (row.get("levels") or [])[1:] if row["name"].startswith(prefix) else []:
            for name, width in FIGURES.items():
                found[row["name"], level["level"], name] = (level[name], level[width])
    return found


def misses(truth, seen):
    """The figures outside their intervals, and how many there are."""
    wrong = []
    for key, (true, _) in truth.items():
        value, width = seen.get(key, (0, 0))
        if width is not None and abs(value - true) > width + 1e-9 * true + RESOLUTION:
            wrong.append(f"{' '.join(key)}: {true / 1e6:.3f} MB, told {value / 1e6:.3f} ± {width / 1e6:.3f}")
    return wrong, len(truth)


def held(t, seeds):
    """All samples of all programs: what missed, and how many figures."""
    wrong, n = [], 0
    for seed in seeds:
        source = os.path.join(t.directory, f"patterns_{seed}.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(patterns.program(seed, PATTERNS))
        command = [t.program(source, ("-O1",))]
        truth = figures(t, command, "pattern_", CACHE, "--cache-sample=1")
        assert len(truth) >= 0.5 * PATTERNS * 3 * len(FIGURES), f"too few patterns are seen: {len(truth)} figures"
        for sample in SAMPLES:
            found, count = misses(truth, figures(t, command, "pattern_", CACHE, *sample))
            wrong += [f"{seed} {' '.join(sample) or 'default'} {one}" for one in found]
            n += count
    return wrong, n


def test_random_patterns(t):
    """50 patterns; the bar of the many is 95 %, and few may be unlucky."""
    wrong, n = held(t, range(1, 6))
    assert len(wrong) <= 0.1 * n, f"{len(wrong)} of {n}:\n" + "\n".join(wrong)


@pytest.mark.slow
def test_many_random_patterns(t):
    wrong, n = held(t, range(1000, 1100))
    print(f"{n - len(wrong)} of {n} intervals hold\n" + "\n".join(wrong), flush=True)
    assert len(wrong) <= 0.05 * n, f"{len(wrong)} of {n}"


def near(truth, seen):
    """As misses(), but for what is within 3 %."""
    wrong, _ = misses(truth, seen)
    by_key = {" ".join(key): key for key in truth}
    return [one for one in wrong
            if abs(seen.get(by_key[one.split(":")[0]], (0, 0))[0] - truth[by_key[one.split(":")[0]]][0]) >
            0.03 * truth[by_key[one.split(":")[0]]][0]]


FEW_SETS = {
    "few_sets_512_bytes": ("conflicts.c", ("64", "1000", "20000"), "conflicts"),
    "few_sets_4096_bytes": ("conflicts.c", ("512", "64", "200000"), "conflicts"),
    "few_sets_64_kilobytes": ("conflicts.c", ("8192", "64", "100000"), "conflicts"),
    "few_sets_transpose": ("transpose.c", ("1024",), "transpose"),
}


def few_sets(t, source, words, function, runs):
    command = [t.program(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "traffic", source),
                         ("-O2",)), *words]
    cache = "--cache=L1=32K:8,L2=512K:8,L3=4M:16"
    truth = figures(t, command, function, cache, "--cache-sample=1")
    assert truth and max(value for value, _ in truth.values()) > 100e6
    wrong = []
    for _ in range(runs):
        wrong.append(near(truth, figures(t, command, function, cache)))
    return wrong


@pytest.mark.parametrize("name", named({name: name for name in FEW_SETS}))
def test_few_sets(t, name):
    """Within 3 % or inside the interval, by default sampling; of three runs one may be unlucky."""
    wrong = few_sets(t, *FEW_SETS[name], 3)
    assert sum(bool(one) for one in wrong) <= 1, str(wrong)


@pytest.mark.slow
def test_few_sets_often(t):
    rows, bad = [], []
    cases = {f"conflicts, {8 * offset} bytes": ("conflicts.c", (str(offset), "64", "100000"), "conflicts")
             for offset in (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)}
    cases |= {f"transpose, {n}": ("transpose.c", (str(n),), "transpose") for n in (1024, 2048, 4096)}
    for name, case in cases.items():
        wrong = few_sets(t, *case, 20)
        good = sum(not one for one in wrong)
        rows.append(f"| {name} | {good} of 20 |")
        if good < 18:
            bad.append(f"{name}: {wrong}")
    print("\n".join(rows), flush=True)
    assert not bad, "\n".join(bad)
