"""The Debian package and the tarball, in trees of Debian and Ubuntu with nothing else in them (debootstrap)."""

import os
import re
import shutil
import subprocess

import pytest

from harness import SOURCE, locked

pytestmark = pytest.mark.slow

TREES = ["bullseye", "bookworm", "trixie", "jammy", "noble"]
UBUNTU = ("jammy", "noble")
UBUNTU_KEYS = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"
IN_TREE = 'for f in proc dev sys; do mount --rbind /$f "$0/$f" || exit; done; exec chroot "$0" "$@"'
LOOP = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo ran"


def need(*commands):
    missing = [command for command in commands if not shutil.which(command)]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)}")


def done(t, command, **how):
    result = t.run(command, timeout=1200, **how)
    assert result.status == 0, str(result)
    return result


def tree(t, suite):
    """A copy of a system with its essential packages alone; made once for all tests."""
    need("debootstrap", "unshare")
    if os.geteuid() != 0:
        pytest.skip("debootstrap needs root")
    if suite in UBUNTU and not os.path.exists(UBUNTU_KEYS):
        pytest.skip("Ubuntu's keys are not installed, so that its packages cannot be verified")
    root = os.path.join(t.kept, suite)
    with locked(root + ".lock"):
        if not os.path.isdir(root):
            made = t.run(["debootstrap", "--variant=minbase", suite, root + ".new"], timeout=1200)
            if made.status:
                shutil.rmtree(root + ".new", ignore_errors=True)
                pytest.skip(f"debootstrap cannot make {suite} here: {made.stdout.decode()[-200:]}")
            os.rename(root + ".new", root)
    copy = os.path.join(t.directory, "root")
    done(t, ["cp", "-a", root, copy])
    return copy


def in_tree(t, root, *command):
    return t.run(["unshare", "--mount", "sh", "-c", IN_TREE, root, *command], timeout=600, env={"HOME": "/root", "XDG_CACHE_HOME": None})


def check_profiles(t, root, rfprof):
    """By both samplers, and saved; LOOP's own output and status come through."""
    for sampler in ("perf", "timer"):
        result = in_tree(t, root, rfprof, f"--sampler={sampler}", "--keep-roofs", "--traffic=none", "--save=/tmp/a.rfp",
                         "/bin/sh", "-c", LOOP)
        assert result.status == 0 and result.stdout == b"ran\n", str(result)
        assert b"MISSING" not in result.stderr, str(result)
        shown = in_tree(t, root, rfprof, "report", "--by=module", "/tmp/a.rfp")
        assert shown.status == 0 and re.search(rb"^\d .* m?s .*(dash|libc).* G[IB]/s", shown.stdout, re.M), str(shown)
    swept = in_tree(t, root, "sh", "-c", 'cd /tmp && "$0" sweep -q --repeats=1 n=1,2 -- /bin/echo {n}', rfprof)
    assert swept.status == 0 and swept.stdout.count(b"main") == 2, str(swept)


@pytest.fixture
def package(t):
    """The .deb of these sources."""
    need("dpkg-buildpackage", "dh")
    source = os.path.join(t.directory, "source")
    os.mkdir(source)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, capture_output=True, check=True).stdout
    subprocess.run(["xargs", "-0", "cp", "--parents", "-t", source], cwd=SOURCE, input=files, check=True)
    done(t, ["dpkg-buildpackage", "-us", "-uc", "-b"], cwd=source)
    names = [name for name in os.listdir(t.directory) if re.fullmatch(r"rfprof_.*\.(deb|changes)", name)]
    return {os.path.splitext(name)[1]: os.path.join(t.directory, name) for name in names}


def test_package(t, package):
    need("lintian")
    result = t.run(["lintian", "--allow-root", "--fail-on", "error,warning", package[".changes"]], timeout=600)
    assert result.status == 0 and result.stdout == b"", str(result)
    root = tree(t, "bookworm")
    shutil.copy(package[".deb"], root)
    name = os.path.basename(package[".deb"])
    installed = in_tree(t, root, "sh", "-c", f"apt-get -q update && apt-get -q -y --no-install-recommends install /{name}")
    if installed.status and b"Temporary failure resolving" in installed.stderr:
        pytest.skip("no network in the tree")
    assert installed.status == 0, str(installed)
    check_profiles(t, root, "rfprof")


@pytest.fixture
def tarball(t):
    """./dev tarball leaves it in the folder of the sources."""
    with locked(os.path.join(t.kept, "tarball.lock")):
        result = done(t, [os.path.join(SOURCE, "dev"), "tarball"])
    return result.stdout.decode().strip()


@pytest.fixture
def unpacked(t, tarball):
    where = os.path.join(t.directory, "un packed")
    os.mkdir(where)
    done(t, ["tar", "-xf", tarball, "-C", where])
    return os.path.join(where, os.listdir(where)[0])


def test_what_is_preloaded_needs_no_younger_glibc(t, unpacked):
    """It runs with the program's own: that of Debian 11 is the oldest, and what it needs is older still."""
    shim = os.path.join(unpacked, "lib", "rfprof", "librfprof_shim.so")
    needed = re.findall(r"GLIBC_(\d+)\.(\d+)", done(t, ["objdump", "-T", shim]).stdout.decode())
    assert max((int(major), int(minor)) for major, minor in needed) <= (2, 31)


def test_tarball_brings_its_libraries(t, unpacked):
    """All but the C library's own, and none is found by a path of the system that built it."""
    resolved = done(t, ["ldd", os.path.join(unpacked, "libexec", "rfprof")]).stdout.decode()
    system = {os.path.basename(path) for path in re.findall(r"=> (/\S.*?) \(", resolved) if "un packed" not in path}
    assert system == {"libc.so.6", "libm.so.6"}, resolved


@pytest.mark.parametrize("suite", TREES)
def test_tarball_in_a_clean_tree(t, unpacked, suite):
    root = tree(t, suite)
    shutil.copytree(unpacked, os.path.join(root, "opt", "a path", "rfprof"))
    check_profiles(t, root, "/opt/a path/rfprof/bin/rfprof")
