"""Loads at irregular addresses are placed under the rows of random access: those that wait for each other under one
chain for each, the others under independent loads."""

import math
import os
import sqlite3

import pytest

from harness import functions

SUITE = "roofs"

# small caches, so that short walks end in memory
CACHE = ("--cache=L1=32K:8,L2=256K:8,L3=1M:16", "--cache-sample=1")
# function: its pattern, the chains
PATTERNS = {"one_chain": ("chase", 1), "four_chains": ("chase", 4), "sum_list": ("chase", 1), "chain_in_memory": ("chase", 1),
            "gather": ("random", None), "look_up": ("random", None), "stream": ("stream", None)}
SUMS = """SELECT f.name, sum(i.lines), sum(i.chained_lines), sum(i.longest_chain_lines) FROM sum_irregular i
          JOIN sums s ON s.id = i.sum_id JOIN functions f ON f.id = s.function_id WHERE i.level > 0 GROUP BY f.name"""


def rows(t, *options):
    report = t.profile([t.program("chains.c"), *options], *CACHE, timeout=300).json
    return {name: functions(report, name)[0] for name in PATTERNS}


def test_chains_are_told_from_independent_loads(t):
    """By the code and the strides alone: how long each took does not matter."""
    path = os.path.join(t.directory, "chains.rfp")
    result = t.rfprof("-q", "--save=" + path, *CACHE, t.program("chains.c"), timeout=300)
    assert result.status == 0, str(result)
    with sqlite3.connect(path) as database:
        found = {name: values for name, *values in database.execute(SUMS)}
    for name, (pattern, chains) in PATTERNS.items():
        lines, chained, longest = found.get(name, (0, 0, 0))
        if pattern == "stream":
            assert lines == 0, f"{name}: {lines} lines"
            continue
        assert lines > 200000, f"{name}: {lines} lines"
        if pattern == "random":
            assert chained < 0.02 * lines, f"{name}: {chained} of {lines} lines are on chains"
        else:
            assert chained > 0.98 * lines, f"{name}: {chained} of {lines} lines are on chains"
            assert abs(chained / longest - chains) < 0.02 * chains, f"{name}: {chained / longest} chains"


@pytest.mark.slow
@pytest.mark.alone
def test_chains_are_near_their_roof(t):
    """Timed: a chain is within three times of the latency that the machine measured, and far below a stream."""
    for _ in range(4):
        result = t.rfprof("machine", "--refresh")
        assert result.status == 0, str(result)
        found = rows(t, "1000000")
        amiss = []
        for name, (pattern, chains) in PATTERNS.items():
            row = found[name]
            distance = row["distance"] or math.nan
            near = row["roof_pattern"] == pattern and (pattern != "chase" or 0.9 < distance < 3)
            if not near or (chains and abs(row["roof_chains"] - chains) > 0.05 * chains):
                amiss.append(f"{name}: {row['roof_pattern']}, {distance:.2f}× below, {row['roof_chains']} chains")
            if pattern == "chase":
                assert row["roof_streamed"] > 3 * row["roof"], f"{name}: {row['roof_streamed']} and {row['roof']}"
        if not amiss:
            return
    assert not amiss, "\n".join(amiss)
