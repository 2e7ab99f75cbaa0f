"""A part of a run is measured: what it counts is that part's work, exact where functions begin and end it."""

import json
import os
import signal
import subprocess
import time

import pytest

from harness import SOURCE, functions, text

SUITE = "targets"

A, B = 10_000_000, 20_000_000
# Of inner, and of one phase_b without it.
HALF = B // 2


def flop(report):
    return {name: sum(row["flop"] for row in functions(report, name, "phases")) for name in ("phase_a", "phase_b", "inner")}


def counted(t, options, words, *more, status=3):
    report = t.profile([t.program("phases.c"), *words.split()], *options.split(), "--traffic=none", *more,
                       status=status).json
    return flop(report), report["run"]["span"]


@pytest.mark.parametrize("once", [(), ("--once",)], ids=["twice", "once"])
@pytest.mark.parametrize("options, words, a, b, inner", [
    ("--start-at=phase_b", "a b a b", 0, HALF, HALF),
    ("--start-at=phase_b", "b", 0, HALF, HALF),
    ("--start-at=inner", "a3 b2", 0, 0, HALF),
    ("--start-at=phase_b", "a r a b", 0, 3 * HALF, 3 * HALF),
    ("--start-at=phase_b", "a j b", 0, HALF, HALF),
    ("--start-at=phase_b", "a40 b a b", 0, HALF, HALF),
    ("--start-at=phase_a --stop-at=inner", "b a3 b", 3 * A, HALF, 0),
    ("--start-at=phase_a --stop-at=done", "d a2 d a b", 2 * A, 0, 0),
    ("--start-at=phase_a --stop-at=done", "d a30 b30 a d b", 31 * A, 30 * HALF, 30 * HALF),
    ("--stop-at=phase_b", "a5 b a", 5 * A, 0, 0),
    ("--start-at=done --stop-at=phase_a", "a20 b d b o a b", 0, HALF, HALF),
    ("--start-at=phase_a", "b w b", A, 0, 0),
    ("--start-at=phase_b", "a c a", 0, HALF, HALF),
])
def test_work_between_functions_is_exact(t, once, options, words, a, b, inner):
    found, span = counted(t, options, words, *once)
    assert found == {"phase_a": a, "phase_b": b, "inner": inner}
    assert span["start_error_s"] is None and span["end_error_s"] is None, span
    assert 0 <= span["start_s"] <= span["end_s"] <= span["run_s"], span


def test_a_span_that_never_begins_is_said(t):
    found, span = counted(t, "--start-at=phase_b", "a2")
    assert found == {"phase_a": 0, "phase_b": 0, "inner": 0} and span["start_s"] == span["end_s"] == span["run_s"]
    report = t.profile([t.program("phases.c"), "a"], "--delay=1m40s", "--traffic=none", status=3).json
    assert flop(report) == {"phase_a": 0, "phase_b": 0, "inner": 0}
    assert any("before the span began" in note for note in report["run"]["notes"]), report["run"]["notes"]


def test_a_call_that_is_left_by_longjmp_ends_no_span(t):
    """In the counted run it has no return; the timed one sees that the stack is gone."""
    report = t.profile([t.program("phases.c"), "a", "l", "a2"], "--start-at=phase_b", "--traffic=none", status=3).json
    assert flop(report) == {"phase_a": 2 * A, "phase_b": HALF, "inner": HALF}


def test_a_span_of_time_has_the_work_of_that_time(t):
    """The program sleeps for so long that both ends fall where it does nothing."""
    found, span = counted(t, "--delay=1s --duration=2s", "a3 s20 b2 s20 a4")
    assert found == {"phase_a": 0, "phase_b": 2 * HALF, "inner": 2 * HALF}
    assert span["start_s"] == pytest.approx(1, abs=1e-3) and span["end_s"] == pytest.approx(3, abs=1e-3)
    assert span["timed_by"] == "the clock" and "processor time" in span["counted_by"]
    assert span["start_error_s"] is not None and span["end_error_s"] is not None


def test_times_of_a_span_are_its_own(t):
    report = t.profile([t.program("phases.c"), *"a3 s20 b2 s20 a4".split()], "--delay=1s", "--duration=2s",
                       "--traffic=none", status=3).json
    times = {row["name"]: row["time_s"] for row in functions(report, module="phases")}
    assert not times.get("phase_a") and times["phase_b"] > 0 and times["inner"] > 0, times
    account = report["run"]["account"]
    assert account["wall_s"] == pytest.approx(2, abs=1e-3)
    assert account["lives_s"] == pytest.approx(2, abs=0.01), account
    assert account["minor_faults"] is None, "that is known of the whole run only"
    assert sum(account["wall"].values()) == pytest.approx(2, abs=0.01), account


def test_a_traced_span_moves_its_own_bytes(t):
    """Of a kernel that is called each time alike, the bytes of a span are its calls' share of all."""
    program = t.target("triad")
    whole = t.profile([program], "--slowdown=none", "--cache-sample=1", "--cache=L1=4K:8,L2=16K:8,L3=64K:16").json
    part = t.profile([program], "--slowdown=none", "--cache-sample=1", "--cache=L1=4K:8,L2=16K:8,L3=64K:16",
                     "--start-at=triad_stream").json
    one, all_five = (functions(report, "triad_stream")[0] for report in (part, whole))
    assert one["flop"] * 5 == all_five["flop"]
    assert one["mem_read_bytes"] * 5 == pytest.approx(all_five["mem_read_bytes"], rel=1e-6)
    assert not functions(part, "triad") or not functions(part, "triad")[0]["flop"]


def test_the_program_does_the_same(t):
    program = t.program("phases.c")
    t.same([program, *"o a w c l o".split()],
           modes=("--delay=0.01 --duration=0.02", "--start-at=phase_a", "--start-at=phase_b --stop-at=done",
                  "--once --start-at=inner", "--once --delay=10ms"))


@pytest.mark.parametrize("options, message", [
    ("--start-at=nowhere", b"no function nowhere"),
    ("--delay=1m30", b"a time is wanted"),
    ("--duration=0", b"a time is wanted"),
    ("--delay=1 --start-at=main", b"goes without"),
    ("--delay=1 --traffic=pmu", b"whole run"),
    ("--start-at=main --sampler=timer", b"need the sampler perf"),
])
def test_what_cannot_be_is_refused(t, options, message):
    result = t.rfprof(*options.split(), t.program("phases.c"), "o")
    assert result.status == 2 and message in result.stderr and not result.stdout, str(result)


def test_json_of_a_span_is_as_its_schema_says(t):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(text(os.path.join(SOURCE, "docs", "report.schema.json")))
    report = t.profile([t.program("phases.c"), "a"], "--delay=1ms", status=3).json
    assert not list(jsonschema.Draft7Validator(schema).iter_errors(report))


def interrupted(t, *words, wait):
    """Ctrl-C once so many lines have been read, or after a while; the report, and how rfprof ended."""
    path = os.path.join(t.work, "interrupted.json")
    process = subprocess.Popen([t.rfprof_path, "-q", "--keep-roofs", "--no-save", "--traffic=none", "--json", path,
                                t.program("phases.c"), *words], stdout=subprocess.PIPE, cwd=t.work, env=t.environment(),
                               start_new_session=True)
    if wait:
        for _ in range(wait):
            assert process.stdout.readline() == b"a line\n"
    else:
        time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    return json.loads(text(path)), process.returncode, wait + out.count(b"a line\n")


def test_an_interrupted_program_is_counted_up_to_there(t):
    report, status, lines = interrupted(t, "i", wait=200)
    assert status == -signal.SIGINT
    found = flop(report)["phase_a"]
    assert (lines - 2) * A <= found <= (lines + 1) * A, (found / A, lines)
    assert any("interrupted" in note and "reads and writes" in note for note in report["run"]["notes"])
    assert report["run"]["work_source"] == "counted execution"


def test_what_cannot_be_found_again_is_not_counted(t):
    report, status, _ = interrupted(t, "a99999", wait=0)
    assert status == -signal.SIGINT and report["run"]["work_source"] == "none"
    assert any("too rarely" in note for note in report["run"]["notes"]), report["run"]["notes"]
