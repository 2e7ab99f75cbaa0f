"""The mini-apps of ./dev bench overhead print how many flop their sources ask for; rfprof counts as many, tolerance 0,
however they are compiled."""

import os

import pytest

from harness import SOURCE, functions, named
from test_targets import truths_of

HERE = os.path.join(SOURCE, "tests", "bench", "miniapps")
SIZES = {"mesh": ["4000", "3"], "cg": ["7", "3"], "particles": ["5", "2"], "lookup": ["300", "7"], "hydro": ["40", "3"]}
FLAGS = {"plain": ["-ffp-contract=off"],
         "vectors": ["-O3", "-mavx2", "-mtune=haswell", "-ffp-contract=off", "-fno-math-errno"],
         "threads": ["-fopenmp", "-ffp-contract=off"]}


@pytest.mark.parametrize("name, flags", named({f"{name}_{how}": (name, how) for name in SIZES for how in FLAGS}))
def test_flop(t, name, flags):
    if flags == "vectors":
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            if " avx2 " not in file.read():
                pytest.skip("this CPU has no avx2")
    program = t.program(os.path.join(HERE, name + ".c"), FLAGS[flags], ["-lm"])
    report = t.profile([program, *SIZES[name]], "--work=count")
    wrong = []
    for truth in truths_of(report.stdout):
        rows = functions(report.json, truth["kernel"], name)
        rows += [row for row in functions(report.json, module=name) if row["name"].startswith(truth["kernel"] + "._omp_fn")]
        counted = sum(row["flop"] for row in rows)
        if counted != truth["flop"]:
            wrong.append(f"{truth['kernel']}: {counted}, true {truth['flop']}")
    assert not wrong, "\n".join(wrong)
