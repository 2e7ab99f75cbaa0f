"""Cores that another hardware thread uses, too: what is told of them, and what the account makes of it.

Nobody can be told to use the other hardware thread of a core here, so that shares are put into a profile.
"""

import json
import os
import shutil
import sqlite3

import pytest

from harness import need_samples, text

RATES = ("slots", "integer", "vector", "loads", "stores", "branches")


def with_facts(t, path, facts):
    """A copy of a profile with other facts; None takes one out."""
    copy = os.path.join(t.directory, "changed.rfp")
    shutil.copy(path, copy)
    base = sqlite3.connect(copy)
    had = dict(base.execute("select key, value from facts order by id"))
    first, = base.execute("select min(id) from facts").fetchone()
    base.execute("delete from facts")
    rows = [(key, str(value)) for key, value in {**had, **facts}.items() if value is not None]
    base.executemany("insert into facts (id, key, value) values (?, ?, ?)",
                     [(first + i, *row) for i, row in enumerate(rows)])
    base.commit()
    base.close()
    return copy


def report(t, path):
    out = os.path.join(t.directory, "report.json")
    result = t.rfprof("report", "--width=10000", f"--json={out}", path)
    assert result.status == 0, str(result)
    return result.stdout.decode(), json.loads(text(out))


def account_of(data, name):
    function, = (f for f in data["functions"] if f["name"] == name)
    return {part["part"]: part["seconds"] for part in function["account"]}, function


@pytest.fixture
def slots(t):
    path = os.path.join(t.directory, "slots.rfp")
    result = t.rfprof("-q", "--traffic=none", "--save", path, t.program("slots.c"), "200")
    assert result.status == 0, str(result)
    return path


def test_looks_are_told(t, slots):
    need_samples()
    machine = report(t, slots)[1]["machine"]
    assert machine["core_looks"] >= 5, machine
    for rate in RATES:
        assert 0.02 < machine[f"left_{rate}"] <= 1, machine
    assert 0.1 < machine["clock_held_ghz"] < 10


def test_nobody_looks_at_a_run_that_is_too_short(t):
    path = os.path.join(t.directory, "short.rfp")
    assert t.rfprof("-q", "--traffic=none", "--save", path, "/bin/true").status == 0
    screen, data = report(t, path)
    assert data["machine"]["core_looks"] is None and data["machine"]["left_slots"] is None
    assert "SHARED CORES" not in screen


def test_a_shared_core_is_a_part_of_the_account(t, slots):
    alone = {"core_looks": 20, **{f"left_{rate}": 1 for rate in RATES}}
    half = {**alone, "left_slots": 0.5}
    screen, data = report(t, with_facts(t, slots, alone))
    assert "SHARED CORES" not in screen
    parts, before = account_of(data, "slots")
    assert "shared_core" not in parts or parts["shared_core"] == 0
    screen, data = report(t, with_facts(t, slots, half))
    assert "SHARED CORES: others had 50 % of their slots for instructions" in screen
    parts, after = account_of(data, "slots")
    assert abs(parts["shared_core"] - before["ecm"]["predicted_s"]) <= 0.02 * parts["shared_core"], parts
    assert abs(sum(parts.values()) - after["time_s"]) <= 1e-9 * after["time_s"]
    assert after["ecm"]["light_speed_s"] == before["ecm"]["light_speed_s"]
    assert after["ecm"]["largest"] == "core"
    chain, _ = account_of(data, "chain")
    assert chain.get("shared_core", 0) <= 0.01 * chain["chain"], chain


def test_what_others_took_is_no_wait(t, slots):
    """With a clock at which instructions need a quarter of the time, it waits for something; but for others they may take as long again."""
    machine = report(t, slots)[1]["machine"]
    _, function = account_of(report(t, slots)[1], "slots")
    per_cycle = function["instructions"] / (function["elapsed_s"] * machine["clock_ghz"] * 1e9 * machine["issue_width"])
    alone = {"core_looks": 20, "clock_ghz": machine["clock_ghz"] * per_cycle / 0.27, **{f"left_{rate}": 1 for rate in RATES}}
    _, waits = account_of(report(t, with_facts(t, slots, alone))[1], "slots")
    assert "wait for each other" in waits["why"], waits["why"]
    _, shared = account_of(report(t, with_facts(t, slots, {**alone, "left_slots": 0.5}))[1], "slots")
    assert "wait for each other" not in (shared["why"] or ""), shared["why"]


def test_other_shares_make_a_comparison_doubtful(t, slots):
    alone = os.path.join(t.directory, "alone.rfp")
    shutil.move(with_facts(t, slots, {"core_looks": 20, "left_slots": 1}), alone)
    unknown = os.path.join(t.directory, "unknown.rfp")
    shutil.move(with_facts(t, slots, {"left_slots": None}), unknown)
    half = with_facts(t, slots, {"core_looks": 20, "left_slots": 0.5})
    for a, b, differ in ((alone, half, True), (half, alone, True), (alone, alone, False), (alone, unknown, False)):
        result = t.rfprof("diff", a, b)
        assert result.status == 0, str(result)
        assert (b"A and B had other shares of their cores" in result.stdout) == differ, str(result)
