"""Twenty programs with one problem each, which has most of their wall time (programs/problems): the first line of
advice names it.  An expression says what counts as naming: many words are right, but it must be this problem.  No
program has a function or a file whose name gives it away."""

import json
import os
import re
import time

import pytest

from harness import PROGRAMS, text
from test_errors import as_nobody

FOLDER = os.path.join(PROGRAMS, "problems")
LEAST = 18
ANY = "[^.;]*"  # within one statement

NAMED = {
    # page faults: of each fresh page little is used
    "frames.c": rf"page faults?|first touch|touch(es|ed|ing)?{ANY} (for the )?first|(fresh|new){ANY} pages",
    # an fsync per record
    "ledger.c": rf"fsync|fdatasync|flush{ANY} disk|wait(s|ed|ing)?{ANY} (disk|storage)|disk{ANY} wait",
    # four threads behind one mutex
    "inventory.c": r"\block(s|ed)?\b|mutex|contention|contended",
    # one of two threads has most of the work
    "slices.c": rf"imbalance|unbalanced|uneven|unequal|(share|divide|split|distribute)d?{ANY} (work|evenly|threads)"
                rf"|(only )?one (of{ANY} )?thread{ANY} (run|ran|work|comput|has|had)|wait{ANY} \bjoin|\bjoin{ANY} wait"
                rf"|wait{ANY} (end of|last|slowest|longest|other) {ANY}thread",
    # counters of two threads side by side
    "tallies.c": r"false sharing|falsely shared?|(same|shared?|one) (cache[- ])?line",
    # malloc and free in the inner loop
    "tokens.c": r"\b(m|c|re)?alloc|allocat|\bfree\(\)|memory management",
    # a thread that spins until the other one comes
    "stencil.c": rf"\bspin|busy[- ](wait|loop)|busily|wait{ANY} (actively|in user)|barrier|poll{ANY} (flag|memory)",
    # waits for a slow producer
    "feed.c": rf"\bpipe|producer|wait{ANY} (input|writer|other process|sender)",
    # 16 bytes per read
    "records.c": rf"\b(small|short|many|tiny|little|single)\b{ANY} \bread|\bread{ANY} "
                 rf"(\bbytes|small|short|tiny|each|at a time|buffer|times|calls)|system calls?{ANY} \bread",
    # a write per line
    "listing.c": rf"\b(small|short|many|tiny|little|single)\b{ANY} \bwrit|\bwrit{ANY} "
                 rf"(\bbytes|small|short|tiny|each|at a time|buffer|times|calls)|system calls?{ANY} \bwrit",
    # memory that grows by one line at a time
    "logs.cpp": r"\brealloc|\breserve|\bgrow|\bcop(y|ie[sd]|ying)\b|memcpy|memmove|\bmalloc|allocat",
    # threads of Python that compute
    "primes.py": rf"interpreter('s)? lock|\bgil\b|multiprocessing|one thread{ANY} at a time|wait{ANY} interpreter",
    # looks every 20 ms whether something is done
    "jobs.c": r"sleep|\bpoll",
    # one child after the other
    "convert.cpp": rf"\bchild|sub-?process|wait{ANY} process",
    # stat and open of what is not there
    "settings.c": rf"\b(new)?[fl]?stat(at|x)?\b|\bopen(at)?\b|file (names|metadata)|path look|look{ANY} \bfiles?\b",
    # a turn of a condition variable for each small step
    "relay.c": r"condition|wak(e|es|ing|en|e-?ups?)\b|hand(s|ed|ing)?[- ]?(over|off)|context switch|ping-?pong",
    # strlen in the condition of a loop
    "shout.c": rf"strlen|length of {ANY}string|quadratic|string functions?",
    # sets 32 MiB to zero for each query
    "queries.c": r"\bmemset|\bzero(es|ing|ed|s)?\b|\bclear(s|ed|ing)?\b|\bfill(s|ed|ing)?\b",
    # branches that nobody can guess
    "filter.cpp": r"\bbranch|mis-?predict|mis-?guess",
    # each address comes from memory
    "route.c": rf"irregular|pointer|linked|random (access|address|memory|read|order)|\bchas(e|ing)"
               rf"|wait{ANY} one before|latency|depend{ANY} (load|address|read)",
}

# What may be said of any function, and names none of these problems.
EMPTY = ["main has 97 % of the time",
         "main: each turn of its inner loop needs the result of the one before: a chain of additions",
         "main: 3.86 instructions per cycle of at most 6: what costs is how many there are",
         "main: 100 % of its flop are scalar, one lane of a vector: at most 18.7 gflop/s that way",
         "main: l2 is what its roof stands on: 109 gb/s move of at most 118",
         "most of wall time is user code of main on 1 of 2 processors: see its row"]


def command(t, name):
    path = os.path.join(FOLDER, name)
    return ["/usr/bin/python3", path] if name.endswith(".py") else [t.program(path)]


def source(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def test_all_programs_are_asked_for():
    assert sorted(NAMED) == sorted(os.listdir(FOLDER)) and len(NAMED) == 20


@pytest.mark.parametrize("name", NAMED)
def test_no_name_gives_it_away(name):
    """An advice that holds no more than the names of the program and its functions does not name a problem."""
    code = source(name)
    own = re.findall(r"^(?:static )?(?:[\w:<>]+[ *&]+)+(\w+)\(", code, re.MULTILINE) + re.findall(r"def (\w+)", code)
    told = " ".join([os.path.splitext(name)[0], *own]).replace("_", " ").lower()
    assert own, code
    assert not re.search(NAMED[name], told), told


@pytest.mark.parametrize("name", NAMED)
def test_empty_words_name_nothing(name):
    assert not [words for words in EMPTY if re.search(NAMED[name], words)]


@pytest.mark.alone
@pytest.mark.parametrize("name", ["frames.c", "records.c", "listing.c"])
def test_problems_of_a_plain_user(t, name):
    """Who may not sample the kernel is told what it does all the same."""
    prefix = as_nobody(t, t.work)
    path = os.path.join(t.work, "report.json")
    result = t.run([*prefix, t.rfprof_path, "-q", "--no-save", "--keep-roofs", "--traffic=none", "--json", path, *command(t, name)],
                   env={"HOME": t.work, "XDG_CACHE_HOME": t.work})
    assert result.status == 0, str(result)
    advice = json.loads(text(path))["run"]["advice"]
    assert re.search(NAMED[name], advice.lower()), advice
    assert re.search(r"\d(,\d{3})+ ", advice), f"how often is not told: {advice}"


@pytest.mark.alone
@pytest.mark.slow
def test_problems(t):
    """Of one run each.  A program that needs two processors at once has a problem only there."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("threads that hinder each other need two processors")
    lines, named_n = [], 0
    for name, expression in NAMED.items():
        start = time.monotonic()
        advice = t.profile(command(t, name)).json["run"]["advice"] or ""
        first = (advice.splitlines() or [""])[0].lower()
        found = re.search(expression, first)
        named_n += bool(found)
        lines.append(f"{'yes' if found else 'NO ':3} {name:12} {time.monotonic() - start:5.1f} s  "
                     f"{found[0] if found else '-':20} | {advice}")
    print("\n".join(lines))
    assert named_n >= LEAST, f"{named_n} of {len(NAMED)} problems are named\n" + "\n".join(lines)


@pytest.mark.alone
def test_pages_of_a_file(t):
    """Page faults that wait for the disk are no system calls, and fewer of these are no remedy."""
    path = os.path.join(t.work, "file")
    with open(path, "wb") as file:
        file.write(os.urandom(16 << 20))
        file.flush()
        os.fsync(file.fileno())
    report = t.profile([t.program("cold_pages.c"), path], "--traffic=none").json
    if report["run"]["account"]["major_faults"] < 1000:
        pytest.skip("files lie in memory here")
    advice = report["run"]["advice"].lower()
    assert re.search(rf"disk: page faults of add_up{ANY} ahead", advice.replace("; ", " ").replace(". ", " ")), advice


@pytest.mark.alone
def test_work_is_missing(t):
    """Who waits long for a condition has no work; to hand over more at a time would leave it with less."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two threads need two processors")
    advice = t.profile([t.program("few_pieces.c")], "--traffic=none").json["run"]["advice"].lower()
    assert re.search(rf"condition in take_pieces{ANY}. what to try: more and smaller pieces", advice), advice


@pytest.mark.parametrize("script, in_turn", [("{0} 500; true", False), ("{0} 500 | cat | cat", False),
                                             ("{0} 300; {0} 300; {0} 300; {0} 300", True)],
                         ids=["one", "pipeline", "in turn"])
def test_children(t, script, in_turn):
    """Who waits for one child, or for a pipeline, waits for what these do."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two processors")
    script = script.format(t.program("wide_code.c"))
    advice = t.profile(["sh", "-c", script], "--traffic=none").json["run"]["advice"].lower()
    assert ("one after the other" in advice) == in_turn, advice
