"""What reads the program's files (ELF, DWARF, perf maps) has no rights, and may fail: names are missing then, and the
report says so.  SECURITY of rfprof, not of the program: a file can be made to harm its reader."""

import os
import shutil

import pytest

from harness import functions


def notes(t):
    """What the report of the profile says under its table about names."""
    shown = t.rfprof("report", os.path.join(t.directory, "profiled.rfp"))
    return [line for line in shown.stdout.decode().splitlines() if "names are missing" in line]


def preloaded(t, what):
    library = t.program("refuses_to_be_read.c", ("-shared", "-fPIC"))
    return {"LD_PRELOAD": library, "READER": what}


def test_reader_crashes(t):
    """The program's output and status are its own; its code has rows without names, and the report says why."""
    program = t.program("three_to_one.c")
    native = t.run([program])
    result = t.profile([program], env=preloaded(t, "crash"))
    assert result.stdout == native.stdout
    assert any(f"{program}: its reader ended by signal" in note for note in notes(t)), notes(t)
    assert any(row["name"].startswith(f"[{os.path.basename(program)}]+0x") for row in result.json["functions"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_reader_has_no_rights(t):
    """The child that reads a user's file for root is that user, and can change nothing."""
    program = os.path.join(t.work, "three_to_one")
    shutil.copy(t.program("three_to_one.c"), program)
    os.chown(program, 54321, 54321)
    for path in (t.directory, t.work):
        os.chmod(path, 0o755)
    result = t.profile([program], env=preloaded(t, "rights"))
    assert not notes(t)
    assert functions(result.json, "three_times"), result.json["functions"]
