"""rfprof sweep: a program at all points of a parameter space; results are kept, and none is lost (docs/sweep.md)."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

SOURCE = """
#include <stdlib.h>
__attribute__((noinline, noipa)) double add(long n)
{ double s = 1; for (long i = 0; i < n; i++) { s += 1.0; __asm__ volatile("" : "+x"(s)); } return s; }
int main(int argc, char **argv) { if (argc > 2) return atoi(argv[2]); for (int i = 0; i < 4; i++) add(atol(argv[1])%s); return 0; }
"""
OPTIONS = ("--kernel=add", "--repeats=2", "--cache-sample=16", "-q")


def build(t, more="", name="adds"):
    """The program at a place of this test's own, where it can be replaced."""
    source = os.path.join(t.directory, f"{name}.c")
    with open(source, "w") as file:
        file.write(SOURCE % more)
    path = os.path.join(t.directory, name)
    shutil.copy(t.program(source, ("-O1",)), path + ".new")
    os.rename(path + ".new", path)
    return path


def sweep(t, *arguments, status=0, **options):
    result = t.rfprof("sweep", *OPTIONS, "--json=-", *arguments, cwd=t.directory, **options)
    assert result.status == status, result
    return json.loads(result.stdout)["points"] if status == 0 else result


def n_kept(path):
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return connection.execute("SELECT count(*) FROM repeats").fetchone()[0]


def rows(path):
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT * FROM repeats ORDER BY id").fetchall()


def test_points(t):
    program = build(t)
    points = sweep(t, "n=1000:3000:1000", "--", program, "{n}")
    assert [point["parameters"] for point in points] == [{"n": "1000"}, {"n": "2000"}, {"n": "3000"}]
    for point in points:
        n = int(point["parameters"]["n"])
        assert (point["kernel"], point["repeats"], point["calls"]) == ("add", 2, 4)
        assert set(point["flop"].values()) == {n}
        assert point["mem_read_bytes"]["min"] >= 0
        if point["time_s"]:
            time_s = point["time_s"]
            assert time_s["min"] <= time_s["q1"] <= time_s["median"] <= time_s["q3"] <= time_s["max"]


def test_nothing_is_measured_twice(t):
    program = build(t)
    command = ("n=1000,2000", "--", program, "{n}")
    sweep(t, *command)
    path = os.path.join(t.directory, "sweep.rfp")
    before = rows(path)
    sweep(t, *command)
    assert rows(path) == before
    sweep(t, "n=1000,2000,3000", "--", program, "{n}")
    assert rows(path)[:len(before)] == before and n_kept(path) == 6


def test_what_has_changed_is_measured_again(t):
    program = build(t)
    command = ("n=1000", "--", program, "{n}")
    path = os.path.join(t.directory, "sweep.rfp")
    sweep(t, *command)
    build(t, "+1")
    assert sweep(t, *command)[0]["flop"]["median"] == 1001
    assert n_kept(path) == 2  # of the program that is gone nothing is kept
    before = n_kept(path)
    sweep(t, *command, env={"OMP_NUM_THREADS": "3"})
    assert n_kept(path) == before + 2
    sweep(t, *command, env={"NOT_LISTED": "3"})
    assert n_kept(path) == before + 2
    sweep(t, "--env=LISTED", *command, env={"LISTED": "3"})
    assert n_kept(path) == before + 4
    sweep(t, "--cache=L1=32K:8,L2=256K:8,L3=1M:16", *command)
    assert n_kept(path) == before + 6


def test_dry_run(t):
    program = build(t)
    sweep(t, "n=1000", "--", program, "{n}")
    result = t.rfprof("sweep", *OPTIONS, "--dry-run", "n=1000,2000", "--", program, "{n}", cwd=t.directory)
    assert b"2 kept, 0 to run" in result.stdout and b"0 kept, 2 to run" in result.stdout
    assert b"2 points, 2 runs" in result.stdout
    assert n_kept(os.path.join(t.directory, "sweep.rfp")) == 2


def test_dry_run_makes_no_file(t):
    result = t.rfprof("sweep", "--dry-run", "n=1", "--", "true", "{n}", cwd=t.directory)
    assert result.status == 0 and b"0 kept, 5 to run" in result.stdout
    assert not os.path.exists(os.path.join(t.directory, "sweep.rfp"))


def test_a_point_that_fails_is_left_out(t):
    program = build(t)
    result = t.rfprof("sweep", *OPTIONS, "--json=points.json", "s=0,3", "--", program, "1000", "{s}", cwd=t.directory)
    assert result.status == 1
    assert b"status 3" in result.stderr and b"left out" in result.stderr
    with open(os.path.join(t.directory, "points.json")) as file:
        assert [point["repeats"] for point in json.load(file)["points"]] == [2, 0]


def test_budget(t):
    """What is left of it goes to more repeats."""
    program = build(t)
    points = sweep(t, "--budget=15s", "n=3000000,6000000", "--", program, "{n}")
    assert all(point["repeats"] >= 2 for point in points)
    assert sum(point["repeats"] for point in points) > 4


@pytest.mark.parametrize("words", [("n=1:2",), ("--", "true", "{m}"), ("n=1", "--", "true"), ("--budget=soon", "true"),
                                   ("--kernel=a,a", "true")])
def test_refused(t, words):
    result = t.rfprof("sweep", *words, cwd=t.directory)
    assert result.status == 2 and result.stderr
    assert not os.path.exists(os.path.join(t.directory, "sweep.rfp"))


def test_another_file_is_refused(t):
    path = os.path.join(t.directory, "other.rfp")
    for content in (b"not a database, but long enough to look like one" * 20, None):
        if content:
            with open(path, "wb") as file:
                file.write(content)
        else:
            os.unlink(path)
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE things (id INTEGER)")
        before = open(path, "rb").read()
        assert t.rfprof("sweep", f"--save={path}", "true").status == 2
        assert open(path, "rb").read() == before


@pytest.mark.parametrize("kills", [8, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_any_moment(t, kills):
    """No result that was kept is lost or changed, and in the end all are there."""
    program = build(t)
    draw = random.Random(kills)
    n = 3 if kills == 8 else 12
    path = os.path.join(t.directory, "sweep.rfp")
    command = [t.rfprof_path, "sweep", *OPTIONS, f"n=1000:{n}000:1000", "--", program, "{n}"]
    known = []
    for _ in range(kills):
        process = subprocess.Popen(command, cwd=t.directory, env=t.environment(), start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, 1.5))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if os.path.exists(path) and os.path.getsize(path):
            now = rows(path) if n_tables(path) else []
            assert now[:len(known)] == known
            known = now
    points = sweep(t, f"n=1000:{n}000:1000", "--", program, "{n}")
    assert [point["repeats"] for point in points] == [2] * n
    assert rows(path)[:len(known)] == known and n_kept(path) == 2 * n


def n_tables(path):
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()[0]


def test_picture(t):
    """Points are labelled, and those that differ in the first parameter alone are connected."""
    program = build(t)
    svg = os.path.join(t.directory, "points.svg")
    points = sweep(t, f"--svg={svg}", "n=20000000,40000000", "--", program, "{n}")
    drawn = sum(1 for point in points if point["time_s"])
    with open(svg) as file:
        picture = file.read()
    assert picture.count('class="point"') == drawn and picture.count('class="series"') == max(drawn - 1, 0)
    assert drawn < 2 or ("n=20000000" in picture and "n=40000000" in picture)
