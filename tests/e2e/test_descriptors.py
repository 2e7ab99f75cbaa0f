"""Few descriptors are needed, whatever the program loads; where the limit is reached the report says which."""

import os
import resource
import shutil

import pytest

from harness import functions

N_LIBRARIES = 300


def limited(n):
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))}


@pytest.mark.parametrize("limit", [64, 128])
def test_many_libraries(t, limit):
    """More modules than descriptors: all of their code is counted and named."""
    program, library = t.program("many_libraries.c"), t.program("small_library.c", ("-shared", "-fPIC"))
    for i in range(N_LIBRARIES):
        shutil.copy(library, os.path.join(t.work, f"l{i}.so"))
    result = t.profile([program, "./l", str(N_LIBRARIES)], "--work=count", "--traffic=none", **limited(limit))
    assert result.stdout == b"%d\n" % (1000 * N_LIBRARIES)
    called = functions(result.json, "add")
    assert len(called) == N_LIBRARIES, f"{len(called)} libraries have their function"
    shown = t.rfprof("report", os.path.join(t.directory, "profiled.rfp")).stdout.decode()
    assert "not counted" not in shown and "names are missing" not in shown, shown


def test_many_processes(t):
    """As many as there are descriptors for are counted; of the others the report says why."""
    program = t.program("many_processes.c")
    result = t.profile([program], "--work=count", "--traffic=none", **limited(64))
    assert result.stdout == b"200\n"
    shown = t.rfprof("report", os.path.join(t.directory, "profiled.rfp")).stdout.decode()
    assert "rfprof has reached its limit of 64 open files (ulimit -n)" in shown, shown
    assert "a jump" not in shown, shown
