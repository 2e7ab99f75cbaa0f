"""Kernels of all sorts (tests/traffic/kernels.c) in four geometries, against single steps.

The slow twin, tests/reference/step_traffic, executes a kernel instruction by instruction and tells each access to slow
simulators of caches; it shares with rfprof neither the translator, nor checks, windows and rings, nor the classes and
the fast simulator.  `--cache-sample=1` must tell the same lines of every kind, and a sample of the classes must hold
them in its intervals.  What runs longer than can be stepped is held against `--cache-sample=1`.
"""

import collections
import json
import os

import pytest

from harness import named, text
from test_traffic_patterns import figures, misses

SUITE = "traffic"

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "traffic")
# At fixed addresses: both runs see the same lines.
FLAGS = ("-O2", "-static", "-fno-pie", "-no-pie", "-fno-tree-loop-distribute-patterns", "-falign-functions=64")
GEOMETRIES = {
    "non-inclusive": "L1=16K:4,L2=32K:8,L3=64K:8",
    "victim": "L1=16K:4,L2=32K:8,L3=64K:8:victim",
    "inclusive": "L1=8K:2,L2=16K:4:inclusive,L3=64K:8:inclusive",
    "tree-PLRU, sets shared by classes": "L1=4K:4:plru,L2=12K:4,L3=40K:8",
}
EVENTS = ("L2 read", "L2 write-allocate", "L2 write-back", "L3 read", "L3 write-allocate", "L3 write-back",
          "L3 clean victim", "DRAM read", "DRAM write-allocate", "DRAM write-back", "DRAM non-temporal", "evadable", "left")
LINE = 64


def kernels(t):
    """Name → N of a stepped run, and of a longer one."""
    program = t.program(os.path.join(HERE, "kernels.c"), FLAGS)
    lines = t.run([program]).stdout.decode().splitlines()
    return program, {name: (stepped, longer) for name, stepped, longer in map(str.split, lines)}


def stepped(t, command, geometries):
    """Of each geometry: function → event → lines."""
    stepper = os.path.join(t.build_directory, "tests", "reference", "step_traffic")
    result = t.run([stepper, *geometries, "--", *command], timeout=900)
    assert result.status == 0, str(result)
    found = [{} for _ in geometries]
    for line in result.stdout.decode().splitlines():
        number, name, *lines = line.split()
        found[int(number)][name] = dict(zip(EVENTS, map(int, lines)))
    return found


def own(name):
    return name.startswith("kernel_") or name == "quicksort"


def traced(t, command, geometry):
    """Of a run with all classes: function → what moved → lines.  Without address randomisation, as the stepped one."""
    path = os.path.join(t.directory, "report.json")
    result = t.run(["setarch", "-R", t.rfprof_path, "-q", "--no-save", "--json", path, f"--cache={geometry}",
                    "--cache-sample=1", *command], timeout=300)
    assert result.status == 0, str(result)
    report = json.loads(text(path))
    assert report["run"]["traffic"]["classes"] == 64, str(report["run"]["traffic"])
    found = {}
    for row in filter(lambda row: own(row["name"]), report["functions"]):
        lines = found.setdefault(row["name"], collections.Counter())
        for level in row["levels"][1:]:
            for what in ("read", "write_allocate", "write"):
                lines[f"{level['level']} {what}"] += round(level[what + "_bytes"] / LINE)
        lines["left"] += round(row["mem_left_bytes"] / LINE)
    return found


def in_words_of_the_report(events):
    """Reads of a level are for loads and for stores, writes to memory also past the caches."""
    found = {"left": events["left"]}
    for level in ("L2", "L3", "DRAM"):
        found[f"{level} read"] = events[f"{level} read"] + events[f"{level} write-allocate"]
        found[f"{level} write_allocate"] = events[f"{level} write-allocate"]
        found[f"{level} write"] = events[f"{level} write-back"] + events.get(f"{level} non-temporal", 0)
    return found


def differences(t, program, name, n, geometries):
    """(geometry, function, what) → stepped and traced lines, where they differ; how many were compared; and the least
    lines that cross L2's border in a geometry."""
    wrong, compared, moved = {}, 0, []
    command = [program, name, str(n)]
    for geometry, truth in zip(geometries, stepped(t, command, [GEOMETRIES[one] for one in geometries])):
        seen = traced(t, command, GEOMETRIES[geometry])
        assert sum(map(sum, map(dict.values, truth.values()))) > 500, f"{name}: hardly anything moves"
        for function in filter(own, truth):
            for what, lines in in_words_of_the_report(truth[function]).items():
                compared += 1
                if seen[function][what] != lines:
                    wrong[geometry, function, what] = (lines, seen[function][what])
        moved.append(sum(one[event] for one in truth.values() for event in EVENTS[:3]))
    return wrong, compared, min(moved)


# ---- all classes, against single steps ----

QUICK = ("stencil_1d", "conflicts", "masked_few_sets", "non_temporal")


# Within a block accesses are recorded by groups of operands, not by instructions (docs/traffic.md, "Tracing"), and a
# string instruction's loads before its stores.  Where two groups take turns in a full set, another line is the oldest.
IN_ANOTHER_ORDER = {"backwards": 0.02, "strings": 0.001, "fft": 0.08}


def is_far(name, true, seen, moved):
    """More than the order can do, in lines that cross the first level's border."""
    return abs(seen - true) > IN_ANOTHER_ORDER.get(name, 0) * moved


def check_exact(t, names, geometries):
    program, sizes = kernels(t)
    lines = []
    for name in names:
        if name not in sizes:
            continue  # this processor lacks its instructions
        wrong, compared, moved = differences(t, program, name, sizes[name][0], geometries)
        print(f"{name}: {compared - len(wrong)} of {compared} counts are the same", flush=True)
        lines += [f"{name}, {' '.join(key)}: stepped {true}, traced {seen}" for key, (true, seen) in wrong.items()
                  if is_far(name, true, seen, moved)]
    return lines


def test_stepped_kernels(t):
    wrong = check_exact(t, QUICK, ("non-inclusive", "victim"))
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_all_stepped_kernels(t):
    wrong = check_exact(t, kernels(t)[1], tuple(GEOMETRIES))
    assert not wrong, "\n".join(wrong)


# ---- samples, against all classes ----

class Held:
    """How far off a sample was at a level, and how often inside its interval."""

    def __init__(self):
        self.errors, self.inside, self.n, self.wrong = [], 0, 0, []

    def note(self, what, true, seen, width):
        wrong = misses({(what,): (true, 0)}, {(what,): (seen, width)})[0]
        self.wrong += wrong
        self.inside += not wrong
        self.n += 1
        if true > 1e6:
            self.errors.append(abs(seen - true) / true)

    def row(self, name):
        shown = [100 * error for error in sorted(self.errors)] or [0]
        return (f"| {name} | {self.inside} of {self.n} | {shown[len(shown) // 2]:.1f} | "
                f"{shown[len(shown) * 9 // 10]:.1f} | {shown[-1]:.1f} |")


def sampled(t, names, geometries, by_kernel, by_level, *options):
    program, sizes = kernels(t)
    for name in names:
        for geometry in geometries if name in sizes else ():
            command = [program, name, str(sizes[name][1])]
            cache = f"--cache={GEOMETRIES[geometry]}"
            prefix = "quicksort" if name == "quicksort" else f"kernel_{name}"
            truth = figures(t, command, prefix, cache, "--cache-sample=1")
            seen = figures(t, command, prefix, cache, *options)
            for key, (true, _) in truth.items():
                what = f"{geometry} {' '.join(key)}"
                for held in (by_kernel[name], by_level[key[1]]):
                    held.note(what, true, *seen.get(key, (0, 0)))
        print(by_kernel[name].row(name), *by_kernel[name].wrong, sep="\n    ", flush=True)


def check_sampled(t, names, geometries, share, *options):
    by_kernel, by_level = (collections.defaultdict(Held) for _ in range(2))
    sampled(t, names, geometries, by_kernel, by_level, *options)
    rows = [held.row(name) for table in (by_kernel, by_level) for name, held in table.items()]
    print("| kernel | inside | median % | 90 of 100 below % | worst % |", "|---|---|---|---|---|", *rows, sep="\n",
          flush=True)
    for level, held in by_level.items():
        assert held.inside >= share * held.n, f"{level}: {held.inside} of {held.n}\n" + "\n".join(held.wrong)


@pytest.mark.parametrize("name", named({f"sampled_{name}": name for name in ("gather_few_sets", "masked_few_sets", "pages")}))
def test_sampled_kernels(t, name):
    """Few sets, by instructions that are no plain loads and stores.  At each level one of three figures, bytes read,
    written and both, may be unlucky; none is told as nothing that is not."""
    check_sampled(t, (name,), ("non-inclusive",), 0.6)


@pytest.mark.slow
@pytest.mark.parametrize("options", named({"all_sampled_kernels": (("--quiet",),), "all_kernels_of_4_classes": (("--cache-sample=16",),)}))
def test_all_sampled_kernels(t, options):
    check_sampled(t, kernels(t)[1], tuple(GEOMETRIES), 0.95, *options)
