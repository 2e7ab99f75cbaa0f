"""A watched program does what it does natively: output, errors, status, signals, files."""

import os
import signal
import subprocess
import time

from harness import Skip, add_case, case, need_command


def same_as_native(source, arguments=(), flags=(), libraries=(), status=0):
    """A case: the program of programs/ ends with `status` natively and is the same when watched."""

    def check(t):
        native = t.same([t.program(source, flags, libraries), *arguments])
        assert native.status == status, f"natively not {status}\n{native}"

    return check


# Programs that check themselves and print what they saw.
for name in ["signals", "children", "jumps", "threads", "memory", "selfmodifying", "identity"]:
    add_case(f"e2e/transparency/{name}", same_as_native(name + ".c"))
add_case("e2e/transparency/floating", same_as_native("floating.c", flags=["-frounding-math"], libraries=["-lm"]))
add_case("e2e/transparency/signals_in_threads", same_as_native("signals_threads.c"))
add_case("e2e/transparency/exec_self", same_as_native("exec_self.c", ["first"], status=5))
add_case("e2e/transparency/exceptions", same_as_native("exceptions.cpp"))
add_case("e2e/transparency/uncaught_exception",
         same_as_native("exceptions.cpp", ["uncaught"], status=-signal.SIGABRT))
add_case("e2e/transparency/static", same_as_native("jumps.c", flags=["-static"]))
add_case("e2e/transparency/static_pie", same_as_native("jumps.c", flags=["-static-pie"]))
add_case("e2e/transparency/stripped", same_as_native("jumps.c", flags=["-s"]))
add_case("e2e/transparency/non_pie", same_as_native("jumps.c", flags=["-no-pie"]))
add_case("e2e/transparency/bind_now", same_as_native("jumps.c", flags=["-Wl,-z,now", "-fcf-protection=full"]))
add_case("e2e/transparency/thousand_threads", same_as_native("threads.c", ["1000"]))

for number in [0, 1, 3, 127, 128, 255]:
    add_case(f"e2e/transparency/exit_{number}", same_as_native("end.c", ["exit", str(number)], status=number))
for name in ["SEGV", "ABRT", "TERM", "KILL", "INT", "ILL", "FPE", "BUS", "TRAP", "USR1", "PIPE"]:
    number = getattr(signal, "SIG" + name)
    add_case(f"e2e/transparency/killed_by_{name}",
             same_as_native("end.c", ["kill", str(int(number))], status=-number))
add_case("e2e/transparency/real_fault", same_as_native("end.c", ["fault", "0"], status=-signal.SIGSEGV))
add_case("e2e/transparency/real_division_by_zero", same_as_native("end.c", ["divide", "0"], status=-signal.SIGFPE))
add_case("e2e/transparency/real_illegal_instruction", same_as_native("end.c", ["illegal", "0"], status=-signal.SIGILL))
add_case("e2e/transparency/exit_from_thread", same_as_native("end.c", ["thread", "9"], status=9))
add_case("e2e/transparency/main_thread_leaves_first", same_as_native("end.c", ["leave", "0"], status=0))


@case("e2e/transparency")
def plugins(t):
    """dlopen and dlclose, other code at the same address each time."""
    plugins = [t.program(f"plugin_{letter}.c", ("-shared", "-fPIC")) for letter in "ab"]
    native = t.same([t.program("plugins.c"), *plugins])
    assert native.status == 0, str(native)


@case("e2e/transparency")
def input_from_pipe(t):
    data = b"".join(b"%d line\n" % i for i in range(20000))
    native = t.same(["/usr/bin/sort", "-r"], stdin=data)
    assert native.status == 0 and native.stdout.startswith(b"9999 line"), str(native)


@case("e2e/transparency")
def input_from_file(t):
    path = os.path.join(t.directory, "input")
    with open(path, "wb") as file:
        file.write(os.urandom(300000))
    native = t.same(["/usr/bin/sha256sum"], stdin=path)
    assert native.status == 0, str(native)


@case("e2e/transparency")
def input_is_kept_for_the_second_run(t):
    """The second run reads the same input: the counted work is that of the whole input."""
    program = t.program("sum_input.c")
    report = t.profile([program], stdin=b"\x01" * 70000).json
    flop = sum(row["flop"] for row in report["functions"] if row["name"] == "add_bytes")
    assert flop == 70000, f"{flop} flop counted for 70000 bytes of input"


@case("e2e/transparency")
def input_read_in_part(t):
    t.same(["/usr/bin/head", "-c", "10"], stdin=b"0123456789abcdef" * 50000)


@case("e2e/transparency")
def no_input(t):
    t.same(["/usr/bin/wc", "-c"], stdin=None)


@case("e2e/transparency")
def input_closed(t):
    t.same(["/usr/bin/cat"], stdin=None, preexec_fn=lambda: os.close(0))


@case("e2e/transparency")
def output_closed(t):
    native = t.same(["/bin/echo", "lost"], preexec_fn=lambda: os.close(1))
    assert native.status == 1, f"echo wrote to a closed descriptor\n{native}"


@case("e2e/transparency")
def output_to_full_disk(t):
    with open("/dev/full", "wb") as full:
        native = t.same(["/bin/echo", "lost"], stdout=full)
    assert native.status == 1, f"echo wrote to /dev/full\n{native}"


@case("e2e/transparency")
def output_to_file(t):
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


@case("e2e/transparency")
def reader_goes_away(t):
    """`rfprof seq … | head` ends as `seq … | head` does."""
    command = "{} /usr/bin/seq 100000000 | head -n 3; echo ${{PIPESTATUS[0]}}"
    native = t.run(["bash", "-c", command.format("")])
    watched = t.run(["bash", "-c", command.format(f"'{t.rfprof_path}' -q --no-save")])
    assert native.stdout == b"1\n2\n3\n141\n", str(native)
    assert watched.stdout == native.stdout, str(watched)


@case("e2e/transparency")
def arguments(t):
    t.same([t.program("arguments.c"), "", "two words", "*", "--json", "-q", "--", "line\nbreak", b"\xff\xfe", "$HOME"])


@case("e2e/transparency")
def environment(t):
    """The program prints its environment; a run with rfprof adds and removes nothing."""
    t.same(["/usr/bin/env"], modes=[""], env={"EMPTY": "", "WITH SPACE": "a b", "LD_LIBRARY_PATH": "/nowhere"})


@case("e2e/transparency")
def users_preload_stays(t):
    library = t.program("preloaded.c", ("-shared", "-fPIC"))
    native = t.same(["/bin/true"], env={"LD_PRELOAD": library})
    assert b"preloaded\n" in native.stdout, str(native)


@case("e2e/transparency")
def directory_umask_limits(t):
    def prepare():
        os.umask(0o027)

    t.same(["/bin/sh", "-c", "pwd; umask; ulimit -a; touch made; ls -l made | cut -c1-10; cat /proc/self/comm"],
           preexec_fn=prepare)


@case("e2e/transparency")
def open_descriptors(t):
    """The program finds no descriptor open that it did not have natively."""
    t.same(["/bin/sh", "-c", "cd /proc/self/fd; for f in *; do [ -e $f ] && echo $f; done"], modes=[""])


@case("e2e/transparency")
def ignored_and_blocked_signals_are_inherited(t):
    def prepare():
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

    t.same(["/bin/grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"], preexec_fn=prepare)


@case("e2e/transparency")
def script(t):
    path = os.path.join(t.directory, "script with space")
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh -e\necho \"$0\" | sed 's|.*/||'; echo \"$#: $*\"; exit 4\n")
    os.chmod(path, 0o755)
    native = t.same([path, "a b", "c"])
    assert native.status == 4, str(native)


@case("e2e/transparency")
def found_in_path(t):
    native = t.same(["expr", "6", "*", "7"])
    assert native.stdout == b"42\n", str(native)


@case("e2e/transparency")
def writes_its_files(t):
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


def forwarded(number, whole_group=False):
    def check(t):
        native = signalled(t, False, number, whole_group)
        watched = signalled(t, True, number, whole_group)
        assert watched == native, f"signal {number}: {watched}, natively {native}"

    return check


for name in ["INT", "TERM", "HUP", "QUIT", "USR1"]:
    add_case(f"e2e/transparency/forwards_{name}", forwarded(getattr(signal, "SIG" + name)))
add_case("e2e/transparency/interrupted_from_terminal", forwarded(signal.SIGINT, whole_group=True))


@case("e2e/transparency")
def still_reports_when_interrupted(t):
    """Ctrl-C ends the program as without rfprof; what was seen until then is reported."""
    path = os.path.join(t.directory, "s.json")
    status, _, _ = signalled(t, True, signal.SIGINT, True)
    assert status == -signal.SIGINT, f"status {status}"
    assert os.path.exists(path) and os.path.getsize(path) > 0, "no report after Ctrl-C"


@case("e2e/transparency")
def stopped_and_continued(t):
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


@case("e2e/transparency")
def as_an_ordinary_user(t):
    """Nothing above needs root."""
    if os.getuid() != 0:
        raise Skip("these tests do not run as root, so they show it anyway")
    setpriv = need_command("/usr/bin/setpriv")
    home = os.path.join(t.directory, "nobody")
    os.makedirs(home)
    os.chown(home, 65534, 65534)
    if not os.access(t.rfprof_path, os.X_OK):
        raise AssertionError(f"{t.rfprof_path} is not built")
    wrapped = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    if t.run([*wrapped, "/usr/bin/test", "-x", t.rfprof_path]).status:
        raise Skip("the build directory is closed to other users")
    report = os.path.join(home, "report.json")
    result = t.run([*wrapped, t.rfprof_path, "-q", "--no-save", "--json", report, "/usr/bin/seq", "5"],
                   cwd=home, env={"HOME": home, "XDG_CACHE_HOME": os.path.join(home, "cache")})
    assert result.status == 0 and result.stdout == b"1\n2\n3\n4\n5\n", str(result)
    assert os.path.getsize(report) > 0
