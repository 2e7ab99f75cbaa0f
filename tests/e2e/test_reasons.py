"""Programs of functions that are slow for a known cause: what is told of each, by default, is that cause first, and
nothing that does not hold it (tests/targets/reasons).

A cause is known by its words.  For each function there are those of which one must be the first, and those that may be
told beside it; all others must not be told.  The rest of the time that nothing explains may always be told, since other
programs on the machine lengthen it, but not first."""

import html
import json
import os
import re

import pytest

from harness import SOURCE, functions, need_samples, text

SUITE = "e2e/reasons"

WORDS = {
    "bandwidth": r"(?:L1|L2|L3|DRAM) is what its roof stands on",
    "irregular": r"addresses are irregular|come from irregular addresses|waits for the one before",
    "strided": r"steps between its addresses are strided",
    "unused": r"of the bytes that it brings in from memory only",
    "evadable": r"lines read only to be overwritten whole",
    "capacity": r"what it uses again needs",
    "divisions": r"it divides integers",
    "atomic": r"updates memory atomically",
    "slow": r"of its flop are divisions or square roots",
    "x87": r"of its flop are on the x87 stack",
    "scalar": r"of its flop are scalar",
    "narrow": r"of its flop are in \d+-bit vectors",
    "fusible": r"that could be fused",
    "masked": r"of its vector lanes are masked off",
    "chain": r"needs the result of the one before: a chain of",
    "chain_memory": r"needs the result of the one before, which goes through memory",
    "issue": r"what costs is how many there are",
    "branches": r"of its branches go the rarer of their two ways|is mispredicted \d+ % of the time",
    "taken": r"a branch, call or return every",
    "short": r"inner loops with \d+ % of its time turn only",
    "rest": r"need so long: its instructions wait",
    "waits": r"it waits: ",
    "unseen": r"only its time is known",
}

# Function: what must be the first, what may be told as well.
KERNELS = {
    "chain_sum": ("chain", "scalar"),
    "chain_dot": ("chain", "scalar fusible"),
    "chain_dot_float": ("chain", "scalar fusible"),
    "chain_product": ("chain", "scalar"),
    "chain_horner": ("chain", "scalar fusible"),
    "chain_logistic": ("chain", "scalar fusible"),
    "chain_divide": ("chain", "slow scalar"),
    "chain_prefix": ("chain", "scalar fusible"),
    "chain_hash": ("chain", ""),
    "chain_generator": ("chain", ""),
    "chain_integer_divide": ("chain", ""),
    "chain_in_memory": ("chain_memory rest", "scalar chain_memory"),
    "chain_unoptimised": ("chain_memory rest", "scalar chain_memory"),
    "chain_list": ("chain", "taken"),
    "chain_x87": ("chain", "x87"),
    "divide_double": ("slow scalar", "slow scalar"),
    "divide_float": ("slow scalar", "slow scalar"),
    "divide_integers": ("divisions", ""),
    "count_atomically": ("atomic", ""),
    "root_double": ("slow scalar", "slow scalar"),
    "divide_rarely": ("scalar", "slow fusible issue"),
    "scalar_axpy": ("scalar", "issue taken fusible bandwidth"),
    "scalar_float": ("scalar", "issue taken bandwidth"),
    "scalar_many": ("scalar", "issue chain"),
    "narrow_many": ("narrow", "issue chain"),
    "unfusible": ("narrow chain", "narrow issue chain"),
    "x87_scale": ("x87 rest", "x87 issue"),
    "issue_integer": ("issue chain", "issue chain"),  # both need four cycles a turn and little more
    "tiny_loop": ("taken issue", "taken issue"),  # three instructions a cycle, of six at most
    "calls": ("taken rest issue", "taken issue"),
    "rep_move": ("rest bandwidth", "bandwidth"),
    "branch_random": ("branches", "taken"),
    "branch_sorted": ("issue taken rest", "issue taken"),
    "short_loops": ("short", "taken branches"),
}
VECTORS = {
    "fused_axpy": (None, "bandwidth narrow issue taken"),
    "fused_polynomial": (None, "bandwidth narrow issue"),
    "fused_pairs": (None, "bandwidth narrow issue taken"),
    "chain_vectors": ("chain", "narrow"),
    "divide_vectors": ("slow", "narrow"),
    "gather_near": (None, "chain narrow issue bandwidth"),
    "read_in_l2": (None, "bandwidth narrow issue taken chain"),
    "integer_vectors": (None, "bandwidth issue taken"),
}
MEMORY = {
    "stream_fill": ("bandwidth capacity evadable rest", "bandwidth evadable capacity"),
    "stream_copy": ("bandwidth capacity evadable rest", "bandwidth evadable capacity"),
    "stream_read": (None, "bandwidth capacity scalar issue chain"),
    "written_rarely": ("chain scalar", "chain scalar fusible short"),
    "one_field": ("bandwidth capacity strided unused", "bandwidth strided unused capacity chain"),
    "columns": ("strided bandwidth capacity unused irregular rest", "strided bandwidth unused capacity irregular chain"),
    "random_reads": ("irregular", "bandwidth capacity unused chain"),
    "random_writes": ("irregular", "bandwidth capacity unused evadable chain"),
    "chase": ("irregular", "bandwidth capacity unused chain"),
}


def source(name):
    return os.path.join(SOURCE, "tests", "targets", "reasons", name)


def cpu_has(*flags):
    return set(flags) <= set(re.search(r"^flags\s*:(.*)$", text("/proc/cpuinfo"), re.MULTILINE).group(1).split())


def told(why):
    """The causes in the order of their words."""
    places = {name: re.search(words, why) for name, words in WORDS.items()}
    return sorted((name for name in places if places[name]), key=lambda name: places[name].start())


# A loop that does nothing but call: some processors have all samples of it in what is called.
CALLED = {"calls": "tiny_callee"}


def rows_of(report, name):
    rows = functions(report, name)
    if name in CALLED and len(rows) == 1 and rows[0]["samples"] < 10:
        return functions(report, CALLED[name])
    return rows


def wrong_of(report, expected):
    wrong = []
    for name, (first, beside) in expected.items():
        rows = rows_of(report, name)
        if len(rows) != 1:
            wrong.append(f"{name}: {len(rows)} rows")
            continue
        row = rows[0]
        if row["samples"] < 10:
            wrong.append(f"{name}: {row['samples']} samples")
        causes = told(row["why"])
        allowed = set((first or "rest").split()) | set(beside.split()) | {"rest"}
        if first and (not causes or causes[0] not in first.split()):
            wrong.append(f"{name}: not one of {first} is first, but {causes}: {row['why']}")
        elif set(causes) - allowed:
            wrong.append(f"{name}: told without cause: {set(causes) - allowed}: {row['why']}")
    return "\n".join(wrong)


def saved(why):
    return [float(number) for number in re.findall(r"\(up to ([\d.e+-]+) of its", why)]


def check(t, program, expected, *arguments):
    """Leaves the profile as check.rfp.  Other programs on the machine lengthen times, and a reason is one of time: what
    is asked must hold in one of three runs."""
    path = os.path.join(t.directory, "check.json")
    wrong = []
    need_samples()
    for _ in range(3):
        result = t.rfprof("-q", "--save", profile_of(t), "--json", path, program, *arguments)
        assert result.status == 0, str(result)
        report = json.loads(text(path))
        wrong.append(wrong_of(report, expected))
        if not wrong[-1]:
            break
    assert not wrong[-1], "\n--- again:\n".join(wrong)
    for row in report["functions"]:
        figures = saved(row["why"] or "")
        assert figures == sorted(figures, reverse=True), f"not in the order of what is saved: {row['why']}"
        assert all(0.049 * row["elapsed_s"] <= s <= 1.01 * row["elapsed_s"] for s in figures), row["why"]
    return report


def profile_of(t):
    return os.path.join(t.directory, "check.rfp")


def page(t, function):
    shown = t.rfprof("report", profile_of(t), "--function", function, "--width", "5000")
    assert shown.status == 0, str(shown)
    return shown.stdout.decode()


def all_say_the_same(t, report, function):
    """The page, JSON, HTML, CSV and, of the first row, the table."""
    why = functions(report, function)[0]["why"]
    paths = {kind: os.path.join(t.directory, f"check.{kind}") for kind in ("json", "csv", "html")}
    shown = t.rfprof("report", profile_of(t), "--csv", paths["csv"], "--html", paths["html"], "--width", "5000")
    assert shown.status == 0, str(shown)
    assert why in text(paths["csv"]).replace('""', '"'), why
    told_by_page = page(t, function)
    for reason in why.split("; "):
        assert reason in told_by_page, (reason, told_by_page)
    first = report["functions"][0]
    words = re.split(r"; (?!it does)", first["why"])[0]
    row = re.search(r"^ *1 .*$", shown.stdout.decode(), re.MULTILINE).group()
    assert f"  {first['held_back_by']}  " in row, (first["held_back_by"], row)
    assert f"1. {first['held_back_by']}: {words}" in page(t, first["name"]), words
    assert words in html.unescape(text(paths["html"])), words


def test_kernels(t):
    expected = dict(KERNELS)
    if not cpu_has("avx2"):
        expected["narrow_many"] = expected["unfusible"] = (None, "")
    report = check(t, t.program(source("kernels.c"), ("-fno-tree-vectorize", "-ffp-contract=off", "-march=x86-64",
                                                      "-mtune=generic")), expected)
    assert "-mrecip" in page(t, "divide_float") and "-mrecip" not in page(t, "divide_double")
    all_say_the_same(t, report, "chain_dot")


def test_vectors(t):
    if not cpu_has("avx2", "fma"):
        pytest.skip("this processor has no AVX2 and FMA")
    expected = VECTORS | ({"masked_lanes": ("masked", "issue chain")} if cpu_has("avx512f") else {})
    check(t, t.program(source("vectors.c"), ("-O3", "-mavx2", "-mfma", "-ffast-math")), expected)


def test_memory(t):
    """Where the last cache is not several times smaller than 256 MiB the data may come from it."""
    last = max(cache["size_bytes"] for cache in machine(t)["caches"])
    if last > 64 << 20:
        pytest.skip(f"a last cache of {last >> 20} MiB")
    check(t, t.program(source("memory.c"), ("-fno-tree-vectorize", "-fno-tree-loop-distribute-patterns",
                                            "-ffp-contract=off", "-march=x86-64")), MEMORY, "256")


def machine(t):
    result = t.rfprof("machine", "--json")
    assert result.status == 0, str(result)
    return json.loads(result.stdout)


def test_waits(t):
    """Waiting busily is waiting: it is named so and has no headroom, and comes behind what is work."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two threads need two processors")
    program = t.program(source("waits.c"), ("-fopenmp",))
    report = t.profile([program], env={"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "infinite"}).json
    waiting = [row for row in report["functions"] if row["bound"] == "waiting"]
    modules = {os.path.basename(row["module"]).split(".")[0] for row in waiting}
    assert {"libgomp", "waits"} <= modules, [(row["name"], row["module"], row["why"]) for row in report["functions"]]
    for row in waiting:
        assert told(row["why"])[0] == "waits" and row["headroom_s"] is None and not saved(row["why"]), row
    assert report["functions"][0]["name"].startswith("work"), [row["name"] for row in report["functions"]]
    assert told(report["functions"][0]["why"])[0] == "chain", report["functions"][0]["why"]


@pytest.mark.alone
def test_who_gives_up_the_processor_again_and_again_waits(t):
    """By form: neither the program nor its function has a name that says so."""
    report = t.profile([t.program(os.path.join(SOURCE, "tests", "e2e", "programs", "gives_up.c"),
                                  ("-O2",), ("-lpthread",))]).json
    kernel, = functions(report, "[sched_yield]")
    assert kernel["held_back_by"] == "other threads", kernel
    for row in functions(report, "stay_near") + functions(report, "__sched_yield"):
        assert row["time_s"] == 0 or row["held_back_by"] == "other threads", row
    work, = [row for row in functions(report) if row["name"].startswith("add_terms")]
    assert work["held_back_by"] == "dependency chain", work
    assert re.search("a thread spins: stay_near ", report["run"]["advice"]), report["run"]["advice"]


def test_what_was_counted_alone_is_not_told_as_uncounted(t):
    program = t.program(os.path.join(SOURCE, "tests", "bench", "nbody.c"), ("-O2",), ("-lm",))
    done = t.rfprof("--run=count", "--traffic=none", "--no-save", program)
    assert done.status == 0 and b"not timed" in done.stderr and b"not counted" not in done.stderr, str(done)
