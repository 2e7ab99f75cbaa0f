"""Bad input: one line that says the cause and the next step, exit status 2, the program not run."""

import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess

import pytest

from harness import named, need_command


def check_error(result, *words):
    """One line from rfprof with these words, status 2, nothing on standard output."""
    assert result.status == 2, f"exit status is not 2\n{result}"
    assert result.stdout == b"", f"something on standard output\n{result}"
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 1, f"{len(lines)} lines, not one\n{result}"
    assert lines[0].startswith("rfprof: "), f"no `rfprof: `\n{result}"
    for word in words:
        assert word.lower() in lines[0].lower(), f"nothing about {word!r}\n{result}"
    # The next step stands in parentheses (rf_error_print).
    assert lines[0].endswith(")") and "(" in lines[0], f"no next step\n{result}"


def elf_header(bits, machine):
    """An ELF header and a page of zeros: class, little endian, ET_EXEC, machine."""
    ident = b"\x7fELF" + bytes([1 if bits == 32 else 2, 1, 1, 0]) + bytes(8)
    if bits == 32:
        return ident + struct.pack("<HHIIIIIHHHHHH", 2, machine, 1, 0x8048000, 52, 0, 0, 52, 32, 0, 40, 0, 0) + bytes(4096)
    return ident + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0x400000, 64, 0, 0, 64, 56, 0, 64, 0, 0) + bytes(4096)


EM_386, EM_X86_64, EM_AARCH64, EM_RISCV = 3, 62, 183, 243
CONTENTS = {
    "empty": (b"", ["bad"]),
    "text_without_interpreter": (b"just some text\n", ["bad", "ELF"]),
    "elf_32_bit": (elf_header(32, EM_386), ["32-bit"]),
    "elf_x32": (elf_header(32, EM_X86_64), ["32-bit"]),
    "elf_aarch64": (elf_header(64, EM_AARCH64), ["x86-64"]),
    "elf_riscv": (elf_header(64, EM_RISCV), ["x86-64"]),
    "truncated_elf": (elf_header(64, EM_X86_64)[:20], ["bad"]),
    "interpreter_missing": (b"#!/nonexistent/interpreter\n", ["/nonexistent/interpreter"]),
}


@pytest.mark.parametrize("contents, words", named(CONTENTS))
def test_bad_program(t, contents, words):
    path = os.path.join(t.work, "bad")
    with open(path, "wb") as file:
        file.write(contents)
    os.chmod(path, 0o755)
    check_error(t.rfprof(path), *words)
    check_error(t.rfprof("--once", path), *words)


@pytest.mark.parametrize("arguments, words", named({
    "no_such_program": (["./missing"], ["missing", "no such file"]),
    "not_in_path": (["no-such-program-here"], ["no-such-program-here", "PATH"]),
    "a_directory": (["/tmp"], ["/tmp", "directory"]),
    "report_of_nothing": (["report", "missing.rfp"], ["missing.rfp"]),
}))
def test_bad_command_line(t, arguments, words):
    check_error(t.rfprof(*arguments), *words)


def check_usage(result, word):
    """A wrong command line: status 2, the first line says what is wrong, --help is pointed to."""
    assert result.status == 2 and result.stdout == b"", str(result)
    lines = result.stderr.decode().splitlines()
    assert 1 <= len(lines) <= 4 and word in lines[0] and "rfprof" in lines[0], str(result)
    assert "--help" in result.stderr.decode(), f"no next step\n{result}"


@pytest.mark.parametrize("arguments, word", named({
    "unknown_option": (["--frobnicate", "/bin/true"], "--frobnicate"),
    "bad_sort": (["--sort", "beauty", "/bin/true"], "beauty"),
    "bad_top": (["--top", "many", "/bin/true"], "many"),
    "bad_sampler": (["--sampler", "dice", "/bin/true"], "dice"),
    "bad_level": (["--level", "L4", "/bin/echo", "ran"], "L4"),
    "bad_direction": (["--direction", "up", "/bin/echo", "ran"], "up"),
    "bad_traffic": (["--traffic", "guess", "/bin/echo", "ran"], "guess"),
    "no_program": (["-q"], "program"),
}))
def test_bad_usage(t, arguments, word):
    check_usage(t.rfprof(*arguments), word)


@pytest.mark.parametrize("number", named({
    f"cache_sample_{number or 'empty'}": number for number in ["0", "-1", "65", "many", "4x", "", "4294967312"]}))
def test_bad_cache_sample(t, number):
    check_usage(t.rfprof(f"--cache-sample={number}", "/bin/echo", "ran"), "--cache-sample")


BAD_CACHES = [
    ("no_number", "L1=big:8", "big"), ("no_ways", "L1=48K:0,L2=2M:16", "L1"), ("no_level", "L5=1M:8", "L5"),
    ("no_file", "/nonexistent/caches", "/nonexistent/caches"), ("uneven", "L1=1000:7", "L1"), ("empty", "L1=", "L1"),
    ("twice", "L1=32K:8,L1=32K:8", "L1"), ("a_directory", "/tmp", "/tmp"), ("smaller_L2", "L1=48K:12,L2=32K:8", "larger"),
    ("more_ways_than_lines", "L1=64:2", "L1=64:2"), ("many_ways", "L1=64K:65", "ways"), ("garbage", "fast", "fast"),
    ("negative_ways", "L1=32K:-8", "L1=32K:-8"), ("vast", "L1=32K:8,L2=99999999999999999999G:8", "size"),
    ("unknown_attribute", "L1=32K:8,L2=1M:16:mesi", "mesi"), ("nothing", "", "cannot open"),
    ("comma", "L1=32K:8,", "comma"), ("random_file", "/bin/true", "/bin/true"), ("empty_file", "/dev/null", "/dev/null"),
]


@pytest.mark.parametrize("cache, word", named({f"cache_{name}": (cache, word) for name, cache, word in BAD_CACHES}))
def test_bad_cache(t, cache, word):
    check_error(t.rfprof(f"--cache={cache}", "/bin/echo", "ran"), word)


def test_caches_without_sysfs(t):
    """A container may have no /sys: the caches come from the processor itself, or are assumed, and it is said which."""
    if os.getuid() != 0:
        pytest.skip("hiding /sys takes root")
    need_command("/usr/bin/unshare")
    path = os.path.join(t.directory, "report.json")
    hidden = 'mount -t tmpfs none /sys && exec "$@"'
    result = t.run(["/usr/bin/unshare", "--mount", "/bin/sh", "-c", hidden, "sh", t.rfprof_path, "--no-save", "--json",
                    path, "/bin/echo", "ran"])
    if b"mount:" in result.stderr or b"unshare:" in result.stderr:
        pytest.skip("nothing can be mounted here")
    assert result.status == 0 and result.stdout == b"ran\n", str(result)
    with open(path, encoding="utf-8") as file:
        traffic = json.load(file)["run"]["traffic"]
    if traffic["source"] == "none":
        pytest.skip(f"no traffic here: {traffic['why']}")
    # "effective": the roofs that are kept say that of the last cache less can be used here than the machine tells
    assert traffic["geometry_source"] in ("machine", "effective", "assumed") and "L1=" in traffic["geometry"], str(traffic)
    assert traffic["geometry_source"] != "assumed" or "assumed" in result.stderr.decode(), str(result)


def test_not_executable(t):
    path = os.path.join(t.work, "data")
    shutil.copy("/bin/true", path)
    os.chmod(path, 0o644)
    check_error(t.rfprof(path), "data", "chmod")


def as_nobody(t, path):
    """Opens `path` to the user nobody and returns the words that run a command as that user."""
    if os.getuid() != 0:
        return []
    setpriv = need_command("/usr/bin/setpriv")
    os.chown(path, 65534, 65534)
    prefix = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    if t.run([*prefix, "/usr/bin/test", "-x", t.rfprof_path]).status:
        pytest.skip("the build directory is closed to other users")
    return prefix


def test_setuid(t):
    """A setuid program of another user ignores LD_PRELOAD and cannot be traced."""
    if os.getuid() != 0:
        pytest.skip("making a setuid program of root takes root")
    path = os.path.join(t.directory, "setuid-true")
    shutil.copy("/bin/true", path)
    os.chmod(path, 0o4755)
    prefix = as_nobody(t, t.work)
    check_error(t.run([*prefix, t.rfprof_path, path], env={"HOME": t.work, "XDG_CACHE_HOME": t.work}), "setuid")


def test_unwritable_directory(t):
    """The profile cannot be saved here: said before the program runs."""
    closed = os.path.join(t.directory, "closed")
    os.makedirs(closed)
    prefix = as_nobody(t, t.work)
    os.chmod(closed, 0o555)
    result = t.run([*prefix, t.rfprof_path, "/bin/echo", "ran"], cwd=closed,
                   env={"HOME": t.work, "XDG_CACHE_HOME": t.work})
    check_error(result, "permission denied")


@pytest.mark.parametrize("option", named({
    f"unwritable_{option.strip('-')}": option for option in ["--json", "--svg", "-o", "--log", "--save"]}))
def test_unwritable(t, option):
    check_error(t.rfprof(option, "/nonexistent/directory/file", "/bin/echo", "ran"), "/nonexistent/directory")


@pytest.mark.parametrize("option", named({
    f"full_disk_{option.strip('-')}": option for option in ["--json", "--svg", "-o"]}))
def test_full_disk(t, option):
    """The report cannot be written; the program ran, so its output is there, and the status is 2."""
    result = t.rfprof("-q", "--no-save", option, "/dev/full", "/bin/echo", "ran")
    assert result.status == 2 and result.stdout == b"ran\n", str(result)
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 1 and "no space left" in lines[0].lower(), str(result)


def test_full_disk_save(t):
    """No half profile stays behind on a disk that is full."""
    if os.getuid() != 0:
        pytest.skip("mounting a small file system takes root")
    disk = os.path.join(t.directory, "disk")
    os.makedirs(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        result = t.rfprof("-q", "/bin/echo", "ran", cwd=disk)
        left = os.listdir(disk)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
    assert result.status == 2 and result.stdout == b"ran\n", str(result)
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 1 and "rfprof-echo.rfp" in lines[0], str(result)
    assert left == [], f"left on the disk: {left}"


def saved_profile(t):
    path = os.path.join(t.directory, "good.rfp")
    result = t.rfprof("-q", "--save", path, "/bin/true")
    assert result.status == 0, str(result)
    return path


def test_report_of_foreign_files(t):
    png = os.path.join(t.work, "picture.png")
    with open(png, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + os.urandom(5000))
    other = os.path.join(t.work, "other.db")
    database = sqlite3.connect(other)
    database.execute("CREATE TABLE songs (title TEXT)")
    database.commit()
    database.close()
    empty = os.path.join(t.work, "empty.rfp")
    with open(empty, "wb"):
        pass
    for path in [png, other, empty, t.work, t.rfprof_path]:
        check_error(t.rfprof("report", path), os.path.basename(path))


def test_report_of_truncated_profiles(t):
    path = saved_profile(t)
    with open(path, "rb") as file:
        data = file.read()
    cut = os.path.join(t.work, "cut.rfp")
    for size in [1, 15, 16, 99, 100, 512, 4096, len(data) // 2, len(data) - 4096, len(data) - 1]:
        with open(cut, "wb") as file:
            file.write(data[:size])
        check_error(t.rfprof("report", cut), "cut.rfp")


def test_report_of_newer_profile(t):
    path = saved_profile(t)
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.commit()
    database.close()
    check_error(t.rfprof("report", path), "good.rfp", "99", "update")


def test_interrupted_in_second_run(t):
    """Ctrl-C while the program is counted: what the first run showed is reported, soon."""
    marker = os.path.join(t.work, "runs")
    report = os.path.join(t.directory, "report.json")
    script = f"echo run >> {marker}; [ $(wc -l < {marker}) = 1 ] || sleep 60; exit 0"
    process = subprocess.Popen([t.rfprof_path, "-q", "--no-save", "--json", report, "/bin/sh", "-c", script],
                               cwd=t.work, env=t.environment(), start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for _ in range(300):
            if os.path.exists(marker) and os.path.getsize(marker) >= 8:
                break
            try:
                process.wait(0.1)
                break
            except subprocess.TimeoutExpired:
                pass
        assert process.poll() is None, f"ended early with {process.returncode}: {process.communicate()}"
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            raise AssertionError("Ctrl-C did not end it") from None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    assert os.path.exists(report) and os.path.getsize(report) > 0, "no report after Ctrl-C"


def test_deleted_directory(t):
    """The profile cannot be saved where the working directory is gone: said before the program runs."""
    gone = os.path.join(t.directory, "gone")
    command = 'mkdir "$1" && cd "$1" && rmdir "$1" && exec "$2" /bin/echo ran'
    check_error(t.run(["/bin/sh", "-c", command, "sh", gone, t.rfprof_path]), "no such file or directory")
    unsaved = command.replace('"$2"', '"$2" -q --no-save')
    result = t.run(["/bin/sh", "-c", unsaved, "sh", gone, t.rfprof_path])
    assert result.status == 0 and result.stdout == b"ran\n", str(result)
