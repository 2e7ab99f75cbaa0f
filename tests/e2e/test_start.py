"""What each run pays before the program runs."""

import os
import pathlib
import re

import pytest


def test_tables_of_events_are_not_loaded_unasked(t):
    """They are most of what there would be to load and relocate; tracer/pmu/pfm_library.c loads them."""
    result = t.run(["readelf", "-d", os.path.join(t.build_directory, "cli", "rfprof")])
    assert result.status == 0, str(result)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", result.stdout.decode())
    assert needed and not [name for name in needed if "pfm" in name], needed


def test_events_are_found_all_the_same(t):
    result = t.rfprof("--counter", "no_such_event_at_all", "/bin/true")
    assert result.status == 2 and b"no_such_event_at_all" in result.stderr, str(result)
    assert b"cannot be loaded" not in result.stderr, str(result)


def test_symbols_of_the_kernel_are_kept(t):
    """There are some 100,000 of them, which take longer to read than a short program runs."""
    with open("/proc/kallsyms", encoding="utf-8") as file:
        if not int(file.readline().split()[0], 16):
            pytest.skip("the kernel does not tell its symbols' addresses")
    t.profile(["/bin/sleep", "0.05"], "--sampler=perf")
    names = pathlib.Path(t.cache, "rfprof", "names").glob("*")
    assert [path for path in names if b"[kernel]" in path.read_bytes()]
