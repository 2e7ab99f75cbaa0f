"""System calls and allocations of rfprof's own fail, one in each run (programs/faults.c): the program does what it does
natively, or rfprof says why it could not be started; nothing stays behind, and what failed is said."""

import os
import random
import re
import shutil
import struct
import subprocess

import pytest

from harness import end_group, named
from processes_of import session_processes

KINDS, ALLOCATION, NOTHING = 512, 511, 600  # as in programs/faults.c
LAYOUT = f"<IIII{KINDS}I"
SYS_WRITE, SYS_DUP2, SYS_CLONE, SYS_EXECVE, SYS_WAIT4, SYS_PTRACE = 1, 33, 56, 59, 61, 101
CANNOT_DISPATCH = 97
LIMIT = 60  # seconds
INPUT = b"word\n"
RUNS = named({"two_runs": ["--save=x.rfp"], "once": ["--once", "--save=x.rfp"],
              "timer": ["--sampler=timer", "--no-save"]})
SHOWN = 8  # failures


class Outcome:
    """How it ended, how many calls of each kind there were, and what processes and temporary files are left."""

    def __init__(self, status, out, err, counts, left):
        self.status, self.out, self.err, self.counts, self.left = status, out, err.decode(), counts, left


class Faults:
    """Runs rfprof with one fault, in a directory that is empty but for what `prepare` puts there."""

    def __init__(self, t, arguments, prepare=None):
        self.t, self.arguments, self.prepare = t, arguments, prepare
        self.file, self.temporary = (os.path.join(t.directory, name) for name in ("faults", "tmp"))
        self.library = t.program("faults.c", ["-shared", "-fPIC"])
        os.makedirs(self.temporary)

    def empty_work(self):
        shutil.rmtree(self.t.work)
        os.makedirs(self.t.work)
        if self.prepare:
            self.prepare(self.t.work)

    def run(self, kind=NOTHING, at=0):
        self.empty_work()
        with open(self.file, "wb") as file:
            file.write(struct.pack(LAYOUT, 0, kind, at, 0, *[0] * KINDS))
        env = self.t.environment({"LD_PRELOAD": self.library, "RFPROF_FAULTS": self.file, "TMPDIR": self.temporary})
        process = subprocess.Popen([self.t.rfprof_path, *self.arguments], cwd=self.t.work, env=env,
                                   start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(INPUT, LIMIT)
            left = list(session_processes(process.pid).items()) + sorted(os.listdir(self.temporary))
        except subprocess.TimeoutExpired:
            left = ["it hangs", session_processes(process.pid)]
            end_group(process.pid)
            out, err = process.communicate()
        finally:
            end_group(process.pid)
        if process.returncode == CANNOT_DISPATCH:
            pytest.skip("the kernel has no syscall user dispatch")
        with open(self.file, "rb") as file:
            return Outcome(process.returncode, out, err, struct.unpack(LAYOUT, file.read())[4:], left)


def need_injection(t):
    if b"__asan" in t.run(["/usr/bin/nm", "-D", t.rfprof_path]).stdout:
        pytest.skip("a sanitizer's allocator is not replaced")


def choose(counts, of_each_kind, allocations):
    """Some of each kind at random, but the last always."""
    for kind, n in enumerate(counts):
        wanted = min(n, allocations if kind == ALLOCATION else of_each_kind)
        chosen = {n} if wanted else set()
        while len(chosen) < wanted:
            chosen.add(random.randint(1, n))
        for at in sorted(chosen):
            yield kind, at


def check_no_crash(outcome):
    assert not outcome.left, f"left: {outcome.left}"
    assert "please report" not in outcome.err and outcome.status >= 0, "rfprof crashed"


def check_run(t, outcome, whole):
    """The program did what it does natively, or was not started; a profile is there unless something is said."""
    check_no_crash(outcome)
    started = outcome.out == whole.out
    assert started or outcome.out == b"", "the program's output is another"
    assert outcome.status == whole.status or outcome.status == 2, "another status"
    assert outcome.status == whole.status or "rfprof" in outcome.err, "it is not said what failed"
    files = os.listdir(t.work)
    assert set(files) <= {"x.rfp"}, f"files are left: {files}"
    assert files or "--no-save" in whole.arguments or outcome.err, "no profile, and not a word"


def same_word(one, other):
    """Names are shortened to the room that there is: what is left of one begins and ends as the other."""
    parts = [re.split("…|~", word) for word in (one, other)]
    return one == other or (max(map(len, parts)) == 2 and
                            any(parts[k][0].startswith(parts[1 - k][0]) for k in (0, 1)) and
                            any(parts[k][-1].endswith(parts[1 - k][-1]) for k in (0, 1)))


def same_words(one, other):
    words = [text.decode(errors="replace").split() for text in (one, other)]
    return len(words[0]) == len(words[1]) and all(map(same_word, *words))


def check_report(_, outcome, whole):
    """What is printed is whole, or it is said that it is not.  Without its locale the columns are others."""
    check_no_crash(outcome)
    assert outcome.status in (0, 2), "another status"
    if outcome.status:
        assert "rfprof: " in outcome.err, "it is not said what failed"
    else:
        assert same_words(outcome.out, whole.out) or outcome.err, "another report, and not a word"


def check_all(t, faults, check, of_each_kind, allocations, seed=None):
    seed = seed or int(os.environ.get("RFPROF_SEED", "0")) or random.randrange(1, 1 << 30)
    random.seed(seed)
    whole, wrong = faults.run(), []
    whole.arguments = faults.arguments
    check(t, whole, whole)
    chosen = list(choose(whole.counts, of_each_kind, allocations))
    print(f"RFPROF_SEED={seed}, {len(chosen)} faults")
    for kind, at in chosen:
        outcome = faults.run(kind, at)
        try:
            check(t, outcome, whole)
        except AssertionError as error:
            what = "allocation" if kind == ALLOCATION else f"system call {kind}"
            wrong.append(f"{what}, number {at}: {error}\nstatus {outcome.status}, {outcome.out[:200]}\n{outcome.err[:1500]}")
    assert not wrong, f"{len(wrong)} of {len(chosen)}\n" + "\n".join(wrong[:SHOWN])


def faults_of_runs(t, options):
    need_injection(t)
    return Faults(t, ["-q", *options, t.program("worker.c")])


def faults_of_reports(t):
    need_injection(t)
    kept = os.path.join(t.directory, "kept.rfp")
    result = t.rfprof("-q", "--save", kept, t.program("worker.c"), stdin=INPUT)
    assert result.status == 7, str(result)
    return Faults(t, ["report", kept])


@pytest.mark.parametrize("options", RUNS)
@pytest.mark.slow
def test_runs(t, options):
    check_all(t, faults_of_runs(t, options), check_run, 2, 50)


@pytest.mark.slow
def test_runs_of_a_tree(t):
    """Processes that inherit what others have translated."""
    need_injection(t)
    script = 'n=$(cat | wc -c); for i in 1 2 3 4 5 6; do /bin/echo $i $n; done; exit 7'
    check_all(t, Faults(t, ["-q", "--no-save", "/bin/sh", "-c", script]), check_run, 1, 150)


@pytest.mark.slow
def test_reports(t):
    check_all(t, faults_of_reports(t), check_report, 20, 400)


def test_some_of_a_run(t):
    """Those of few kinds: what starts threads and processes, waits for them, carries streams, and maps memory."""
    faults = faults_of_runs(t, ["--once", "--no-save"])
    whole = faults.run()
    whole.arguments = faults.arguments
    for kind, at in [(SYS_CLONE, 1), (SYS_CLONE, 2), (SYS_DUP2, 1), (SYS_WAIT4, 1), (SYS_WAIT4, whole.counts[SYS_WAIT4] // 2),
                     (SYS_WRITE, 1), (SYS_PTRACE, 1), (SYS_EXECVE, 1)]:
        assert whole.counts[kind] >= at, f"no call {kind} number {at}"
        check_run(t, faults.run(kind, at), whole)


def test_some_of_a_report(t):
    check_all(t, faults_of_reports(t), check_report, 1, 12, seed=1)
