"""The simulated TLB (--tlb): rounds over pages whose misses are known, to the access."""

import json
import os
import re
import sqlite3

import pytest

SUITE = "traffic"

FLAGS = ("-O1", "-g")
WALKS = """SELECT f.name, max(w.accesses), w.near_misses, w.walks FROM page_walks w
           JOIN functions f ON f.module_id = w.module_id AND w.code_offset >= f.start_offset AND w.code_offset < f.end_offset
           GROUP BY f.name"""


def recorded(t, pages, times, *options):
    """(accesses, misses of the nearest TLB, walks) of the busiest instruction of each function, pages in reach, the profile."""
    path = os.path.join(t.directory, "walks.rfp")
    result = t.rfprof("-q", "--save=" + path, *options, t.program("page_rounds.c", FLAGS), str(pages), str(times), timeout=300)
    assert result.status == 0, str(result)
    with sqlite3.connect(path) as database:
        facts = dict(database.execute("SELECT key, value FROM facts"))
        rows = {name: tuple(row) for name, *row in database.execute(WALKS)}
    return rows, [int(number) for number in re.findall(r"[0-9]+", facts.get("tlb", ""))[:2]], path


def report(t, path, *options):
    out = os.path.join(t.directory, "walks.json")
    result = t.rfprof("report", path, "--json=" + out, *options)
    assert result.status == 0, str(result)
    with open(out, encoding="utf-8") as stream:
        return json.load(stream), result.stdout.decode()


def test_rounds_over_pages_are_exact(t):
    _, (near, far), _ = recorded(t, 10, 1, "--tlb")
    assert 1 <= near < far
    for pages, times in ((near // 2, 20), (near + 3, 7), (far * 3 // 4, 3), (far + 3, 3)):
        rows, _, _ = recorded(t, pages, times, "--tlb")
        n = pages * times
        missed, walked = (n if pages > near else 0), (n if pages > far else 0)
        assert rows["rounds"] == (n, missed, walked), (pages, rows)
        # each round begins with a page that is gone, and goes on in the page that the access before has met
        crossed = (pages + 1) * times
        assert rows["across"] == (2 * n, crossed if pages > near else 0, crossed if pages > far else 0), (pages, rows)
        accesses, misses, _ = rows["in_lines"]
        lined = pages // 64 + 1  # pages that so many lines lie in
        assert accesses == n and misses <= lined * (times if lined > near else 1), (pages, rows)
        assert rows["main"][1:] == (pages + 2, pages + 2) if pages > near else rows["main"][2] == pages + 2, (pages, rows)


def test_processes_have_their_own(t):
    """Each begins with an empty TLB; with --once, too, where traffic is not traced unless something asks for it."""
    path = os.path.join(t.directory, "walks.rfp")
    program = t.program("page_rounds.c", FLAGS)
    result = t.rfprof("-q", "--once", "--tlb", "--save=" + path, "sh", "-c", f"{program} 100 3; {program} 100 3", timeout=300)
    assert result.status == 0, str(result)
    with sqlite3.connect(path) as database:
        rows = {name: tuple(row) for name, *row in database.execute(WALKS)}
    assert rows["rounds"][0] == 600 and rows["rounds"][2] == 0 and rows["main"][2] == 2 * 102, rows


def test_not_simulated_is_not_known(t):
    rows, reach, path = recorded(t, 100, 1000)
    assert not rows and not reach
    result, _ = report(t, path)
    accounts = [f["ecm"] for f in result["functions"] if f["ecm"]]
    assert accounts and all(account["page_walks"] is None for account in accounts)


def test_what_leaves_accesses_out_is_refused(t):
    for options in (("--slowdown=2",), ("--cache-sample=4",), ("--traffic=none",), ("--traffic=pmu",)):
        result = t.rfprof("--tlb", *options, "true")
        assert result.status == 2 and b"TLB" in result.stderr, str(result)
    result = t.rfprof("-q", "--tlb", "--cache-sample=1", "--slowdown=none", "--no-save", "true")
    assert result.status == 0, str(result)


def test_walks_are_in_the_account(t):
    """Lines that lie in caches, of many more pages than are in reach: walks are what takes most."""
    rows, (_, far), path = recorded(t, 32768, 100, "--tlb")
    with sqlite3.connect(path) as database:
        measured = [value for value, in database.execute("SELECT value FROM facts WHERE key = 'page_walk_apart_ns'")]
    if not measured:
        pytest.skip("no end of the TLBs' reach was found")
    assert far < 32768 and rows["wander"][2] > 0.5 * rows["wander"][0]
    result, page = report(t, path, "-f", "wander")
    f = next(f for f in result["functions"] if f["name"] == "wander")
    walks = f["ecm"]["page_walks"]
    assert rows["wander"][2] <= walks <= rows["wander"][2] + 100 and f["ecm"]["page_accesses"] >= rows["wander"][0]
    parts = {part["part"]: part["seconds"] for part in f["account"]}
    assert abs(parts["page_walks"] - walks * float(measured[0]) * 1e-9) <= 1e-6 * parts["page_walks"], f["account"]
    assert parts["page_walks"] == max(seconds for part, seconds in parts.items() if part != "rest"), f["account"]
    assert any(change["change"] == "pages" for change in f["ecm"]["what_if"]), f["ecm"]
    assert "miss the nearest TLB" in page and "larger pages" in page, page
