"""rfprof run by a dynamic linker, as the tarball's is on older systems: that is /proc/self/exe then."""

import glob
import os

import pytest

LINKER = "/lib64/ld-linux-x86-64.so.2"


@pytest.mark.skipif(not os.path.exists(LINKER), reason=f"there is no {LINKER}")
@pytest.mark.parametrize("sampler", ["perf", "timer"])
def test_run_by_the_dynamic_linker(t, sampler):
    """The library that is preloaded is found, and code of an earlier run is rfprof's own."""
    for _ in range(2):
        result = t.run([LINKER, t.rfprof_path, "-q", f"--sampler={sampler}", "--traffic=none", "--no-save", "/bin/echo", "ran"])
        assert result.status == 0 and result.stdout == b"ran\n", str(result)


@pytest.mark.skipif(not os.path.exists(LINKER), reason=f"there is no {LINKER}")
def test_sweep_starts_itself_again(t):
    path = os.path.join(t.directory, "sweep.rfp")
    result = t.run([LINKER, t.rfprof_path, "sweep", "-q", "--repeats=1", f"--save={path}", "n=1,2", "--", "/bin/echo", "{n}"])
    assert result.status == 0 and result.stdout.count(b"main") == 2, str(result)
    assert not glob.glob(os.path.join(t.directory, "rfprof-sweep-*"))
