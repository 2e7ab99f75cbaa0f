"""Mispredicted branches: outcomes are those that the program had, and simulated predictors say of known branches what
any predictor must."""

import os
import sqlite3

from harness import functions

SUITE = "traffic"

FLAGS = ("-O1", "-g", "-fno-if-conversion", "-fno-if-conversion2", "-fno-crossjumping", "-fno-gcse")
BRANCHES = """SELECT f.name, b.kind, b.executions, b.outcomes, b.taken, b.mispredicted, b.share, b.share_halfwidth, b.line
              FROM branches b JOIN functions f ON f.module_id = b.module_id
              AND b.code_offset >= f.start_offset AND b.code_offset < f.end_offset"""
CONDITIONAL, JUMP, CALL, RETURN = range(4)


def recorded(t, command, *options):
    """The rows of each function, its JSON, and what the program says of it."""
    path = os.path.join(t.directory, "branches.rfp")
    result = t.rfprof("-q", "--save=" + path, *options, *command, timeout=300)
    assert result.status == 0, str(result)
    truth = {name: (int(n), int(taken)) for name, n, taken in
             (line.split() for line in result.stdout.decode().splitlines() if line.count(" ") == 2)}
    rows = {}
    with sqlite3.connect(path) as database:
        for name, *row in database.execute(BRANCHES):
            rows.setdefault(name, []).append(tuple(row))
    return rows, truth, path


def the_branch(rows, truth, name, kind=CONDITIONAL):
    """That of the function which ran as often as the program says and is not the end of a loop."""
    n, taken = truth[name]
    found = [row for row in rows.get(name, ()) if row[0] == kind and row[1] == n]
    assert found, f"{name}: {n} executions, not {rows}"
    return min(found, key=lambda row: min(abs(row[3] / row[2] - taken / n), abs(1 - row[3] / row[2] - taken / n)))


def test_shares_are_those_of_known_branches(t):
    rows, truth, _ = recorded(t, [t.program("branches.c", FLAGS), "3000"], "--slowdown=none")
    for name, expected, by in (("half", 0.5, 0.01), ("tenth", 0.1, 0.02), ("third", 0.33, 0.02), ("sorted", 0, 0.01)):
        _, n, seen, taken, _, share, halfwidth, line = the_branch(rows, truth, name)
        assert n == truth[name][0] and seen > 2000 and line
        assert abs(share - expected) <= by + halfwidth, f"{name}: {share} ± {halfwidth}, not {expected}"
        assert halfwidth < 0.1, name
    loop = max(rows["short_loop"], key=lambda row: row[1])
    assert loop[1] == truth["short_loop"][0] and loop[5] < 0.005
    jump = the_branch(rows, truth, "interpret", JUMP)
    assert abs(jump[5] - 7 / 8) <= 0.01 + jump[6]
    returns = [row for row in rows["recurse"] if row[0] == RETURN]
    assert returns and sum(row[1] for row in returns) <= truth["recurse"][0]  # compilers open some calls
    assert all(row[5] < 0.001 for row in returns if row[2] > 1000)


def test_outcomes_of_a_short_program_are_all_there(t):
    """What fits one burst is seen from its first to its last branch, each with what it did."""
    program = t.program("branches.c", (*FLAGS, "-static"))
    for _ in range(3):
        rows, truth, _ = recorded(t, [program, "4", "half"])
        _, n, seen, taken, wrong, *_ = the_branch(rows, truth, "half")
        assert n == seen == truth["half"][0]
        assert truth["half"][1] in (taken, n - taken)
        assert 0.4 * n < wrong < 0.6 * n


def test_threads_and_children_have_their_own(t):
    """The same in a child of a shell: its outcomes are those of its own blocks."""
    program = t.program("branches.c", (*FLAGS, "-static"))
    rows, truth, _ = recorded(t, ["sh", "-c", f"{program} 4 half; {program} 4 half"])
    _, n, seen, *_ = the_branch(rows, {"half": (2 * truth["half"][0], 2 * truth["half"][1])}, "half")
    assert n == seen


def test_without_traces_nothing_is_said(t):
    program = t.program("branches.c", FLAGS)
    for option in ("--traffic=none", "--once"):
        rows, _, path = recorded(t, [program, "20"], option)
        assert not rows
        with sqlite3.connect(path) as database:
            assert not database.execute("SELECT 1 FROM facts WHERE key LIKE 'branch_%'").fetchall()


def test_views_say_the_same(t):
    program = t.program("branches.c", FLAGS)
    report = t.profile([program, "6000"], "--cache-sample=4", timeout=300).json
    half = functions(report, "half")[0]
    branch = half["branches"][0]
    assert branch["kind"] == "conditional" and abs(branch["mispredicted_share"] - 0.5) < 0.02
    assert branch["file"].endswith("branches.c") and branch["line"]
    account = {part["part"]: part["seconds"] for part in half["account"]}
    if branch["seconds"] is None:  # what one costs did not repeat here
        assert "branches" not in account and half["ecm"]["mispredicted"] is None
        return
    assert account["branches"] >= branch["seconds"] * (1 - 1e-9)
    loop = half["loops"][0]["ecm"]
    assert abs(loop["mispredicted"] - branch["executions"] * branch["mispredicted_share"]) < 0.05 * loop["mispredicted"]
    assert loop["branches"] > 0.3 * loop["mispredicted"] / half["loops"][0]["turns"]
    assert "branches.c:" in half["why"]
