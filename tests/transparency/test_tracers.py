"""Programs that trace others: they work under rfprof as natively, and the report says what was not counted."""

import json
import os
import re
import shutil

import pytest

from harness import text

CRASHES = """
int deep(int n) { return n ? deep(n - 1) + 1 : *(volatile int *)8; }
int main(void) { return deep(3); }
"""


def without_addresses(output):
    return re.sub(rb"0x[0-9a-f]+", b"ADDRESS", output)


def compare(t, command, picked):
    """What `picked` takes from both outputs is the same natively, and under rfprof with one run and with two."""
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    native, _ = t.in_fresh_directory(command, timeout=60)
    path = os.path.join(t.directory, "report.json")
    for mode in (["--once"], []):
        rfprof = [t.rfprof_path, "-q", "--no-save", *mode, "--json", path]
        watched, _ = t.in_fresh_directory([*rfprof, *command], timeout=60)
        assert watched.status == native.status, f"{mode}: {watched.status}, natively {native.status}"
        assert picked(watched) == picked(native), f"{mode}: {picked(watched)}\n--- natively\n{picked(native)}"
        reasons = [row["reason"] for row in json.loads(text(path))["run"]["uncounted"]]
        assert any("trace" in reason for reason in reasons), f"no reason with “trace”: {reasons}"


def test_strace(t):
    """The system calls that strace names, of a shell and its child."""
    def calls(result):
        names = re.findall(rb"^(?:\[pid +\d+\] )?(\w+)\(", result.stderr, re.MULTILINE)
        return result.stdout, sorted(set(names))

    compare(t, ["strace", "-f", "sh", "-c", "ls / | wc -l"], calls)


def test_gdb(t):
    source = os.path.join(t.directory, "crashes.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(CRASHES)
    program = t.programs.build(source, ["-O0", "-g"])

    def frames(result):
        return [line for line in without_addresses(result.stdout).splitlines() if line.startswith(b"#")]

    compare(t, ["gdb", "-nx", "-batch", "-ex", "run", "-ex", "bt", program], frames)
