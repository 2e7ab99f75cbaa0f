"""Inlined functions: exact counts by inlined function, and the calls themselves against addr2line."""

import bisect
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

from harness import SOURCE, functions, text

TARGETS = os.path.join(SOURCE, "tests", "targets")


def record(t, program, *options):
    profile = os.path.join(t.directory, "p.rfp")
    result = t.rfprof("-q", "--save", profile, *options, program)
    assert result.status == 0, str(result)
    return profile, result


def counts(t, profile, by):
    """Name → flop, load bytes, store bytes, instructions, time."""
    path = os.path.join(t.build_directory, "tests", "reference", "group_counts")
    result = t.run([path, profile, by])
    assert result.status == 0, str(result)
    found = {}
    for line in result.stdout.decode().splitlines():
        *numbers, name = line.split("\t")
        row = found.setdefault(re.sub(r"^(operator\(\)) \(.*\)$", r"\1", name), [0] * 5)
        for i, number in enumerate(numbers):
            row[i] += int(number)
    return found


def check_truth(t, program):
    profile, result = record(t, program)
    truths = re.findall(r"truth kernel='(.*)' flop=(\d+)", result.stdout.decode())
    rows = counts(t, profile, "inlined")
    assert len(truths) >= 6, str(result)
    for name, flop in truths:
        assert name in rows, f"no row {name} among {sorted(rows)}"
        assert rows[name][0] == int(flop), f"{name}: {rows[name][0]} flop, not {flop}"
    plain = counts(t, profile, "function")
    for i in range(5):
        whole, parts = (sum(row[i] for row in some.values()) for some in (plain, rows))
        assert whole == parts, f"sum {i}: {parts}, not {whole}"
    return profile


def test_counts_in_c(t):
    check_truth(t, t.target("inlined"))


def test_pages_name_what_is_inlined(t):
    """The page of a function in the terminal, its loops in JSON, its instructions in HTML."""
    profile, _ = record(t, t.program(os.path.join(TARGETS, "inlined.c"), ("-fno-tree-vectorize", "-ffp-contract=off")))
    page = t.rfprof("report", "-f", "first", profile).stdout.decode()
    section = page.partition("inlined in it")[2].split("\n\n")[0]
    assert re.search(r" dot +inlined\.c:\d+", section) and re.search(r" multiply +inlined\.c:\d+", section), page
    assert "(its own code)" in section and "triple" not in section, page
    assert ", in dot" in page.partition("loops, with those within them")[2], page
    paths = [os.path.join(t.directory, name) for name in ("all.json", "page.html")]
    assert t.rfprof("report", "--json", paths[0], "--html", paths[1], profile).status == 0
    loops = [loop for row in functions(json.loads(text(paths[0])), "first") for loop in row["loops"]]
    assert [loop["inlined"] for loop in loops] == ["dot"], str(loops)
    assert re.search(r"multiply \(inlined\.c:\d+\), in dot \(inlined\.c:\d+\)", text(paths[1])), "in the page's instructions"


def test_counts_in_cxx(t):
    check_truth(t, t.program(os.path.join(TARGETS, "inlined_cxx.cpp"), ("-fno-tree-vectorize", "-ffp-contract=off")))


def test_without_debug_information(t):
    """Rows are functions then, and the report says why."""
    profile, _ = record(t, t.program(os.path.join(TARGETS, "inlined.c"), ("-g0", "-fno-tree-vectorize")))
    with contextlib.closing(sqlite3.connect(profile)) as database:
        own = database.execute("SELECT count(*) FROM inlined_code c JOIN modules m ON m.id = c.module_id WHERE m.name = 'inlined'")
        assert own.fetchone() == (0,)
        for table in ("inlined_code", "inlined_calls", "inlined_functions"):  # those of libc, where its debug file is
            database.execute(f"DELETE FROM {table}")
        database.commit()
    shown = t.rfprof("report", "--by", "inlined", profile)
    assert shown.status == 0 and b"this profile has no inlined functions" in shown.stdout, str(shown)


def addr2line(path, addresses):
    """Per address: the inlined functions, innermost first, each with the place of its call; and the function around all."""
    done = subprocess.run(["addr2line", "-e", path, "-a", "-i", "-f", "-s", "-C"], input="\n".join(map(hex, addresses)),
                          capture_output=True, text=True, check=True)
    groups = re.split(r"^0x[0-9a-f]{16}\n", done.stdout, flags=re.M)[1:]
    for group in groups:
        lines = group.splitlines()
        names, places = lines[0::2], [place.split(" (disc")[0] for place in lines[1::2]]
        yield list(zip(names[:-1], places[1:])), names[-1]


def chains(database, module):
    """A function that gives for an address the same from the profile."""
    code = database.execute("SELECT start_offset, end_offset, inlined_call_id FROM inlined_code WHERE module_id = ? ORDER BY 1",
                            (module,)).fetchall()
    calls = {row[0]: row[1:] for row in database.execute(
        "SELECT c.id, c.parent_id, f.name, c.file, c.line FROM inlined_calls c "
        "JOIN inlined_functions f ON f.id = c.inlined_function_id")}
    starts = [row[0] for row in code]

    def chain(address):
        i = bisect.bisect_right(starts, address) - 1
        call = code[i][2] if i >= 0 and address < code[i][1] else None
        found = []
        while call is not None:
            call, name, file, line = calls[call]
            found.append((name, f"{os.path.basename(file)}:{line}"))
        return found

    return chain


def same(ours, theirs, around):
    """addr2line gives a function without a linkage name that of the symbol around it."""
    plain = (re.sub(r"^(operator\(\)) \(.*\)$", r"\1", ours[0]), ours[1])
    return plain == theirs or (ours[1] == theirs[1] and theirs[0] == around)


def compare(t, program, least):
    if not shutil.which("addr2line"):
        pytest.skip("addr2line is not installed")
    profile, _ = record(t, program, "--work=count", "--traffic=none")
    with contextlib.closing(sqlite3.connect(profile)) as database:
        module, path = database.execute("SELECT id, path FROM modules WHERE path LIKE ?",
                                        (f"%/{os.path.basename(program)}",)).fetchone()
        blocks = database.execute("SELECT start_offset, size_bytes FROM blocks WHERE module_id = ?", (module,)).fetchall()
        chain = chains(database, module)
    addresses = sorted({at for start, size in blocks for at in range(start, start + size)})
    inlined = 0
    for address, (theirs, around) in zip(addresses, addr2line(path, addresses), strict=True):
        ours = chain(address)
        inlined += bool(theirs)
        assert len(ours) == len(theirs) and all(same(*pair, around) for pair in zip(ours, theirs)), \
            f"{address:#x}: {ours}, addr2line {theirs} in {around}"
    assert inlined >= least, f"only {inlined} of {len(addresses)} addresses are inlined"


def test_addr2line_says_the_same(t):
    """At each byte that was executed of a C++ program, which is half the standard library."""
    compare(t, t.program("inlining.cpp"), 5000)


def test_addr2line_says_the_same_of_c(t):
    compare(t, t.program(os.path.join(TARGETS, "inlined.c")), 50)
