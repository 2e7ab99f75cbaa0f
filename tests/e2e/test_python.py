"""Python: shares of the time of functions, their names and lines, from looks at a program that runs on."""

import ast
import json
import os

import pytest

from harness import PROGRAMS, need_command, need_samples, text

PROGRAM = os.path.join(PROGRAMS, "python_shares.py")
PYTHON = "/usr/bin/python3"
# Looks are 10 ms apart: of 2.5 s there are 250.  Where others want the processors too a few dozen are sure, and the
# standard deviation of a share is up to 0.06.
SECONDS, TOLERANCE = 2.5, 0.12


def python():
    """The system's, where it is a version whose frames can be read."""
    path = os.path.realpath(need_command(PYTHON))
    if os.path.basename(path) not in ("python3.11", "python3.12", "python3.13"):
        pytest.skip(f"{path} is another version")
    return PYTHON


def record(t, how):
    need_samples()
    result = t.profile([python(), PROGRAM, how, str(SECONDS)], "--traffic=none")
    return result.json, json.loads(result.stdout)


def rows_of(report):
    return {row["name"]: row for row in report["python"] if row["file"] == PROGRAM}


def expect_shares(report, truth):
    """Of the functions that the program tells the time of, each has its share of their time."""
    rows, all_s = rows_of(report), report["run"]["cpu_time_s"]
    assert set(truth) - {"shares"} <= set(rows), f"{truth}\n{rows}"
    for name in set(truth) - {"shares"}:
        share = rows[name]["time_s"] / all_s
        expected = truth[name] / all_s
        assert abs(share - expected) < TOLERANCE, f"{name}: {share}, it says {expected}\n{rows}"
    return rows


def definitions():
    """Line of each function by its name, and of those that are marked as hot."""
    source = text(PROGRAM)
    hot = {line.split("# hot: ")[1].strip(): number for number, line in enumerate(source.splitlines(), 1)
           if "# hot: " in line and "split" not in line}
    first = {node.name: node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    return first, hot


@pytest.mark.alone
def test_shares_names_and_lines(t):
    report, truth = record(t, "shares")
    rows = expect_shares(report, truth)
    first, hot = definitions()
    for name, row in rows.items():
        if not name.endswith(">"):  # the module, comprehensions
            assert row["line"] == first[name.split(".")[-1]], row
        assert abs(sum(line["time_s"] for line in row["lines"]) - row["time_s"]) < 1e-6, row
        assert row["total_s"] >= row["time_s"], row
    assert rows["Sorter.sorts"]["lines"][0]["line"] == hot["Sorter.sorts"], "the time in C is the line's that called it"
    assert {line["line"] for line in rows["counts"]["lines"]} <= {hot["counts"] + i for i in (-2, -1, 0, 1)}
    # callers, recursion once; a generator is called by who drains it
    counted = rows["counts"]["total_s"]
    for caller in ("outer", "outer.<locals>.inner"):
        assert rows[caller]["total_s"] >= counted and rows[caller]["total_s"] < counted * 1.1 + 0.05, rows[caller]
    # a look may come between the generator's start and its link to who drains it
    assert rows["drains"]["total_s"] >= 0.9 * rows["squares"]["total_s"], rows
    assert rows["shares"]["total_s"] > 0.9 * report["run"]["cpu_time_s"], rows["shares"]


@pytest.mark.alone
@pytest.mark.parametrize("how", ["threads", "fork"])
def test_shares_of(t, how):
    expect_shares(*record(t, how))


@pytest.mark.alone
def test_preloaded_timers_see_python_too(t):
    result = t.profile([python(), PROGRAM, "shares", str(SECONDS)], "--traffic=none", "--sampler=timer")
    expect_shares(result.json, json.loads(result.stdout))


@pytest.mark.alone
def test_table(t):
    need_samples()
    saved, _ = t.recorded("--traffic=none", python(), PROGRAM, "shares", "0.7")
    shown = t.rfprof("report", "--by=python", "--top=3", saved)
    assert shown.status == 0, str(shown)
    lines = [line for line in shown.stdout.decode().splitlines() if "programs/python_shares.py:" in line]
    assert len(lines) == 3, str(shown)
    assert any("Sorter.sorts" in line for line in lines), str(shown)
    assert "more function" in shown.stdout.decode(), str(shown)
    redacted = os.path.join(t.directory, "redacted.rfp")
    done = t.rfprof("report", "--redact", "--save", redacted, saved)
    assert done.status == 0, str(done)
    assert os.path.dirname(PROGRAM) not in t.rfprof("report", "--json=-", redacted).stdout.decode()


def test_the_program_does_the_same(t):
    expected = t.same([python(), PROGRAM, "same"], modes=("",))
    assert expected.status == 3, str(expected)


def test_without_python(t):
    saved, _ = t.recorded("--traffic=none", need_command("/usr/bin/gzip"), "--help")
    shown = t.rfprof("report", "--by=python", saved)
    assert shown.status == 0 and b"no Python was seen" in shown.stdout, str(shown)
    assert json.loads(t.rfprof("report", "--json=-", saved).stdout)["python"] == []


@pytest.mark.parametrize("option", ["--csv=x", "--svg=x", "--html=x", "--focus=a", "--min=2%", "--processes=tree"])
def test_what_does_not_go_together(t, option):
    saved, _ = t.recorded("--traffic=none", need_command("/usr/bin/gzip"), "--help")
    refused = t.rfprof("report", "--by=python", option, saved)
    assert refused.status == 2 and b"--by" in refused.stderr, str(refused)
    assert not os.path.exists(os.path.join(t.work, "x"))
