"""--repeat: a program whose runs differ in a known way, its input, its end, and what is made of the runs."""

import json
import os
import signal
import sqlite3
import statistics
import threading
import time

from harness import need_samples, text

WORK = ["1", "9", "3", "81", "27"]  # the median is the fifth


def repeat(t, *work, options=(), n=5, status=0, **run_options):
    """Profiles tests/e2e/programs/repeated.c n times; the result has its JSON and the path of its profile."""
    profile, report = os.path.join(t.directory, "repeated.rfp"), os.path.join(t.directory, "repeated.json")
    result = t.rfprof(f"--repeat={n}", "--work=count", "--traffic=none", "--save", profile, "--json", report, *options,
                      t.program("repeated.c"), "runs", *work, **run_options)
    assert result.status == status, str(result)
    result.profile = profile
    result.json = json.loads(text(report))
    return result


def runs_of(t):
    return int(text(os.path.join(t.work, "runs")))


def inputs_of(t):
    return text(os.path.join(t.work, "runs.in")).splitlines()


def summary(values):
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return {"least": min(values), "q1": q1, "median": median, "q3": q3, "most": max(values)}


def near(a, b):
    """Each sample's time is a whole number of ns."""
    return abs(a - b) <= 3e-6 * max(abs(a), abs(b)) + 2e-9


def expect_summary(given, values):
    for key, truth in summary(values).items():
        assert near(given[key], truth), f"{key}: {given}, {values}"


def times_in(connection, function, cost):
    """Its seconds in each run, from the rows of the file."""
    rows = connection.execute(
        "SELECT t.timed_run_id, sum(t.samples), sum(t.time_ns) FROM run_times t JOIN functions f ON f.module_id = "
        "t.module_id AND t.code_offset >= f.start_offset AND t.code_offset < f.end_offset WHERE f.name = ? "
        "GROUP BY t.timed_run_id ORDER BY t.timed_run_id", [function]).fetchall()
    return [(ns - min(cost * n, ns / 2)) * 1e-9 for _, n, ns in rows]


def test_figures_are_medians(t):
    """Median, quartiles and ends of a function's time and of the program's are those of the runs, which are the
    samples of each; one run is shown, the median one; the program ran once more to be counted."""
    result = repeat(t, *WORK)
    run, connection = result.json["run"], sqlite3.connect(result.profile)
    assert runs_of(t) == 6 and result.stdout == b"done\n", f"the output of one run\n{result}"
    assert [each["shown"] for each in run["timed_runs"]] == [False, True, False, False, False], run["timed_runs"]
    cost = run["sample_cost_ns"]
    for name in ["varying", "steady"]:
        row = next(row for row in result.json["functions"] if row["name"] == name)
        times = times_in(connection, name, cost)
        assert len(times) == 5, times
        expect_summary(row["time_runs_s"], times)
        if row["samples"] >= 40:
            assert near(row["time_s"], statistics.median(times)), f"{row['time_s']}: {times}"
        assert row["time_halfwidth_s"] > 0
    varying = next(row for row in result.json["functions"] if row["name"] == "varying")
    assert varying["time_halfwidth_s"] > 0.5 * varying["time_s"], "runs are far apart"
    totals = [(ns - min(cost * n, ns / 2)) * 1e-9
              for n, ns in connection.execute("SELECT samples, time_ns FROM timed_runs ORDER BY id")]
    assert run["repeated"]["runs"] == 5
    expect_summary(run["repeated"]["cpu_time_s"], totals)
    expect_summary(run["repeated"]["wall_s"], [each["wall_s"] for each in run["timed_runs"]])
    assert near(run["cpu_time_s"], sum(row["time_s"] for row in result.json["functions"])), "rows add up"
    assert b" 5 runs: " in result.stderr and any("medians of 5 runs" in words for words in run["notes"]), str(result)


def test_views_agree(t):
    """A function's lines and loops, call paths and modules add up to the same time as the functions."""
    need_samples()
    result = repeat(t, *WORK)
    by_name = {row["name"]: row["time_s"] for row in result.json["functions"]}
    total = result.json["run"]["cpu_time_s"]
    for by in ["line", "module", "thread", "loop"]:
        report = json.loads(t.rfprof("report", "--by", by, "--json", "-", result.profile).stdout)
        assert near(sum(row["time_s"] for row in report["functions"]), total), by
        spread = [row["time_runs_s"] for row in report["functions"] if row["samples"] > 20]
        assert spread and all((runs is None) == (by == "thread") for runs in spread), by
    table = t.rfprof("report", "--width=120", "--csv", "-", result.profile).stdout.decode().splitlines()
    columns = table[0].split(",")
    row = next(line for line in table if line.startswith("varying,")).split(",")
    assert near(float(row[columns.index("time_s")]), by_name["varying"])
    assert row[columns.index("time_median_s")] and row[columns.index("time_most_s")], row
    page = t.rfprof("report", "-f", "varying", result.profile).stdout.decode()
    assert "of time (5 runs: " in page, page


def test_input_is_the_same_in_each_run(t):
    """From a pipe and from a file."""
    repeat(t, "5", n=3, stdin=b"some input")
    assert inputs_of(t) == ["some input"] * 4, inputs_of(t)
    path = os.path.join(t.directory, "input")
    with open(path, "w", encoding="utf-8") as file:
        file.write("other input")
    repeat(t, "5", n=2, stdin=path)
    assert inputs_of(t)[4:] == ["other input"] * 3, inputs_of(t)


def test_end_is_that_of_the_first_run(t):
    """A program that fails is repeated all the same; of runs that end otherwise there is a note."""
    result = repeat(t, "5=3", n=3, status=3)
    assert runs_of(t) == 4 and [run["exit_status"] for run in result.json["run"]["timed_runs"]] == ["3"] * 3
    os.unlink(os.path.join(t.work, "runs"))
    result = repeat(t, "5", "5=1", "5", n=3)
    assert [run["exit_status"] for run in result.json["run"]["timed_runs"]] == ["0", "1", "0"]
    assert "1 timed run ended otherwise than the first" in result.json["run"]["notes"], result.json["run"]["notes"]


def interrupt(path):
    """What a terminal's Ctrl-C does, as soon as a run waits for it."""
    for _ in range(3000):
        if os.path.exists(path):
            os.killpg(int(text(path)), signal.SIGINT)
            return
        time.sleep(0.01)


def test_interrupt_ends_the_repetition(t):
    """The runs before it count, the one that was cut short does not, and nothing is run after it."""
    sender = threading.Thread(target=interrupt, args=(os.path.join(t.work, "runs.waits"),))
    sender.start()
    try:
        result = repeat(t, "5", "5", "5!", n=9, status=-signal.SIGINT)
    finally:
        sender.join()
    run = result.json["run"]
    assert runs_of(t) == 3 and len(run["timed_runs"]) == 2 and run["repeated"]["runs"] == 2
    assert any(note.startswith("2 timed runs came to an end before") for note in run["notes"]), run["notes"]
    assert run["work_source"] == "none", run["work_source"]


def test_one_run_has_no_spread_of_runs(t):
    result = repeat(t, "5", n=1)
    run = result.json["run"]
    assert run["repeated"] is None and len(run["timed_runs"]) == 1 and run["timed_runs"][0]["shown"]
    assert all(row["time_runs_s"] is None for row in result.json["functions"])


def test_once_is_not_repeated(t):
    result = t.rfprof("--once", "--repeat=2", "/bin/true")
    assert result.status == 2 and b"--repeat" in result.stderr and result.stderr.count(b"\n") == 1, str(result)
    assert t.rfprof("--repeat=0", "/bin/true").status == 2


def test_diff_uses_the_runs(t):
    """Its intervals are those of the medians, of wall time, too."""
    first = repeat(t, *WORK).profile
    os.rename(first, first + ".a")
    second = repeat(t, "5", n=3).profile
    result = t.rfprof("diff", first + ".a", second, "--json", "-")
    assert result.status == 0, str(result)
    comparison = json.loads(result.stdout)
    assert comparison["total"]["wall_s"]["change_halfwidth"] > 0
    assert comparison["notes"][0].startswith("±: 95 %, of medians"), comparison["notes"]
