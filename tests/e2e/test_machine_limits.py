"""The roofs where something is in the way: a bad cache, no place for one, few CPUs, little memory, signals.

Nothing here asserts a rate, so the measurements are quick ones, and of one thread where their number does not matter:
these run beside others, which of two threads would wait for each other.
"""

import contextlib
import fcntl
import glob
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from harness import files_below, named, need_command, text
from test_errors import as_nobody

SUITE = "e2e/machine"

MEMORY = 256 << 20


def machine_command(t, *options):
    return [t.rfprof_path, "machine", "--quick", *options]


def one_thread(t):
    return machine_command(t, "--threads", "1", "--json")


def check_machine(result):
    """A whole machine in JSON, whatever was in the way; returns it."""
    assert result.status == 0, str(result)
    machine = json.loads(result.stdout)
    kinds = {(roof["kind"], roof["level"]) for roof in machine["roofs"]}
    assert {("compute", ""), ("bandwidth", "L1"), ("bandwidth", "DRAM")} <= kinds, f"{kinds}\n{result}"
    for roof in machine["roofs"]:
        assert 0 < roof["q1"] <= roof["median"] <= roof["q3"] <= roof["best"], str(roof)
        assert roof["threads"] <= machine["usable_threads"], str(roof)
    return machine


def check_quiet(result):
    assert result.stderr == b"", f"something on standard error\n{result}"


def check_warned(result, *words):
    """One warning, with these words and a next step where the cause is outside of rfprof."""
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 1 and lines[0].startswith("rfprof: "), f"not one warning\n{result}"
    for word in words:
        assert word in lines[0], f"nothing about {word!r}\n{result}"


def roofs_files(cache):
    return sorted(glob.glob(os.path.join(cache, "rfprof", "roofs-*")))


def empty_cache(t):
    shutil.rmtree(t.cache)
    os.makedirs(t.cache)


# ---- the cache ----

DAMAGES = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[:len(data) // 2],
    "not_json": lambda data: b"\x00\xff" * 500,
    "a_list": lambda data: b"[]",
    "without_roofs": lambda data: json.dumps({**json.loads(data), "machine": {}}).encode(),
    "impossible_rate": lambda data: json.dumps(with_first_rate(json.loads(data), -1)).encode(),
}


def with_first_rate(content, rate):
    content["machine"]["roofs"][0]["best"] = rate
    return content


def damage_file(path, damage):
    with open(path, "rb") as file:
        good = file.read()
    with open(path, "wb") as file:
        file.write(damage(good))


@pytest.mark.parametrize("damage", named({f"corrupt_cache_{name}": damage for name, damage in DAMAGES.items()}))
def test_corrupt_cache(t, damage):
    """Measured again with a warning; the file is whole afterwards."""
    command = one_thread(t)
    check_machine(t.run(command))
    for path in roofs_files(t.cache):
        damage_file(path, damage)
    damaged = in_cache(t)
    again = t.run(command)
    check_machine(again)
    [path] = [path for path, content in in_cache(t).items() if damaged.get(path) != content]
    check_warned(again, "corrupt", path)
    assert path in damaged, f"another file: {path}"
    assert json.loads(in_cache(t)[path])["machine"]["roofs"], "the file was not written again"
    kept = t.run(command)
    check_quiet(kept)
    assert kept.stdout == again.stdout, "measured a third time"


def test_cache_below_a_file(t):
    """No directory can be made there, not even by root."""
    path = os.path.join(t.directory, "a-file")
    with open(path, "w", encoding="utf-8"):
        pass
    result = t.run(one_thread(t), env={"XDG_CACHE_HOME": path})
    check_machine(result)
    check_warned(result, path, "XDG_CACHE_HOME")


def test_cache_closed(t):
    """A directory that an ordinary user may not write to."""
    closed = os.path.join(t.directory, "closed")
    os.makedirs(closed)
    prefix = as_nobody(t, t.work)
    os.chmod(closed, 0o555)
    result = t.run([*prefix, *one_thread(t)], env={"HOME": t.work, "XDG_CACHE_HOME": closed})
    check_machine(result)
    check_warned(result, closed, "denied", "XDG_CACHE_HOME")
    assert os.listdir(closed) == []


def test_no_home(t):
    result = t.run(one_thread(t), env={"HOME": None, "XDG_CACHE_HOME": None})
    check_machine(result)
    check_warned(result, "XDG_CACHE_HOME")
    assert files_below(t.work) == {}, "something was left in the working directory"


# ---- limits ----

def test_one_cpu(t):
    taskset = need_command("/usr/bin/taskset")
    cpu = min(os.sched_getaffinity(0))
    result = t.run([taskset, "-c", str(cpu), *machine_command(t, "--json")])
    machine = check_machine(result)
    check_quiet(result)
    assert machine["usable_threads"] == 1, str(machine["usable_threads"])
    assert {roof["threads"] for roof in machine["roofs"]} == {1}


def check_note(machine, *words):
    """One of the notes has all the words."""
    assert any(all(word in note for word in words) for note in machine["notes"]), \
        f"no note about {' and '.join(words)}: {machine['notes']}"


def groups():
    """(controller, directory of its root group, version) for what is mounted here."""
    found = {}
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            _, path, kind, options = line.split()[:4]
            if kind == "cgroup":
                for controller in {"cpu", "memory"} & set(options.split(",")):
                    found[controller] = (path, 1)
            elif kind == "cgroup2" and os.access(os.path.join(path, "cgroup.subtree_control"), os.R_OK):
                for controller in {"cpu", "memory"} & set(text(os.path.join(path, "cgroup.controllers")).split()):
                    found.setdefault(controller, (path, 2))
    return found


@contextlib.contextmanager
def group(controller, settings):
    """A control group with limits; yields the file that takes a process in.  settings: version → files."""
    if controller not in groups():
        pytest.skip(f"no control groups with {controller} here")
    root, version = groups()[controller]
    path = os.path.join(root, f"rfprof-test-{os.getpid()}")
    try:
        if version == 2:
            write(os.path.join(root, "cgroup.subtree_control"), f"+{controller}")
        os.mkdir(path)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        for name, value in settings[version].items():
            write(os.path.join(path, name), value)
        yield os.path.join(path, "cgroup.procs")
    except PermissionError as error:
        pytest.skip(f"no limit can be set here: {error}")
    finally:
        remove_group(path)


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(value)


def remove_group(path):
    """Its last process may take a moment to be gone."""
    for _ in range(100):
        try:
            os.rmdir(path)
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"{path} cannot be removed")


def run_in(t, procs, command):
    return t.run(["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', procs, *command])


def test_quota_below_one_cpu(t):
    """Half a CPU."""
    settings = {1: {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}, 2: {"cpu.max": "50000 100000"}}
    with group("cpu", settings) as procs:
        result = run_in(t, procs, machine_command(t, "--json"))
    machine = check_machine(result)
    check_quiet(result)
    assert machine["usable_threads"] == 1, str(machine["usable_threads"])
    check_note(machine, "CPU", "quota")


def little_dram(machine):
    """True when 1.5 times the last-level cache does not fit into half of the memory limit."""
    last = max(machine["caches"], key=lambda cache: cache["level"], default=None)
    return last is not None and 1.5 * last["size_bytes"] > MEMORY // 2


def check_little_memory(result):
    machine = check_machine(result)
    check_quiet(result)
    if little_dram(machine):
        check_note(machine, "DRAM", "MiB")


@pytest.mark.alone
def test_memory_limit(t):
    """256 MB in a control group: not killed, and DRAM is measured in what is there."""
    settings = {1: {"memory.limit_in_bytes": str(MEMORY)}, 2: {"memory.max": str(MEMORY)}}
    with group("memory", settings) as procs:
        check_little_memory(run_in(t, procs, machine_command(t, "--json")))


@pytest.mark.alone
def is_sanitized(t):
    return "libasan" in t.run(["/usr/bin/ldd", t.rfprof_path]).stdout.decode()


def test_address_space_limit(t):
    """ulimit -v: 256 MB."""
    prlimit = need_command("/usr/bin/prlimit")
    if is_sanitized(t):
        pytest.skip("the sanitizer's shadow memory does not fit")
    empty_cache(t)  # no part of its key
    check_little_memory(t.run([prlimit, f"--as={MEMORY}", "--", *machine_command(t, "--json")]))


# ---- signals ----

def is_locked(directory):
    """Whoever measures holds a lock on the directory of the kept roofs."""
    try:
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(opened)


def start_measuring(t, *command):
    """Starts a command that measures, in a session of its own, and waits until it is at it."""
    locked = os.path.join(t.cache, "rfprof")
    process = subprocess.Popen(command, cwd=t.work, env=t.environment(), start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not is_locked(locked) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.4)
    assert process.poll() is None, f"ended early: {process.returncode} {process.communicate()}"
    return process


def end_with(process, number):
    """Sends the signal to the whole group, as a terminal does; returns the status."""
    try:
        os.killpg(process.pid, number)
        process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{signal.Signals(number).name} did not end it") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    return process.returncode


def in_cache(t):
    return files_below(t.cache)


@pytest.mark.parametrize("number", named({
    f"interrupted_by_{number.name.lower()}": number
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]}))
def test_interrupted(t, number):
    """Ends by that signal; no partial file, no temporary file; the next run measures."""
    empty_cache(t)
    command = one_thread(t)
    status = end_with(start_measuring(t, *command), number)
    assert status in (-number, 128 + number), f"status {status}"
    assert in_cache(t) == {}, f"left in the cache: {list(in_cache(t))}"
    result = t.run(command)
    check_machine(result)
    check_quiet(result)
    assert len(roofs_files(t.cache)) == 1


def test_interrupted_refresh_keeps_the_old(t):
    command = one_thread(t)
    check_machine(t.run(command))
    before = in_cache(t)
    status = end_with(start_measuring(t, *command, "--refresh"), signal.SIGINT)
    assert status in (-signal.SIGINT, 128 + signal.SIGINT), f"status {status}"
    assert in_cache(t) == before, "the cache was changed"


def test_interrupted_before_a_program(t):
    """Ctrl-C while `rfprof ./app` measures by itself, which it may do before or after the program's runs."""
    empty_cache(t)
    process = start_measuring(t, t.rfprof_path, "--no-save", "/bin/true")
    end_with(process, signal.SIGINT)
    assert in_cache(t) == {}, f"left in the cache: {list(in_cache(t))}"


# ---- what to measure ----

def test_quick_has_fewer_rows(t):
    """A quick set is marked so, is enough for the next quick request, and not for a whole one."""
    empty_cache(t)
    quick = check_machine(t.run(one_thread(t)))
    assert not any(count["complete"] for count in quick["counts"])
    assert json.loads(t.run(one_thread(t)).stdout) == quick, "measured again"
    whole = check_machine(t.rfprof("machine", "--threads", "1", "--json"))
    assert all(count["complete"] for count in whole["counts"])
    assert len(whole["roofs"]) > len(quick["roofs"])
    again = json.loads(t.run(one_thread(t)).stdout)
    assert again == whole, "a whole set is not enough for --quick"


@pytest.mark.alone
def test_chosen_threads(t):
    empty_cache(t)
    machine = check_machine(t.run(machine_command(t, "--threads", "1", "--json")))
    assert {roof["threads"] for roof in machine["roofs"]} == {1}
    usable = machine["usable_threads"]
    if usable > 1:
        machine = check_machine(t.run(machine_command(t, "--threads", str(usable), "--json")))
        assert usable in {roof["threads"] for roof in machine["roofs"]}


def test_bad_thread_lists(t):
    """One line on standard error, status 2, nothing measured."""
    for words in ["0", "-1", "two", "1,,2", "", "1,x", "99999999999999999999", "1000000"]:
        result = t.run([t.rfprof_path, "machine", "--threads", words])
        assert result.status == 2 and result.stdout == b"", f"--threads '{words}'\n{result}"
        assert result.stderr.startswith(b"rfprof: ") and b"--threads" in result.stderr, f"'{words}'\n{result}"


@pytest.mark.parametrize("limit", named({
    "descriptors": "--nofile=8:8", "stack": "--stack=65536:65536", "least_stack": "--stack=16384:16384",
    "files": "--fsize=0:0", "space": "--as=60000000", "locked": "--memlock=0:0", "cores": "--core=0:0",
    "queued_signals": "--sigpending=0:0", "resident": "--rss=1000000:1000000", "data": "--data=20000000:20000000",
    "little_data": "--data=11000000:11000000"}))
def test_limits_of_the_program(t, limit):
    """What is too little for rfprof is said; a program that runs with it runs as natively."""
    prlimit = need_command("/usr/bin/prlimit")
    if limit.startswith(("--stack=16384", "--as", "--data")) and is_sanitized(t):
        pytest.skip("a sanitizer needs more itself")
    program = ["/bin/sh", "-c", "ulimit -a; exit 3"]
    native = t.run([prlimit, limit, *program])
    assert native.status == 3, f"does not run natively\n{native}"
    for mode in ([], ["--once"]):
        watched = t.run([prlimit, limit, t.rfprof_path, "-q", "--no-save", *mode, *program])
        assert (watched.status, watched.stdout) == (3, native.stdout), f"{mode}\n{watched}\n--- natively\n{native}"
        said = watched.stderr.decode().splitlines()
        assert all(line.startswith("rfprof: ") and "fault of rfprof" not in line for line in said), str(watched)
