"""Signals between the program, its parent and its process group, which are rfprof and rfprof's own, and the terminal."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time

import pytest

from harness import end_group, functions, named, need_command, text

WAIT = 30  # seconds for what must come; nothing depends on how soon it comes
MODES = {"traced": [], "counted": ["--work=count", "--traffic=none"], "once": ["--once"],
         "timer": ["--sampler=timer", "--work=count", "--traffic=none"]}
CONTINUED = 'trap "echo continued" CONT; echo ready; while :; do sleep 0.1; done'
KEPT_BY_GLIBC = [32, 33]
IGNORED = "rfprof, which is the one and in the other, ignored that"


def ran(t, options, *command):
    """Under rfprof: how it ended, and its report."""
    path = os.path.join(t.directory, "report.json")
    if os.path.exists(path):
        os.unlink(path)
    result = t.rfprof("-q", "--no-save", *options, "--json", path, *command)
    assert os.path.exists(path), f"no report\n{result}"
    return result, json.loads(text(path))


def check_counted(report):
    assert not any("interrupted" in note for note in report["run"]["notes"]), report["run"]["notes"]
    assert sum(row["instructions"] for row in report["functions"]) > 1000, "nothing is counted"


@pytest.mark.parametrize("options", named(MODES))
def test_to_the_parent(t, options):
    """None of the signals that can be caught ends rfprof, or comes back, or is taken for an interruption."""
    result, report = ran(t, options, t.program("signals_others.c"), "parent")
    assert result.status == 0 and result.stdout == b"parent, worked 2, caught 0\n", str(result)
    check_counted(report)
    notes = [note for note in report["run"]["notes"] if IGNORED in note]
    assert len(notes) == 1, report["run"]["notes"]
    for name in ("HUP", "TRAP", "ABRT", "USR1", "SEGV", "ALRM", "TERM", "TSTP", "SYS", "RTMIN-2", "RTMIN-1", "RTMIN+0", "RTMIN+30"):
        assert f"SIG{name}" in notes[0], notes[0]


@pytest.mark.parametrize("how, options", named({"group": ("group", MODES["traced"]), "handled": ("handled", MODES["once"])}))
@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGABRT, signal.SIGTERM, signal.SIGTRAP, signal.SIGRTMIN],
                         ids=lambda n: n.name)
def test_to_the_group(t, how, options, number):
    """The program gets what it gets natively, and its counts."""
    command = [t.program("signals_others.c"), how, str(int(number))]
    native = t.run(command)
    assert native.status == (-number if how == "group" else 0), str(native)
    result, report = ran(t, options, *command)
    assert (result.status, result.stdout) == (native.status, native.stdout), str(result)
    check_counted(report)
    name = "SIGRTMIN+0" if number == signal.SIGRTMIN else number.name
    assert any(IGNORED in note and name in note for note in report["run"]["notes"]), report["run"]["notes"]


@pytest.mark.parametrize("options", named({name: MODES[name] for name in ("counted", "once")}))
@pytest.mark.parametrize("number", KEPT_BY_GLIBC)
def test_that_glibc_keeps_for_itself(t, options, number):
    """As all others: the program dies of it, or catches each, and rfprof does not."""
    for how in ("group", "self"):
        command = [t.program("signals_others.c"), how, str(number)]
        native = t.run(command)
        assert native.status == -number, str(native)
        result, report = ran(t, options, *command)
        assert (result.status, result.stdout) == (native.status, native.stdout), str(result)
        check_counted(report)
        if how == "group":
            notes = [note for note in report["run"]["notes"] if f"SIGRTMIN-{signal.SIGRTMIN - number}: " in note]
            assert notes and IGNORED in notes[0], report["run"]["notes"]
    result = t.same([t.program("signals_kept.c"), str(number)], modes=(" ".join(options),))
    assert result.stdout == b"caught 3000\n", str(result)


@pytest.mark.parametrize("number", [*KEPT_BY_GLIBC, int(signal.SIGRTMIN)])
def test_from_outside_ends_rfprof(t, number):
    """By that signal, as of any other that no program expects."""
    rfprof = subprocess.Popen([t.rfprof_path, "-q", "--no-save", "/bin/sh", "-c", "echo ready; sleep 1"],
                              cwd=t.work, env=t.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, start_new_session=True)
    try:
        assert rfprof.stdout.readline() == b"ready\n"
        os.kill(rfprof.pid, number)
        _, err = rfprof.communicate(timeout=WAIT)
    finally:
        end_group(rfprof.pid)
    assert (rfprof.returncode, err) == (-number, b""), f"{rfprof.returncode}, {err}"


@pytest.mark.parametrize("options", named({name: MODES[name] for name in ("counted", "once")}))
def test_script_that_ends_its_group(t, options):
    """trap 'kill 0' EXIT, from the script and from a subshell."""
    for script in "trap 'kill 0' EXIT; sleep 60 & echo started; seq 1000 | tail -n 1", "(kill -TERM 0); echo $?; sleep 60":
        command = ["/bin/bash", "-c", script]
        native = t.run(command)
        result, report = ran(t, options, *command)
        assert native.status == -signal.SIGTERM, str(native)
        assert (result.status, result.stdout) == (native.status, native.stdout), f"{native}\n{result}"
        check_counted(report)


def test_left_in_the_background(t):
    """What run 1 has left behind, whose parent is another one by now, does not end rfprof in run 2."""
    script = "if mkdir first; then (sleep 0.5; kill -ALRM 0) & else sleep 5; fi >/dev/null 2>&1"
    result = t.rfprof("-q", "--no-save", "/bin/sh", "-c", script)
    assert result.status == 0, str(result)


# ---- in a terminal ----


class Terminal:
    """An interactive shell in a pseudo-terminal."""

    def __init__(self, t):
        self.master, slave = pty.openpty()
        env = t.environment({"TERM": "dumb", "PS1": "> ", "HISTFILE": ""})
        need_command("/bin/bash")
        self.shell = subprocess.Popen(["/bin/bash", "--norc", "--noprofile", "-i"], cwd=t.work, env=env, stdin=slave,
                                      stdout=slave, stderr=slave, preexec_fn=take_terminal)
        os.close(slave)
        self.written = ""

    def type(self, what):
        os.write(self.master, what.encode())

    def wait_for(self, pattern):
        """Until that is written; what is behind it is for the next one."""
        end = time.monotonic() + WAIT
        while not (found := re.search(pattern, self.written)):
            assert time.monotonic() < end, f"{pattern} does not come, but {self.written}"
            if not select.select([self.master], [], [], 1)[0]:
                continue
            self.written += os.read(self.master, 4096).decode().replace("\r", "")
        self.written = self.written[found.end():]
        return found


def take_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextlib.contextmanager
def terminal(t):
    shown = Terminal(t)
    try:
        yield shown
    finally:
        end_group(shown.shell.pid)
        os.close(shown.master)
        shown.shell.wait(WAIT)


def test_job_control(t):
    """The program stops its job as an editor does; Ctrl-Z and fg; Ctrl-C; a background job that wants to read."""
    rfprof = f"{t.rfprof_path} -q --no-save --once"
    with terminal(t) as shown:
        shown.type(f"{rfprof} {t.program('signals_others.c')} stop; echo status=$?\n")
        shown.wait_for("it stops\n")
        shown.wait_for("Stopped.*\n")
        shown.type("fg; echo status=$?\n")
        shown.wait_for("it went on\n")
        shown.wait_for("status=0\n")
        shown.type(f"{rfprof} /bin/sh -c '{CONTINUED}'\n")
        shown.wait_for("\nready\n")
        shown.type("\x1a")
        shown.wait_for("Stopped.*\n")
        shown.type("fg\n")
        shown.wait_for("\ncontinued\n")
        shown.type("\x03")
        shown.wait_for("\n> $")
        shown.type("echo status=$?\n")
        shown.wait_for("status=130\n")
        shown.type(f"{rfprof} /bin/sh -c 'read word; echo got $word' &\nuntil jobs | grep Stopped; do sleep 0.1; done\n")
        shown.wait_for("\n.*Stopped.*\n")
        shown.type("fg\n")
        shown.wait_for("read word.*\n")
        shown.type("a word\n")
        shown.wait_for("got a word\n")


PUT_OFF = {"windows": ("--work=count",), "counted": ("--work=count", "--traffic=none"), "whole": ("--work=count", "--slowdown=none"),
           "once": ("--once",)}


@pytest.mark.parametrize("us", [0, 300, 5000])
@pytest.mark.parametrize("mode", PUT_OFF)
def test_a_call_that_is_put_off_counts_once(t, mode, us):
    """A thread that is to take a signal, or to go on in the other copy of its code, when it is about to make a system call
    makes it behind that."""
    n = 300000
    report = t.profile([t.program("many_calls.c"), str(n), str(us)], *PUT_OFF[mode]).json
    row, = functions(report, "many_calls")
    assert row["instructions"] == 7 * n + 3, row["instructions"] - 7 * n - 3
    assert row["load_bytes"] == 8, row
