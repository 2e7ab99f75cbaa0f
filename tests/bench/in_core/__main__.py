#!/usr/bin/python3
"""What loops take in L1 by the in-core model, beside what they take when they are replayed.

First the loops of loops.S, which are measured in place as well (in_core.c, which tells more of each); then the loops of
tests/bench/ecm_kernels.c (compiled by gcc with -O2 and -O3, unless told otherwise, and -march=native) with data in L1, as a
profile of --replay has them.  Of these the model is the longest of T_OL, T_nOL and the chain, which counts in full since a replay
turns on and on.  Prints Markdown tables.  Called by ./dev bench in_core."""

import argparse
import itertools
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
SOURCE = TOP / "tests/bench/ecm_kernels.c"
BYTES, TURNS = 24000, 400_000_000
AT_ONCE = 6  # kernels of a run: all of their loops are to be among the hottest
LIMIT_S = 120


def names():
    return re.findall(r'\{"(\w+)", \w+, \d, \d\}', SOURCE.read_text())


def off_of(predicted, measured):
    return predicted / measured - 1


def loops_of_kernels(rfprof, program, kernels, directory):
    """(kernel, model, replay) of each loop that a profile tells of; replay: what JSON has of it."""
    out = os.path.join(directory, "report.json")
    subprocess.run([rfprof, "-q", "--replay", "--keep-roofs", "--no-save", f"--json={out}", program, str(BYTES), str(TURNS),
                    *kernels], check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(out, encoding="utf-8") as stream:
        functions = json.load(stream)["functions"]
    for f in functions:
        for loop in f["loops"]:
            ecm = loop["ecm"]
            if f["name"] in kernels and ecm and ecm["replay"]:
                yield f["name"], max(ecm["t_ol"], ecm["t_nol"], ecm["lcd"]), ecm["replay"]


def print_kernels(arguments, directory):
    """Errors of the model against the replay."""
    errors = []
    print("| loop | compiler | model | replay | off | loads and stores | arithmetic | one line |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for compiler, flags in itertools.product(arguments.compiler or ["gcc"], arguments.optimise or ["-O2", "-O3"]):
        program = os.path.join(directory, compiler + flags)
        subprocess.run([compiler, flags, "-march=native", "-g", "-w", "-o", program, str(SOURCE)], check=True)
        kernels = names()
        for at in range(0, len(kernels), AT_ONCE):
            for name, model, replay in loops_of_kernels(os.path.join(arguments.build, "cli/rfprof"), program, kernels[at:at + AT_ONCE],
                                                        directory):
                cells = ["–" if replay[key] is None else f"{replay[key]:.2f}" for key in ("cycles", "memory", "arithmetic", "one_line")]
                off = replay["why"] or f"{100 * off_of(model, replay['cycles']):+.1f} %"
                print(f"| {name} | {compiler} {flags} | {model:.2f} | {cells[0]} | {off} | {' | '.join(cells[1:])} |", flush=True)
                if not replay["why"]:
                    errors.append(abs(off_of(model, replay["cycles"])))
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(TOP / "build"))
    parser.add_argument("--compiler", action="append", help="gcc, clang … (more than one: again)")
    parser.add_argument("--optimise", action="append", help="-O1 … (as --optimise=-O1)")
    arguments = parser.parse_args()
    target = "tests/bench/in_core/in_core"
    subprocess.run(["ninja", "-C", arguments.build, target], check=True, stdout=subprocess.DEVNULL)
    print(subprocess.run([os.path.join(arguments.build, target)], check=True, capture_output=True, text=True).stdout)
    with tempfile.TemporaryDirectory() as directory:
        errors = print_kernels(arguments, directory)
    print(f"\nmodel against replay: {len(errors)} loops of kernels: median error {100 * statistics.median(errors):.1f} %, "
          f"worst {100 * max(errors):.1f} %")


if __name__ == "__main__":
    main()
