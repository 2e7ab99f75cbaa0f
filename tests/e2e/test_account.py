"""The account of a run: user code, kernel, waiting, ready, against a program that has measured its own (account.c).

What is known, and how.  The program's clocks of processor time are exact, and so is what the kernel says of the time
that a thread stood in the run queue (schedstat); what remains of its life it was blocked.  So the sums are known also
where more threads than processors run.  User and kernel are known for what is one of both by construction; for the rest
(the program's start, its threads' starts and ends, small system calls) only their sum is, and each of both may be
anything from nothing to all of it.  The numbers are those that the program prints in the timed run itself.
"""

import collections
import json
import os
import re

import pytest

from harness import functions, named, text
from test_errors import as_nobody

SHARE, SECONDS = 0.03, 0.005  # how far a time may be from the truth: the larger of both
# The intervals of user and kernel time are of 95 %; this many times as wide, of 99.8 %.
SURELY = 1.6
WIDEST = 0.025  # half of one of half a second, however it is mixed
SWITCH = 30e-6  # of each the kernel's part is the program's, though it did not ask for it
FIRST_PERIODS = 0.008  # seconds of two threads on two processors, half a period of 4 ms each
FAULT_PERIOD = 397  # faults that a sample of them stands for
# What a thread waits for its turn on a machine that does something else besides.
LATE = 0.015
END = 0.05  # and at its end
LIVES_SHARE = 0.01
PARANOID = "/proc/sys/kernel/perf_event_paranoid"

CASES = {
    "spin": "spin=200",
    "spin_in_2_threads": "spin=150:2",
    "spin_in_8_threads": "spin=50:8",
    "kernel": "kernel=200",
    "kernel_in_3_threads": "kernel=80:3",
    "sleep": "sleep=200",
    "sleep_in_8_threads": "sleep=100:8",
    "faults": "faults=100000",
    "faults_in_2_threads": "faults=40000:2",
    "many_faults": "faults=400000",
    "lock_of_2_threads": "lock=100:2",
    "lock_of_8_threads": "lock=25:8",
    "line": "line=150000000:2",
    "fsync": "fsync=600",
    "read": "read=500000",
    "write_in_2_threads": "write=600000:2",
    "access": "access=200000",
    "pipe": "pipe=5:40",
    "pipe_of_a_process": "feed=5:40",
    "join": "join=200",
    "children": "child=100:3",
    "grandchild": "child/child/spin=50:4",
    "mix": "spin=100 sleep=50 kernel=50 faults=20000 pipe=5:10",
    "mix_of_threads": "lock=30:4 sleep=30:8 spin=40:3 read=100000 kernel=20:2",
    "mix_of_processes": "child/faults=20000 child/read=90000:2 child/child/sleep=40:2 feed=3:15 child/lock=20:3",
}
# Only their sums are asked for.
SUMS = {"spin": "spin=150:3", "waits": "sleep=80:2 lock=40:3 pipe=4:10", "kernel": "kernel=100 faults=30000",
        "children": "child=60:2 child/sleep=50:2 feed=3:15"}

# Part: the function whose code its user time, or whose calls its kernel time is.
USER = {"spin": "spin", "join": "spin", "child": "spin", "lock": "hold_lock", "line": "write_line"}
KERNEL = {"kernel": "read_blocks", "faults": "touch_pages"}
KERNEL_ROWS = {"kernel": ("[read]", "kernel"), "faults": ("[page faults]", "new pages")}  # and by what it is held back
# The number of these calls depends on how fast the machine is: that of the counted run is another one.
CLOCKED = {"read_blocks"}
SYSTEM_CALLS = {"sleep": "clock_nanosleep", "pipe": "read", "socket": "recvfrom", "terminal": "read", "poll": "poll",
                "event": "read", "signal": "rt_sigtimedwait", "child": "wait4", "disk": "fsync", "lock": "futex",
                "join": "futex", "condition": "futex", "barrier": "futex", "semaphore": "futex"}
WAITS = ["condition", "barrier", "semaphore", "socket", "poll", "event", "signal", "terminal"]


class Check:
    """Collects all that is wrong in a report."""

    def __init__(self):
        self.wrong = []

    def near(self, what, value, truth, more=0.0, share=SHARE, seconds=SECONDS):
        """Within the tolerance of the truth, or of up to `more` above it."""
        allowed = max(share * truth, seconds)
        if value is None or not truth - allowed <= value <= truth + more + share * more + allowed:
            self.wrong.append(f"{what} is {value}, true {truth:.6g}" + (f" to {truth + more:.6g}" if more else ""))

    def equal(self, what, value, truth):
        if value != truth:
            self.wrong.append(f"{what} is {value}, true {truth}")

    def within(self, what, value, least, most):
        if value is None or not least <= value <= most:
            self.wrong.append(f"{what} is {value}, not within {least:.6g} and {most:.6g}")

    def end(self, result):
        account = json.dumps(result.json["run"]["account"])
        assert not self.wrong, "\n".join(self.wrong) + f"\n{account}\n{result}"


def truth_of(result):
    return json.loads(result.stdout.decode().splitlines()[-1])


def account_of(t, parts, *options):
    """The result of the run and the truth that it printed."""
    result = t.profile([t.program("account.c"), *parts.split()], "--traffic=none", *options)
    return result, truth_of(result)


def base(part):
    return part["what"].split("/")[-1]


def sum_of(rows, key):
    return sum(row[key] or 0 for row in rows)


# ---- the sums ----

def unseen(report, total):
    """What threads do when they have looked at their clocks for the last time: they end, for which they may wait and be ready."""
    return max(sum_of(report["threads"], "life_s") - total["lives_s"], 0)


def check_sums(check, report, total):
    """What is known of every run, with whatever rights."""
    account = report["run"]["account"]
    busy, idle = account["user_s"] + account["kernel_s"], account["waiting_s"] + account["runnable_s"]
    lives = sum_of(report["threads"], "life_s")
    check.near("user + kernel", busy, total["cpu_s"])
    check.near("waiting + runnable", idle, total["waiting_s"] + total["runnable_s"], more=unseen(report, total))
    check.near("the sum of the four", busy + idle, lives, share=LIVES_SHARE, seconds=0)
    check.near("the threads' lives", lives, total["lives_s"], more=END * len(report["threads"]))
    check.near("wall_s", account["wall_s"], total["wall_s"], more=0.01)
    if len(report["threads"]) == 1:
        check.near("the sum of one thread's four", busy + idle, account["wall_s"], share=LIVES_SHARE, seconds=0)
    check.near("busy_processors × wall_s", account["busy_processors"] * account["wall_s"], busy, share=0.001, seconds=0)
    check.equal("usable_processors", account["usable_processors"], len(os.sched_getaffinity(0)))
    for key in ("user_s", "kernel_s", "waiting_s", "runnable_s"):
        check.near(f"the threads' {key}", sum_of(report["threads"], key), account[key], share=0.01, seconds=0.001)


def as_sampled(account, true, more=0.0):
    """From where to where user time, or kernel time, may be told by samples."""
    allowed = max(SURELY * account["user_kernel_halfwidth_s"], SECONDS) + SWITCH * account["involuntary_switches"]
    return true - allowed, true + more + allowed


def check_split(check, report, total):
    """Each of the four.  What is not known to be user or kernel may be either."""
    account = report["run"]["account"]
    either = max(total["cpu_s"] - total["user_s"] - total["kernel_s"], 0)
    check.within("user_kernel_halfwidth_s", account["user_kernel_halfwidth_s"], 1e-4, WIDEST + 0.05 * total["cpu_s"])
    check.within("user_s", account["user_s"], *as_sampled(account, total["user_s"], either))
    check.within("kernel_s", account["kernel_s"], *as_sampled(account, total["kernel_s"], either))
    check.near("waiting_s", account["waiting_s"], total["waiting_s"], more=unseen(report, total), seconds=LATE)
    check.near("runnable_s", account["runnable_s"], total["runnable_s"], more=unseen(report, total), seconds=LATE)


def check_wall(check, account):
    """Wall time by what ran in it agrees with itself."""
    wall, busy = account["wall"], account["user_s"] + account["kernel_s"]
    levels = account["concurrency"]
    exact = {"share": 0.01, "seconds": 0.001}
    switched = {"share": 0.02, "seconds": 0.005}
    check.near("the parts of wall", sum(wall.values()), account["wall_s"], share=0.01, seconds=LATE)
    check.near("sum of concurrency", sum(levels), account["wall_s"], share=0.01, seconds=LATE)
    check.near("concurrency of 1 and more", sum(levels[1:]), wall["running_s"], **exact)
    check.near("processor time of concurrency", sum(n * time for n, time in enumerate(levels)), busy, **switched)
    check.equal("length of strip", len(account["strip"]), 60)
    check.near("processor time of strip", sum(account["strip"]) / 60 * account["wall_s"], busy, **switched)


def check_wall_of(check, account, truth):
    """What ran when, for parts of which it is known by construction."""
    running = waiting = rest = 0.0
    for part in truth["parts"]:
        kind, n = base(part), part["threads"]
        alone = n == 1 and kind not in ("join", "feed", "pipe")
        own = part["user_s"] + part["kernel_s"] + part["either_s"]
        if kind in ("sleep", "pipe", "feed"):
            waiting += part["wall_s"] - own
            running += own
        elif kind == "lock" or (alone and kind != "fsync"):
            running += own
            rest += part["wall_s"] - own  # other programs had the processor
        else:
            return
    start = truth["total"]["cpu_s"] - sum_of(truth["parts"], "user_s") - sum_of(truth["parts"], "kernel_s") - \
        sum_of(truth["parts"], "either_s")
    check.near("wall.running_s", account["wall"]["running_s"], running, more=max(start, 0))
    check.near("wall.waiting_s", account["wall"]["waiting_s"], waiting, more=rest + LATE)  # the end is seen late


# ---- counts ----

def check_counts(check, account, truth):
    total, calls = truth["total"], [call for part in truth["parts"] for call in part["calls"]]
    check.within("minor_faults", account["minor_faults"], total["minor_faults"], total["all_minor_faults"] + 200)
    check.within("major_faults", account["major_faults"], 0, 100)
    check.near("voluntary_switches", account["voluntary_switches"], total["voluntary_switches"], seconds=10)
    check.near("involuntary_switches", account["involuntary_switches"], total["involuntary_switches"], seconds=10)
    # The program's start reads its libraries' heads; what it measures itself with is read and printed, too.
    for key, word in ("read_bytes", "read"), ("written_bytes", "write"):
        moved = sum(call["bytes"] or 0 for call in calls if word in call["name"])
        check.within(key, account[key], moved, moved + 65536)
    if any(base(part) == "faults" for part in truth["parts"]):
        check.within("peak_memory_bytes", account["peak_memory_bytes"], 16e6, 200e6)


def merged(truth, what, *keys):
    """Rows of all parts with the same keys: their sums."""
    sums = collections.defaultdict(collections.Counter)
    for row in (row for part in truth["parts"] for row in part[what]):
        sums[tuple(row[key] for key in keys)].update(
            {key: value for key, value in row.items() if isinstance(value, (int, float))})
    return sums


def check_faults(check, report, truth):
    """Page faults have functions: all but the last of each thread on each processor, before one more is sampled."""
    account, total = report["run"]["account"], truth["total"]
    open_n = FAULT_PERIOD * len(report["threads"]) * os.cpu_count()
    true = sum(part["minor_faults"] for part in truth["parts"] if base(part) == "faults")
    check.within("page_faults", account["page_faults"], true, total["all_minor_faults"] + 200)
    check.within("unknown_page_faults", account["unknown_page_faults"], 0, min(open_n, account["page_faults"]))
    if true:
        check.within("page_faults of touch_pages", sum_of(functions(report, "touch_pages", "account"), "page_faults"),
                     true - open_n, true + FAULT_PERIOD)


def check_calls(check, report, truth):
    """Tolerance 0, in the counted run, which does the same."""
    for (name, function), true in merged(truth, "calls", "name", "function").items():
        if function in CLOCKED:
            continue
        rows = [row for row in report["system_calls"]
                if (row["name"], row["function"], os.path.basename(row["module"])) == (name, function, "account")]
        check.equal(f"rows of {name} in {function}", len(rows), 1)
        for key in ("n", "failed"):
            check.equal(f"{key} of {name} in {function}", sum_of(rows, key), true[key])
        if sum_of(rows, "n") != true["n"]:
            check.wrong.append(f"all rows of {name}: {[row for row in report['system_calls'] if row['name'] == name]}")
        for row in rows:
            check.equal(f"bytes of {name} in {function}", row["bytes"], true["bytes"] if "bytes" in true else None)


# ---- functions and waits ----

def check_functions(check, report, truth):
    """The time of each part is that of its function."""
    sums = collections.Counter()
    for part in truth["parts"]:
        for key, names in ("user_s", USER), ("kernel_s", KERNEL):
            if base(part) in names:
                sums[names[base(part)], key] += part[key]
    for (_, function), true in merged(truth, "waits", "cause", "function").items():
        sums[function, "waiting_s"] += true["time_s"]
    for (function, key), true in sums.items():
        told, what = sum_of(functions(report, function, "account"), key), f"{key} of {function}"
        if key == "waiting_s":
            check.near(what, told, true, more=unseen(report, truth["total"]), seconds=LATE)
        else:
            check.within(what, told, *as_sampled(report["run"]["account"], true))
    for part in truth["parts"]:
        if base(part) in KERNEL_ROWS:
            row, reason = KERNEL_ROWS[base(part)]
            check.equal(f"reasons of {row}", {found["held_back_by"] for found in functions(report, row, "[kernel]")}, {reason})


def check_waits(check, report, truth):
    for (cause, function), true in merged(truth, "waits", "cause", "function").items():
        rows = [row for row in report["waits"] if (row["cause"], row["function"]) == (cause, function)]
        what = f"{cause} in {function}"
        check.near(f"time_s of {what}", sum_of(rows, "time_s"), true["time_s"], seconds=LATE)
        if true["time_s"] < 2 * SECONDS:
            continue
        calls = {row["system_call"] for row in rows}
        check.wrong += [] if SYSTEM_CALLS[cause] in calls else [f"system calls of {what} are {calls}"]
        if cause in ("sleep", "pipe"):
            check.near(f"n of {what}", sum_of(rows, "n"), true["n"], seconds=1)
    check.near("waits", sum_of(report["waits"], "time_s"), truth["total"]["waiting_s"], more=unseen(report, truth["total"]), seconds=LATE)
    check.near("waits' wall_s", sum_of(report["waits"], "wall_s"), report["run"]["account"]["wall"]["waiting_s"],
               more=sum_of(report["waits"], "time_s"), seconds=LATE)


@pytest.mark.alone
@pytest.mark.parametrize("parts", named(CASES))
def test_account(t, parts):
    if os.getuid() != 0:
        pytest.skip("what a plain user may not see is another test's")
    result, truth = account_of(t, parts)
    account, check = result.json["run"]["account"], Check()
    check.equal("missing", account["missing"], None)
    check_sums(check, result.json, truth["total"])
    check_split(check, result.json, truth["total"])
    check_wall(check, account)
    check_wall_of(check, account, truth)
    check_counts(check, account, truth)
    check_faults(check, result.json, truth)
    check_calls(check, result.json, truth)
    check_functions(check, result.json, truth)
    check_waits(check, result.json, truth)
    check.end(result)


@pytest.mark.alone
def test_causes(t):
    """Eight things that one thread can wait for another with."""
    result, truth = account_of(t, " ".join(f"{cause}=50" for cause in WAITS))
    check = Check()
    check_waits(check, result.json, truth)
    check_calls(check, result.json, truth)
    check.end(result)


@pytest.mark.alone
def test_who_runs_meanwhile(t):
    """Beside each wait: how many ran."""
    result, truth = account_of(t, "join=150 sleep=50:4 lock=60:3 child/spin=60")
    waits = {(row["cause"], row["function"]): row for row in result.json["waits"]}
    check = Check()
    for key, threads in (("join", "join_thread"), 1), (("sleep", "sleep_ms"), 4), (("lock", "take_lock"), 2), (("child", "wait_child"), 1):
        check.equal(f"threads of {key}", waits[key]["threads"], threads)
    ran = {part["part"].split("=")[0]: part["user_s"] for part in truth["parts"]}
    # Who holds the lock, or is waited for, runs all the time unless others have the processors: then it is ready, and so
    # may the one be that is about to wait.
    ready = truth["total"]["runnable_s"]
    for what, row, busy in (("a lock", waits["lock", "take_lock"], ran["lock"]),
                            ("a child", waits["child", "wait_child"], ran["child/spin"])):
        check.within(f"others beside {what}", row["others_running"], busy / (busy + ready) - 0.1, 1.1)
    check.near("others beside a sleep", waits["sleep", "sleep_ms"]["others_running"], 0, seconds=0.1)
    join = waits["join", "join_thread"]
    beside = ran["join"] + ran["lock"]
    check.within("others beside a join", join["others_running"] * join["time_s"], beside - ready - 0.02, beside + 0.02)
    # no thread ran: also where the one that is waited for was ready
    check.within("wall_s of a lock", waits["lock", "take_lock"]["wall_s"], 0, ready + SECONDS)
    # All are blocked while the four sleep, and so is the one that joins them; each tells of its own wait.
    asleep = truth["parts"][1]["wall_s"]
    check.within("wall_s of the sleep", waits["sleep", "sleep_ms"]["wall_s"] + join["wall_s"], asleep - SECONDS,
                 5 * asleep + ready + SECONDS)
    check.end(result)


def held_up_by(report, cause, function):
    """What held up the longest such wait: shares by function in their order, of those that ran and of those that waited, and
    how many ran, by the records of switches."""
    rows = [row for row in report["waits"] if (row["cause"], row["function"]) == (cause, function)]
    assert rows, report["waits"]
    row = max(rows, key=lambda row: row["time_s"])
    return [{runner["function"]: runner["share"] for runner in row[key]} for key in ("runners", "held_up_in")] + [row["others_running"]]


def held_up(t, what, *options):
    return t.profile([t.program("held_up.c", ("-pthread",)), what], "--traffic=none", *options).json


@pytest.mark.alone
def test_holder_that_computes(t):
    """Two thirds of its time in price, a third in count.  Nobody waits there but for a processor."""
    path = os.path.join(t.directory, "computes.rfp")
    report = held_up(t, "compute", "--save", path)
    for cause, function in ("lock", "take_turn"), ("join", "main"):
        ran, held, running = held_up_by(report, cause, function)
        both = ran["price"] + ran["count"]
        assert list(ran)[:2] == ["price", "count"] and abs(ran["price"] / both - 2 / 3) < 0.08, ran
        assert abs(sum(ran.values()) - running) < 0.08, (ran, running)
        assert sum(held.values()) < 0.05, held
    advice, told = report["run"]["advice"], round(100 * held_up_by(report, "lock", "take_turn")[0]["price"])
    assert re.search(rf"wait for a lock in take_turn, meanwhile price of the holder ran \({told} % of that time\)", advice), advice
    waits = t.rfprof("report", "--by=wait", path).stdout.decode()
    assert re.search(rf" lock +take_turn .* price {told} %$", waits, re.MULTILINE), waits


@pytest.mark.alone
def test_holder_beside_others(t):
    """Who ran elsewhere did not hold the lock: it comes behind those who did, though it ran longer."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two threads run at once on two processors")
    ran, _, running = held_up_by(held_up(t, "beside"), "lock", "take_turn")
    assert list(ran)[0] == "price" and set(ran) == {"price", "count", "elsewhere"}, ran
    assert abs(sum(ran.values()) - running) < 0.15 and abs(ran["price"] / (ran["price"] + ran["count"]) - 2 / 3) < 0.08, (ran, running)


@pytest.mark.alone
@pytest.mark.parametrize("what,waits", (("sleep", (("lock", "take_turn"), ("join", "main"))),
                                        ("chain", (("lock", "hand_on"), ("condition", "await_turn")))))
def test_holder_that_sleeps(t, what, waits):
    """Nobody ran: the holder slept, or the one did whom those wait for who wake main.  In the chain they sleep, too, a little."""
    report = held_up(t, what)
    for cause, function in waits:
        ran, held, running = held_up_by(report, cause, function)
        assert list(held)[:1] == ["pause_here"] and 0.75 < held["pause_here"] <= 1.001, held
        assert abs(sum(ran.values()) - running) < 0.05, (ran, running)


@pytest.mark.alone
@pytest.mark.parametrize("parts", named({"sleep": "sleep=200", "pipe": "pipe=5:20", "lock": "lock=100:2", "join": "join=200"}))
def test_waits_of_once(t, parts):
    """In the one run of --once the system call is in rfprof's code; the place is the program's all the same.  The first
    of two runs keeps its code: of those that translate it one in ten or so has a wait whose place is not known ([rfprof])."""
    if os.getuid() != 0:
        pytest.skip("what a plain user may not see is another test's")
    account_of(t, parts, "--once")
    result, truth = account_of(t, parts, "--once")
    check = Check()
    for (cause, function), true in merged(truth, "waits", "cause", "function").items():
        if true["time_s"] < 0.08:
            continue
        rows = [row for row in result.json["waits"] if (row["cause"], row["function"]) == (cause, function)]
        # what the program waits for rfprof in the midst of it has rows of its own
        check.within(f"{cause} in {function}", sum_of(rows, "time_s"), 0.6 * true["time_s"], 1.05 * true["time_s"])
    check.end(result)


# ---- parallel regions ----

# Seconds that the region's two threads work: most, mean, least.
REGIONS = {"even": (0.4, 0.4, 0.4), "uneven": (0.6, 0.4, 0.2), "turns": (0.4, 0.4, 0.4), "idle": (0.6, 0.3, 0.0), "locked": (0.4, 0.4, 0.4),
           "tasks": (0.4, 0.4, 0.4), "barrier": (0.6, 0.4, 0.2)}
LOST = {"uneven": 0.2, "turns": 0.2, "idle": 0.3, "barrier": 0.2}


def check_region(t, what, program, environment):
    report = t.profile([program, what], "--traffic=none", env=environment).json
    regions = [row for row in report["regions"] if row["elapsed_s"] > 0.05]
    assert len(regions) == 1, report["regions"]
    region, check = regions[0], Check()
    advice, lost, (slowest, mean, fastest) = report["run"]["advice"], LOST.get(what, 0), REGIONS[what]
    check.equal("threads", region["threads"], 2)
    check.equal("caller", region["caller"], {"barrier": None, "locked": "solve_locked", "tasks": "solve_tasks"}.get(what, "solve"))
    check.near("mean_s", region["mean_s"], mean, more=0.2 if what == "locked" else 0, share=0.06, seconds=0.02)
    if what not in ("turns", "locked", "tasks"):
        check.near("slowest_s", region["slowest_s"], slowest, share=0.06, seconds=0.02)
        check.near("fastest_s", region["fastest_s"], fastest, share=0.06, seconds=0.02)
    account = report["run"]["account"]
    # who stands in a queue, for a processor or for the lock, comes late to the barrier
    ready = account["runnable_s"] + (0.15 if what == "locked" else 0)
    check.near("lost_s", region["lost_s"], lost, more=ready, share=0.1, seconds=0.03)
    check.near("elapsed_s", region["elapsed_s"], region["mean_s"] + region["lost_s"], share=0.001, seconds=1e-6)
    # what a function costs may be told first: one that spins beside it, or that of the work itself where less is lost
    if ready < 0.1 * account["wall_s"] and ((environment["OMP_WAIT_POLICY"] == "passive" and what == "idle") or not lost):
        check.equal("the advice speaks of uneven work", bool(re.search(r"uneven: parallel region in \w+\b.* 2 threads", advice or "")), lost > 0)
    assert not check.wrong, "\n".join([*check.wrong, str(region), f"{ready} s ready", str(advice)])


@pytest.mark.alone
@pytest.mark.parametrize("what", REGIONS)
@pytest.mark.parametrize("wait", ("active", "passive"))
def test_regions_of_gcc(t, what, wait):
    """Waiting in the kernel or in a loop is the same to a region."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two threads run at once on two processors")
    spin = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "infinite"} if wait == "active" else {"OMP_WAIT_POLICY": "passive"}
    check_region(t, what, t.program("regions.c", ("-O1", "-fopenmp")), spin)


@pytest.mark.alone
def test_regions_in_text(t):
    """Below the tables of threads and waits stands what the JSON says."""
    path = os.path.join(t.directory, "regions.rfp")
    report = t.profile([t.program("regions.c", ("-O1", "-fopenmp")), "uneven"], "--traffic=none", "--save", path).json
    region = max(report["regions"], key=lambda row: row["elapsed_s"])
    share = round(100 * region["lost_s"] / region["elapsed_s"])
    for by in "thread", "wait":
        words = " ".join(t.rfprof("report", f"--by={by}", path).stdout.decode().split())
        assert re.search(rf"· parallel region in solve \(solve\._omp_fn\.\d\): 2 threads, .* {share} % of the region is lost", words), words


def test_interpreter_lock(t):
    """Two threads of Python that compute take turns: the one that waits, waits for the interpreter."""
    source = ("import threading\n"
              "def work():\n    x = 1\n    for i in range(1500000):\n        x = x * 3 % 1000003\n"
              "threads = [threading.Thread(target=work) for i in range(2)]\n"
              "for thread in threads: thread.start()\n"
              "for thread in threads: thread.join()\n")
    report = t.profile(["/usr/bin/python3", "-c", source], "--traffic=none").json
    time = sum_of([row for row in report["waits"] if row["cause"] == "interpreter lock"], "time_s")
    busy = report["run"]["account"]["user_s"]
    assert time > 0.5 * busy, f"{time} s waited for the interpreter, while {busy} s were computed: {report['waits']}"


# ---- samples that are far apart ----

@pytest.mark.alone
@pytest.mark.parametrize("ms", named({"from_the_start": 0, "later": 200}))
def test_switching(t, ms):
    """Threads that switch all the time are sampled more seldom, and their times have intervals that hold."""
    result = t.profile([t.program("switching.c", ("-O2", "-pthread")), str(ms), "20000"], "--traffic=none")
    report, truth, check = result.json, truth_of(result), Check()
    check.within("samples", report["run"]["samples"], 50, 0.7 * 1e3 * truth["cpu_s"])
    for name in "price", "count":
        rows = functions(report, name)
        allowed = 1.5 * sum_of(rows, "time_halfwidth_s")  # of which 95 % have 1
        check.within(f"half-width of {name}", allowed, 0.02 * truth[f"{name}_s"], 0.6 * truth[f"{name}_s"])
        # on each processor the first period of each thread passes without a sample: half of one in the mean
        check.near(f"time of {name}", sum_of(rows, "time_s"), truth[f"{name}_s"], share=0, seconds=allowed + FIRST_PERIODS)
    check.end(result)


# ---- with fewer rights ----

def report_of_nobody(t, parts, *options):
    """The report of a plain user's run, and how the run ended."""
    prefix = as_nobody(t, t.work)
    path = os.path.join(t.work, "report.json")
    result = t.run([*prefix, t.rfprof_path, "-q", "--no-save", "--keep-roofs", "--traffic=none", "--json", path, *options,
                    t.program("account.c"), *parts.split()], env={"HOME": t.work, "XDG_CACHE_HOME": t.work})
    assert result.status == 0, str(result)
    result.json = json.loads(text(path))
    return result


def check_kernel_of_faults(check, report, truth):
    """Without samples of the kernel its time is told of functions with page faults alone, as far as a fault takes the
    same here and there: of new pages that are given back it is more than half."""
    kernel = {f["name"]: f["kernel_s"] for f in report["functions"] if f["kernel_s"] is not None}
    true = sum(part["kernel_s"] for part in truth["parts"] if base(part) == "faults")
    if true:
        check.within("kernel_s of touch_pages", kernel.get("touch_pages"), 0.5 * true, 1.2 * true)
    check.equal("kernel_s of read_blocks", kernel.get("read_blocks"), None)
    check.within("sum of kernel_s", sum(kernel.values()), 0, report["run"]["account"]["kernel_s"] * 1.001)


@pytest.mark.alone
@pytest.mark.parametrize("parts", named({f"plain_user_{name}": parts for name, parts in SUMS.items()}))
def test_plain_user(t, parts):
    """The same sums, and a word on what could not be seen."""
    result, check = report_of_nobody(t, parts), Check()
    check_sums(check, result.json, truth_of(result)["total"])
    missing = result.json["run"]["account"]["missing"]
    if int(text(PARANOID)) >= 2:
        assert missing and len(missing) > 10, f"nothing is said to be missing: {missing}"
        check_kernel_of_faults(check, result.json, truth_of(result))
    check_faults(check, result.json, truth_of(result))
    check_calls(check, result.json, truth_of(result))
    check.end(result)


@pytest.mark.alone
@pytest.mark.parametrize("parts", named({"sleep": "sleep=300", "threads": "sleep=300:2"}))
def test_waits_of_once_of_a_plain_user(t, parts):
    """Waits that are looked at in /proc are in rfprof's code, too; the place is the program's all the same."""
    if int(text(PARANOID)) < 2:
        pytest.skip("a plain user may see all here")
    result, check = report_of_nobody(t, parts, "--once"), Check()
    for (cause, function), true in merged(truth_of(result), "waits", "cause", "function").items():
        rows = [row for row in result.json["waits"] if (row["cause"], row["function"]) == (cause, function)]
        if true["time_s"] > 0.2:
            check.within(f"{cause} in {function}", sum_of(rows, "time_s"), 0.6 * true["time_s"], 1.05 * true["time_s"])
    check.end(result)


@pytest.mark.alone
@pytest.mark.parametrize("parts", named({f"timer_{name}": parts for name, parts in SUMS.items()}))
def test_timer(t, parts):
    """Without perf there are the kernel's sums, which it makes by ticks of 4 ms or 10 ms."""
    result, truth = account_of(t, parts, "--sampler=timer")
    check, account = Check(), result.json["run"]["account"]
    total = truth["total"]
    check.near("user + kernel", account["user_s"] + account["kernel_s"], total["cpu_s"], seconds=0.02)
    assert account["missing"], account
    check_calls(check, result.json, truth)
    check.end(result)


# ---- the views ----

def test_views(t):
    """The head, the tables of waits and groups, and the difference of two runs tell what the JSON does."""
    paths = [os.path.join(t.directory, f"{name}.rfp") for name in "ab"]
    for path, parts in zip(paths, (("sleep=150", "faults=20000"), ("sleep=50", "faults=20000"))):
        assert t.rfprof("-q", "--traffic=none", "--save", path, t.program("account.c"), *parts).status == 0
    waits, groups, diff = [t.rfprof(*words).stdout.decode() for words in
                           (("report", "--by=wait", paths[0]), ("report", "--by=group", paths[0]), ("diff", *paths))]
    head = waits.replace("\n", " ")
    assert re.search(r"s wall, [\d.]+ of \d+ processors? busy: .* s kernel, 0\.1[45]\d* s waiting", head), waits
    assert re.search(r"^ +1[45]\d ms +1[45]\d ms +sleep +sleep_ms +\[clock_nanosleep\] +1 +1 +0\.0$", waits, re.MULTILINE), waits
    assert re.search(r" %  page faults +1  \[page faults\]", groups) and "code of no group" in groups, groups
    assert re.search(r"^  .*waiting 0\.1[45]\d* s → 0\.0[45]\d* s", diff, re.MULTILINE), diff


@pytest.mark.alone
def test_serial_share(t):
    """Amdahl's bound follows from the time in which one thread ran alone."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two threads run at once on two processors")
    path = os.path.join(t.directory, "serial.rfp")
    # It is said of a program that had more than 1.1 processors, which others may leave no program.
    for _ in range(4):
        result, _ = account_of(t, "spin=100 spin=200:2", "--save", path)
        account = result.json["run"]["account"]
        if account["busy_processors"] >= 1.1:
            break
    else:
        pytest.skip(f"others have the processors: {account['busy_processors']} were had")
    share = account["concurrency"][1] / account["wall"]["running_s"]
    most = account["usable_processors"] / (1 + (account["usable_processors"] - 1) * share)
    notes = " ".join(result.json["run"]["notes"])
    said = re.search(r"for (\d+) % of the time in which anything ran one thread did, .* at most ([\d.]+) times as fast", notes)
    assert said and int(said[1]) == round(100 * share) and abs(float(said[2]) - most) <= 0.051, (share, most, notes)
