"""A thread that goes on natively from some moment on: what was counted before has its speed, what comes behind has none."""

import os

from harness import functions

SUITE = "targets"

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "goes_native.c")
ROUNDS = 150000  # some 0.4 s each


def rows(report, name):
    return [row for row in functions(report, name=name) if row["samples"]]


def test_only_what_was_counted_has_a_speed(t):
    program = t.program(PROGRAM, ("-O1",))
    report = t.profile([program, str(ROUNDS), "3"], "--work=count").json
    (before,) = rows(report, "before")
    assert before["flop"] == 3 * 2000 * ROUNDS and before["gflops"] > 0, before
    for name in ("both", "after"):
        (row,) = rows(report, name)
        assert row["held_back_by"] == "not counted" and not row["gflops"] and not row["flop"], row
    (both,) = [row for row in functions(report, name="both") if not row["samples"]]
    assert both["flop"] == 2000, both
    assert report["run"]["uncounted_s"] > 0.9 * sum(rows(report, name)[0]["time_s"] for name in ("both", "after"))


def test_no_function_that_ran_mostly_behind_has_a_speed(t):
    program = t.program(PROGRAM, ("-O1",))
    report = t.profile([program, str(ROUNDS), "0"], "--work=count", "--traffic=none").json
    named = [row for name in ("both", "after") for row in rows(report, name)]
    assert len(named) == 2 and all(row["held_back_by"] == "not counted" and not row["gflops"] for row in named), named
