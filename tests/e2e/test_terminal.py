"""The report in a terminal: width and colours on a pseudo-terminal and in a pipe, pages, rows of every kind."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
import unicodedata

import pytest

import big_profile
from harness import end_group, named

COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
BY = ["function", "inlined", "loop", "line", "module", "thread", "process", "call-path"]


def record(t):
    """A saved profile of a program with debug information."""
    path = os.path.join(t.work, "p.rfp")
    if not os.path.exists(path):
        result = t.rfprof("-q", "--save", path, t.program("three_to_one.c", ["-O2", "-g"]))
        assert result.status == 0, str(result)
    return path


def on_terminal(t, columns, *arguments, env=None):
    """What rfprof writes to a terminal of that width, and its exit status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([t.rfprof_path, *arguments], cwd=t.work, env=t.environment({"TERM": "xterm", "COLUMNS": None, **(env or {})}),
                               stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    written = b""
    try:
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            written += part
        return written.replace(b"\r\n", b"\n"), process.wait(60)
    finally:
        os.close(master)
        end_group(process.pid)


def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def test_fits_the_terminal(t):
    """No line of any report is wider than the terminal, or than 80 columns where it goes elsewhere; COLUMNS says another
    width for both."""
    path = record(t)
    for columns in [40, 60, 80, 120, 200]:
        for options in [["--by", by] for by in BY] + [["-v"], ["--plot", "--levels"], ["-f", "main"]]:
            written, status = on_terminal(t, columns, "report", *options, path)
            assert status == 0, written
            lines = COLOUR.sub(b"", written).decode().splitlines()
            assert len(lines) > 3, written
            assert max(map(width, lines)) <= columns, f"{columns} {options}: {max(lines, key=width)}"
    for said, most in [(None, 80), ("100", 100), ("no number", 80)]:
        piped = t.rfprof("report", "-v", path, env={"COLUMNS": said})
        assert piped.status == 0 and b"\x1b" not in piped.stdout, str(piped)
        assert most - 10 < max(map(width, piped.stdout.decode().splitlines())) <= most, str(piped)
    written, status = on_terminal(t, 200, "report", path, env={"COLUMNS": "70"})
    assert status == 0 and max(map(width, COLOUR.sub(b"", written).decode().splitlines())) <= 70, written


def test_colours_where_they_are_wanted(t):
    """A terminal has colours, a pipe has none; the environment and --color decide otherwise."""
    path = record(t)
    on_a_terminal = [({}, [], True), ({"NO_COLOR": "1"}, [], False), ({"NO_COLOR": ""}, [], True), ({"CLICOLOR": "0"}, [], False),
                     ({"TERM": "dumb"}, [], False), ({"NO_COLOR": "1"}, ["--color=always"], True), ({}, ["--color=never"], False)]
    for env, options, coloured in on_a_terminal:
        written, status = on_terminal(t, 100, "report", *options, path, env=env)
        assert status == 0 and bool(COLOUR.search(written)) == coloured, f"{env} {options}: {written[:500]}"
    in_a_pipe = [({}, [], False), ({"CLICOLOR_FORCE": "1"}, [], True), ({"CLICOLOR_FORCE": "0"}, [], False),
                 ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, [], False), ({}, ["--color=always"], True)]
    for env, options, coloured in in_a_pipe:
        result = t.rfprof("report", *options, path, env=env)
        assert result.status == 0 and bool(COLOUR.search(result.stdout)) == coloured, f"{env} {options}: {result}"


def test_characters_of_the_locale(t):
    """Braille where the locale is UTF-8, ASCII elsewhere and with --ascii."""
    path = record(t)
    for env, options, ascii_only, braille in [({}, [], False, True), ({"LANG": "C", "LC_ALL": "C"}, [], True, False),
                                              ({}, ["--ascii"], True, False)]:
        written, status = on_terminal(t, 100, "report", "--plot", "--color=never", *options, path, env=env)
        text = written.decode()
        assert status == 0 and text.isascii() == ascii_only, text
        assert any("\u2801" <= c <= "\u28ff" for c in text) == braille, text


def test_lines_come_from_the_source(t):
    """Rows by line name lines of the source file; their shares add up to all of the time."""
    where = os.path.join(t.work, "lines.json")
    result = t.rfprof("report", "--by", "line", "--sort", "time", "--top", "1000", "--json", where, record(t))
    rows = re.findall(r"^ *[0-9]+ +≈?[0-9.]+ m?s +<?([0-9]+) +(\S.*?)  ", result.stdout.decode(), re.M)
    with open(where, encoding="utf-8") as file:
        report = json.load(file)
    shares = [100 * row["time_s"] / report["run"]["cpu_time_s"] for row in report["functions"]]
    assert any(name.startswith("three_to_one.c:") for _, name in rows), str(result)
    assert abs(float(rows[0][0]) - max(shares)) < 0.51, f"{rows} {shares}"
    assert 95 <= sum(shares) <= 105, f"{sum(shares)}\n{result}"


def test_a_page_right_after_the_run(t):
    """rfprof -f NAME PROGRAM ends with the page of that function."""
    result = t.rfprof("--no-save", "-f", "main", t.program("three_to_one.c", ["-O2", "-g"]))
    assert result.status == 0 and b"\ninstructions\n" in result.stderr, str(result)
    result = t.rfprof("report", "-f", "no such function", record(t))
    assert result.status == 2 and b"no function is called no such function" in result.stderr, str(result)


@pytest.mark.parametrize("word, options", named({
    "bad_by": ("colour", ["--by", "colour"]),
    "bad_color": ("blue", ["--color", "blue"]),
    "bad_min": ("many", ["--min", "many"]),
    "bad_focus": ("a(", ["--focus", "a("]),
    "bad_ignore": ("[b", ["--ignore", "[b"]),
    "bad_width": ("--width", ["--width", "39"]),
    "bad_tree": ("--processes=tree", ["--processes", "tree", "--by", "loop"]),
}))
def test_bad_option(t, word, options):
    """It is refused before the program runs."""
    result = t.rfprof(*options, "/bin/echo", "ran")
    assert result.status == 2 and word.encode() in result.stderr and b"ran" not in result.stdout, str(result)


def test_the_first_screen(t):
    """The demo on a terminal of 80 columns and 24 lines: what is slow, why, and what to do stand on one screen."""
    written, status = on_terminal(t, 80, "--save", "demo.rfp", os.path.join(t.build_directory, "tests", "demo", "demo"))
    assert status == 0, written
    lines = COLOUR.sub(b"", written).decode().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("demo · "))
    screen = lines[first:]
    assert len(screen) < 24 and max(map(width, screen)) <= 80, "\n".join(lines)
    rows = [line for line in screen if re.match(r" ?\d+ +≈?[\d.]+ m?s ", line)]
    report = json.loads(t.rfprof("report", "--json", "-", "demo.rfp").stdout)
    worst = report["functions"][0]
    assert rows and f"  {worst['name']}  " in rows[0] and worst["held_back_by"] in rows[0], "\n".join(screen)
    said = " ".join(" ".join(screen[next(i for i, line in enumerate(screen) if line.startswith("→ ")):]).split())
    assert " ".join(report["run"]["advice"].split()) in said, f"{report['run']['advice']}\n{said}"
    assert "rfprof report -v demo.rfp" in said and "--html page.html" in said, said


def test_a_function_by_number_part_and_inlined_name(t):
    path = record(t)
    names = [row["name"] for row in json.loads(t.rfprof("report", "--json", "-", path).stdout)["functions"]]
    for said, name in [("1", names[0]), ("2", names[1]), (names[1], names[1]), ("three_ti", "three_times")]:
        page = t.rfprof("report", "-f", said, path)
        assert page.status == 0 and page.stdout.decode().startswith(name + "\n"), f"{said}\n{page}"
    refused = t.rfprof("report", "-f", "_time", path)  # of two functions that took time
    assert refused.status == 2 and b"could be several functions" in refused.stderr, str(refused)
    assert t.rfprof("report", "-f", "100000", path).status == 2


def test_inlined_functions_are_found(t):
    """By what was inlined in them; by short forms of their names."""
    saved = os.path.join(t.work, "inlined.rfp")
    assert t.rfprof("-q", "--save", saved, t.program("inlining.cpp")).status == 0
    report = json.loads(t.rfprof("report", "--by=inlined", "--json", "-", saved).stdout)
    whole = {row["name"] for row in json.loads(t.rfprof("report", "--json", "-", saved).stdout)["functions"]}
    inlined = [row["name"] for row in report["functions"] if row["name"] not in whole and row["samples"]]
    assert inlined, report["functions"]
    for name in inlined[:3]:
        page = t.rfprof("report", "-f", name, saved)
        assert page.status == 0 or b"could be several functions" in page.stderr, f"{name}\n{page}"
        assert b"no function is called" not in page.stderr, str(page)


# ---- progress ----

def test_progress_of_the_counted_run(t):
    """On a terminal alone, not with -q, and not where the terminal is the program's."""
    program = ["/bin/sleep", "2.4"]
    words = ["--no-save", "--keep-roofs", "--traffic=none"]
    shown, status = on_terminal(t, 100, *words, *program)
    assert status == 0 and re.search(rb"rfprof: the program is counted: 1 s, at least [12] s to go\x1b\[K\r", shown), shown
    for quiet in (["-q"], ["--once"]):
        shown, status = on_terminal(t, 100, *words, *quiet, *program)
        assert status == 0 and b"program is counted" not in shown, shown
    result = t.rfprof(*words, *program)
    assert result.status == 0 and b"to go" not in result.stderr, str(result)


def test_progress_of_repetitions(t):
    shown, status = on_terminal(t, 100, "--no-save", "--keep-roofs", "--traffic=none", "--repeat=3", "/bin/sleep", "1.2")
    assert status == 0 and re.search(rb"rfprof: run 3 of 3 times the program, [234] s to go\x1b\[K\r", shown), shown
    assert re.search(rb"\r\x1b\[K\r", shown), "the line is taken away"


def test_progress_of_measuring_roofs(t):
    """Steps, and the time to go."""
    shown, status = on_terminal(t, 100, "machine", "--quick", "--refresh", "--threads=1", env={"XDG_CACHE_HOME": t.work})
    assert status == 0 and re.search(rb"rfprof: measuring \d+/\d+ [^\r]*, \d+ s to go\x1b\[K\r", shown), shown
    result = t.rfprof("machine", "--quick")
    assert result.status == 0 and b"measuring" not in result.stderr, str(result)


def test_progress_of_putting_ranks_together(t):
    """Which profile is read; by the same line as that of measuring roofs, which has a time to go after a second."""
    where = os.path.join(t.work, "ranks")
    os.mkdir(where)
    for rank in range(3):
        ranked = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "3"}
        result = t.rfprof("-q", "--keep-roofs", "--traffic=none", "--save", os.path.join(where, "app.%r.rfp"), "/bin/true", env=ranked)
        assert result.status == 0, str(result)
    shown, status = on_terminal(t, 100, "report", where)
    assert status == 0 and re.search(rb"rfprof: profile 1 of 3 is read\x1b\[K\r", shown), shown
    assert re.search(rb"\r\x1b\[K\r", shown), "the line is taken away"
    result = t.rfprof("report", where)
    assert result.status == 0 and b"is read" not in result.stderr, str(result)


@pytest.mark.parametrize("format", ["json", "html"])
def test_progress_of_writing_large_files(t, format):
    """Rows, and the time to go; here the one who reads the file takes his time.  Not with -q."""
    small, large = record(t), os.path.join(t.work, "large.rfp")
    big_profile.multiply(small, large, 3000 // big_profile.functions_of(small) + 1)
    pipe = os.path.join(t.work, "pipe")
    os.mkfifo(pipe)
    for quiet in ([], ["-q"]):
        taken = []
        reader = threading.Thread(target=lambda: taken.append(read_late(pipe)), daemon=True)
        reader.start()
        shown, status = on_terminal(t, 100, "report", f"--{format}", pipe, *quiet, large)
        reader.join(60)
        assert status == 0 and taken and taken[0] > 1000000, shown
        if quiet:
            assert b"are written" not in shown, shown
            continue
        told = re.findall(rb"rfprof: (\d+) of (\d+) rows of (\S+) are written(, \d+ s to go)?\x1b\[K\r", shown)
        assert told and any(to_go for *_, to_go in told), shown[:1000]
        done, of = ([int(words[i]) for words in told] for i in (0, 1))
        assert done == sorted(done) and done[-1] <= of[0] and len(set(of)) == 1 and of[0] >= 3000, told
        assert {path.decode() for _, _, path, _ in told} == {pipe}
        assert re.search(rb"\r\x1b\[K\r", shown), "the line is taken away"
    result = t.rfprof("report", f"--{format}", os.path.join(t.work, "file"), large)
    assert result.status == 0 and b"are written" not in result.stderr, str(result)


def read_late(path):
    """Reads all of a pipe, most of it after a while."""
    read = 0
    with open(path, "rb") as stream:
        while part := stream.read(1 << 20):
            time.sleep(1.5 if not read else 0.02)
            read += len(part)
    return read
