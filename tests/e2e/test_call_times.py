"""--kernel: calls that are timed one by one in the timed run (docs/kernels.md, "Time")."""

import json
import os
import re

import pytest

from harness import named, text
from test_errors import as_nobody

COUNTED = ("--work=count", "--traffic=none")
TURNS = "250000"  # some 0.4 to 1 ms a call
OWN = re.compile(rb"calls (\d+) sum ([0-9.]+) median ([0-9.]+)")


def timed_rows(t, how, calls, turns, *more, kernel="kernel_time", options=COUNTED, **others):
    """The kernels' rows, what the program measured itself of its calls under rfprof, and the report."""
    program = t.program("call_times.c", ("-O2",), ("-pthread",))
    result = t.profile([program, how, str(calls), turns, *more], f"--kernel={kernel}", *options, **others)
    own = [(int(n), float(total), float(median)) for n, total, median in OWN.findall(result.stderr)]
    return result.json["kernels"], own, result


def timed(t, *arguments, **others):
    """The same of the first kernel."""
    rows, own, result = timed_rows(t, *arguments, **others)
    return rows[0], own, result


def said(t):
    report = t.run([t.rfprof_path, "report", "-v", os.path.join(t.directory, "profiled.rfp")]).stdout.decode()
    return " ".join(report.split())


def need_times(t):
    """Skips where breakpoints cannot be had."""
    timed(t, "calls", 3, "2500000")
    found = re.search(r"not timed one by one, and times of kernels are sums of samples: ([^.]*)", said(t))
    if found:
        pytest.skip(found.group(1))


def is_ordered(times):
    keys = ("min_s", "q1_s", "median_s", "q3_s", "max_s")
    values = [times[key] for key in keys]
    return values == sorted(values) and values[0] <= times["mean_s"] <= values[-1]


@pytest.mark.parametrize("how, calls, turns, more, n", named({
    "long": ("calls", 20, "12000000", (), 20),  # 20 ms and more each
    "threads": ("threads", 10, "12000000", ("3",), 30),
    "recursion": ("nested", 6, "4000000", (), 6),
    "fork": ("fork", 10, "12000000", (), 20)}))
def test_all_calls(t, how, calls, turns, more, n):
    """Long calls are all timed, each of them within what the program measures around it."""
    need_times(t)
    row, own, _ = timed(t, how, calls, turns, *more)
    times = row["call_times"]
    assert (row["calls"], row["time_source"], times["calls"], times["all"]) == (n, "calls", n, True), row
    assert is_ordered(times), times
    # less what is to be expected of losses of the processor at breakpoints
    assert -1e-6 * row["time_s"] - 1e-6 < times["mean_s"] * n - row["time_s"] <= row["time_halfwidth_s"], row
    if how != "fork":  # what the program measures has the breakpoints in it, and its own calls of the clock
        (measured, total, _), = own
        assert measured == n and row["time_s"] <= total * 1.0001, f"{row}, own {own}"
        assert times["median_s"] > 0 and times["cost_s"] > 0


def test_calls_that_end_with_a_jump(t):
    """They are timed by the address that they return to, which is found while the program runs."""
    need_times(t)
    for _ in range(3):  # the first call may be over before it is known to where it returns
        row, own, _ = timed(t, "tail", 20, "12000000", kernel="kernel_tail")
        (n, total, _), = own
        times = row["call_times"]
        assert (n, row["calls"], row["time_source"]) == (20, 20, "calls"), row
        assert 19 <= times["calls"] <= 20 and is_ordered(times), times
        if times["all"]:
            break
    assert times["all"] and 0.99 * total < row["time_s"] <= 1.0001 * total, f"{row}, own {own}"
    row, own, _ = timed(t, "tail", 4000, TURNS, kernel="kernel_tail")
    assert 30 <= row["call_times"]["calls"] <= 4000, row
    (_, total, _), = own  # which has the breakpoints in it; samples may be as sure as some 50 calls
    assert total - row["call_times"]["calls"] * row["call_times"]["cost_s"] - row["time_halfwidth_s"] <= row["time_s"] <= total + row["time_halfwidth_s"], f"{row}, own {own}"
    (row, rest), _, _ = both = timed_rows(t, "tail", 20, "12000000", kernel="kernel_tail,kernel_rest")
    assert (row["calls"], rest["calls"], row["time_source"]) == (20, 0, "calls"), both[0]


@pytest.mark.parametrize("source, library, kernel, size", named({
    "fftw": ("fftw_calls.c", "-lfftw3", "fftw_execute", "1048576"), "openblas": ("dgemm_calls.c", "-lopenblas", "cblas_dgemm", "400")}))
def test_libraries(t, source, library, kernel, size):
    """fftw_execute ends with a jump through memory."""
    need_times(t)
    result = t.profile([t.program(source, ("-O2",), (library,)), size, "40"], f"--kernel={kernel}", *COUNTED)
    (row,) = result.json["kernels"]
    assert (row["calls"], row["time_source"]) == (40, "calls"), f"{row} {said(t)}"
    assert 30 <= row["call_times"]["calls"] <= 40 and is_ordered(row["call_times"]), row


def test_short_calls(t):
    """A part of them is timed, and what that costs is bounded: the program's own median has no breakpoints in it."""
    need_times(t)
    row, own, _ = timed(t, "calls", 4000, TURNS)
    times = row["call_times"]
    assert row["calls"] == 4000 and times is not None, row
    assert is_ordered(times) and 30 <= times["calls"] <= 4000, times
    (n, total, median), = own
    assert n == 4000 and 0.5 * median < times["median_s"] < 2 * median, f"{times}, own {own}"


def test_very_short_calls(t):
    """They are not slowed down, and their time is that of samples."""
    row, own, _ = timed(t, "calls", 400000, "1000")
    assert row["calls"] == 400000 and row["time_source"] == "samples", row
    assert row["call_times"] is None


@pytest.mark.parametrize("how, calls, more, kernel", named({
    "longjmp": ("left", 40, (), "kernel_time"),
    "threads_that_end": ("exit", 3, ("4",), "kernel_time"), "exec": ("exec", 20, (), "kernel_time")}))
def test_calls_without_a_return(t, how, calls, more, kernel):
    """A call without its match is none: where there are many, samples give the time."""
    native = t.run([t.program("call_times.c", ("-O2",), ("-pthread",)), how, str(calls), TURNS, *more])
    row, own, result = timed(t, how, calls, TURNS, *more, kernel=kernel)
    assert result.status == native.status == 0
    assert row["time_source"] in ("samples", None), row
    if how == "exec":
        assert row["calls"] == 2 * calls


def test_why_not(t):
    """The report says of which kernels calls are not timed, and why."""
    need_times(t)
    timed(t, "tail", 5, "2500000", kernel="kernel_time,kernel_rest,kernel_tail")
    assert "kernel_tail (of the last: the processor's four breakpoints do not suffice)" in said(t), said(t)
    row, _, _ = timed(t, "places", 40, "2500000", kernel="kernel_tail")
    assert row["time_source"] == "samples", row
    assert "kernel_tail (of the last: it is called from more places than there are breakpoints for)" in said(t), said(t)
    timed(t, "calls", 5, "2500000", kernel="nothing_of_that_name")
    assert "sums of samples: it is in no file that the process has mapped" in said(t), said(t)


PLUGIN_TURNS = "8000000"  # some 30 ms a call


def plugged(t, how, calls, turns, pause_ms, *libraries):
    """The row of the kernel in libraries that are opened later, the program's own figures, and the report.  Libraries:
    flags of plugin_kernel.c."""
    host = t.program("plugin_host.c", ("-O2",), ("-pthread",))
    built = [t.program("plugin_kernel.c", ("-O2", "-shared", "-fPIC", *flags)) for flags in libraries]
    result = t.profile([host, how, str(calls), turns, str(pause_ms), *built], "--kernel=kernel_plugged", *COUNTED)
    places = re.findall(rb"at (0x[0-9a-f]+)", result.stderr)
    assert len(set(places)) == len(libraries), f"not at addresses of their own: {places}"
    (row,), ((n, total, _),) = result.json["kernels"], [(int(n), float(s), float(m)) for n, s, m in OWN.findall(result.stderr)]
    return row, n, total


@pytest.mark.parametrize("how, libraries, n, share", named({
    "once": ("plain", ((),), 20, 1),
    "at_other_addresses": ("plain", ((), (), ("-DPLUGIN_PADDING",), ()), 80, 1),
    "threads_that_were_there": ("threads", ((), ()), 120, 1),
    "child_behind_it": ("fork", ((),), 40, 2),
    "jump_at_its_end": ("plain", (("-DPLUGIN_TAIL",), ("-DPLUGIN_TAIL",)), 40, 1)}))
def test_libraries_that_are_opened_later(t, how, libraries, n, share):
    """All calls are timed where the first one comes a while after the library."""
    need_times(t)
    row, own_n, total = plugged(t, how, 20, PLUGIN_TURNS, 300, *libraries)
    assert (row["calls"], own_n) == (n, n // share), row
    times = row["call_times"]
    assert row["time_source"] == "calls" and n - len(libraries) <= times["calls"] <= n and is_ordered(times), f"{row} {said(t)}"
    if share == 1 and times["all"]:  # of the child nothing is told
        assert 0.98 * total < row["time_s"] <= 1.0001 * total, f"{row}, own {total}"


def test_calls_before_they_can_be_seen(t):
    """Calls that begin at once, before breakpoints are there: the interval has what they can have taken."""
    need_times(t)
    for how, n in (("plain", 100), ("threads", 300)):
        row, own_n, total = plugged(t, how, 100, "4000000", 0, ())
        assert (row["calls"], own_n, row["time_source"]) == (n, n, "calls"), f"{row} {said(t)}"
        times, costs = row["call_times"], n * row["call_times"]["cost_s"]
        # of one thread at least half a second's: some 20 to 140 ms pass until breakpoints are in a library that is opened
        assert (n - times["calls"]) * times["mean_s"] <= 0.5 * (3 if how == "threads" else 1) and times["calls"] >= 0.5 * n, row
        # what the program measures has the breakpoints in it
        assert total - costs - row["time_halfwidth_s"] <= row["time_s"] <= total + row["time_halfwidth_s"], f"{row}, own {total}"


def test_plugged_calls_in_windows(t):
    """Short ones are timed in windows, as others."""
    need_times(t)
    row, _, _ = plugged(t, "plain", 4000, TURNS, 100, ())
    times = row["call_times"]
    assert row["calls"] == 4000 and times is not None and 30 <= times["calls"] <= 4000 and is_ordered(times), row


def test_library_of_a_library(t):
    """fftw_execute, in a library that comes with one that is opened, and ends with a jump through memory."""
    need_times(t)
    plugin = t.program("plugin_fftw.c", ("-O2", "-shared", "-fPIC"), ("-lfftw3",))
    host = t.program("plugin_host.c", ("-O2",), ("-pthread",))
    result = t.profile([host, "plain", "40", "1048576", "100", plugin], "--kernel=fftw_execute", *COUNTED)
    (row,) = result.json["kernels"]
    assert (row["calls"], row["time_source"]) == (40, "calls"), f"{row} {said(t)}"
    assert 30 <= row["call_times"]["calls"] <= 40 and is_ordered(row["call_times"]), row


def test_numpy(t):
    """numpy.dot calls cblas_dgemm, in a library that its import opens."""
    need_times(t)
    python = "/usr/bin/python3"
    if t.run([python, "-c", "import numpy"]).status:
        pytest.skip("there is no numpy")
    program = """
import numpy, sys, time
a, times = numpy.ones((900, 900)), []
for i in range(25):
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    a.dot(a)
    times.append(time.clock_gettime(time.CLOCK_MONOTONIC) - begin)
print("calls", len(times), "sum", sum(times), "median", sorted(times)[12], file=sys.stderr)
"""
    result = t.profile([python, "-c", program], "--kernel=cblas_dgemm", *COUNTED, env={"OPENBLAS_NUM_THREADS": "1"})
    (row,) = result.json["kernels"]
    if row["calls"] == 0:
        pytest.skip("numpy has another library")
    (total,) = [float(total) for _, total, _ in OWN.findall(result.stderr)]
    assert (row["calls"], row["time_source"], row["call_times"]["calls"]) == (25, "calls", 25), f"{row} {said(t)}"
    assert 0.8 * total < row["time_s"] < 1.0001 * total, f"{row}, own {total}"


@pytest.mark.parametrize("kernel", ("kernel_entry", "kernel_return", "kernel_apart"))
def test_loops_next_to_breakpoints(t, kernel):
    """Where breakpoints slow code down that lies next to them, none stays next to a loop: the kernel that is timed takes as
    much processor time as others of the same loop."""
    need_times(t)
    result = t.profile([t.program("near_loops.c", ("-O2",)), "40", "8000000"], f"--kernel={kernel}", *COUNTED)
    own = {name.decode(): (float(cpu), float(total)) for name, cpu, total in re.findall(rb"(\w+) cpu (\S+) sum (\S+)", result.stderr)}
    (row,) = result.json["kernels"]
    cpu, total = own.pop(kernel)
    assert cpu < 1.3 * min(other for other, _ in own.values()), f"{cpu} {own}"
    assert (row["calls"], row["time_source"]) == (40, "calls") and 39 <= row["call_times"]["calls"] <= 40, f"{row} {said(t)}"
    costs = 40 * row["call_times"]["cost_s"]  # what the program measures has the breakpoints in it
    assert total - costs - row["time_halfwidth_s"] - 0.01 * total < row["time_s"] <= total + row["time_halfwidth_s"], f"{row}, own {total}"


@pytest.mark.parametrize("how, binding", (("direct", "lazy"), ("direct", "now"), ("pointer", "lazy"), ("places", "lazy")))
def test_loop_next_to_an_entry_in_a_library(t, how, binding):
    """Calls through the procedure linkage table are timed where they are made; others cannot be where breakpoints slow
    down what lies next to them."""
    need_times(t)
    library = t.program("near_library.c", ("-O2", "-shared", "-fPIC"))
    host = t.program("near_host.c", ("-O2", "-no-pie", "-fplt", f"-Wl,-z,{binding}"), (library, f"-Wl,-rpath,{os.path.dirname(library)}"))
    result = t.profile([host, how, "40", "8000000"], "--kernel=kernel_near", *COUNTED)
    (row,), notes = result.json["kernels"], said(t)
    assert row["calls"] == 40, row
    if how == "direct" or row["time_source"] == "calls":  # the latter where nothing is slowed down
        assert row["time_source"] == "calls" and 39 <= row["call_times"]["calls"] <= 40, f"{row} {notes}"
    else:
        assert row["time_source"] == "samples", row
        assert ("a loop lies next to its entry" in notes) == (how == "pointer"), notes


def test_once(t):
    """The program's own code, where breakpoints are, does not run: that is said."""
    row, _, _ = timed(t, "calls", 5, "2500000", options=(*COUNTED, "--once"))
    assert (row["calls"], row["time_source"], row["call_times"]) == (5, "samples", None), row
    assert "sums of samples: with --once the program's own code" in said(t), said(t)


def test_plain_user(t):
    """It needs no rights but that to look at one's own processes."""
    need_times(t)
    program = t.program("call_times.c", ("-O2",), ("-pthread",))
    done = t.run([*as_nobody(t, t.work), t.rfprof_path, "-q", "--no-save", "--keep-roofs", *COUNTED, "--kernel=kernel_time",
                  "--json=report.json", program, "calls", "10", "12000000"], env={"HOME": t.work, "XDG_CACHE_HOME": t.work})
    assert done.status == 0, str(done)
    (row,) = json.loads(text(os.path.join(t.work, "report.json")))["kernels"]
    assert (row["time_source"], row["call_times"]["calls"]) == ("calls", 10), row


def test_cold(t):
    """Calls into flushed caches, from the end of the flush to their return."""
    row, own, result = timed(t, "calls", 20, "2500000", options=("--caches=cold", "--cache-sample=8"))
    if result.json["run"]["traffic"]["not_flushed"]:
        pytest.skip(result.json["run"]["traffic"]["not_flushed"])
    times = row["call_times"]
    assert (row["time_source"], times["calls"], times["all"]) == ("calls", 20, True), row
    (n, total, median), = own
    assert is_ordered(times) and n == 20 and row["time_s"] < total, f"{row}, own {own}"
