"""Threads that switch all the time: each one's processor time is that of its own clock (many_switches.c).

Of each switch some microseconds are in no record; at 20,000 a second that is a third of what threads run.
"""

import json
import os

import pytest

from harness import named, text
from test_errors import as_nobody

SHARE, SECONDS = 0.03, 0.005

CASES = {
    "a_pair_by_pipe": "pipe 1 10000 8000 2",
    "a_pair_by_futex": "futex 1 10000 8000 2",
    "a_pair_by_condition": "condition 1 10000 8000 2",
    "four_pairs_by_pipe": "pipe 4 16000 8000 2",
    "four_pairs_by_futex": "futex 4 8000 8000 2",
    "four_pairs_by_condition": "condition 4 8000 8000 2",
    "hardly_any_work": "pipe 2 20000 100",
    "for_long": "futex 1 40000 12000 3",  # it is looked at less often then
    "short": "pipe 4 300 8000",
    # So often that switches are recorded in windows alone.  What threads run behind the last look at the kernel's sums, some
    # 20 ms, is told by the windows: 3 % of 0.7 s, so these run for 2.
    "nothing_else": "pipe 1 60000 1",
    "one_more_than_the_other": "pipe 1 60000 1 400",
    "now_and_then": "pipe 1 240000 1 1 60000",
    "now_and_then_by_futex": "futex 1 240000 1 1 60000",
}
# The threads of two processes that a third one waits for.
CHILDREN = "{0} pipe 1 6000 8000 2 & {0} futex 2 5000 8000; wait"


def check(report, truths):
    threads = {row["tid"]: row for row in report["threads"]}
    wrong = []
    for true in truths:
        row = threads.get(true["tid"], {"user_s": 0, "kernel_s": 0})
        ran = row["user_s"] + row["kernel_s"]
        if abs(ran - true["cpu_s"]) > max(SHARE * true["cpu_s"], SECONDS):
            wrong.append(f"thread {true['tid']} ran {ran:.4f} s, true {true['cpu_s']:.4f} s, {true['switches']} switches")
    account = report["run"]["account"]
    lives = sum(row["life_s"] for row in report["threads"])
    parts = sum(account[key] for key in ("user_s", "kernel_s", "waiting_s", "runnable_s"))
    if abs(parts - lives) > 0.001 * lives:
        wrong.append(f"the four parts are {parts:.4f} s, lives {lives:.4f} s")
    busy = account["user_s"] + account["kernel_s"]
    by_clock = sum(n * time for n, time in enumerate(account["concurrency"]))
    by_strip = sum(account["strip"]) / len(account["strip"]) * account["wall_s"]
    for what, value in ("concurrency", by_clock), ("strip", by_strip):
        if abs(value - busy) > 0.02 * busy + SECONDS:
            wrong.append(f"processor time by {what} is {value:.4f} s, by threads {busy:.4f} s")
    assert not wrong, "\n".join(wrong) + f"\n{account}"


def json_lines(result):
    return [json.loads(line) for line in result.stdout.decode().splitlines()]


def program(t):
    return t.program("many_switches.c", ("-O2", "-pthread"))


@pytest.mark.alone
@pytest.mark.parametrize("words", named(CASES))
def test_each_thread(t, words):
    result = t.profile([program(t), *words.split()], "--traffic=none")
    check(result.json, json_lines(result)[0])


@pytest.mark.alone
@pytest.mark.parametrize("words", ["pipe 1 600000 1", "pipe 1 720000 1 1 120000"], ids=["nothing_else", "now_and_then"])
def test_on_one_processor(t, words):
    result = t.profile(["taskset", "-c", str(min(os.sched_getaffinity(0))), program(t), *words.split()], "--traffic=none")
    check(result.json, json_lines(result)[0])


@pytest.mark.alone
def test_children(t):
    result = t.profile(["/bin/sh", "-c", CHILDREN.format(program(t))], "--traffic=none")
    check(result.json, [row for line in json_lines(result) for row in line])


@pytest.mark.alone
def test_plain_user(t):
    prefix = as_nobody(t, t.work)
    path = os.path.join(t.work, "report.json")
    result = t.run([*prefix, t.rfprof_path, "-q", "--no-save", "--keep-roofs", "--traffic=none", "--json", path,
                    program(t), *CASES["four_pairs_by_pipe"].split()], env={"HOME": t.work, "XDG_CACHE_HOME": t.work})
    assert result.status == 0, str(result)
    check(json.loads(text(path)), json_lines(result)[0])
