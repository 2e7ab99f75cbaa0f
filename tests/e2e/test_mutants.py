"""Files that were damaged at random, read by all that symbols/ reads with: in a build with sanitizers (./dev test --asan)
these find what else would go unnoticed.  A failure names the seed; RFPROF_SEED=N runs that one again."""

import os
import random
import shutil
import struct
import subprocess

import pytest

from harness import need_command

FEW, MANY = 4, 250  # mutants of one file


def built(t, *commands):
    """A program after some commands on it, in which {} is its path."""
    path = os.path.join(t.work, "seed")
    shutil.copy(t.program("inlining.cpp"), path)
    for command in commands:
        words = [word.replace("{}", path) for word in command.split()]
        need_command(shutil.which(words[0]) or words[0])
        assert t.run(words).status == 0, command
    with open(path, "rb") as file:
        return file.read()


SEEDS = {
    "dwarf": (),
    "compressed": ("objcopy --compress-debug-sections=zlib {}",),
    "stripped": ("strip {}",),
    "debug_link": ("objcopy --only-keep-debug {} {}.debug", "strip {}", "objcopy --add-gnu-debuglink={}.debug {}"),
    "mini_debug": ("objcopy --only-keep-debug -R .debug_info -R .debug_str {} {}.mini", "xz -f {}.mini", "strip {}",
                   "objcopy --add-section .gnu_debugdata={}.mini.xz {}"),
    "debug_file": ("objcopy --only-keep-debug {}",),
}


def damage_bytes(data, choose):
    for _ in range(choose.choice((1, 8, 64))):
        data[choose.randrange(len(data))] = choose.choice((0, 0xff, 0x7f, 0x80, choose.randrange(256)))


def truncate(data, choose):
    del data[choose.randrange(len(data)):]


def header_table(data, which):
    """Offset, size of an entry and number of the program headers or the section headers."""
    offset = struct.unpack_from("<Q", data, 32 if which == "program" else 40)[0]
    size, n = struct.unpack_from("<HH", data, 54 if which == "program" else 58)
    return offset, size, n


def swap_sections(data, choose):
    offset, size, n = header_table(data, "section")
    a, b = (offset + size * choose.randrange(n) for _ in range(2))
    data[a:a + size], data[b:b + size] = data[b:b + size], data[a:a + size]


def make_huge(data, choose):
    offset, size, n = header_table(data, choose.choice(("program", "section")))
    at = offset + size * choose.randrange(n) + 8 * choose.randrange(size // 8)
    huge = (2**64 - 1, 2**63, 2**32, len(data) + 1, len(data) * 1000, 2**48)
    struct.pack_into("<Q", data, at, choose.choice(huge))


def damage_section(data, choose):
    """Many bytes of one section, so that DWARF and compressed data are met although others are larger."""
    offset, size, n = header_table(data, "section")
    start, length = struct.unpack_from("<QQ", data, offset + size * choose.randrange(n) + 24)
    for _ in range(16):
        if 0 < length <= len(data) - start:
            data[start + choose.randrange(length)] = choose.randrange(256)


WAYS = (damage_bytes, truncate, swap_sections, make_huge, damage_section)


def mutants(original, n, ways, seed):
    for i in range(n):
        data = bytearray(original)
        choose = random.Random(f"{seed} {i}")
        ways[i % len(ways)](data, choose)
        yield bytes(data)


def read_all(t, target, originals, ways):
    """Each mutant is one input of the fuzz target; its program ends at the first that harms it."""
    program = os.path.join(t.build_directory, "tests", "fuzz", f"fuzz_{target}")
    seed = int(os.environ.get("RFPROF_SEED") or random.randrange(1 << 32))
    folder = os.path.join(t.work, "mutants")
    os.makedirs(folder)
    for number, original in enumerate(originals):
        n = MANY if os.environ.get("RFPROF_SLOW") else FEW
        for i, data in enumerate(mutants(original, n, ways, f"{seed} {number}")):
            with open(os.path.join(folder, f"{number}-{i}"), "wb") as file:
                file.write(data)
    done = subprocess.run([program, folder], env=t.environment(), capture_output=True, text=True, errors="replace",
                          timeout=3600, check=False)
    assert done.returncode == 0, f"seed {seed}: {target} ends with {done.returncode}\n{done.stderr[-4000:]}"
    assert done.stdout == f"{n * len(originals)} inputs\n"
    print(f"seed {seed}")


@pytest.mark.parametrize("kind", list(SEEDS))
def test_elf(t, kind):
    original = built(t, *SEEDS[kind])
    read_all(t, "elf", [original, original], WAYS)


def test_headers(t):
    """As the tracer reads them of each mapping."""
    read_all(t, "module_file", [built(t)], WAYS)


def test_perf_map(t):
    lines = b"".join(b"%x %x function_%d\n" % (0x1000 + 64 * i, 48 + i % 64, i) for i in range(200))
    read_all(t, "perf_map", [lines], (damage_bytes, truncate))


def test_jit_dump(t):
    """Functions over each other, with lines, some of them moved."""
    records = struct.pack("<6I2Q", 0x4a695444, 1, 40, 62, 0, 1, 0, 0)
    for i in range(100):
        body = struct.pack("<2I4Q", 1, 1, 0, 0x1000 + 640 * (i % 7), 1000 + i, i) + b"function_%d\0" % i + bytes(20)
        lines = struct.pack("<2Q", 0x1000 + 640 * (i % 7), 1) + struct.pack("<Q2I", 0x1000 + 640 * (i % 7), i, 0) + b"made.js\0"
        records += struct.pack("<2IQ", 2, 16 + len(lines), 10 * i) + lines + struct.pack("<2IQ", 0, 16 + len(body), 10 * i) + body
        if i % 3 == 0:
            records += struct.pack("<2IQ2I5Q", 1, 64, 10 * i + 5, 1, 1, 0, 0x1000 + 640 * (i % 7), 0x9000, 1000 + i, i)
    read_all(t, "jit_dump", [records], (damage_bytes, truncate))
