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

ATTACHES = """
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int status;
	const pid_t pid = fork();
	if (!pid)
		_exit(ptrace(PTRACE_SEIZE, getppid(), 0, 0) != 0);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}
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


def test_strace_of_sibling(t):
    """strace attaches to a process that runs beside it, after it has tried its ways of attaching on one of its own."""
    script = "sleep 1 & p=$!; strace -p $p >/dev/null 2>said; wait $p; echo $?; grep -c attached said"
    compare(t, ["sh", "-c", f"command -v strace >/dev/null || exit 0; {script}; rm -f said"], lambda result: result.stdout)


def test_first_process_cannot_be_had(t):
    """The first process has its tracer already: who wants to attach to it is refused, and the report says so."""
    source = os.path.join(t.directory, "attaches.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(ATTACHES)
    program = t.programs.build(source, [])
    assert t.run([program]).status == 0, "natively it can be attached to"
    result = t.profile([program], "--once", status=1)
    notes = result.json["run"]["notes"]
    assert any("could not attach to the program's first process" in note for note in notes), str(notes)
