"""rfprof sweep as a stranger uses it: files that change, programs that hang, words that are misspelt (docs/sweep.md)."""

import json
import os
import random
import signal
import subprocess
import time
import tomllib

import pytest

from test_sweep import OPTIONS, build, n_kept, rows, sweep

# N FILE [hang]: adds N, and writes how often it has run; or writes its number, and waits
WRITES = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline, noipa)) double add(long n)
{ double s = 1; for (long i = 0; i < n; i++) { s += 1.0; __asm__ volatile("" : "+x"(s)); } return s; }
int main(int argc, char **argv)
{
	FILE *file = fopen(argv[2], "w");
	fprintf(file, "%ld", (long)getpid());
	fclose(file);
	while (argc > 3 && atol(argv[3]))
		pause();
	return add(atol(argv[1])) < 0;
}
"""


def writes(t):
    source = os.path.join(t.directory, "writes.c")
    with open(source, "w") as file:
        file.write(WRITES)
    return t.program(source, ("-O1",))


def dry(t, *words):
    result = t.rfprof("sweep", *OPTIONS, "--dry-run", *words, cwd=t.directory)
    assert result.status == 0, result
    return result.stdout.decode()


def test_what_the_program_writes_is_no_input(t):
    """Each run makes the file anew, and so does each other point."""
    command = ("n=1000,2000", "--", writes(t), "{n}", os.path.join(t.directory, "out.dat"))
    sweep(t, *command)
    assert "2 points, 0 runs" in dry(t, *command)
    assert n_kept(os.path.join(t.directory, "sweep.rfp")) == 4


@pytest.mark.parametrize("form", ["{}", "--input={}"])
def test_input_that_changes(t, form):
    """Also where it stands behind an option's =, and where it is not there at first."""
    command = ("n=1000", "--", "sh", "-c", build(t) + " $0", "{n}", form.format("data.txt"))
    path = os.path.join(t.directory, "data.txt")
    sweep(t, *command)
    assert "2 points" not in dry(t, *command) and "2 kept, 0 to run" in dry(t, *command)
    for content in ("one", "three"):
        with open(path, "w") as file:
            file.write(content)
        assert "0 kept, 2 to run" in dry(t, *command)
        sweep(t, *command)
        assert "2 kept, 0 to run" in dry(t, *command)
    os.unlink(path)
    assert "0 kept, 2 to run" in dry(t, *command)


def test_built_anew_meanwhile(t):
    """What the old one did is no repeat of the new one."""
    program, path = build(t), os.path.join(t.directory, "sweep.rfp")
    new = build(t, "+1", name="new")
    command = [t.rfprof_path, "sweep", *OPTIONS, "--repeats=12", "n=1000", "--", program, "{n}"]
    process = subprocess.Popen(command, cwd=t.directory, env=t.environment(), stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (os.path.exists(path) and os.path.getsize(path) and rows(path)):
        time.sleep(0.02)
    os.replace(new, program)
    assert process.wait(120) == 0
    assert {row[5] for row in rows(path)} == {4 * 1001} and n_kept(path) == 12


def test_a_kernel_that_nothing_calls_is_told(t):
    command = ("--kernel=ad", "n=1000", "--", build(t), "{n}")
    result = t.rfprof("sweep", *OPTIONS[1:], *command, cwd=t.directory)
    assert result.status == 0 and b"never called ad" in result.stderr and b"not called" in result.stdout, result
    again = t.rfprof("sweep", *OPTIONS[1:], *command, cwd=t.directory)
    assert b"not called" in again.stdout, again


@pytest.mark.parametrize("option", ["--work-formula=5*m", "--traffic-formula=n*lib", "--size-formula=nn", "--env=A=1"])
def test_misspelt_words_are_refused_before_anything_runs(t, option):
    result = t.rfprof("sweep", *OPTIONS, option, "n=1000", "lib=1,x", "--", writes(t), "{n}", "{lib}", cwd=t.directory)
    assert result.status == 2 and option.split("=")[1].encode() in result.stderr, result
    assert not os.path.exists(os.path.join(t.directory, "sweep.rfp")) and not os.path.exists(os.path.join(t.directory, "x"))


def test_a_program_that_hangs_leaves_others_their_time(t):
    command = ("hang=1,0", "--", writes(t), "1000", os.path.join(t.directory, "pid"), "{hang}")
    begin = time.monotonic()
    result = t.rfprof("sweep", *OPTIONS, "--budget=16s", "--json=points.json", *command, cwd=t.directory, timeout=120)
    assert time.monotonic() - begin < 40
    assert result.status == 1 and b"was ended after" in result.stderr, result
    with open(os.path.join(t.directory, "points.json")) as file:
        hung, other = json.load(file)["points"]
    assert hung["repeats"] == 0 and other["repeats"] >= 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_goes_on_behind_the_sweep(t, number):
    """Whatever ends it, and whoever alone gets the signal; its own end is by that signal."""
    path = os.path.join(t.directory, "pid")
    command = [t.rfprof_path, "sweep", *OPTIONS, "--", writes(t), "1000", path, "1"]
    process = subprocess.Popen(command, cwd=t.directory, env=t.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (os.path.exists(path) and os.path.getsize(path)):
        time.sleep(0.02)
    pid = int(open(path).read())
    assert os.path.exists(f"/proc/{pid}")
    process.send_signal(number)
    assert process.wait(60) == -number
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and os.path.exists(f"/proc/{pid}"):
        time.sleep(0.02)
    assert not os.path.exists(f"/proc/{pid}")


def test_two_at_once_share_the_work(t):
    path, program = os.path.join(t.directory, "sweep.rfp"), build(t)
    command = [t.rfprof_path, "sweep", *OPTIONS, "n=1000:6000:1000", "--", program, "{n}"]
    both = [subprocess.Popen(command, cwd=t.directory, env=t.environment(), stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(300) for process in both] == [0, 0]
    assert 12 <= n_kept(path) <= 13 and [row["repeats"] >= 2 for row in sweep(t, *command[2 + len(OPTIONS):])] == [True] * 6


def test_the_same_point_twice(t):
    """It is measured once."""
    points = sweep(t, "n=1000,1000", "--", build(t), "{n}")
    assert [point["repeats"] for point in points] == [2, 2] and n_kept(os.path.join(t.directory, "sweep.rfp")) == 2


def test_downwards_and_with_spaces(t):
    program = build(t)
    points = sweep(t, "n=3000:1000:-1000", "--svg=down.svg", "--plot=performance", "--", program, "{n}")
    assert [point["flop"]["median"] for point in points] == [3000, 2000, 1000]
    points = sweep(t, "n=1000 x,2000 y", "--", program, "{n}")
    assert [(point["parameters"]["n"], point["flop"]["median"]) for point in points] == [("1000 x", 1000), ("2000 y", 2000)]
    points = sweep(t, "n=1000", "--", "sh", "-c", f"A={{n}}; {program} ${{{{A}}}}")
    assert points[0]["flop"]["median"] == 1000


# ---- as a file ----

PLAN = """
command = ["sh", "-c", "{program} $0", "{{n}}", '{{size}}', "{{bytes}}"]
kernel = "add"
repeats = 2
[parameters]
n = [1000, 2000]
[constants]
size = 8
[derived]
bytes = "size*n"
"""


def test_plan(t):
    """A plan is what the same words of the command line are, and these come before its options."""
    path = os.path.join(t.directory, "plan.toml")
    with open(path, "w") as file:
        file.write(PLAN.format(program=build(t)))
    result = t.rfprof("sweep", "--json=-", path, cwd=t.directory)
    assert result.status == 0, result
    points = json.loads(result.stdout)["points"]
    assert [point["parameters"] for point in points] == [
        {"n": "1000", "size": "8", "bytes": "8000"}, {"n": "2000", "size": "8", "bytes": "16000"}], points
    assert all(point["repeats"] == 2 and point["kernel"] == "add" for point in points), points
    words = ("n=1000,2000", "size=8", "bytes:=size*n", "--", "sh", "-c", build(t) + " $0", "{n}", "{size}", "{bytes}")
    same = t.rfprof("sweep", "--kernel=add", "--repeats=2", "--dry-run", *words, cwd=t.directory)
    assert "2 points, 0 runs" in same.stdout.decode(), same
    more = t.rfprof("sweep", "--repeats=3", "--dry-run", path, cwd=t.directory)
    assert "2 points, 2 runs" in more.stdout.decode(), more
    shown = t.rfprof("sweep", "--json=-", cwd=t.directory)
    assert json.loads(shown.stdout)["points"] == points, shown


@pytest.mark.parametrize("line, said", [("repeat = 3", "did you mean"), ("[places]", "[parameters]"), ("repeats = x", "repeats")])
def test_plan_with_a_word_that_there_is_not(t, line, said):
    path = os.path.join(t.directory, "plan.toml")
    with open(path, "w") as file:
        file.write(f'command = ["true"]\n{line}\n')
    result = t.rfprof("sweep", "--dry-run", path, cwd=t.directory)
    assert result.status == 2 and f"{path}:2: ".encode() in result.stderr and said.encode() in result.stderr, result


def written(chance, value):
    """A value as TOML, in one of the ways there are."""
    if isinstance(value, list):
        gap = chance.choice(["", " ", "\n  ", "  # so\n"])
        return "[" + gap + ("," + gap).join(written(chance, item) for item in value) + chance.choice(["", ",", gap]) + "]"
    if isinstance(value, str) and "'" not in value and chance.random() < 0.5:
        return f"'{value}'"
    return json.dumps(value)


def test_plans_are_what_tomllib_reads(t):
    """Random plans: their commands are those that Python's reader of TOML leads to."""
    chance = random.Random(5)
    path = os.path.join(t.directory, "plan.toml")

    def word():
        return "".join(chance.choices("abz019 .#[]'\"\\/=-", k=chance.randint(1, 8)))

    def value():
        return chance.choice([word().strip() or "x", chance.randint(-9, 999), chance.randint(1, 99) / 4])

    for _ in range(40):
        lists = {f"p{i}": [value() for _ in range(chance.randint(1, 3))] for i in range(chance.randint(0, 3))}
        command = ["true", *(word() for _ in range(chance.randint(0, 3))), *(f"{chance.choice('ab-')}{{{name}}}" for name in lists)]
        lines = [f"{name} = {written(chance, values)}{chance.choice(['', ' # so'])}" for name, values in lists.items()]
        with open(path, "w") as file:
            file.write(f"repeats = 1\ncommand = {written(chance, command)}\n\n[parameters]\n" + "\n".join(lines))
        with open(path, "rb") as file:
            plan = tomllib.load(file)
        expected = [plan["command"]]
        for name, values in plan.get("parameters", {}).items():
            expected = [[part.replace(f"{{{name}}}", str(one)) for part in words] for words in expected for one in values]
        result = t.rfprof("sweep", "--dry-run", path, cwd=t.directory)
        said = [line.split(": ", 1)[1] for line in result.stdout.decode().splitlines()[:-1]]
        assert said == [" ".join(words) for words in expected], (result, plan)
