"""`rfprof doctor`: what it says agrees with what a run then does, wherever it is asked."""

import fcntl
import json
import os
import pty
import struct
import termios
import threading

import pytest

from harness import files_below, named, need_command
from test_errors import as_nobody, check_error, check_usage

NAMES = ["kernel", "/proc", "/sys", "hypervisor", "container", "seccomp", "perf_event_paranoid", "kernel samples", "perf sampler", "running processes",
         "timer sampler", "locked memory", "descriptors", "ptrace scope", "ptrace", "executable memory", "address space",
         "FSGSBASE", "BMI2", "caches", "roofs", "debuginfod", "PMU", "PMU events", "uncore", "resctrl"]

# The leak check of a sanitized rfprof traces it, and reads /proc.
NO_LEAK_CHECK = {"ASAN_OPTIONS": "exitcode=99:detect_leaks=0:verify_asan_link_order=0"}


@pytest.mark.parametrize("word, argument", named({
    "bad_usage_now": ("now", "now"),
    "bad_usage_--frobnicate": ("--frobnicate", "--frobnicate"),
    "bad_usage_--json": ("--json", "--json=x"),
}))
def test_bad_usage(t, word, argument):
    check_usage(t.rfprof("doctor", argument), word)


def ask(t, prefix=(), **options):
    """The JSON, by name of the check, and the whole of it; exit status and form are right."""
    result = t.run([*prefix, t.rfprof_path, "doctor", "--json"], **options)
    assert result.status in (0, 1), str(result)
    report = json.loads(result.stdout)
    checks = {check["name"]: check for check in report["checks"]}
    assert list(checks) == NAMES, str(list(checks))
    lacking = [name for name, check in checks.items() if check["state"] == "missing" and check["needed_for"]]
    assert report["missing"] == ", ".join(lacking), str(result)
    assert report["full_profile"] == (not lacking) == (result.status == 0), str(result)
    for check in checks.values():
        assert check["state"] in ("works", "partly", "missing") and check["found"], str(check)
        assert bool(check["cost"]) == bool(check["next"]) == (check["state"] != "works"), str(check)
    return checks, report


def is_counted(t, prefix=(), command=None, **options):
    """Whether a run there counts anything, and where its times come from."""
    path = os.path.join(t.work, "report.json")
    result = t.run([*prefix, t.rfprof_path, "-q", "--no-save", "--json", path,
                    *(command or [t.target("daxpy")])], **options)
    assert result.status == 0, str(result)
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    os.unlink(path)
    return any(row.get("flop") for row in report["functions"]), result


def test_agrees_with_a_run(t):
    checks, report = ask(t)
    counted, result = is_counted(t)
    assert counted == all(checks[name]["state"] != "missing" for name in NAMES if checks[name]["needed_for"] == "counts"), \
        f"{report}\n{result}"


def test_table(t):
    """All checks in their order, no line wider than 132 columns, the sentence last; nothing on standard error."""
    result = t.rfprof("doctor")
    _, report = ask(t)
    assert result.status == (0 if report["full_profile"] else 1) and result.stderr == b"", str(result)
    text = result.stdout.decode()
    assert all(len(line) <= 132 for line in text.splitlines()), text
    rows = [line for line in text.split("\n\n")[0].splitlines()[1:] if not line.startswith(" ")]
    assert [row[:19].rstrip() for row in rows] == NAMES, text
    sentence = " ".join(text.split("\n\n")[1].split())
    assert sentence == " ".join(report["sentence"].split()) and sentence.startswith("rfprof ./app here: times by "), text


def read_all(descriptor, pieces):
    """Until the other end of the terminal is closed."""
    try:
        while data := os.read(descriptor, 65536):
            pieces.append(data)
    except OSError:
        pass


def test_fits_the_window(t):
    terminal, window = pty.openpty()
    fcntl.ioctl(window, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 80, 0, 0))
    pieces = []
    reader = threading.Thread(target=read_all, args=(terminal, pieces))
    reader.start()
    try:
        process = t.run([t.rfprof_path, "doctor"], stdout=window)
    finally:
        os.close(window)  # of all ends the last: the reader comes to its end
        reader.join()
        os.close(terminal)
    shown = b"".join(pieces)
    lines = shown.decode().replace("\r", "").splitlines()
    assert process.status in (0, 1) and len(lines) > len(NAMES), str(process)
    assert all(len(line) <= 80 for line in lines), shown.decode()


def test_json_for_jq(t):
    result = t.rfprof("doctor", "--json")
    filtered = t.run([need_command("/usr/bin/jq"), "-r", ".checks[].name"], stdin=result.stdout)
    assert filtered.status == 0 and filtered.stdout.decode().splitlines() == NAMES, str(filtered)


def test_leaves_nothing_behind(t):
    before = files_below(t.directory)
    ask(t)
    assert files_below(t.directory) == before and os.listdir(t.work) == []


def test_output_that_cannot_be_written(t):
    for option in [[], ["--json"]]:
        with open("/dev/full", "wb") as full:
            check_error(t.rfprof("doctor", *option, stdout=full), "cannot write", "no space left")


def test_nobody(t):
    """A plain user has the same verdict as a run of that user."""
    prefix = as_nobody(t, t.work)
    environment = {"HOME": t.work, "XDG_CACHE_HOME": os.path.join(t.work, "cache")}
    checks, report = ask(t, prefix, env=environment)
    assert checks["roofs"]["state"] == "partly" and "none are kept" in checks["roofs"]["found"], str(checks["roofs"])
    assert not os.path.exists(environment["XDG_CACHE_HOME"]), "a directory was made"
    counted, result = is_counted(t, prefix, env=environment)
    assert counted == (not any(check["state"] == "missing" and check["needed_for"] == "counts" for check in checks.values())), \
        f"{report}\n{result}"


def test_no_home(t):
    checks, _ = ask(t, env={"HOME": None, "XDG_CACHE_HOME": "/proc/nowhere"})
    assert checks["roofs"]["state"] == "partly", str(checks["roofs"])


def refused(t, call, action):
    return [t.program("refuse.c"), call, action]


def test_perf_event_open_is_refused(t):
    prefix = refused(t, "perf_event_open", "errno")
    checks, report = ask(t, prefix)
    assert checks["perf sampler"]["state"] == "missing" and checks["timer sampler"]["state"] == "works", str(report)
    assert "perf_event_open is refused" in checks["perf sampler"]["found"] and not checks["perf sampler"]["needed_for"]
    assert checks["PMU"]["state"] == "missing" and "perf_event_open is refused" in checks["PMU"]["found"]
    assert "times by timers" in report["sentence"], report["sentence"]
    assert "seccomp" not in report["missing"], "what a run needs is not filtered"
    counted, result = is_counted(t, prefix)
    assert counted and b"perf_event_open is refused" in result.stderr, str(result)


def test_ptrace_is_refused(t):
    prefix = refused(t, "ptrace", "errno")
    checks, report = ask(t, prefix, env=NO_LEAK_CHECK)
    assert checks["ptrace"]["state"] == "missing" and "Operation not permitted" in checks["ptrace"]["found"], str(report)
    assert "ptrace" in report["missing"].split(", ") and "counts by nothing" in report["sentence"], str(report)
    counted, result = is_counted(t, prefix, env=NO_LEAK_CHECK)
    assert not counted and b"cannot trace the program" in result.stderr, str(result)


def test_memory_is_refused(t):
    checks, report = ask(t, refused(t, "memfd_create", "errno"))
    assert "memfd_create is refused" in checks["executable memory"]["found"], str(report)
    assert "executable memory" in report["missing"], str(report)


def test_filters_of_a_container_let_programs_be_counted(t):
    """rfprof and the program are under the same filters, which refuse nothing that a run needs."""
    prefix = refused(t, "acct", "kill")
    checks, report = ask(t, prefix)
    counted, result = is_counted(t, prefix)
    assert "seccomp" not in report["missing"] and counted, f"{report}\n{result}"
    assert checks["seccomp"]["state"] == "works" and "filtered" in checks["seccomp"]["found"], str(checks["seccomp"])


def test_filters_that_a_run_cannot_do_with(t):
    """The program is not harmed: it runs natively, with one filter for both and with one of its own."""
    for action in ("errno", "kill"):
        prefix = refused(t, "memfd_create", action)
        _, report = ask(t, prefix)
        assert "seccomp" in report["missing"].split(", "), str(report)
    counted, result = is_counted(t, [], command=[*refused(t, "acct", "kill"), t.target("daxpy")])
    assert not counted, str(result)


@pytest.mark.parametrize("call, names", named({
    "ended_by_filter_perf_event_open": ("perf_event_open", ["perf sampler", "running processes", "locked memory", "PMU"]),
    "ended_by_filter_ptrace": ("ptrace", ["ptrace"]),
    "ended_by_filter_memfd_create": ("memfd_create", ["executable memory"]),
}))
def test_ended_by_filter(t, call, names):
    checks, report = ask(t, refused(t, call, "kill"), env=NO_LEAK_CHECK)
    for name in names:
        assert checks[name]["state"] == "missing" and "Bad system call" in checks[name]["found"], str(checks[name])
    assert names[0] in report["missing"].split(", "), str(report)


def hidden(t, *directories):
    """Words that run a command with an empty file system over each of these directories."""
    if os.getuid() != 0:
        pytest.skip("hiding directories takes root")
    unshare = need_command("/usr/bin/unshare")
    mounts = " && ".join(f"mount -t tmpfs none {directory}" for directory in directories)
    prefix = [unshare, "--mount", "/bin/sh", "-c", f'{mounts} && exec "$@"', "sh"]
    if t.run([*prefix, "/bin/true"]).status:
        pytest.skip("nothing can be mounted here")
    return prefix


def test_without_proc(t):
    checks, report = ask(t, hidden(t, "/proc"), env=NO_LEAK_CHECK)
    assert checks["/proc"]["state"] == "missing" and checks["ptrace"]["state"] == "missing", str(report)
    assert "/proc" in report["missing"].split(", "), str(report)
    assert "cannot be read" in checks["perf_event_paranoid"]["found"], str(report)


def test_without_sys_and_proc(t):
    prefix = hidden(t, "/sys", "/proc")
    checks, report = ask(t, prefix, env=NO_LEAK_CHECK)
    assert checks["/sys"]["state"] == "missing" and "L1=" in checks["caches"]["found"], str(report)
    result = t.run([*prefix, t.rfprof_path, "doctor"], env=NO_LEAK_CHECK)
    assert result.status == 1 and b"rfprof:" not in result.stderr, str(result)


def test_limited_address_space(t):
    checks, report = ask(t)
    if checks["address space"]["state"] != "works":
        pytest.skip("the address space is limited already")
    prefix = ["/bin/sh", "-c", 'ulimit -v 16000000 && exec "$@"', "sh"]
    if t.run([*prefix, t.rfprof_path, "--version"]).status:
        pytest.skip("rfprof itself needs more (a sanitizer)")
    checks, report = ask(t, prefix)
    assert checks["address space"]["state"] == "missing" and "address space" in report["missing"], str(report)
    assert not is_counted(t, prefix)[0]


def test_few_descriptors(t):
    checks, _ = ask(t, ["/bin/sh", "-c", 'ulimit -n 40 && exec "$@"', "sh"])
    assert checks["descriptors"]["state"] == "missing" and "ulimit -Hn" in checks["descriptors"]["next"], str(checks)


def test_debuginfod(t):
    checks, _ = ask(t, env={"DEBUGINFOD_URLS": "http://192.0.2.1/"})  # an address of nobody: nothing is asked
    assert "DEBUGINFOD_URLS is set" in checks["debuginfod"]["found"], str(checks["debuginfod"])
    checks, _ = ask(t, env={"DEBUGINFOD_URLS": None})
    assert "DEBUGINFOD_URLS is not set" in checks["debuginfod"]["found"], str(checks["debuginfod"])


def test_help_names_the_options(t):
    result = t.rfprof("doctor", "--help")
    assert result.status == 0 and b"--json" in result.stdout, str(result)
    assert b"doctor" in t.rfprof("--help").stdout
