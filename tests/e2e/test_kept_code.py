"""What was translated is kept between runs: the second run of a program counts the same without translating, and damage
to what is kept harms nobody."""

import ctypes
import os
import pathlib
import random
import re
import shutil
import time

import pytest

from harness import functions, named, need_command

TOTALS = ("flop", "load_bytes", "store_bytes", "instructions")
COUNTED = ("--work=count", "--traffic=none")
MODES = {"counted": COUNTED, "traced": ("--work=count", "--slowdown=none"), "windows": ("--work=count",),
         "all_classes": ("--work=count", "--cache-sample=1"), "once": ("--once",)}
LONG_PYTHON = "print(sum(i * i for i in range(6000000)))"
PYTHON = "import sys; print(sum(i * i for i in range(20000)), len(sys.modules) > 5)"


def keep_addresses():
    ADDR_NO_RANDOMIZE = 0x40000  # sys/personality.h
    assert ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE) >= 0


def settled(command):
    """Nothing is kept of a program that has changed within the last two seconds."""
    time.sleep(max(0, os.stat(command[0]).st_ctime + 2.1 - time.time()))
    return command


def command_of(t, name):
    return settled({
        "dynamic": lambda: [t.target("control")],
        "static": lambda: [t.program("floating.c", ("-static",), ("-lm",))],
        "threads": lambda: [t.target("triad_threads")],
        "forks": lambda: [t.program("children.c", (), ("-lpthread",))],
        "python": lambda: [need_command("/usr/bin/python3"), "-S", "-c", PYTHON],
    }[name]())


def files(t):
    """What is kept of code, by size."""
    return sorted(pathlib.Path(t.cache, "rfprof", "code").glob("*"), key=lambda path: path.stat().st_size)


def figures(report, module=None):
    """Module, function → the exact figures of all that have that name.  What is in no file is left out, as is, where a
    module is named, what it has of the dynamic linker's: that depends on which thread is first."""
    found = {}
    for row in functions(report, module=module):
        if row["module"][0] != "[" and not (module and re.search(r"@plt|\+0x", row["name"])):
            found.setdefault((row["module"], row["name"]), []).append(
                [row[key] for key in TOTALS] + [sorted(row["flop_by_kind"].items())])
    return {key: sorted(rows) for key, rows in found.items()}


def of_step(result, module):
    return [[row[key] for key in ("load_bytes", "store_bytes", "instructions")]
            for row in functions(result.json, "step", module)]


def translated(result):
    return int(result.json["run"]["translated_blocks"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["dynamic", "static", "threads", "forks", "python"])
def test_counts_are_the_same(t, name, mode):
    """Of all functions that are counted alike in two runs that keep nothing, with tolerance 0.  Addresses are the same
    in all runs, since functions of libraries do other work where strings lie elsewhere."""
    command, how = command_of(t, name), {"env": {"PYTHONHASHSEED": "0"}, "preexec_fn": keep_addresses}
    native = t.run(command, **how)
    runs = [t.profile(command, *MODES[mode], *more, status=native.status, **how)
            for more in (("--no-cache",), ("--no-cache",), (), (), ())]
    for run in runs:
        assert run.stdout == native.stdout, f"another output\n{native}\n{run}"
    module = os.path.basename(command[0]) if name in ("threads", "forks") else None
    one, other, cold, *warm = [figures(run.json, module) for run in runs]
    sure = {key: row for key, row in one.items() if other.get(key) == row}
    assert len(sure) > 0.8 * len(one)
    for run in (cold, *warm):
        wrong = {key: (row, run.get(key)) for key, row in sure.items() if run.get(key) != row}
        assert not wrong, wrong
    n_cold = translated(runs[2])
    assert n_cold > 1000
    n_warm = translated_by_kept(runs[-1], lambda: t.profile(command, *MODES[mode], status=native.status, **how), mode)
    assert n_warm < n_cold / 5, [n_cold, n_warm]


def has_late_copy(run, mode):
    """A process that is only counted and lives for a quarter of a second gets a second copy of its code, which is laid out
    by what it does and is not kept: all that runs from there on is made anew.  Where others have the processors many live
    so long, and how much is translated then is not promised."""
    return mode in ("counted", "once") and bool(run.json["run"]["hot_blocks"])


def translated_by_kept(run, again, mode):
    """Blocks that a run with kept code, and without a late second copy, translated."""
    for _ in range(4):
        if not has_late_copy(run, mode):
            return translated(run)
        run = again()
    pytest.skip("the counts are right, but every process lived long enough for a second copy of its code")


def test_the_second_copy_is_kept_where_there_is_no_time_for_windows(t):
    """Of a program that has much code and does not run for long: its code would begin more windows than there is time for."""
    command = settled([need_command("/usr/bin/python3"), "-S", "-c", LONG_PYTHON])
    how = {"env": {"PYTHONHASHSEED": "0"}, "preexec_fn": keep_addresses}
    runs = [t.profile(command, *MODES["windows"], *more, **how) for more in (("--no-cache",), ("--no-cache",), (), (), ())]
    one, other, *kept = [figures(run.json) for run in runs]
    sure = {key: row for key, row in one.items() if other.get(key) == row}
    assert len(sure) > 0.8 * len(one)
    for run in kept:
        wrong = {key: (row, run.get(key)) for key, row in sure.items() if run.get(key) != row}
        assert not wrong, wrong
    assert len(files(t)) == 2, files(t)
    assert translated(runs[-1]) < translated(runs[2]) / 3, [translated(run) for run in runs]


def test_the_second_copy_of_a_long_program_is_its_own(t):
    """Code that comes up late begins a window."""
    command = settled([t.program("slots.c"), "600"])
    t.profile(command, *MODES["windows"])
    assert len(files(t)) == 1, files(t)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["dynamic", "threads"])
def test_counts_are_the_same_elsewhere(t, name, mode):
    """The program's own functions, wherever the kernel puts its modules.  (Those of the C library do other work where
    strings lie elsewhere, with and without what is kept.)"""
    command = command_of(t, name)
    module = os.path.basename(command[0])
    cold, *warm = [t.profile(command, *MODES[mode]) for _ in range(5)]
    for run in warm:
        assert has_late_copy(run, mode) or translated(run) < translated(cold) / 10
        assert figures(run.json, module) == figures(cold.json, module)


def test_nothing_is_kept_unasked(t):
    """With --no-cache, nor of a program that has just changed."""
    command = [shutil.copy(t.target("control"), t.work)]
    t.profile(command, *COUNTED, "--no-cache")
    assert not files(t)
    t.profile(command, *COUNTED)
    assert not files(t)


def test_files_are_private(t):
    t.profile(["/bin/true"], *COUNTED)
    t.profile(["/bin/true"])
    assert len(files(t)) == 2
    assert {path.stat().st_mode & 0o777 for path in files(t)} == {0o600}


def flip(data, source):
    for _ in range(source.randint(1, 4)):
        data[source.randrange(len(data))] ^= 1 << source.randrange(8)


def cut(data, source):
    del data[source.randrange(len(data)):]


def cut_end(data, source):
    del data[-source.randint(1, 64):]


def zeros(data, source):
    start = source.randrange(len(data))
    data[start:start + 4096] = bytes(len(data[start:start + 4096]))


def grow(data, source):
    data += source.randbytes(100)


DAMAGES = {"flip": flip, "cut": cut, "cut_end": cut_end, "zeros": zeros, "grow": grow}


@pytest.mark.parametrize("mode", ["counted", "traced"])
@pytest.mark.parametrize("damage", named({name: name for name in DAMAGES}))
def test_damage_harms_nobody(t, damage, mode):
    command, how = command_of(t, "dynamic"), {"preexec_fn": keep_addresses}
    cold = t.profile(command, *MODES[mode], **how)
    path, = files(t)
    whole = path.read_bytes()
    for seed in range(3):
        data = bytearray(whole)
        DAMAGES[damage](data, random.Random(seed))
        path.write_bytes(data)
        if bytes(data) == whole:
            continue
        again = t.rfprof("--keep-roofs", "--no-save", *MODES[mode], *command, **how)
        assert again.status == 0 and b"is broken" in again.stderr, str(again)
        result = t.profile(command, *MODES[mode], **how)
        assert result.stdout == cold.stdout and figures(result.json) == figures(cold.json)
        assert path.stat().st_size == len(whole), "it was not made anew"
        assert translated(result) < translated(cold) / 10


def test_code_of_another_program_is_not_used(t):
    one, other, how = ["/bin/true"], command_of(t, "dynamic"), {"preexec_fn": keep_addresses}
    t.profile(one, *COUNTED, **how)
    first, = files(t)
    cold = t.profile(other, *COUNTED, **how)
    second, = [path for path in files(t) if path != first]
    shutil.copy(first, second)
    foreign = t.profile(other, *COUNTED, **how)
    assert translated(foreign) == translated(cold)
    assert figures(foreign.json) == figures(cold.json)


def test_code_of_a_changed_library_is_translated_anew(t):
    """The program's file is the same, as are the libraries' names; the code in them has changed places."""
    names = [os.path.join(t.work, name) for name in ("first.so", "second.so")]
    built = [t.program(f"plugin_{which}.c", ("-shared", "-fPIC")) for which in "ab"]
    command = settled([t.program("plugins.c"), *names])
    for libraries in (built, built[::-1], built):
        for library, name in zip(libraries, names):
            shutil.copy(library, name)
        native = t.run(command)
        fresh, *kept = [t.profile(command, *COUNTED, *more, status=native.status) for more in (("--no-cache",), (), ())]
        for run in kept:
            assert run.stdout == native.stdout
            for name in names:
                module = os.path.basename(name)
                assert of_step(run, module) == of_step(fresh, module) != []
