"""The targets print their own true counts; rfprof's must be equal, tolerance 0."""

import collections
import os
import shlex
import shutil
import sqlite3

import pytest

from harness import SOURCE, functions, named

SUITE = "targets"

TARGETS = ["bf16", "compiled", "control", "copy", "crunch_avx512", "crunch_fma", "crunch_sse", "daxpy", "dgemm",
           "dgemv", "divsqrt", "dot", "fp16", "half", "integer", "masked_avx2", "masked_avx512", "string_ops",
           "triad", "triad_threads", "x87"]
TOTALS = ["flop", "load_bytes", "store_bytes", "instructions"]


def truths_of(output, prefix="truth "):
    """The truth lines as dictionaries; numbers as numbers."""
    truths = []
    for line in output.decode().splitlines():
        if line.startswith(prefix):
            words = dict(word.split("=", 1) for word in shlex.split(line)[1:])
            truths.append({key: value if key in ("kernel", "thread") else int(value) for key, value in words.items()})
    assert truths, "the target printed no truth"
    return truths


def check(report, truth, module):
    rows = functions(report, truth["kernel"], module)
    assert len(rows) == 1, f"{len(rows)} rows for {truth['kernel']} in {module}"
    row, wrong = rows[0], []
    for key in TOTALS:
        if key in truth and row[key] != truth[key]:
            wrong.append(f"{key} {row[key]}, true {truth[key]}")
    kinds = {kind: n for kind, n in row["flop_by_kind"].items() if n}
    true_kinds = {key: n for key, n in truth.items() if key not in TOTALS + ["kernel", "thread"]}
    if kinds != true_kinds:
        wrong.append(f"flop by kind {kinds}, true {true_kinds}")
    return [f"{truth['kernel']}: {what}" for what in wrong]


def check_program(t, program, *options):
    native = t.run([program])
    if native.status == 77:
        pytest.skip(native.stderr.decode().strip())
    assert native.status == 0, str(native)
    result = t.profile([program], *options)
    assert result.stdout == native.stdout, f"another output than natively\n{native}\n{result}"
    wrong = []
    for truth in truths_of(native.stdout):
        if "thread" not in truth:
            wrong += check(result.json, truth, os.path.basename(program))
    assert not wrong, "\n".join(wrong)
    return result


@pytest.mark.parametrize("name", TARGETS)
def test_target(t, name):
    check_program(t, t.target(name))


@pytest.mark.parametrize("name", named({
    f"{name}_once": name for name in ["daxpy", "control", "string_ops", "triad_threads"]}))
def test_target_once(t, name):
    check_program(t, t.target(name), "--once")


def test_compiled_cxx(t):
    source = os.path.join(SOURCE, "tests", "targets", "compiled_cxx.cpp")
    check_program(t, t.program(source, ("-fno-tree-vectorize", "-ffp-contract=off")))


def test_non_pie(t):
    source = os.path.join(SOURCE, "tests", "targets", "compiled.c")
    check_program(t, t.program(source, ("-no-pie", "-fno-tree-vectorize", "-ffp-contract=off")))


def test_stripped(t):
    """Without symbols the work is all there, in the module's rows."""
    program = os.path.join(t.directory, "stripped_daxpy")
    shutil.copy(t.target("daxpy"), program)
    done = t.run(["strip", "--strip-all", program])
    assert done.status == 0, str(done)
    result = t.profile([program])
    rows = functions(result.json, module="stripped_daxpy")
    assert not [row for row in rows if row["name"] == "daxpy_scalar"], "the copy still has its symbols"
    truths = truths_of(result.stdout)
    # main sums 4000 doubles up for its output.
    total, expected = sum(row["flop"] for row in rows), sum(truth["flop"] for truth in truths) + 4000
    assert total == expected, f"flop {total}, true {expected}"
    # The kernels have .eh_frame ranges, so each has its own row with its own exact counts.
    by_counts = collections.Counter((row["flop"], row["load_bytes"], row["instructions"]) for row in rows)
    for truth in truths:
        assert by_counts[truth["flop"], truth["load_bytes"], truth["instructions"]] == 1, \
            f"no row is {truth}: {by_counts}"


def test_repeated_runs_agree(t):
    """Exact counts are the same in every run."""
    def counts():
        report = t.profile([t.target("masked_avx2")]).json
        return sorted((row["name"], row["flop"], row["load_bytes"], row["store_bytes"])
                      for row in functions(report, module="masked_avx2") if row["name"] != "_start")

    if t.run([t.target("masked_avx2")]).status == 77:
        pytest.skip("this CPU has no avx2")
    first, second = counts(), counts()
    assert first == second, f"{first}\n{second}"


@pytest.mark.parametrize("options", [["--traffic=none"], ["--slowdown=none"], []])
@pytest.mark.parametrize("name", ["control", "masked_avx2", "string_ops"])
def test_a_tree_that_runs_it_again(t, name, options):
    """Processes inherit what others of the tree have translated, at other addresses; their counts are exact too."""
    times = 6
    program = t.target(name)
    once = t.profile([program], *options)
    if once.status == 77:
        pytest.skip(once.stderr.decode().strip())
    again = t.profile(["/bin/sh", "-c", f"for i in $(seq {times}); do {shlex.quote(program)}; done"], *options)
    assert again.stdout == times * once.stdout
    wrong = []
    for truth in truths_of(once.stdout):
        wrong += check(again.json, {key: value if key == "kernel" else times * value for key, value in truth.items()},
                       os.path.basename(program))
    assert not wrong, "\n".join(wrong)
    # The shell and seq are translated besides: each is another program; and all is anew when fewer classes are traced.
    blocks, single = (result.json["run"]["translated_blocks"] for result in (again, once))
    assert options != ["--traffic=none"] or blocks < 5 * single, f"{blocks} blocks were translated, {single} for one"


def test_counts_per_thread(t):
    """The profile keeps each thread's executions: the kernel's, by thread, are the printed ones."""
    path = os.path.join(t.directory, "threads.rfp")
    result = t.rfprof("-q", "--save", path, t.target("triad_threads"))
    assert result.status == 0, str(result)
    expected = sorted(truth["instructions"] for truth in truths_of(result.stdout) if "thread" in truth)
    counted = instructions_by_thread(path, "triad_part")
    assert sorted(counted.values()) == expected, f"{counted}, true {expected}"


def instructions_by_thread(path, function):
    """Instructions of one function by thread, from the profile's blocks: executions × length."""
    database = sqlite3.connect(path)
    module, start, end = database.execute(
        "SELECT module_id, start_offset, end_offset FROM functions WHERE name = ?", (function,)).fetchone()
    totals = collections.Counter()
    for thread, n, code in database.execute(
            "SELECT thread_id, executions, code FROM counts JOIN blocks ON block_id = blocks.id"
            " WHERE module_id = ? AND start_offset >= ? AND start_offset < ?", (module, start, end)):
        totals[thread] += n * triad_part_instructions(code)
    database.close()
    return {thread: n for thread, n in totals.items() if n}


# The machine code of triad_part's instructions (tests/targets/triad_threads.c) by their lengths:
# enough of a disassembler to count those in a block of it.
TRIAD_PART = [bytes.fromhex(code) for code in (
    "660f14c0", "31c0", "660f280cc1", "660f59c8", "660f580cc2", "660f290cc6", "4883c002", "4839f8", "72e4", "c3")]


def triad_part_instructions(code):
    n = 0
    while code:
        match = [insn for insn in TRIAD_PART if code.startswith(insn)]
        assert match, f"not code of triad_part: {code.hex()}"
        code, n = code[len(match[0]):], n + 1
    return n
