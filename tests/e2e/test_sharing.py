"""Lines that threads share: programs that know who touches what (tests/traffic/sharing.c)."""

import os
import sqlite3

import pytest

SUITE = "traffic"

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "traffic", "sharing.c")
FALSE = ["false", "false_static", "false_fixed", "false_stack"]


def shared(t, case, n=3000000, threads=2, options=()):
    """Its lines in which the threads' own accesses are, and how many accesses these are."""
    result = t.profile([t.program(PROGRAM, ("-O2", "-fno-tree-vectorize")), case, str(n), str(threads)], *options)
    told = int(result.stdout.split()[1])
    return result.json, [line for line in result.json["sharing"] if line["accesses"] >= n], told


def by(line, **wanted):
    return [place for place in line["places"] if all(place[key] == value for key, value in wanted.items())]


@pytest.mark.parametrize("case", FALSE)
def test_false_sharing(t, case):
    report, lines, told = shared(t, case)
    assert len(lines) == 1, report["sharing"]
    line = lines[0]
    assert line["kind"] == "false"
    assert told <= line["accesses"] <= told + 100 + line["accesses_halfwidth"], line
    assert line["accesses_halfwidth"] <= 0.01 * told, line
    # each store can have taken the line from the other thread, once
    assert 0.99 * told / 2 <= line["transfers_at_most"] <= 1.01 * told + 100, line
    assert line["true_transfers_at_most"] <= 100 and line["transfers_seen"] <= line["transfers_at_most"], line
    counting = [place for place in line["places"] if place["function"].startswith("count_")]
    assert {tuple(place["bytes"]) for place in counting} == {(0, 7), (8, 15)}, counting
    assert all(len(place["threads"]) == 1 for place in counting)
    assert any(place["writes"] for place in counting)
    kind = {"false": "heap", "false_stack": "stack"}.get(case, "static")
    assert all(place["object"]["kind"] == kind for place in counting), counting
    if kind != "stack":
        assert line["offset"] == 0 and {place["offset"] for place in counting} == {0, 8}, counting
    if kind == "static":
        assert {place["object"]["name"] for place in counting} == {"apart"}
        assert all(place["object"]["file"].endswith("sharing.c") for place in counting), counting
    assert all(place["file"].endswith("sharing.c") and place["line"] for place in counting), counting


def test_true_sharing(t):
    report, lines, told = shared(t, "true")
    assert len(lines) == 1 and lines[0]["kind"] == "true", report["sharing"]
    line = lines[0]
    assert told <= line["accesses"] <= told + 100 + line["accesses_halfwidth"], line
    [place] = by(line, function="count_common")
    assert len(place["threads"]) == 2 and place["bytes"] == [0, 7] and place["reads"] and place["writes"], place
    assert place["object"]["name"] == "common", place


def test_padded_counters_share_nothing(t):
    report, lines, _ = shared(t, "padded")
    assert not lines, report["sharing"]
    assert "false sharing" not in str(report["functions"])


def test_ring(t):
    """Head and tail are read by both threads: that they lie in one line is not all that is wrong."""
    report, lines, told = shared(t, "ring", n=300000)
    line = max(lines, key=lambda line: line["accesses"])
    assert line["kind"] == "true", report["sharing"]
    stores = {place["function"]: place for place in line["places"] if place["writes"] and not place["reads"]}
    assert stores["put"]["bytes"] == [0, 7] and stores["take"]["bytes"] == [8, 15], line
    assert line["accesses"] + line["accesses_halfwidth"] >= told, line


@pytest.mark.parametrize("case", ["false", "true"])
def test_eight_threads(t, case):
    _, lines, told = shared(t, case, n=500000, threads=8)
    assert len(lines) == 1 and lines[0]["kind"] == case, lines
    line = lines[0]
    assert told <= line["accesses"] + line["accesses_halfwidth"], line
    assert line["accesses"] <= told + 100 + line["accesses_halfwidth"], line
    places = [place for place in line["places"] if place["function"].startswith("count_")]
    assert len({thread for place in places for thread in place["threads"]}) == 8, places
    assert len({tuple(place["bytes"]) for place in places}) == (8 if case == "false" else 1), places


def test_one_thread_shares_nothing(t):
    report, _, _ = shared(t, "false", threads=1)
    assert report["sharing"] == []


def test_windows_do_not_change_the_count(t):
    """Most of the run is not checked; executions are counted all the same."""
    _, lines, told = shared(t, "false", n=60000000, options=("--slowdown=1.1",))
    assert len(lines) == 1 and told <= lines[0]["accesses"] <= 1.001 * told, lines


def page_of(t):
    return t.rfprof("report", "-f", "count_here", os.path.join(t.directory, "profiled.rfp")).stdout.decode()


def test_page(t):
    shared(t, "false")
    page = page_of(t)
    assert "lines that its threads share with others" in page and "false sharing of" in page, page
    assert "bytes 0 to 7 written" in page and "bytes 8 to 15 written" in page, page


def test_reason(t):
    """The cost of a move is the machine's; here it is a given one.  Threads that do not run at the same time lose nothing."""
    program = t.program(PROGRAM, ("-O2", "-fno-tree-vectorize"))
    for _ in range(8):
        result = t.profile([program, "false", "60000000"])
        [counting] = [f for f in result.json["functions"] if f["name"] == "count_here"]
        if counting["threads"] > 1.3 and counting["distance"] > 1.2:
            break
    else:
        pytest.skip("its threads ran one after the other: others have the processors")
    database = sqlite3.connect(os.path.join(t.directory, "profiled.rfp"))
    keys = [key for key, in database.execute("SELECT key FROM facts WHERE key LIKE 'line_transfer_%'")]
    if not keys:
        pytest.skip("no two hardware threads")
    database.execute("UPDATE facts SET value = '50' WHERE key LIKE 'line_transfer_%'")
    database.commit()
    database.close()
    page = page_of(t)
    assert "false sharing: threads use bytes of their own in one line" in page, page
    assert "pad or align to 64 bytes" in page and "takes 50" in page, page
    assert result.json["sharing"][0]["cost_s"] > 0, result.json["sharing"]
