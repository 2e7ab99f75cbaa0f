"""A watched program does what it does natively: output, errors, status, signals, files."""

import json
import os
import signal
import subprocess
import time

import pytest

from harness import named, need_command


def watched_programs():
    """Programs of programs/: name of the case → source, arguments, how it is built, and its exit status natively."""
    def case(source, *arguments, flags=(), libraries=(), status=0):
        return source, arguments, flags, libraries, status

    cases = {}
    # Programs that check themselves and print what they saw.
    for name in ["signals", "children", "jumps", "threads", "memory", "selfmodifying", "identity"]:
        cases[name] = case(name + ".c")
    cases["floating"] = case("floating.c", flags=["-frounding-math"], libraries=["-lm"])
    cases["signals_in_threads"] = case("signals_threads.c")
    cases["exec_self"] = case("exec_self.c", "first", status=5)
    cases["exceptions"] = case("exceptions.cpp")
    cases["uncaught_exception"] = case("exceptions.cpp", "uncaught", status=-signal.SIGABRT)
    cases["static"] = case("jumps.c", flags=["-static"])
    cases["static_pie"] = case("jumps.c", flags=["-static-pie"])
    cases["stripped"] = case("jumps.c", flags=["-s"])
    cases["non_pie"] = case("jumps.c", flags=["-no-pie"])
    cases["bind_now"] = case("jumps.c", flags=["-Wl,-z,now", "-fcf-protection=full"])
    cases["thousand_threads"] = case("threads.c", "1000")
    for number in [0, 1, 3, 127, 128, 255]:
        cases[f"exit_{number}"] = case("end.c", "exit", str(number), status=number)
    for name in ["SEGV", "ABRT", "TERM", "KILL", "INT", "ILL", "FPE", "BUS", "TRAP", "USR1", "PIPE"]:
        number = getattr(signal, "SIG" + name)
        cases[f"killed_by_{name}"] = case("end.c", "kill", str(int(number)), status=-number)
    cases["real_fault"] = case("end.c", "fault", "0", status=-signal.SIGSEGV)
    cases["real_division_by_zero"] = case("end.c", "divide", "0", status=-signal.SIGFPE)
    cases["real_illegal_instruction"] = case("end.c", "illegal", "0", status=-signal.SIGILL)
    cases["exit_from_thread"] = case("end.c", "thread", "9", status=9)
    cases["main_thread_leaves_first"] = case("end.c", "leave", "0")
    return cases


@pytest.mark.parametrize("source, arguments, flags, libraries, status", named(watched_programs()))
def test_same_as_native(t, source, arguments, flags, libraries, status):
    native = t.same([t.program(source, flags, libraries), *arguments])
    assert native.status == status, f"natively not {status}\n{native}"


def test_plugins(t):
    """dlopen and dlclose, other code at the same address each time."""
    plugins = [t.program(f"plugin_{letter}.c", ("-shared", "-fPIC")) for letter in "ab"]
    native = t.same([t.program("plugins.c"), *plugins])
    assert native.status == 0, str(native)


def test_input_from_pipe(t):
    data = b"".join(b"%d line\n" % i for i in range(20000))
    native = t.same(["/usr/bin/sort", "-r"], stdin=data)
    assert native.status == 0 and native.stdout.startswith(b"9999 line"), str(native)


def test_input_from_file(t):
    path = os.path.join(t.directory, "input")
    with open(path, "wb") as file:
        file.write(os.urandom(300000))
    native = t.same(["/usr/bin/sha256sum"], stdin=path)
    assert native.status == 0, str(native)


def test_input_is_kept_for_the_second_run(t):
    """The second run reads the same input: the counted work is that of the whole input."""
    program = t.program("sum_input.c")
    report = t.profile([program], stdin=b"\x01" * 70000).json
    flop = sum(row["flop"] for row in report["functions"] if row["name"] == "add_bytes")
    assert flop == 70000, f"{flop} flop counted for 70000 bytes of input"


def test_input_read_in_part(t):
    t.same(["/usr/bin/head", "-c", "10"], stdin=b"0123456789abcdef" * 50000)


def test_no_input(t):
    t.same(["/usr/bin/wc", "-c"], stdin=None)


def test_input_closed(t):
    t.same(["/usr/bin/cat"], stdin=None, preexec_fn=lambda: os.close(0))


def test_output_closed(t):
    native = t.same(["/bin/echo", "lost"], preexec_fn=lambda: os.close(1))
    assert native.status == 1, f"echo wrote to a closed descriptor\n{native}"


def test_output_to_full_disk(t):
    with open("/dev/full", "wb") as full:
        native = t.same(["/bin/echo", "lost"], stdout=full)
    assert native.status == 1, f"echo wrote to /dev/full\n{native}"


def test_output_to_file(t):
    """Output to a regular file is written once, from its start."""
    for watched in [[], [t.rfprof_path, "-q", "--no-save"], [t.rfprof_path, "-q", "--no-save", "--once"]]:
        path = os.path.join(t.directory, "output")
        with open(path, "wb") as file:
            file.write(b"before\n")
            file.flush()
            result = t.run([*watched, "/usr/bin/seq", "3000"], stdout=file)
        assert result.status == 0, str(result)
        expected = b"before\n" + b"".join(b"%d\n" % i for i in range(1, 3001))
        with open(path, "rb") as file:
            found = file.read()
        assert found == expected, f"{watched}: {len(found)} bytes, not {len(expected)}: {found[:60]} … {found[-60:]}"


def test_reader_goes_away(t):
    """`rfprof seq … | head` ends as `seq … | head` does."""
    command = "{} /usr/bin/seq 100000000 | head -n 3; echo ${{PIPESTATUS[0]}}"
    native = t.run(["bash", "-c", command.format("")])
    watched = t.run(["bash", "-c", command.format(f"'{t.rfprof_path}' -q --no-save")])
    assert native.stdout == b"1\n2\n3\n141\n", str(native)
    assert watched.stdout == native.stdout, str(watched)


def test_arguments(t):
    t.same([t.program("arguments.c"), "", "two words", "*", "--json", "-q", "--", "line\nbreak", b"\xff\xfe", "$HOME"])


def test_environment(t):
    """The program prints its environment; a run with rfprof adds and removes nothing."""
    t.same(["/usr/bin/env"], modes=[""], env={"EMPTY": "", "WITH SPACE": "a b", "LD_LIBRARY_PATH": "/nowhere"})


def test_users_preload_stays(t):
    library = t.program("preloaded.c", ("-shared", "-fPIC"))
    native = t.same(["/bin/true"], env={"LD_PRELOAD": library})
    assert b"preloaded\n" in native.stdout, str(native)


def test_directory_umask_limits(t):
    def prepare():
        os.umask(0o027)

    t.same(["/bin/sh", "-c", "pwd; umask; ulimit -a; touch made; ls -l made | cut -c1-10; cat /proc/self/comm"],
           preexec_fn=prepare)


def test_open_descriptors(t):
    """The program finds no descriptor open that it did not have natively."""
    t.same(["/bin/sh", "-c", "cd /proc/self/fd; for f in *; do [ -e $f ] && echo $f; done"], modes=[""])


def test_ignored_and_blocked_signals_are_inherited(t):
    def prepare():
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

    t.same(["/bin/grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"], preexec_fn=prepare)


def test_script(t):
    path = os.path.join(t.directory, "script with space")
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh -e\necho \"$0\" | sed 's|.*/||'; echo \"$#: $*\"; exit 4\n")
    os.chmod(path, 0o755)
    native = t.same([path, "a b", "c"])
    assert native.status == 4, str(native)


def test_found_in_path(t):
    native = t.same(["expr", "6", "*", "7"])
    assert native.stdout == b"42\n", str(native)


def test_writes_its_files(t):
    t.same(["/bin/sh", "-c", "mkdir -p d; seq 100 > d/numbers; cp d/numbers copy; sort -r copy > sorted"])


def signalled(t, watched, number, whole_group):
    """Starts the program that waits for a signal, sends one when it is ready; status and output."""
    program = t.program("waits.c")
    command = [t.rfprof_path, "-q", "--no-save", "--json", os.path.join(t.directory, "s.json")] if watched else []
    process = subprocess.Popen([*command, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=t.work,
                               env=t.environment(), start_new_session=True)
    try:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.2)
        (os.killpg if whole_group else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"signal {number} did not end it") from None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return process.returncode, out, err


@pytest.mark.parametrize("number, whole_group", named({
    **{f"forwards_{name}": (getattr(signal, "SIG" + name), False) for name in ["INT", "TERM", "HUP", "QUIT", "USR1"]},
    "interrupted_from_terminal": (signal.SIGINT, True),
}))
def test_forwarded(t, number, whole_group):
    native = signalled(t, False, number, whole_group)
    watched = signalled(t, True, number, whole_group)
    assert watched == native, f"signal {number}: {watched}, natively {native}"


def test_still_reports_when_interrupted(t):
    """Ctrl-C ends the program as without rfprof; what was seen until then is reported."""
    path = os.path.join(t.directory, "s.json")
    status, _, _ = signalled(t, True, signal.SIGINT, True)
    assert status == -signal.SIGINT, f"status {status}"
    assert os.path.exists(path) and os.path.getsize(path) > 0, "no report after Ctrl-C"


def test_stopped_and_continued(t):
    """SIGTSTP to the group stops the program, SIGCONT lets it go on."""
    program = t.program("waits.c")
    process = subprocess.Popen([t.rfprof_path, "-q", "--no-save", program], stdout=subprocess.PIPE, cwd=t.work,
                               env=t.environment(), start_new_session=True)
    try:
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(0.3)
        assert process.poll() is None, "ended by a stop signal"
        os.killpg(process.pid, signal.SIGCONT)
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(60) == -signal.SIGTERM, f"status {process.returncode}"
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def test_pause_of_rfprof_is_no_wall_time(t):
    """rfprof alone is stopped, and continued long after the program has ended."""
    path = os.path.join(t.directory, "s.json")
    done = os.path.join(t.directory, "done")
    script = f"echo ready; sleep 0.5; touch {done}"
    begin = time.monotonic()
    process = subprocess.Popen([t.rfprof_path, "-q", "--no-save", "--json", path, "/bin/sh", "-c", script],
                               stdout=subprocess.PIPE, cwd=t.work, env=t.environment(), start_new_session=True)
    try:
        assert process.stdout.readline() == b"ready\n"
        os.kill(process.pid, signal.SIGSTOP)
        while not os.path.exists(done):
            assert time.monotonic() - begin < 60, "the program does not end"
            time.sleep(0.01)
        ended = time.monotonic()
        time.sleep(2)
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(60) == 0, f"status {process.returncode}"
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    with open(path, encoding="utf-8") as file:
        run = json.load(file)["run"]
    if "may hold the pause" in str(run):
        pytest.skip("the sampler here has no records of ends")
    assert run["wall_s"] < ended - begin + 1, f"{run['wall_s']} s, ended after {ended - begin} s at most"


@pytest.mark.parametrize("what, value", named({f"{what}_{value}": (what, value) for what, value in [
    ("all", 0), ("all", -1), ("first", 255), ("blocks", 0), ("table", 255), ("states", 0), ("states", 3),
    ("states", 255)]}))
def test_memory_of_rfprof_is_overwritten(t, what, value):
    """The program of the timed run ends as natively; what cannot go on in a counted run is ended, and the report says why."""
    command = [t.program("overwrites.c"), what, str(value)]
    t.same(command, modes=[""])
    path = os.path.join(t.directory, "overwritten.json")
    result = t.rfprof("-q", "--no-save", "--once", "--json", path, *command, timeout=30)
    with open(path, encoding="utf-8") as file:
        reasons = [row["reason"] for row in json.load(file)["run"]["uncounted"]]
    if what == "states":
        assert result.status == 0, f"requests that are made again\n{result}"
    else:
        assert result.status == -signal.SIGKILL, str(result)
        assert any("wrote over memory" in reason for reason in reasons), str(reasons)


def test_as_an_ordinary_user(t):
    """Nothing above needs root."""
    if os.getuid() != 0:
        pytest.skip("these tests do not run as root, so they show it anyway")
    setpriv = need_command("/usr/bin/setpriv")
    home = os.path.join(t.directory, "nobody")
    os.makedirs(home)
    os.chown(home, 65534, 65534)
    if not os.access(t.rfprof_path, os.X_OK):
        raise AssertionError(f"{t.rfprof_path} is not built")
    wrapped = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    if t.run([*wrapped, "/usr/bin/test", "-x", t.rfprof_path]).status:
        pytest.skip("the build directory is closed to other users")
    report = os.path.join(home, "report.json")
    result = t.run([*wrapped, t.rfprof_path, "-q", "--no-save", "--json", report, "/usr/bin/seq", "5"],
                   cwd=home, env={"HOME": home, "XDG_CACHE_HOME": os.path.join(home, "cache")})
    assert result.status == 0 and result.stdout == b"1\n2\n3\n4\n5\n", str(result)
    assert os.path.getsize(report) > 0
