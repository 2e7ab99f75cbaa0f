"""Figures that contradict each other (rfprof report --check), and conflicts of sets, which explain two that seem to."""

import json
import os
import sqlite3

import pytest

from harness import SOURCE, functions

SUITE = "check"

TRAFFIC = os.path.join(SOURCE, "tests", "traffic")
CACHE = "--cache=L1=32K:8,L2=256K:8,L3=8M:16"


def saved(t, *arguments):
    path = os.path.join(t.work, "p.rfp")
    result = t.rfprof("-q", f"--save={path}", CACHE, *arguments)
    assert result.status == 0, str(result)
    return path


def row_of(t, name, *arguments):
    found = functions(t.profile(list(arguments[-1]), CACHE, *arguments[:-1]).json, name)
    assert len(found) == 1, found
    return found[0]


# ---- --check ----

def test_a_profile_holds(t):
    result = t.rfprof("report", "--check", saved(t, t.program(os.path.join(TRAFFIC, "transpose.c"))))
    assert result.status == 0, str(result)
    words = result.stdout.decode().split()
    assert words[1:4] == ["invariants", "hold", "in"] and int(words[0]) > 30 and int(words[4]) > 100, str(result)


@pytest.mark.parametrize("statement, word", [
    pytest.param("UPDATE traffic SET mem_read_lines = l3_read_lines + 1000", "no more is read from a level", id="reads"),
    pytest.param("UPDATE strides SET used_bytes = fetched_bytes + 1", "bytes used", id="strides"),
    pytest.param("UPDATE traffic SET mem_conflict_lines = 100 + 2 * (mem_read_lines + mem_write_allocate_lines + "
                 "mem_write_back_lines)", "conflicts of sets are part", id="conflicts"),
])
def test_a_broken_profile_does_not(t, statement, word):
    """With one figure changed: one line for each row in which that is wrong, and status 1."""
    path = saved(t, t.program(os.path.join(TRAFFIC, "transpose.c")))
    broken = os.path.join(t.work, "broken")  # a name that is not checked at the end of the test
    os.rename(path, broken)
    with sqlite3.connect(broken) as database:
        database.execute(statement)
    database.close()
    result = t.rfprof("report", "--check", broken)
    lines = result.stdout.decode().splitlines()
    assert result.status == 1 and lines, str(result)
    assert all(word in line and "which is not at most" in line for line in lines), str(result)
    assert any(line.startswith("function ") for line in lines), str(result)
    with pytest.raises(AssertionError, match="contradict"):
        t.check_figures(broken)


def test_goes_alone(t):
    path = saved(t, "/bin/true")
    for option in ("--json=x", "--svg=x", "--by=line", "--function=main"):
        result = t.rfprof("report", "--check", option, path)
        assert result.status == 2 and b"--check" in result.stderr, str(result)
    assert t.rfprof("report", "--check", "nothing.rfp").status == 2
    assert t.rfprof("report", "--check", "-o", "text", path).status == 0
    with open(os.path.join(t.work, "text"), encoding="utf-8") as text:
        assert "invariants hold" in text.read()


# ---- conflicts of sets ----

CONFLICTS = os.path.join(TRAFFIC, "conflicts.c")


@pytest.mark.parametrize("sample, times", [("--cache-sample=1", 1000), ("--traffic=auto", 40000)])
def test_conflicts_are_told(t, sample, times):
    """1,024 lines that are 64 KiB apart fall into the 16 ways of one set, though the cache has 131,072.  A sample
    needs some time to come to know that class, and says that it does not before."""
    report = os.path.join(t.work, "report")
    row, times = {"conflicts": None}, times // 2
    while not row["conflicts"] and times < 400000:
        times *= 2
        path = saved(t, sample, "--json", report, t.program(CONFLICTS), "8192", "1024", str(times))
        with open(report, encoding="utf-8") as file:
            row, = functions(json.load(file), "conflicts")
    assert abs(row["mem_bytes"] - 1024 * times * 64) <= 0.03 * row["mem_bytes"] + row["mem_halfwidth_bytes"], row
    assert row["conflicts"]["share"] > 0.97, row["conflicts"]
    assert row["conflicts"]["halfwidth"] < 0.05, row["conflicts"]
    page = t.rfprof("report", path, "--function=conflicts").stdout.decode()
    assert "of its memory traffic is conflicts of sets" in page, page


@pytest.mark.parametrize("sample", ["--cache-sample=1", "--traffic=auto"])
def test_what_is_padded_has_none(t, sample):
    """The same number of lines a line more apart fits; and 32 MB one after the other do not, which is no conflict."""
    row = row_of(t, "conflicts", sample, (t.program(CONFLICTS), "8200", "1024", "2000"))
    assert row["mem_bytes"] < 0.02 * 1024 * 2000 * 64, row["mem_bytes"]
    row = row_of(t, "conflicts", sample, (t.program(CONFLICTS), "8", str(1 << 19), "8"))
    assert row["mem_bytes"] > 0.95 * 8 * (64 << 19), row["mem_bytes"]
    assert row["conflicts"]["share"] < 0.01, row["conflicts"]


@pytest.mark.parametrize("sample", ["--cache-sample=1", "--traffic=auto"])
def test_conflicts_explain_a_transpose(t, sample):
    """What a matrix of 1,024 × 1,024 moves without its conflicts is what one of 1,000 × 1,000, which has none, moves."""
    program = t.program(os.path.join(TRAFFIC, "transpose.c"))
    even, odd = (functions(t.profile([program, str(n)], "--cache=L1=32K:8,L2=256K:8,L3=1M:16", sample).json, "transpose")
                 for n in (1024, 1000))
    assert odd[0]["conflicts"]["share"] < 0.01, odd[0]["conflicts"]
    assert even[0]["conflicts"]["share"] > 0.75, even[0]["conflicts"]
    rest = even[0]["mem_bytes"] * (1 - even[0]["conflicts"]["share"])
    expected = odd[0]["mem_bytes"] * 1.024 ** 2
    assert abs(rest - expected) < 0.1 * expected, f"{rest:.0f} bytes, not {expected:.0f}"
