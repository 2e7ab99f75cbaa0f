"""A program that makes more accesses than can be simulated as fast: fewer sets are, and the bytes are right."""

import os

from test_traffic import FLAGS, HERE, moved, truths

SUITE = "traffic"

SMALL = "--cache=L1=4K:1,L2=16K:4"  # in which every line misses


def test_thinned(t):
    program = t.program(os.path.join(HERE, "many.c"), (*FLAGS, "-O3"))
    result = t.profile([program], SMALL, timeout=300)
    traffic = result.json["run"]["traffic"]
    assert (traffic["classes"], bool(traffic["halved"])) in ((16, False), (8, True), (4, True), (2, True)), str(traffic)
    true = truths(result.stdout)["read_all"][0]
    read = moved(result.json, "read_all")[0]
    assert abs(read - true) <= 0.01 * true, f"{read:.0f} bytes read, true {true:.0f}; {traffic}"
    assert sum(row["mem_read_bytes"] for row in traffic_objects(result.json)) > 0.98 * true, str(traffic)


def traffic_objects(report):
    return [row for function in report["functions"] for row in function.get("objects") or []
            if function["name"] == "read_all"]


def test_not_thinned_when_asked_for(t):
    """A sample that is asked for stays as it is, however long it takes."""
    program = t.program(os.path.join(HERE, "many.c"), (*FLAGS, "-O3"))
    traffic = t.profile([program], SMALL, "--cache-sample=16", timeout=300).json["run"]["traffic"]
    assert traffic["classes"] == 4 and not traffic["halved"], str(traffic)
