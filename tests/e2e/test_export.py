"""Exports of a checked-in profile: golden files, sums against the JSON report, and the tools that read them.

RFPROF_REWRITE_GOLDEN=1 ./dev test e2e/export  rewrites the golden files; the profiles
themselves are written by tests/unit/test_export.c.
"""

import collections
import csv
import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import xml.etree.ElementTree

import pytest

from harness import SOURCE, text

GOLDEN = os.path.join(SOURCE, "tests", "e2e", "golden")
PROFILE = os.path.join(GOLDEN, "solver.rfp")
FORMATS = ["csv", "folded", "pprof", "firefox", "callgrind"]


def tool(name):
    path = shutil.which(name)
    if not path:
        pytest.skip(f"{name} is not installed")
    return path


def expect_golden(name, data):
    path = os.path.join(GOLDEN, name)
    if os.environ.get("RFPROF_REWRITE_GOLDEN"):
        with open(path, "wb") as file:
            file.write(data)
    with open(path, "rb") as file:
        golden = file.read()
    if data != golden:
        lines = [pair for pair in zip(golden.splitlines(), data.splitlines()) if pair[0] != pair[1]]
        raise AssertionError(f"{name} is another: {len(golden)} bytes, not {len(data)}; first lines that differ: {lines[:2]}")


def export(t, form, profile=PROFILE):
    result = t.rfprof("report", profile, f"--{form}", "-")
    assert result.status == 0 and result.stderr == b"", str(result)
    return result.stdout


def report(t, profile=PROFILE):
    return json.loads(export(t, "json", profile))


# ---- profile.proto, read by an own reader ----

def fields(data):
    """(field number, value) of a message: numbers, or bytes."""

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    at = 0
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, key
            length = varint()
            yield key >> 3, data[at:at + length]
            at += length


def numbers(data):
    """Packed numbers are fields' values without keys."""
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


class Pprof:
    def __init__(self, data):
        of = collections.defaultdict(list)
        for field, value in fields(gzip.decompress(data)):
            of[field].append(value)
        self.strings = [value.decode() for value in of[6]]
        assert self.strings[0] == "", self.strings[0]
        self.types = ["/".join(self.strings[dict(fields(value))[k]] for k in (1, 2)) for value in of[1]]
        self.mappings = {row[1]: row for row in (dict(fields(value)) for value in of[3])}
        self.functions = {row[1]: row for row in (dict(fields(value)) for value in of[5])}
        self.locations = {row[1]: row for row in (dict(fields(value)) for value in of[4])}
        self.samples = []
        for value in of[2]:
            sample = collections.defaultdict(list)
            for field, part in fields(value):
                sample[field] += [dict(fields(part))] if field == 3 else numbers(part)
            self.samples.append(sample)
        self.rest = {field: values for field, values in of.items() if field > 6}

    def function_name(self, location):
        return self.strings[self.functions[dict(fields(self.locations[location][4]))[1]].get(2, 0)]

    def sums(self):
        return {name: sum(sample[2][i] for sample in self.samples) for i, name in enumerate(self.types)}

    def lines(self):
        yield " ".join(self.types)
        for sample in self.samples:
            labels = [f"{self.strings[label[1]]}={self.strings[label.get(2, 0)] or label.get(3, 0)}" for label in sample[3]]
            stack = ";".join(f"{self.function_name(id)}@{self.locations[id].get(3, 0):x}" for id in sample[1])
            yield f"{sample[2]} {stack} {' '.join(labels)}"
        for id, row in self.mappings.items():
            yield f"mapping {id} {row.get(2, 0):x} {row.get(3, 0):x} {row.get(4, 0):x} {self.strings[row[5]]}"
        for id, row in self.functions.items():
            yield f"function {id} {self.strings[row[2]]!r} {self.strings[row.get(4, 0)]!r} {row.get(5, 0)}"
        yield f"{sorted((k, v) for k, v in self.rest.items() if k != 13)}"


# ---- golden files ----

def test_exports_are_as_checked_in(t):
    for form in FORMATS:
        data = export(t, form)
        if form == "pprof":
            data = "".join(line + "\n" for line in Pprof(data).lines()).encode()
        expect_golden(f"solver.{form}", data)


def test_exports_after_a_run_are_those_of_the_file(t):
    """Right after the run or from the saved profile alone: the same bytes."""
    saved, first, again = (os.path.join(t.directory, name) for name in ["a.rfp", "first", "again"])

    def options(where):
        return [word for form in FORMATS for word in (f"--{form}", f"{where}.{form}")]

    run = t.rfprof("-q", "--save", saved, *options(first), t.program("three_to_one.c"))
    assert run.status == 0 and run.stderr == b"", str(run)
    redrawn = t.rfprof("report", saved, *options(again))
    assert redrawn.status == 0 and b"could save" in redrawn.stdout, str(redrawn)
    for form in FORMATS:
        with open(f"{first}.{form}", "rb") as a, open(f"{again}.{form}", "rb") as b:
            assert a.read() == b.read(), form
    assert "three_times" in text(f"{first}.folded")


# ---- sums ----

def truth(rows):
    return {"time_ns": sum(round(row["time_s"] * 1e9) for row in rows), "samples": sum(row["samples"] for row in rows),
            "flop": sum(row["flop"] for row in rows), "instructions": sum(row["instructions"] for row in rows),
            "ls_bytes": sum(row["load_bytes"] + row["store_bytes"] for row in rows),
            "mem_bytes": round(sum(row["mem_bytes"] or 0 for row in rows))}


def test_sums_are_those_of_the_report(t):
    """Counts and nanoseconds without any tolerance; microseconds to the rounding of their sum."""
    expected = truth(report(t)["functions"])
    rows = list(csv.DictReader(io.StringIO(export(t, "csv").decode(), newline="")))
    found = {"time_ns": sum(round(float(row["time_s"]) * 1e9) for row in rows),
             "samples": sum(int(row["samples"]) for row in rows), "flop": sum(int(row["flop"]) for row in rows),
             "instructions": sum(int(row["instructions"]) for row in rows),
             "ls_bytes": sum(int(row["load_bytes"]) + int(row["store_bytes"]) for row in rows),
             "mem_bytes": round(sum(float(row["mem_bytes"] or 0) for row in rows))}
    assert found == expected, f"csv: {found}, not {expected}"
    folded = sum(int(line.rsplit(" ", 1)[1]) for line in export(t, "folded").decode().split("\n")[:-1])
    assert folded == (expected["time_ns"] + 500) // 1000, f"folded: {folded}"
    sums = Pprof(export(t, "pprof")).sums()
    found = dict(zip(["samples", "time_ns", "flop", "instructions", "ls_bytes", "mem_bytes"], sums.values()))
    assert list(sums)[:3] == ["samples/count", "cpu/nanoseconds", "flop/count"] and found == expected, f"pprof: {sums}"
    threads = json.loads(export(t, "firefox"))["threads"]
    assert sum(round(ms * 1e6) for thread in threads for ms in thread["samples"]["weight"]) == expected["time_ns"]
    assert sum(thread["samples"]["length"] for thread in threads) == expected["samples"]
    found, summary = callgrind_sums(export(t, "callgrind").decode())
    assert found == summary == [expected[key] for key in ["time_ns", "flop", "instructions", "ls_bytes", "mem_bytes"]], \
        f"callgrind: {found}, {summary}"


def callgrind_sums(output):
    """Own costs, without those of calls; the summary."""
    sums, summary, call = [0] * 5, None, False
    for line in output.split("\n"):
        if line.startswith("summary: "):
            summary = [int(word) for word in line.split()[1:]]
        if line.startswith("0x") and not call:
            sums = [a + int(b) for a, b in zip(sums, line.split()[2:])]
        call = line.startswith("calls=")
    return sums, summary


def test_calls_have_the_time_of_their_stacks(t):
    """In the callgrind file, what main calls is all that main does; a recursion counts once."""
    inclusive, names, at, callee = collections.Counter(), {}, None, None

    def name(word):
        id, _, rest = word.partition(" ")
        if rest:
            names[id] = rest
        return names[id]

    for line in export(t, "callgrind").decode().split("\n"):
        if line.startswith("fn="):
            at = name(line[3:])
        if line.startswith("cfn="):
            callee = name(line[4:])
        if line.startswith("0x") and callee:
            inclusive[at, callee] += int(line.split()[2])
            callee = None
    times = {row["name"]: round(row["time_s"] * 1e9) for row in report(t)["functions"]}
    assert inclusive["solve", "triad"] == times["triad"], inclusive
    hostile = sum(ns for (caller, callee), ns in inclusive.items() if caller == "recurse" and callee != "recurse")
    assert inclusive["main", "recurse"] == times["recurse"] + hostile, inclusive
    assert inclusive["main", "solve"] == sum(ns for (caller, _), ns in inclusive.items() if caller == "solve"), inclusive
    assert inclusive["recurse", "recurse"] == inclusive["main", "recurse"], inclusive


# ---- names ----

def test_hostile_names_stay_in_their_place(t):
    """Names with commas, quotes, semicolons, line ends and broken UTF-8 are one name in each format."""
    names = {row["name"] for row in report(t)["functions"]}
    assert 'operator,(std::pair<a;b, "c">)' in names and "" in names, names
    assert not any(ord(letter) < 32 for name in names for letter in name), names
    data = export(t, "csv").decode()
    rows = list(csv.reader(io.StringIO(data, newline=""), strict=True))
    assert data.count("\r\n") == len(rows) and "\n" not in data.replace("\r\n", ""), "lines end with CR LF, and only they"
    assert {len(row) for row in rows} == {len(rows[0])}, "a cell too many or too few"
    assert {row[0] for row in rows[1:]} == names
    folded = export(t, "folded").decode()
    for line in folded.split("\n")[:-1]:
        stack, _, count = line.rpartition(" ")
        assert count.isdigit() and len(stack.split(";")) in (2, 4, 6, 7), line
    assert 'operator,(std::pair<a:b, "c">)' in folded
    leaves = {(name or "?") for name in names}
    pprof = Pprof(export(t, "pprof"))
    assert {pprof.function_name(sample[1][0]) for sample in pprof.samples} == leaves
    for thread in json.loads(export(t, "firefox"))["threads"]:
        check_firefox_thread(thread)
        assert {thread["stringArray"][i] for i in thread["funcTable"]["name"]} <= leaves | {"main", "solve"}
    callgrind = export(t, "callgrind").decode()
    assert leaves <= set(re.findall(r"^c?fn=\(\d+\) (.*)$", callgrind, re.M))
    for line in callgrind.split("\n"):
        assert re.fullmatch(r"|# callgrind format|\w+: .*|c?(ob|fi|fl|fn)=\(\d+\)( .+)?|calls=\d+ 0x[0-9a-f]+ \d+|"
                            r"0x[0-9a-f]+( \d+)+", line), line


# ---- the Firefox Profiler's tables ----

def check_firefox_thread(thread):
    """Columns of one length, indexes into the tables that they are of."""
    strings = thread["stringArray"]
    for key, table in thread.items():
        if isinstance(table, dict):
            for column, values in table.items():
                assert column in ("length", "weightType") or len(values) == table["length"], f"{key}.{column}"

    def below(values, limit, also=()):
        assert all(value in also or 0 <= value < limit for value in values), values

    stacks, frames, funcs, resources = (thread[key] for key in ["stackTable", "frameTable", "funcTable", "resourceTable"])
    below(thread["samples"]["stack"], stacks["length"])
    below(stacks["frame"], frames["length"])
    assert all(prefix is None or prefix < i for i, prefix in enumerate(stacks["prefix"]))
    below(frames["func"], funcs["length"])
    below(funcs["name"], len(strings))
    below(funcs["fileName"], len(strings), (None,))
    below(funcs["resource"], resources["length"], (-1,))
    below(resources["name"], len(strings))
    assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
    assert isinstance(thread["pid"], str) and isinstance(thread["tid"], int)


def test_firefox_threads_are_tables(t):
    profile = json.loads(export(t, "firefox"))
    assert [thread["tid"] for thread in profile["threads"]] == [100, 101, 300]
    assert profile["meta"]["categories"][0]["color"] == "grey", "the viewer wants a default category"
    for thread in profile["threads"]:
        check_firefox_thread(thread)
        assert all(value < len(profile["meta"]["categories"]) for value in thread["stackTable"]["category"])
        assert all(value < len(profile["libs"]) for value in thread["resourceTable"]["lib"])


# ---- tools ----

def test_jq_reads_the_json(t):
    jq = tool("jq")
    for form, query, answer in [("firefox", ".threads | length", b"3\n"), ("json", '.functions | map(.flop) | add', None)]:
        result = t.run([jq, query], stdin=export(t, form))
        assert result.status == 0 and answer in (None, result.stdout), str(result)


def test_callgrind_annotate_reads_its_file(t):
    annotate = tool("callgrind_annotate")
    path = os.path.join(t.directory, "callgrind.out.1")
    with open(path, "wb") as file:
        file.write(export(t, "callgrind"))
    result = t.run([annotate, "--auto=no", "--threshold=100", path])
    assert result.status == 0 and not result.stderr, str(result)
    totals = re.search(r"^([\d,]+) \(100\.0%\) +([\d,]+) .*PROGRAM TOTALS$", result.stdout.decode(), re.M)
    assert totals, str(result)
    expected = truth(report(t)["functions"])
    assert [int(word.replace(",", "")) for word in totals.groups()] == [expected["time_ns"], expected["flop"]], totals[0]
    triad = [line for line in result.stdout.decode().split("\n") if "solver.c:triad" in line]
    assert triad and triad[0].startswith("998,766,000 "), triad


def test_pprof_reads_its_file(t):
    go = tool("go")
    path = os.path.join(t.directory, "solver.pb.gz")
    with open(path, "wb") as file:
        file.write(export(t, "pprof"))
    for index, first in [("cpu", "998766000ns"), ("flop", "800000000"), ("memory", "12800000000B")]:
        options = ["-unit=ns"] if index == "cpu" else ["-unit=B"] if index == "memory" else []
        result = t.run([go, "tool", "pprof", f"-sample_index={index}", "-nodecount=1000", "-nodefraction=0", "-top",
                        *options, path])
        if result.status and b"no such tool" in result.stderr:
            pytest.skip("go, which has pprof, is not installed")
        assert result.status == 0, str(result)
        rows = {line.split()[-1]: line.split()[0] for line in result.stdout.decode().split("\n") if line.endswith("triad")}
        assert rows.get("triad") == first, str(result)


def test_png_is_the_plot_for_print(t):
    tool("rsvg-convert")
    data = export(t, "png")
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    width, height = (int.from_bytes(data[at:at + 4], "big") for at in (16, 20))
    root = xml.etree.ElementTree.fromstring(export(t, "svg"))
    assert width == 3 * float(root.get("width")) and height == 3 * float(root.get("height")), f"{width} × {height}"
    assert data[37:41] == b"pHYs" and int.from_bytes(data[41:45], "big") == 11811, data[33:60]


def test_png_without_its_tool_is_said_first(t):
    """Before anything is run, and nothing is left behind."""
    marker = os.path.join(t.work, "ran")
    result = t.rfprof("--png", "x.png", "/usr/bin/touch", marker, env={"PATH": "/nowhere"})
    assert result.status == 2 and b"rsvg-convert" in result.stderr and b"--svg" in result.stderr, str(result)
    assert not os.path.exists(marker) and not os.path.exists(os.path.join(t.work, "x.png"))


def test_only_one_thing_goes_to_standard_output(t):
    for words in [["--csv", "-", "--folded", "-"], ["--json", "-", "--stdout"], ["--svg", "-", "--pprof", "-"]]:
        result = t.rfprof("report", PROFILE, *words)
        assert result.status == 2 and result.stdout == b"" and b"standard output" in result.stderr, str(result)
    result = t.rfprof("report", PROFILE, "--csv", "-", "-o", "table")
    assert result.status == 0 and result.stdout.startswith(b"function,module,"), str(result)
    assert "could save" in text(os.path.join(t.work, "table"))
    result = t.rfprof("report", PROFILE, "--folded", "/dev/full")
    assert result.status == 2 and b"No space left" in result.stderr, str(result)


# ---- the profile itself ----

def test_queries_of_the_documentation_run(t):
    """Each SQL example, with Python's sqlite3 and, where it is there, the sqlite3 program."""
    queries = re.findall(r"```sql\n(.*?)```", text(os.path.join(SOURCE, "docs", "profile-format.md")), re.S)
    assert len(queries) == 10, len(queries)
    database = sqlite3.connect(f"file:{PROFILE}?mode=ro&immutable=1", uri=True)
    database.text_factory = lambda name: name.decode(errors="replace")
    program = shutil.which("sqlite3")
    answers = []
    for query in queries:
        rows = database.execute(query).fetchall()
        assert rows, f"no row:\n{query}"
        answers.append(query + "".join(f"-- {row}\n" for row in rows) + "\n")
        if program:
            result = t.run([program, "-readonly", PROFILE], stdin=query.encode())
            assert result.status == 0 and result.stdout and not result.stderr, str(result)
    database.close()
    expect_golden("queries.sql", "".join(answers).encode())


def test_json_is_as_its_schema_says(t):
    try:
        import jsonschema
    except ImportError:
        pytest.skip("python3-jsonschema is not installed")
    schema = json.loads(text(os.path.join(SOURCE, "docs", "report.schema.json")))
    jsonschema.Draft7Validator.check_schema(schema)
    plain = os.path.join(t.directory, "plain.rfp")
    run = t.rfprof("-q", "--once", "--save", plain, "/bin/true")
    assert run.status == 0, str(run)
    for profile in [PROFILE, os.path.join(GOLDEN, "solver_after.rfp"), plain]:
        errors = list(jsonschema.Draft7Validator(schema).iter_errors(report(t, profile)))
        assert not errors, f"{profile}: {[(list(error.path), error.message[:200]) for error in errors[:3]]}"
