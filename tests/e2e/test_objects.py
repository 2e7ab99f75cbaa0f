"""Data objects and strides: programs that know what they allocate and how they walk through it
(tests/traffic/objects_*) against the rows of the profile, with all cache sets simulated."""

import os
import sqlite3

from harness import SOURCE

SUITE = "objects"

PROGRAMS = os.path.join(SOURCE, "tests", "traffic")
CACHE = "L1=4K:4,L2=16K:4,L3=64K:4"
KINDS = ("other", "heap", "mapping", "static", "stack", "code")


def profile_of(t, program, *options):
    path = os.path.join(t.directory, "profile.rfp")
    result = t.rfprof("-q", f"--save={path}", f"--cache={CACHE}", "--cache-sample=1", *options, program)
    assert result.status == 0, result
    return result, sqlite3.connect(path)


def facts(profile):
    return dict(profile.execute("SELECT key, value FROM facts"))


def objects(profile):
    """Rows with what they have of memory traffic."""
    profile.row_factory = sqlite3.Row
    return [dict(row) for row in profile.execute(
        "SELECT o.*, coalesce(sum(t.mem_read_lines), 0) AS reads, "
        "coalesce(sum(t.mem_write_allocate_lines), 0) AS write_allocates, "
        "coalesce(sum(t.mem_write_lines), 0) AS writes "
        "FROM objects o LEFT JOIN object_traffic t ON t.object_id = o.id GROUP BY o.id")]


def find(rows, kind, name, line):
    found = [row for row in rows if KINDS[row["kind"]] == kind and row["name"] == name and row["line"] in (line, None)]
    assert len(found) == 1, f"{kind} {name}:{line}: {len(found)} rows of\n" + "\n".join(
        str(row) for row in rows if row["reads"] > 100)
    return found[0]


def check(result, profile, tolerance=0.03):
    """What the program printed is what the rows say; what else moves through the lines of a block is less
    than `tolerance` of them."""
    rows = objects(profile)
    told = [line.split() for line in result.stdout.decode().splitlines()]
    assert told
    for kind, name, line, size, n, reads, most in told:
        row = find(rows, kind, name, int(line))
        if kind != "stack":
            assert row["size_bytes"] == int(size), (line, size, row)
            assert row["allocations"] == int(n), (line, n, row)
            assert kind == "static" or row["file"].endswith((".c", ".cpp")), row
        assert (1 - tolerance) * int(reads) <= row["reads"] <= (1 + tolerance) * int(most) + 64, (line, reads, row)
    assert "allocations_unseen" not in facts(profile), facts(profile)


def test_calls_of_allocators(t):
    check(*profile_of(t, t.program(os.path.join(PROGRAMS, "objects_calls.c"), ["-O1"])))


def test_calls_of_allocators_in_a_static_program(t):
    check(*profile_of(t, t.program(os.path.join(PROGRAMS, "objects_calls.c"), ["-O1", "-static"])))


def test_two_threads(t):
    program = t.program(os.path.join(PROGRAMS, "objects_threads.c"), ["-O1"])
    check(*profile_of(t, program), tolerance=0.1)  # they meet in one cache in another order each time


def test_operators_new(t):
    result, profile = profile_of(t, t.program(os.path.join(PROGRAMS, "objects_new.cpp"), ["-O1"]))
    unseen = int(facts(profile).pop("allocations_unseen", 0))
    assert unseen <= 3, unseen  # the one that throws, with what it calls
    profile.execute("DELETE FROM facts WHERE key = 'allocations_unseen'")
    check(result, profile)


def test_stripped_code_has_offsets(t):
    program = t.program(os.path.join(PROGRAMS, "objects_calls.c"), ["-O1", "-s"])
    result, profile = profile_of(t, program)
    rows = [row for row in objects(profile) if KINDS[row["kind"]] == "heap" and row["reads"] > 10000]
    told = [line for line in result.stdout.decode().splitlines() if line.startswith("heap")]
    assert len(rows) == len(told), rows
    for row in rows:
        assert row["name"] == "" and row["line"] == 0 and row["code_offset"] > 0 and row["module_id"] is not None, row
    assert len({row["code_offset"] for row in rows}) == len(rows)


def test_no_traffic_no_objects(t):
    program = t.program(os.path.join(PROGRAMS, "objects_calls.c"), ["-O1"])
    _, profile = profile_of(t, program, "--work=count", "--traffic=none")
    assert not objects(profile)


def test_strides_are_classified(t):
    program = t.program(os.path.join(PROGRAMS, "strides.c"), ["-O1"])
    result, profile = profile_of(t, program)
    profile.row_factory = sqlite3.Row
    told = [line.split() for line in result.stdout.decode().splitlines()]
    assert len(told) == 8
    for name, kind, step, used in told:
        rows = profile.execute(
            "SELECT s.* FROM strides s JOIN functions f ON f.module_id = s.module_id AND "
            "s.code_offset >= f.start_offset AND s.code_offset < f.end_offset WHERE f.name = ?", [name]).fetchall()
        row = max(rows, key=lambda row: row["fetched_bytes"])
        counts = {"unit": row["unit_steps"], "constant": row["constant_steps"], "random": row["random_steps"]}
        assert sum(counts.values()) > 100, (name, counts)
        assert counts[kind] > 0.9 * sum(counts.values()), (name, counts)
        if kind != "random":
            assert row["step_bytes"] == int(step), (name, dict(row))
        if int(used):
            share = row["used_bytes"] / row["fetched_bytes"] * 64
            assert 0.97 * int(used) <= share <= 1.03 * int(used), (name, dict(row))
