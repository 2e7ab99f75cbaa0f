"""Own programs, each about one behaviour: what they do under rfprof is what they do natively.

A program says in its first comment how it is built and what is expected of it:

  @cases A B            one case for each argument (else one, without argument)
  @status [A:] 3        its exit status (SIGSEGV: its death) if not 0
  @partly [A B:] WHY    counted in part: some of it runs natively, and the report gives a reason with WHY in it
  @native [A B:] WHY    not counted at all, likewise
  @compiler clang       if not gcc or g++; @flags, @libraries: for it
  @plugin FILE          a library, built beside it, whose path is its last argument
  @cores                core dumps are allowed

A program that finds this machine without what it needs ends with status 77 and says so.
"""

import json
import os
import re
import resource
import shutil
import signal

import pytest

from harness import text

SUITE = "transparency"

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = ["threads", "processes", "signals", "control", "code", "linked", "isa", "sandboxes", "kernel"]
COMPILERS = {".c": "gcc", ".S": "gcc", ".cpp": "g++", ".rs": "rustc", ".go": "go"}
SKIPPED = 77
RUNS, SLOW_RUNS = 2, 20
LIMIT = 30  # seconds


class Program:
    """A source file and what its first comment says."""

    def __init__(self, path):
        self.path = path
        self.name, self.ending = os.path.splitext(os.path.relpath(path, HERE))
        self.said = re.findall(r"^\W*@(\w+) ?(.*?)(?: \*/)?$", text(path)[:2000], re.MULTILINE)

    def words(self, key):
        return [word for name, value in self.said if name == key for word in value.split()]

    def about(self, key, case):
        """The value that `key` has for a case; `A B: value` is for the cases A and B only."""
        for name, value in self.said:
            cases, colon, rest = value.partition(": ")
            if name == key and (not colon or case in cases.split()):
                return rest if colon else value
        return None

    def status(self, case):
        value = self.about("status", case) or "0"
        return -getattr(signal, value) if value.startswith("SIG") else int(value)

    def counted(self, case):
        """("whole", "partly" or "native", a part of the reason)."""
        for key in ("partly", "native"):
            if self.about(key, case):
                return key, self.about(key, case)
        return "whole", ""

    def build(self, t):
        compiler = (self.words("compiler") or [COMPILERS[self.ending]])[0]
        found = shutil.which(compiler) or shutil.which(compiler, path=os.path.expanduser("~/.cargo/bin"))
        if not found:
            pytest.skip(f"{compiler} is not installed")
        flags = ["-I" + HERE, *self.words("flags")] if self.ending in (".c", ".S", ".cpp") else self.words("flags")
        return t.programs.build(self.path, flags, self.words("libraries"), compiler=found)

    def command(self, t, case):
        plugins = [t.programs.build(os.path.join(os.path.dirname(self.path), name), ["-shared", "-fPIC"])
                   for name in self.words("plugin")]
        return [self.build(t), *([case] if case else []), *plugins]


def allow_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def forbid_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def observe(t, program, watched, command):
    """All that can be seen of a run; core dumps count by their being there."""
    end = os.path.join(t.directory, "end")
    watch = t.programs.build(os.path.join(HERE, "watch.c"))
    prepare = allow_cores if program.words("cores") else forbid_cores
    result, files = t.in_fresh_directory([watch, end, *watched, *command], preexec_fn=prepare, timeout=LIMIT)
    files = {"core" if re.match(r"core(\.\d+)?$", name) else name: content for name, content in files.items()}
    if "core" in files:
        files["core"] = b"a core dump"
    return {"end": text(end), "stdout": result.stdout, "stderr": result.stderr, "files": files}


def shown(seen):
    return "\n".join(f"{key}: {value.decode(errors='backslashreplace') if isinstance(value, bytes) else value}"
                     for key, value in seen.items())


def expect(native, status):
    wanted = f"exit {status}\n" if status >= 0 else f"signal {-status}\n"
    if native["end"].startswith(f"exit {SKIPPED}\n"):
        pytest.skip(native["stdout"].decode().strip())
    assert native["end"].removesuffix("core dumped\n") == wanted, f"natively not {wanted}{shown(native)}"


def compare(native, watched, mode):
    different = [key for key in native if native[key] != watched[key]]
    assert not different, (f"under rfprof {mode}: another {', '.join(different)}\n"
                           f"--- native\n{shown(native)}\n--- watched\n{shown(watched)}")


def check_report(path, program, kind, why):
    """The report has work where the program is counted, and a reason where it is not."""
    assert os.path.exists(path), "no JSON report"
    report = json.loads(text(path))
    # time that no counted function accounts for (that of the gate, say) has a row, too
    reasons = [row["reason"] for row in report["run"]["uncounted"] if row["kind"] not in ("function", "rfprof")]
    counted = sum(row["instructions"] for row in report["functions"])
    if kind == "whole":
        assert not reasons, f"should be counted wholly, but: {reasons}"
    else:
        assert any(why in reason for reason in reasons), f"no reason with “{why}”: {reasons}"
    if kind != "native":
        assert counted > 0, f"{program.name} ran uncounted, and the report gives no reason"


def check(t, program, case, runs, plain_runs):
    command = program.command(t, case)
    native = observe(t, program, [], command)
    expect(native, program.status(case))
    path = os.path.join(t.directory, "report.json")
    watched = [t.rfprof_path, "-q", "--no-save", "--keep-roofs"]
    for _ in range(runs):
        compare(native, observe(t, program, [*watched, "--once", "--json", path], command), "--once")
    for _ in range(plain_runs):
        compare(native, observe(t, program, watched, command), "(two runs)")
    check_report(path, program, *program.counted(case))


def programs_and_cases(prefix=""):
    plugins = set()
    programs = [Program(os.path.join(HERE, group, name)) for group in GROUPS
                for name in sorted(os.listdir(os.path.join(HERE, group))) if not name.endswith(".h")]
    for program in programs:
        plugins.update(os.path.join(os.path.dirname(program.path), name) for name in program.words("plugin"))
    for program in programs:
        if program.path not in plugins:
            for case in program.words("cases") or [""]:
                yield pytest.param(program, case, id=prefix + program.name + ("/" + case if case else ""))


@pytest.mark.parametrize("program, case", programs_and_cases())
def test_program(t, program, case):
    check(t, program, case, RUNS, 1)


@pytest.mark.slow
@pytest.mark.parametrize("program, case", programs_and_cases("repeated/"))
def test_repeated(t, program, case):
    check(t, program, case, SLOW_RUNS, 2)
