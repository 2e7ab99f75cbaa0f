"""Debian's programs as transparency cases: natively and counted, with the same outputs, status and files.

A case is a shell script, for bash with -e and pipefail, that starts in an empty directory; all that it
starts is counted.  The inputs are files in the directory $IN.  What a script prints and leaves behind has
to be the same in any two native runs: no times, no process numbers, no order that the scheduler makes.
"""

import functools
import json
import math
import os
import random
import shutil
import struct
import time
import zlib

import pytest

from harness import text

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "debian")
PATH = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/games"  # Debian's own, whatever else is in /usr/local
WIDTH, HEIGHT = 160, 120  # of the picture
RATE = 22050  # of the sound, in Hz


@functools.lru_cache(None)
def words():
    source = random.Random(1)
    pool = ["".join(source.choices("etaoinshrdlu", k=source.randint(1, 9))) for _ in range(500)]
    return "\n".join(" ".join(source.choices(pool, k=10)) for _ in range(6000)).encode() + b"\n"


def pixels():
    source = random.Random(2)
    for y in range(HEIGHT):
        for x in range(WIDTH):
            wave = 127 * math.sin(x / 9) * math.cos(y / 7)
            yield (int(128 + wave), x + source.randrange(64), (x * y // 64 + y) & 255)


@functools.lru_cache(None)
def picture_ppm():
    return b"P6\n%d %d\n255\n" % (WIDTH, HEIGHT) + b"".join(bytes(pixel) for pixel in pixels())


@functools.lru_cache(None)
def picture_png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    data = b"".join(map(bytes, pixels()))
    rows = b"".join(b"\0" + data[y * WIDTH * 3:(y + 1) * WIDTH * 3] for y in range(HEIGHT))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@functools.lru_cache(None)
def sound_wav():
    """Two seconds: a tone that rises, and some noise."""
    source = random.Random(3)
    samples = [int(12000 * math.sin(i * i / 4e5) + source.randrange(2000)) for i in range(2 * RATE)]
    data = struct.pack(f"<{len(samples)}h", *samples)
    form = struct.pack("<HHIIHH", 1, 1, RATE, 2 * RATE, 2, 16)
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", len(form)) + form +
            b"data" + struct.pack("<I", len(data)) + data)


INPUTS = {"text": words, "picture.ppm": picture_ppm, "picture.png": picture_png, "sound.wav": sound_wav}


def write_inputs(directory):
    """Makes the directory anew, so that nothing is left of a run before."""
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    for name, contents in INPUTS.items():
        with open(os.path.join(directory, name), "wb") as file:
            file.write(contents())


def find(name):
    """The path of a command of Debian's, or of a file that is given by its path."""
    path = name if os.path.isabs(name) and os.path.exists(name) else shutil.which(name, path=PATH)
    if not path:
        pytest.skip(f"{name} is not installed")
    return path


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def times_of_runs(t):
    """A list to which each command that the context runs from now on adds the seconds it took."""
    seconds, run = [], t.run

    def timed_run(*arguments, **options):
        start = time.monotonic()
        try:
            return run(*arguments, **options)
        finally:
            seconds.append(time.monotonic() - start)

    t.run = timed_run
    return seconds


def need_deterministic(t, command, options):
    """Fails with a word about the case itself when two native runs differ."""
    first, second = [t.in_fresh_directory(command, **options) for _ in range(2)]
    same = all(getattr(first[0], part) == getattr(second[0], part) for part in ("status", "stdout", "stderr"))
    assert same and first[1] == second[1], f"a bad case: two native runs differ\n{first[0]}\n{second[0]}"


def need_counted(report, paths):
    """The programs at these paths, where they are not scripts, were counted."""
    counted = {os.path.basename(row["module"]) for row in report["functions"] if row["instructions"]}
    for path in map(os.path.realpath, paths):
        assert not is_elf(path) or os.path.basename(path) in counted, f"{path} was not counted, but {sorted(counted)}"


def print_cost(name, report, native_seconds):
    """What counting cost and left out, for a look at the slowest; the report after the run is not in it."""
    run = report["run"]
    uncounted = 100 * run["uncounted_s"] / (run["cpu_time_s"] or 1)
    why = "; ".join(sorted({part["reason"] for part in run["uncounted"]}))
    print(f"{run['counted_wall_s'] / native_seconds:7.1f}× {name}: natively {native_seconds:.2f} s, "
          f"counted {run['counted_wall_s']:.2f} s, {uncounted:.0f} % uncounted {why}", flush=True)


def same_counted(t, name, command, programs=(), status=0, **options):
    """A command's native run and its counted one are the same; returns the native result and the report."""
    path = os.path.join(t.directory, "counted.json")
    seconds = times_of_runs(t)
    try:
        native = t.same(command, modes=("--once --json " + path,), **options)
    except AssertionError:
        need_deterministic(t, command, options)
        raise
    assert native.status == status, f"natively not {status}\n{native}"
    report = json.loads(text(path))
    need_counted(report, programs)
    if os.environ.get("RFPROF_SLOW"):
        print_cost(name, report, seconds[0])
    return native, report


class Script:
    """`need`: the commands and files without which it is skipped, by default the command `name`, of which the first is
    one that has to be counted; `shows`: what its output contains."""

    def __init__(self, name, source, need=None, status=0, shows=None, env=None):
        self.name, self.source, self.status, self.shows, self.env = name, source, status, shows, env or {}
        self.need = [name] if need is None else need

    def check(self, t):
        paths = [find(command) for command in self.need]
        inputs = os.path.join(t.directory, "inputs")
        command = ["/bin/bash", "-e", "-o", "pipefail", "-c", self.source]
        variables = {"PATH": PATH, "IN": inputs, **self.env}
        native, _ = same_counted(t, self.name, command, paths[:1], self.status, env=variables,
                                 prepare=lambda _: write_inputs(inputs))
        assert self.shows is None or self.shows.encode() in native.stdout, f"natively no {self.shows!r}\n{native}"


class Scripts(list):
    """Parameters for pytest.mark.parametrize; called with the words of a script it adds that one."""

    def __call__(self, name, source, need=None, slow=True, **options):
        marks = [pytest.mark.slow] if slow else []
        self.append(pytest.param(Script(name, source, need, **options), id=name, marks=marks))
