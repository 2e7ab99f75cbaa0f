"""rfprof fails itself: it says so, and what becomes of the program (base/crash.h, tracer/run/run_launch.c)."""

import ctypes
import os
import signal
import subprocess
import time

import pytest

SYS_TGKILL = 234
WAIT = 60  # seconds for what must come; nothing depends on how soon it comes
# Its input and output are pipes; it ends when it has read a word.
ASKS = 'echo started; read word; echo "got $word"; exit 7'
# Each run waits until a file tells it to go on; `runs` has the process of each.
WAITS = 'echo $$ >>runs; echo started; while [ ! -e "go$(wc -l <runs)" ]; do sleep 0.05; done; echo done; exit 7'


def start(t, *arguments, **options):
    streams = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    return subprocess.Popen([t.rfprof_path, *arguments], cwd=t.work, env=t.environment(), **{**streams, **options})


def wait_until(condition):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, "does not come"
        time.sleep(0.02)


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().split()


def threads_of(process):
    return sorted(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))


def fail_in(process, thread, number=signal.SIGSEGV):
    assert ctypes.CDLL(None, use_errno=True).syscall(SYS_TGKILL, process.pid, thread, int(number)) == 0


def wait_until_idle(process):
    """All threads sleep: none stands between writing what it carries and noting that it has."""
    def idle():
        for thread in threads_of(process):
            with open(f"/proc/{process.pid}/task/{thread}/stat", encoding="utf-8") as file:
                if file.read().rsplit(")", 1)[1].split()[0] != "S":
                    return False
        return True

    wait_until(idle)


def check_message(text, what="SIGSEGV"):
    assert "rfprof " in text and f" failed: {what}" in text, text
    assert "(+0x" in text, f"no stack\n{text}"
    assert "please report the lines above" in text, text


def ask_after_failure(t, arguments, thread_index, number=signal.SIGSEGV, program=ASKS):
    """Fails in one thread of the timed run, and only then gives the program its input.  Its output, its status, and
    rfprof's messages; None if there is no such thread."""
    process = start(t, *arguments, "/bin/sh", "-c", program)
    try:
        out = process.stdout.readline()
        wait_until_idle(process)
        threads = threads_of(process)
        if thread_index >= len(threads):
            return None
        fail_in(process, threads[thread_index], number)
        messages = b""
        while b"the program goes on" not in messages:
            line = process.stderr.readline()
            assert line, f"nothing more comes\n{messages.decode()}"
            messages += line
        more, rest = process.communicate(b"word\n", WAIT)
        return out + more, process.returncode, (messages + rest).decode()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("sampler", ["perf", "timer"])
def test_program_goes_on_whichever_thread_fails(t, sampler):
    """The main thread, those of the sampler, and those that carry the program's streams."""
    index = 0
    while result := ask_after_failure(t, ["--save=a.rfp", f"--sampler={sampler}"], index):
        out, status, messages = result
        check_message(messages)
        assert out == b"started\ngot word\n" and status == 7, f"thread {index}: {out} {status}\n{messages}"
        index += 1
    assert index >= 3, f"only {index} threads"
    assert not os.path.exists(os.path.join(t.work, "a.rfp")), "a profile of a run that was not watched to its end"


@pytest.mark.parametrize("number", [signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT], ids=lambda n: n.name)
def test_other_failures(t, number):
    out, status, messages = ask_after_failure(t, ["--no-save"], 0, number)
    check_message(messages, number.name)
    assert out == b"started\ngot word\n" and status == 7, messages


def test_program_dies_of_a_signal(t):
    _, status, messages = ask_after_failure(t, ["--no-save"], 0, program="echo started; read word; kill -TERM $$")
    check_message(messages)
    assert status == -signal.SIGTERM, messages


def test_much_output_after_failure(t):
    """More than a pipe holds, in and out, in the threads that carry it."""
    program = "echo started; read word; head -c 3000000 /dev/zero | tr '\\0' x; exit 7"
    for index in range(4):
        result = ask_after_failure(t, ["--no-save"], index, program=program)
        if not result:
            break
        out, status, messages = result
        assert len(out) == len("started\n") + 3000000 and status == 7, f"{len(out)} {status}\n{messages}"


def test_log_has_the_message(t):
    process = start(t, "--no-save", "--log=log", "/bin/sh", "-c", ASKS)
    process.stdout.readline()
    fail_in(process, process.pid)
    path = os.path.join(t.work, "log")
    wait_until(lambda: "the program goes on" in open(path, encoding="utf-8").read())
    out, error = process.communicate(b"word\n", WAIT)
    assert out == b"got word\n" and error == b"" and process.returncode == 7, error
    check_message(open(path, encoding="utf-8").read())


@pytest.mark.parametrize("option", [None, "--once"], ids=["second_run", "once"])
def test_counted_program_ends_with_rfprof(t, option):
    """It cannot go on: its code is rfprof's.  In the second run, the first has done its work."""
    runs = os.path.join(t.work, "runs")
    process = start(t, "--no-save", *([option] if option else []), "/bin/sh", "-c", WAITS)
    if not option:
        open(os.path.join(t.work, "go1"), "w", encoding="utf-8").close()
    wait_until(lambda: len(lines_of(runs)) == (1 if option else 2))
    fail_in(process, process.pid)
    out, error = process.communicate(timeout=WAIT)
    check_message(error.decode())
    assert process.returncode == 2, error.decode()
    assert out == (b"started\n" if option else b"started\ndone\n"), error.decode()
    program = lines_of(runs)[-1]
    wait_until(lambda: not os.path.exists(f"/proc/{program}") or "State:\tZ" in open(f"/proc/{program}/status").read())


def test_report_fails(t):
    """Opening a pipe that nobody reads yet is a place where rfprof report waits."""
    assert t.rfprof("-q", "--save=a.rfp", "/bin/true").status == 0
    pipe = os.path.join(t.work, "pipe")
    os.mkfifo(pipe)
    process = start(t, "report", "a.rfp", "-o", "pipe")

    def is_opening():
        with open(f"/proc/{process.pid}/syscall", encoding="utf-8") as file:
            return file.read().split()[0] == "257"  # openat

    try:
        wait_until(is_opening)
    except (OSError, AssertionError):
        process.kill()
        process.communicate()
        pytest.skip("/proc/PID/syscall does not say what a process waits for here")
    fail_in(process, process.pid)
    out, error = process.communicate(timeout=WAIT)
    check_message(error.decode())
    assert process.returncode == 2 and out == b"", error.decode()
    assert "the program" not in error.decode(), error.decode()


def test_program_has_its_own_signals(t):
    """Neither rfprof's handlers nor its mask reach the program, and what is ignored stays so."""
    t.same(["/bin/grep", "^Sig[BCI]", "/proc/self/status"])
    t.same(["/bin/sh", "-c", "trap '' SEGV ABRT; exec \"$@\"", "sh", "/bin/grep", "^Sig[BCI]", "/proc/self/status"])
    ignoring = "trap '' SEGV FPE; exec \"$@\""
    native = t.run(["/bin/sh", "-c", ignoring, "sh", "/bin/grep", "^SigI", "/proc/self/status"])
    watched = t.run(["/bin/sh", "-c", ignoring, "sh", t.rfprof_path, "-q", "--no-save", "/bin/grep", "^SigI",
                     "/proc/self/status"])
    assert watched.stdout == native.stdout, f"{native}\n{watched}"
