"""Processes: the tree of both runs, what of them is not counted, --no-children, and names of JIT code."""

import contextlib
import json
import os
import sqlite3
import stat
import time

import pytest

from harness import functions, named, need_command, text

TREE = """#!/bin/sh
for i in 1 2 3; do gzip -9 < "$1" > /dev/null; done
env sh -c 'exec gzip -1' < "$1" > /dev/null
exit 0
"""


def script(t, body=TREE):
    path = os.path.join(t.work, "tree.sh")
    with open(path, "w", encoding="utf-8") as file:
        file.write(body)
    os.chmod(path, stat.S_IRWXU)
    return path


def data(t, size=3 << 20):
    path = os.path.join(t.work, "data")
    with open(path, "wb") as file:
        file.write(b"".join(b"%d %d\n" % (i, i * i % 9973) for i in range(size // 12)))
    return path


def uncounted_share(t, kind, reason, argument=None):
    """Profiles native_share; checks its share everywhere, and returns the report and its one cause.  The program spends
    some 30 %, and says how much it was: the processor is not as fast all the time."""
    program = t.program("native_share.c")
    command = [program, kind] + ([argument] if argument else [])
    table = os.path.join(t.directory, "table.txt")
    result = t.profile(command, "-o", table)
    truth = float(result.stdout) / 100
    assert 0.2 < truth < 0.4, f"the program itself spent {truth}\n{result}"
    run = result.json["run"]
    shown = run["uncounted_s"] / run["cpu_time_s"]
    assert abs(shown - truth) <= 0.03, f"{shown} is shown, the program says {truth}\n{run}\n{text(table)}"
    causes = [part for part in run["uncounted"] if abs(part["share"] - truth) <= 0.03]
    assert len(causes) == 1, f"not one cause of {truth}: {run['uncounted']}"
    assert reason in causes[0]["reason"], causes[0]
    counted = [row for row in functions(result.json, "work", "native_share") if row["bound"] != "uncounted"]
    assert len(counted) == 1 and abs(counted[0]["share"] - (1 - truth)) <= 0.04, f"{truth} is not counted: {counted}"
    assert counted[0]["instructions"] > 0, counted
    lines = [line for line in text(table).splitlines() if "% of the time: " in line and reason in line]
    assert lines, f"no line says so\n{text(table)}"
    return result.json, causes[0]


@pytest.mark.alone
def test_native_share_of_a_thread(t):
    """30 % in a thread that uses the GS segment; the same function is counted elsewhere."""
    uncounted_share(t, "thread", "GS segment")


@pytest.mark.alone
def test_native_share_of_a_process(t):
    """30 % in a child in a sandbox; the same function is counted in its parent."""
    report, cause = uncounted_share(t, "process", "seccomp")
    assert cause["kind"] == "process" and cause["name"] == "native_share", cause
    parent, child = report["processes"]
    assert parent["uncounted_s"] < 0.02 * parent["time_s"] and parent["native_reason"] is None, parent
    assert "seccomp" in child["native_reason"] and child["parent"] == 0, child
    assert child["uncounted_s"] > 0.9 * child["time_s"] > 0, child


@pytest.mark.alone
def test_native_share_of_a_module(t):
    """30 % in code that lies in shared memory."""
    _, cause = uncounted_share(t, "module", "shared memory", os.path.join(t.work, "native.bin"))
    assert (cause["kind"], cause["name"]) == ("module", "native.bin"), cause


@pytest.mark.alone
def test_native_share_of_a_32_bit_program(t):
    """30 % in a child of another architecture."""
    try:
        child = t.program("spend_32.c", ("-m32", "-nostdlib", "-static", "-fno-pic", "-no-pie", "-ffreestanding"))
    except AssertionError as error:
        pytest.skip(f"no 32-bit compiler: {str(error).splitlines()[-1]}")
    try:
        works = t.run([child, "1"]).status == 0
    except OSError:
        works = False
    if not works:
        pytest.skip("this kernel runs no 32-bit programs")
    report, cause = uncounted_share(t, "exec", "not 64-bit x86", child)
    assert (cause["kind"], cause["name"]) == ("process", "spend_32"), cause
    assert [row["birth"] for row in report["processes"]] == ["first", "vfork"], report["processes"]


def test_tree_of_both_runs(t):
    """Every process has its twin, its parent, its program, its time and its work."""
    need_command("/bin/gzip")
    for options in ([], ["--once"]):
        table = os.path.join(t.directory, "table.txt")
        report = t.profile([script(t), data(t, 1 << 20)], "-o", table, *options).json
        rows = report["processes"]
        assert [row["command"] for row in rows] == ["tree.sh"] + ["gzip"] * 4, rows
        assert [row["parent"] for row in rows] == [None, 0, 0, 0, 0], rows
        assert [row["execs"] for row in rows] == [1, 1, 1, 1, 3], rows
        assert rows[0]["birth"] == "first" and all(row["birth"] in ("fork", "vfork") for row in rows[1:]), rows
        assert all(os.path.basename(row["executable"]) == "gzip" for row in rows[1:]), rows
        for row in rows:
            assert row["counted_pid"] and row["pid"] and row["exit_status"] == "0", row
            assert row["instructions"] > 0 and row["end_s"] > row["start_s"] >= 0, row
        work = [row["instructions"] for row in rows]
        assert max(work[1:4]) < 1.001 * min(work[1:4]) and work[1] > 2 * work[4], work
        total = sum(row["time_s"] for row in rows)
        assert abs(total - report["run"]["cpu_time_s"]) < 1e-6, (total, report["run"])
        assert sum(row["instructions"] for row in report["functions"]) == sum(work)
        assert "    gzip ×4\n" in text(table), text(table)


def test_births_are_told_apart(t):
    """How a process began, in both runs' rows."""
    source = os.path.join(t.work, "births.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <spawn.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(void) { pid_t p;"
                   "char *v[] = {\"true\", 0}; if (!fork()) _exit(3); wait(0);"
                   "if (!vfork()) { execv(\"/bin/true\", v); _exit(1); } wait(0);"
                   "posix_spawn(&p, \"/bin/true\", 0, 0, v, v + 1); wait(0); return 0; }\n")
    rows = t.profile([t.program(source)]).json["processes"]
    assert [row["birth"] for row in rows] == ["first", "fork", "vfork", "spawn"], rows
    assert [row["exit_status"] for row in rows] == ["0", "3", "0", "0"], rows


def test_a_table_for_each_process(t):
    """--processes=tree shows the functions of each program alone, and is said wrong otherwise."""
    need_command("/bin/gzip")
    saved = os.path.join(t.work, "tree.rfp")
    assert t.rfprof("-q", "--save", saved, script(t), data(t, 1 << 20)).status == 0
    merged = t.rfprof("report", saved).stdout.decode()
    apart = t.rfprof("report", "--processes=tree", saved).stdout.decode()
    assert "tree.sh → gzip ×4" in apart and "tree.sh → gzip ×4" not in merged, apart
    assert t.rfprof("report", "--processes=merge", saved).stdout.decode() == merged
    wrong = t.rfprof("report", "--processes=each", saved)
    assert wrong.status == 2 and b"--processes takes merge or tree" in wrong.stderr, str(wrong)


def test_no_children(t):
    """Only the first process is timed and counted, in all its images; children do what they do."""
    need_command("/bin/gzip")
    path, body = data(t), "#!/bin/sh\ngzip -9 < \"$1\"\nexec env sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'\n"
    command = [script(t, body), path]
    native = t.run(command)
    for options in ([], ["--once"], ["--sampler=timer"]):
        table = os.path.join(t.directory, "table.txt")
        result = t.profile(command, "--no-children", "-o", table, *options)
        assert result.stdout == native.stdout, options
        report = result.json
        assert report["run"]["no_children"] is True
        assert "--no-children: " in text(table), text(table)
        assert [row["execs"] for row in report["processes"]] == [3], report["processes"]
        assert functions(report, module="dash") and not functions(report, module="gzip"), options
        assert sum(row["instructions"] for row in functions(report, module="dash")) > 1e6


def test_no_children_leaves_nothing_behind(t):
    """What the second run's program leaves in the background is ended, although it is not followed."""
    token = os.path.join(t.work, "still-here")
    body = f"#!/bin/sh\nsetsid sh -c 'sleep 1.5; echo x >> {token}' > /dev/null 2>&1 &\nexit 0\n"
    result = t.profile([script(t, body)], "--no-children")
    assert result.status == 0
    # The first run's own is the real one, in a session that the harness does not end.
    time.sleep(3)
    assert text(token) == "x\n", text(token)


def test_jit_functions_have_their_names(t):
    """Samples in code made at run time are named by perf-PID.map, also when it is deleted at the end."""
    program = t.program("jit_names.c")
    for arguments in ([], ["delete"]):
        report = t.profile([program, *arguments]).json
        rows = {row["name"]: row["time_s"] for row in functions(report, module="[jit]")}
        assert set(rows) == {"hot function", "warm"}, rows
        assert 2 < rows["hot function"] / rows["warm"] < 4.5, rows


def jit_times(t, how, *options):
    """The report, the times of functions made at run time, and those that the program has measured."""
    program = t.program("jit_dump.c")
    result = t.profile([program, how], "--traffic=none", *options, cwd=t.work)
    rows = {row["name"]: row["time_s"] for row in functions(result.json, module="[jit]")}
    return result.json, rows, json.loads(result.stdout.decode().splitlines()[-1])


@pytest.mark.parametrize("how", named({"usual": "-", "deleted": "d", "with_lines": "l", "beside_perf_map": "p", "cut": "b"}))
def test_jit_dump_names_code_by_its_time(t, how):
    """jit-PID.dump: code that is moved keeps its name, addresses that are used again get the name of that time."""
    report, times, truth = jit_times(t, how)
    assert set(times) - {"stale"} == set(truth), times
    for name, true in truth.items():
        assert abs(times[name] - true) < 0.1 * true + 0.01, (times, truth)
    notes = " ".join(report["run"]["notes"])
    assert "jit-PID.dump" not in notes and "names of code made at run time" not in notes, notes


def test_jit_dump_has_lines(t):
    """The loops are in the lines behind those of their functions, also when they have been moved."""
    path = os.path.join(t.directory, "lines.rfp")
    report, _, _ = jit_times(t, "l", "--save", path)
    rows = {row["name"]: row for row in functions(report, module="[jit]")}
    assert (rows["first"]["file"], rows["first"]["line"], rows["mover"]["line"]) == ("made.js", 7, 20), rows
    result = t.rfprof("report", "--by=line", "--json", os.path.join(t.directory, "lines.json"), path)
    assert result.status == 0, str(result)
    lines = {row["name"]: row["time_s"] for row in json.loads(text(os.path.join(t.directory, "lines.json")))["functions"]}
    for name, line in ("first", 8), ("mover", 21):
        found = [time for where, time in lines.items() if f"made.js:{line}" in where]
        assert len(found) == 1 and found[0] > 0.95 * rows[name]["time_s"], (lines, rows[name]["time_s"])


def test_jit_dump_of_another_clock(t):
    """Without times that are known the function written last has all of its address, and that is said."""
    report, times, truth = jit_times(t, "c")
    assert set(times) == {"second", "mover", "third"}, times
    assert abs(sum(times.values()) - sum(truth.values())) < 0.1 * sum(truth.values()), (times, truth)
    notes = " ".join(report["run"]["notes"])
    assert "not those of CLOCK_MONOTONIC" in notes, notes


def test_jit_dump_by_the_timer(t):
    """The fall-back sampler finds the file by the program's mappings."""
    _, times, truth = jit_times(t, "-", "--sampler=timer")
    assert set(times) == set(truth), (times, truth)


def test_node_functions_have_their_names(t):
    """Node.js names its compiled functions with --perf-basic-prof."""
    node = need_command("/usr/bin/node")
    source = ("function busy(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 65537; return s; }"
              "let r = 0; for (let k = 0; k < 40; k++) r += busy(2000000); console.log(r);")
    report = t.profile([node, "--perf-basic-prof", "-e", source], cwd=t.work).json
    time = sum(row["time_s"] for row in functions(report, module="[jit]") if "busy" in row["name"])
    assert time > 0.5 * report["run"]["cpu_time_s"], functions(report, module="[jit]")


@pytest.mark.parametrize("options", named({"usual": [], "once": ["--once"], "timer": ["--sampler=timer"]}))
def test_threads_without_samples_count(t, options):
    """Nine threads, of which eight only sleep."""
    run = t.profile([t.program("sleepers.c")], *options).json["run"]
    assert run["threads"] == 9, f"{run['threads']} threads, not 9"


@pytest.mark.parametrize("options", [("--work=count", "--traffic=none"), ("--cache-sample=1",)], ids=["counted", "traced"])
def test_very_many_threads_are_told_of_earlier_ones(t, options):
    """What 80 threads run would be 1.6 million rows: later threads share those of the first.  Sums stay exact."""
    program = t.program("short_threads.c", libraries=["-lpthread"])
    table, saved = (os.path.join(t.directory, name) for name in ("table.txt", "saved.rfp"))
    result = t.profile([program, "80"], "-v", "-o", table, "--save", saved, *options)
    assert result.stdout == b"done\n"
    rows = functions(result.json, "functions", "short_threads")
    assert sum(row["flop"] for row in rows) == 80 * 10000, rows
    assert sum(row["load_bytes"] for row in rows if row["flop"]) == 80 * 10000 * 16, rows  # and return addresses
    filled = functions(result.json, "run", "short_threads")
    assert sum(row["string_bytes"] for row in filled) == 80 * 1000, filled
    assert "threads are told of earlier ones that ran the same programs" in text(table)
    with contextlib.closing(sqlite3.connect(saved)) as profile:
        kept = profile.execute("SELECT count(*) FROM counts").fetchone()[0]
        alone = profile.execute("SELECT count(*) FROM units WHERE thread_id NOT IN (SELECT thread_id FROM counts)").fetchone()[0]
    assert 200_000 < kept < 1_100_000 and not alone, (kept, alone)


@pytest.mark.parametrize("idle_s", [6, 1000])
def test_second_run_that_waits(t, idle_s):
    """What the second run waits for may never come; what ends by itself is left alone."""
    directory = os.path.join(t.work, "there")
    script = f"if mkdir {directory} 2> /dev/null; then sleep 0.5; else sleep {idle_s}; fi"
    run, is_ended = t.profile(["sh", "-c", script], "--traffic=none").json["run"], idle_s > 100
    assert run["exit_status"] == "0"
    assert run["exit_same"] == ("different" if is_ended else "same")
    shown = t.rfprof("report", os.path.join(t.directory, "profiled.rfp"))
    words = " ".join(shown.stdout.decode().replace("\n ", " ").split())
    assert ("run 2 waited for what came to run 1 alone" in words) == is_ended, shown
    assert not is_ended or "the two runs ended differently" not in words, shown
