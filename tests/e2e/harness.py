"""What the tests in Python stand on: the context that each of them gets as the fixture `t` (conftest.py).

A test runs in a directory of its own with a cache directory of its own, into which the roofs are copied that are
measured once for all tests.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(SOURCE, "tests", "e2e", "programs")
TIMEOUT = 120
# What a sanitizer says of rfprof, or of a reader of its: that one's end is but a note of the report.
UNDEFINED = re.compile(rb"\.[ch]:\d+:\d+: runtime error: ")


def named(cases):
    """Parameters for pytest.mark.parametrize from name → value, or tuple of values."""
    return [pytest.param(*(values if isinstance(values, tuple) else (values,)), id=name)
            for name, values in cases.items()]


@contextlib.contextmanager
def locked(path, how=fcntl.LOCK_EX):
    """Holds a lock that all workers see; it ends with the process that holds it."""
    with open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, how)
        yield


class Result:
    """How a command ended: status as in subprocess (minus the signal's number for a death)."""

    def __init__(self, command, status, stdout, stderr):
        self.command, self.status = command, status
        self.stdout, self.stderr = stdout, stderr
        self.json = None

    def __str__(self):
        def shown(data):
            text = data.decode(errors="backslashreplace")
            return text if len(text) < 2000 else text[:1000] + "\n[…]\n" + text[-1000:]

        return (f"command: {self.command}\nstatus: {self.status}\n"
                f"stdout: {shown(self.stdout)}\nstderr: {shown(self.stderr)}")


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def files_below(directory):
    """Relative path → contents of every regular file."""
    found = {}
    for where, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(where, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, directory)] = file.read()
    return found


def compiler_command(compiler, source, flags, libraries, output):
    name = os.path.basename(compiler)
    if name == "go":
        return [compiler, "build", *flags, "-o", output, source]
    if name == "rustc":
        return [compiler, "-O", "-g", *flags, "-o", output, source]
    return [compiler, "-O2", "-g", "-pthread", "-D_GNU_SOURCE", *flags, source, "-o", output, *libraries]


def last_change(source):
    """Of a program or of a header beside or above it."""
    folder = os.path.dirname(source)
    headers = [entry for where in (folder, os.path.dirname(folder)) for entry in os.scandir(where)
               if entry.name.endswith(".h")]
    return max(entry.stat().st_mtime for entry in [*headers, pathlib.Path(source)])


class Programs:
    """Compiles programs, each combination of flags once; a name without a folder is of tests/e2e/programs."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)

    def output(self, source, compiler, flags):
        words = [os.path.basename(compiler), os.path.basename(os.path.dirname(source)), *flags]
        variant = re.sub(r"[^\w=,.]", "_", "_".join(words).replace(SOURCE, ""))
        return os.path.join(self.directory, variant, os.path.splitext(os.path.basename(source))[0])

    def build(self, source, flags=(), libraries=(), compiler=None):
        compiler = compiler or ("g++" if source.endswith(".cpp") else "gcc")
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is not installed")
        path = os.path.join(PROGRAMS, source)
        output = self.output(path, compiler, flags)
        with locked(os.path.join(self.directory, "lock")):
            if os.path.exists(output) and os.path.getmtime(output) > last_change(path):
                return output
            os.makedirs(os.path.dirname(output), exist_ok=True)
            command = compiler_command(compiler, path, flags, libraries, output)
            done = subprocess.run(command, capture_output=True, text=True,
                                  env={**os.environ, "GOCACHE": os.path.join(self.directory, "go")})
            if done.returncode:
                raise AssertionError(f"{' '.join(command)}:\n{done.stderr}")
        return output


class Context:
    """What a test works with; `build` is the build directory, `surroundings` are variables that tell of a machine,
    `kept` is a directory for what this session of tests records once."""

    def __init__(self, build, directory, programs, roofs, surroundings, kept):
        self.build_directory, self.directory, self.kept = build, directory, kept
        self.rfprof_path = os.path.join(build, "cli", "rfprof")
        self.programs, self.roofs, self.surroundings = programs, roofs, surroundings
        self.checked = set()  # profiles whose figures were checked, by their digests
        self.work = os.path.join(directory, "work")
        self.cache = os.path.join(directory, "cache")
        os.makedirs(self.work)
        if os.path.isdir(roofs):
            shutil.copytree(roofs, self.cache)
        else:
            os.makedirs(self.cache)

    def environment(self, changes=None):
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
               "HOME": self.directory, "XDG_CACHE_HOME": self.cache, "OMP_NUM_THREADS": "2", "COLUMNS": "10000",
               "OPENBLAS_NUM_THREADS": "2"}
        # Sanitizer options of a sanitised rfprof: a report must not look like a program's status, and
        # rfprof itself is started with a user's LD_PRELOAD in one case.
        env["ASAN_OPTIONS"] = "exitcode=99:detect_leaks=1:verify_asan_link_order=0:handle_sigfpe=0"
        env["UBSAN_OPTIONS"] = "halt_on_error=1:exitcode=99:print_stacktrace=1"
        env.update(self.surroundings)
        env.update(changes or {})
        return {name: value for name, value in env.items() if value is not None}

    def run(self, command, stdin=b"", cwd=None, env=None, timeout=TIMEOUT, **options):
        """Runs a command; stdin: bytes for a pipe, a path for a file, None for /dev/null."""
        opened = None
        if isinstance(stdin, str):
            opened = open(stdin, "rb")
            options["stdin"] = opened
        else:
            options["stdin"] = subprocess.PIPE if stdin is not None else subprocess.DEVNULL
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        try:
            process = subprocess.Popen(command, cwd=cwd or self.work, env=self.environment(env),
                                       start_new_session=True, **options)
        finally:
            if opened:
                opened.close()
        try:
            out, err = process.communicate(stdin if isinstance(stdin, bytes) else None, timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError("not finished after %d s\n%s" % (timeout, Result(command, None, out, err))) from None
        finally:
            end_group(process.pid)
        result = Result(command, process.returncode, out or b"", err or b"")
        assert not UNDEFINED.search(result.stderr), str(result)
        return result

    def rfprof(self, *arguments, **options):
        if not os.path.exists(self.rfprof_path):
            raise AssertionError(f"{self.rfprof_path} is not built")
        return self.run([self.rfprof_path, *arguments], **options)

    def profile(self, command, *options, status=0, **run_options):
        """Profiles a command; the result carries the JSON report.  The figures of every profile are checked.  No roofs
        are measured again behind the run, which would take more time than most programs."""
        path, saved = (os.path.join(self.directory, name) for name in ("report.json", "profiled.rfp"))
        for old in (path, saved):
            if os.path.exists(old):
                os.unlink(old)
        result = self.rfprof("-q", "--keep-roofs", "--save", saved, "--json", path, *options, *command, **run_options)
        assert result.status == status, f"exit status is not {status}\n{result}"
        assert os.path.exists(path), f"no JSON report\n{result}"
        result.json = json.loads(text(path))
        self.check_figures(saved)
        return result

    def recorded(self, *command):
        """A profile of its own, and how the run ended that recorded it: once for all tests and workers with the same
        command and machine.  For tests that look at a profile, and not at what recording it does."""
        words = "\0".join((os.path.basename(self.roofs), *command))
        base = os.path.join(self.kept, hashlib.sha256(words.encode()).hexdigest()[:16])
        path, outputs = os.path.join(self.directory, "recorded.rfp"), (base + ".stdout", base + ".stderr")
        with locked(base + ".lock"):
            if not all(map(os.path.exists, outputs)):
                result = self.rfprof("--keep-roofs", "--save", base + ".rfp", *command, timeout=300)
                assert result.status == 0, str(result)
                for output, data in zip(outputs, (result.stdout, result.stderr)):
                    pathlib.Path(output).write_bytes(data)
        shutil.copy(base + ".rfp", path)
        return path, Result(command, 0, *(pathlib.Path(output).read_bytes() for output in outputs))

    def check_figures(self, path):
        """All figures of a profile can be true together; what is no profile is a test's own business."""
        if not os.access(path, os.R_OK) or not os.path.isfile(path):
            return
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        if digest in self.checked:
            return
        self.checked.add(digest)
        result = self.run([self.rfprof_path, "report", "--check", path])
        assert result.status != 1, f"figures that contradict each other\n{result}"

    def check_all_figures(self):
        """Of the profiles that a test has left in its directory."""
        for where, _, names in os.walk(self.directory):
            for name in names:
                if name.endswith(".rfp"):
                    self.check_figures(os.path.join(where, name))

    def program(self, source, flags=(), libraries=()):
        return self.programs.build(source, flags, libraries)

    def target(self, name):
        return os.path.join(self.build_directory, "tests", "targets", name)

    def same(self, command, modes=("", "--once"), **options):
        """The command does the same natively and under rfprof: output, errors, status, files."""
        expected, files = self.in_fresh_directory(command, **options)
        for mode in modes:
            watched = [self.rfprof_path, "-q", "--no-save", "--keep-roofs", *mode.split(), *command]
            result, watched_files = self.in_fresh_directory(watched, **options)
            what = f"under rfprof {mode}\n--- native\n{expected}\n--- watched\n{result}"
            assert result.status == expected.status, "another exit status " + what
            assert result.stdout == expected.stdout, "another standard output " + what
            assert result.stderr == expected.stderr, "another standard error " + what
            assert watched_files == files, "other files " + what
        return expected

    def in_fresh_directory(self, command, prepare=None, **options):
        where = os.path.join(self.directory, "fresh")
        shutil.rmtree(where, ignore_errors=True)
        os.makedirs(where)
        if prepare:
            prepare(where)
        result = self.run(command, cwd=where, **options)
        return result, files_below(where)


def end_group(group):
    """Ends what is left of a session that this harness started."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def need_command(path):
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not installed")
    return path


def need_file(path):
    if not os.path.exists(path):
        pytest.skip(f"{path} is not installed")
    return path


def need_samples():
    """For tests that tell functions of some 50 ms apart by their samples."""
    with open("/proc/sys/kernel/perf_event_max_sample_rate", encoding="utf-8") as file:
        rate = int(file.read())
    if rate < 2000:
        pytest.skip(f"the kernel has lowered perf_event_max_sample_rate to {rate} a second: too few samples")


def functions(report, name=None, module=None):
    """The rows of a JSON report with that function name and module (a base name)."""
    return [row for row in report["functions"]
            if (name is None or row["name"] == name)
            and (module is None or os.path.basename(row["module"]) == module)]
