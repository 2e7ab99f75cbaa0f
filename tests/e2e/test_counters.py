"""Hardware counters from end to end.  Page faults, which the kernel counts, stand in for events of a PMU; what needs a PMU
is skipped where there is none."""

import math
import os
import sqlite3

import pytest

FAULTS = "perf::PAGE-FAULTS"


def errors(done):
    return done.stderr.decode()


def need_perf(t):
    done = t.rfprof("-q", "--no-save", "--sampler=perf", "/bin/true")
    if done.status:
        pytest.skip(f"no perf events here: {errors(done).strip()}")


def counted(t, *options, multiplier=2):
    """The report of a run whose page faults are `multiplier` flop each, and the true flop of both functions."""
    need_perf(t)
    program = t.program("page_touches.c")
    result = t.profile([program], f"--counter=flop_dp={FAULTS}*{multiplier}@7", *options)
    many, few = (multiplier * int(word) for word in result.stdout.split())
    return result.json, {"touch_many": many, "touch_few": few}


def quantity(function, name):
    rows = [row for row in function["counters"] if row["quantity"] == name]
    assert len(rows) == 1, str(function["counters"])
    return rows[0]


def test_places(t):
    """Samples say whose events they are, and all places add up to the exact total."""
    report, truth = counted(t)
    (counter,) = report["counters"]
    assert counter["use"] == "exact" and counter["counted_share"] == 1, str(counter)
    assert sum(truth.values()) <= 2 * counter["events"] <= sum(truth.values()) + 2000, str(counter)
    for function in report["functions"]:
        if function["name"] in truth:
            row = quantity(function, "flop_dp")
            true = truth.pop(function["name"])
            # one sample in seven events: a draw, but an even one
            assert abs(row["value"] - true) <= 0.02 * true, f"{function['name']}: {row}, true {true}"
            assert row["samples"] > 0.9 * true / 2 / 7, str(row)
    assert not truth, f"not in the report: {truth}"
    assert report["run"]["work_source"] == "counted execution"


def test_sums(t):
    """In the file, the places of a counter add up to its events."""
    need_perf(t)
    path = os.path.join(t.directory, "counters.rfp")
    done = t.rfprof("-q", f"--save={path}", f"--counter=loads={FAULTS}@3", t.program("page_touches.c"))
    assert done.status == 0, str(done)
    file = sqlite3.connect(path)
    (total,) = file.execute("SELECT events FROM counters").fetchone()
    (placed,) = file.execute("SELECT sum(events) FROM counter_places").fetchone()
    assert abs(total - placed) <= 1e-6 * total, f"{placed} of {total}"


def test_alone(t):
    """--work=pmu: one run, whose work is what the counters say."""
    report, truth = counted(t, "--work=pmu", "--traffic=none")
    assert report["run"]["work_source"] == "PMU", str(report["run"])
    flop = {function["name"]: function["flop"] for function in report["functions"]}
    for name, true in truth.items():
        assert abs(flop[name] - true) <= 0.02 * true, f"{name}: {flop[name]}, true {true}"
    assert report["run"]["uncounted_s"] == 0, str(report["run"]["uncounted_s"])
    # nothing counted its loads and stores: its intensity is not known, which is not the same as infinite
    shown = t.rfprof("report", "-v", os.path.join(t.directory, "profiled.rfp")).stdout.decode()
    assert "touch_many" in shown and "∞" not in shown, shown
    not_counted = {row["quantity"] for row in report["counters"] if row["use"] == "unused"} - {"flop_any"}
    assert shown.count("not counted by the PMU: ") == (len(not_counted) > 0), shown
    assert all(quantity in shown for quantity in not_counted), shown


def test_both(t):
    """--work=both: each is a check of the other; page_touches has no flop, so no ratio."""
    report, _ = counted(t, "--work=both")
    assert report["run"]["work_source"] == "counted execution and PMU", str(report["run"])
    for function in report["functions"]:
        assert function["pmu_per_counted_flop"] is None, str(function)


def test_memory(t):
    """--traffic=pmu: what functions move to and from memory, and their place, by the events of memory; a fault stands for
    a page that is read."""
    need_perf(t)
    result = t.profile([t.program("page_touches.c")], f"--counter=llc_miss_bytes={FAULTS}*4096@7", "--work=count",
                       "--traffic=pmu")
    report, truth = result.json, dict(zip(("touch_many", "touch_few"), map(int, result.stdout.split())))
    assert report["run"]["traffic"]["source"] == "PMU", str(report["run"]["traffic"])
    assert "lower bound" in report["run"]["traffic"]["memory"], str(report["run"]["traffic"])
    for function in report["functions"]:
        if function["name"] not in truth:
            continue
        true = 4096 * truth.pop(function["name"])
        assert abs(function["mem_bytes"] - true) <= 0.02 * true, f"{function['name']}: {function['mem_bytes']}, true {true}"
        assert "lower bound" in function["mem_source"] and function["mem_samples"] > 0.9 * true / 4096 / 7, str(function)
        memory_level = next(level for level in function["levels"] if level["level"] == "DRAM")
        assert memory_level["at_least"] and memory_level["write_bytes"] is None, str(memory_level)
        if function["time_s"]:
            assert function["level"] == "DRAM" and function["at_most"] and not function["level_inferred"], str(function)
            rate = function["mem_bytes"] * 1e-9 / function["elapsed_s"]
            assert abs(function["point"] - rate) <= 1e-9 * rate, str(function)
    assert not truth, f"not in the report: {truth}"
    assert any("misses of the last cache" in note for note in report["run"]["notes"]), str(report["run"]["notes"])


def test_memory_both_ways(t):
    """Reads and writes apart are no lower bound.  Two events: the kernel (6.18) gives samples of one software event that is
    opened twice the id of either when both overflow at once."""
    need_perf(t)
    report = t.profile([t.program("page_touches.c")], "--counter=memory_read_bytes=perf::MINOR-FAULTS*64@7",
                       f"--counter=memory_write_bytes={FAULTS}*192@7", "--work=count", "--traffic=pmu").json
    (function,) = [function for function in report["functions"] if function["name"] == "touch_many"]
    level = next(level for level in function["levels"] if level["level"] == "DRAM")
    assert not level["at_least"] and not function["at_most"], str(function)
    # each event has its own samples
    assert abs(level["write_bytes"] - 3 * level["read_bytes"]) <= 0.03 * level["write_bytes"], str(level)
    assert abs(level["bytes"] - level["read_bytes"] - level["write_bytes"]) <= 1e-9 * level["bytes"], str(level)
    assert "sampled by function" in function["mem_source"], str(function)


def test_refused(t):
    """What is asked for and not there is said; the next source takes its place."""
    if has_pmu(t):
        pytest.skip("there is a PMU here")
    for option, word in (("--work=pmu", "counted execution"), ("--traffic=pmu", "traced execution")):
        done = t.rfprof("--no-save", option, "/bin/true")
        assert done.status == 0 and word in errors(done) and "not to be had" in errors(done), str(done)


def test_bad_words(t):
    for option, word in (("--work=fast", "--work"), ("--traffic=some", "--traffic"), ("--counter=flop_dp", "QUANTITY"),
                         ("--counter=speed=perf::PAGE-FAULTS", "speed"), ("--counter=loads=nosuch::EVENT", "nosuch"),
                         ("--counter=loads=perf::PAGE-FAULTS*x", "multiplier"),
                         ("--counter=loads=perf::PAGE-FAULTS*-1", "multiplier"),
                         ("--counter=loads=perf::PAGE-FAULTS@0", "period"),
                         ("--counter=loads=perf::PAGE-FAULTS@-7", "period")):
        done = t.rfprof("--no-save", option, "/bin/echo", "ran")
        assert done.status == 2 and word in errors(done) and b"ran" not in done.stdout, str(done)
        assert len(errors(done).strip().splitlines()) == 1, str(done)


def has_pmu(t):
    done = t.rfprof("--no-save", "--work=pmu", "--traffic=none", "/bin/true")
    return "not to be had" not in errors(done)


def share_of(functions, name):
    """What the PMU has of a function's flop beside what was counted, and the standard error of that: of a share p of n
    samples it is √(p (1 − p) / n)."""
    (function,) = [function for function in functions if function["name"] == name]
    samples = {function["name"]: sum(row["samples"] for row in function["counters"] if row["quantity"].startswith("flop"))
               for function in functions if function["counters"]}
    n, share = sum(samples.values()), samples[name] / sum(samples.values())
    return function["pmu_per_counted_flop"], math.sqrt((1 - share) / (share * n))


@pytest.mark.parametrize("mode", ["", "thread", "child"])
def test_pmu_beside_counting(t, mode):
    """Counted execution is exact, so the ratio is the PMU's error: the flop of the program within 0.5 %, of a function
    within the error of its samples, instructions (where they are counted all the time) within 0.1 %."""
    if not has_pmu(t):
        pytest.skip("no PMU with events for flop here")
    program = t.program("pmu_work.c")
    report = t.profile([program, *mode.split()], "--work=both", "--traffic=none", timeout=300).json
    flop = [row for row in report["counters"] if row["quantity"].startswith("flop") and row["use"] == "exact"]
    if not flop:  # said: it was not proved this time, or disturbed
        pytest.skip(str([row["why"] for row in report["counters"] if row["quantity"].startswith("flop")]))
    functions = report["functions"]
    counted_flop = sum(function["flop_unmasked"] or 0 for function in functions)
    ratio = sum(row["events"] * row["multiplier"] for row in flop) / counted_flop
    print(f"program: PMU/counted: flop {ratio:.6f}")
    assert abs(ratio - 1) <= 0.005, str(flop)
    for name in ("multiply", "smooth"):
        ratio, error = share_of(functions, name)
        print(f"{name}: PMU/counted: flop {ratio:.4f} ± {error:.4f}")
        assert abs(ratio - 1) <= 4 * error + 0.005, name
    (integers,) = [function for function in functions if function["name"] == "scramble"]
    assert not [row for row in integers["counters"] if row["quantity"].startswith("flop")], str(integers["counters"])
    for row in report["counters"]:
        if row["quantity"] == "instructions" and row["use"] == "exact":
            counted_instructions = sum(function["instructions"] or 0 for function in functions)
            assert abs(row["events"] / counted_instructions - 1) <= 0.001, f"{row}, counted {counted_instructions}"


def test_pmu_alone(t):
    """--work=pmu: the flop of functions are what the samples say, in each of several runs."""
    if not has_pmu(t):
        pytest.skip("no PMU with events for flop here")
    program = t.program("pmu_work.c")
    exact = {function["name"]: function["flop"]
             for function in t.profile([program], "--work=count", "--traffic=none").json["functions"]}
    report = t.profile([program], "--work=pmu", "--traffic=none", "--repeat=3", timeout=300).json
    if report["run"]["work_source"] != "PMU" or not any(row["use"] == "exact" and row["quantity"].startswith("flop")
                                                        for row in report["counters"]):
        pytest.skip(f"not proved this time, or disturbed: {report['counters']}")
    found = {function["name"]: function["flop"] for function in report["functions"]}
    for name in ("multiply", "smooth"):
        assert abs(found[name] / exact[name] - 1) <= 0.4, f"{name}: {found[name]}, counted {exact[name]}"
    total = sum(flop or 0 for flop in found.values())
    assert abs(total / sum(flop or 0 for flop in exact.values()) - 1) <= 0.005, str(found)
