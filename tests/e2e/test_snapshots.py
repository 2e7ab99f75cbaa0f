"""While a program is timed, what was measured so far is saved; the program is as it would be without."""

import json
import os
import signal
import subprocess
import time

import pytest

from harness import functions, text

SUITE = "targets"
LIMIT_S = 120


def started(t, *words, options=(), **more):
    command = [t.rfprof_path, "-q", "--keep-roofs", "--traffic=none", "--save", path(t), *options, *words]
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen(command, env=t.environment(), cwd=t.work, **more)


def path(t):
    return os.path.join(t.work, "taken.rfp")


def wait_until(holds):
    end = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def ended(rfprof, status, data=None):
    out, err = rfprof.communicate(data, timeout=LIMIT_S)
    assert rfprof.returncode == status and not err, (rfprof.returncode, err)
    return out


def report(t):
    out = os.path.join(t.work, "taken.json")
    result = t.rfprof("report", path(t), "--json", out)
    assert result.status == 0, str(result)
    return json.loads(text(out)), result


def is_snapshot(report):
    return any("a snapshot" in note for note in report["run"]["notes"])


def test_what_ran_so_far_can_be_reported_and_then_all(t):
    rfprof = started(t, t.program("phases.c"), "a200", "b", options=["--every=100ms"])
    wait_until(lambda: os.path.exists(path(t)))
    so_far, shown = report(t)
    assert rfprof.poll() is None
    assert is_snapshot(so_far) and b"a snapshot, number " in shown.stderr + shown.stdout, str(shown)
    assert 0.1 <= so_far["run"]["wall_s"] and functions(so_far, "phase_a")[0]["time_s"] > 0
    assert not functions(so_far, "phase_a")[0]["flop"] and so_far["run"]["exit_status"] is None
    ended(rfprof, 3)
    whole, _ = report(t)
    assert not is_snapshot(whole) and whole["run"]["exit_status"] == "3"
    assert whole["run"]["wall_s"] > so_far["run"]["wall_s"]
    assert sum(row["flop"] for row in functions(whole, "phase_a")) == 200 * 10_000_000
    assert [name for name in os.listdir(t.work) if "taken" in name and name.endswith("rfp")] == ["taken.rfp"]


def test_the_end_of_its_input_comes_through(t):
    """No copy of rfprof keeps an end of its pipes open."""
    rfprof = started(t, "/bin/cat", options=["--every=20ms"], stdin=subprocess.PIPE)
    rfprof.stdin.write(b"first\n")
    rfprof.stdin.flush()
    wait_until(lambda: os.path.exists(path(t)))
    assert ended(rfprof, 0, b"last\n") == b"first\nlast\n"
    assert not is_snapshot(report(t)[0])


def test_they_grow(t):
    rfprof = started(t, t.program("phases.c"), "i", options=["--every=50ms", "--run=time"], stdout=subprocess.DEVNULL)
    lengths = []

    def is_longer():
        if os.path.exists(path(t)):
            lengths.append(report(t)[0]["run"]["wall_s"])
        return len(lengths) > 1 and lengths[-1] > lengths[0]

    wait_until(is_longer)
    assert lengths == sorted(lengths)
    rfprof.send_signal(signal.SIGINT)
    rfprof.communicate(timeout=LIMIT_S)


def test_one_that_cannot_be_saved_harms_nothing(t):
    """What is no directory any more takes no file."""
    folder = os.path.join(t.work, "folder")
    os.mkdir(folder)
    rfprof = started(t, "/bin/cat", options=["--every=20ms", "--save", os.path.join(folder, "x.rfp")], stdin=subprocess.PIPE)
    wait_until(lambda: os.path.exists(os.path.join(folder, "x.rfp")))
    os.rename(folder, folder + "2")
    wait_until(lambda: os.stat(folder + "2").st_mtime + 0.2 < time.time())
    out, err = rfprof.communicate(b"all\n", timeout=LIMIT_S)
    assert out == b"all\n" and b"snapshots could not be saved" in err, err


@pytest.mark.parametrize("options", [["--once"], ["--repeat=2"], ["--run=count"], ["--delay=1"], ["--no-save"]])
def test_what_cannot_be_is_refused(t, options):
    result = t.rfprof("--every=1", *options, "/bin/true")
    assert result.status == 2 and b"goes without --every" in result.stderr, str(result)


def test_without_perf_it_is_said(t):
    result = t.rfprof("--every=1", "--sampler=timer", "--keep-roofs", "/bin/true")
    assert result.status == 0 and b"snapshots need the sampler perf" in result.stderr, str(result)
