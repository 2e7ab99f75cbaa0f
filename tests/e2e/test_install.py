"""What is installed works where it is: below a path with blanks, without a home, on a read-only file system."""

import os
import shutil

import pytest

from harness import need_command

BELOW = os.path.join("usr", "local")


@pytest.fixture
def prefix(t):
    """Below which the build is installed."""
    where = os.path.join(t.directory, "a path with blanks")
    result = t.run(["meson", "install", "-C", t.build_directory, "--no-rebuild", "--destdir", where])
    assert result.status == 0, str(result)
    prefixes = [os.path.dirname(path) for path, folders, _ in os.walk(where) if os.path.basename(path) == "bin"]
    assert len(prefixes) == 1, prefixes
    return prefixes[0]


def rfprof(t, prefix, *words, **how):
    return t.run([os.path.join(prefix, "bin", "rfprof"), *words], **how)


def test_all_that_a_user_wants_is_installed(prefix):
    for path in ["bin/rfprof", "share/man/man1/rfprof.1", "share/bash-completion/completions/rfprof.bash",
                 "share/zsh/site-functions/_rfprof", "share/fish/vendor_completions.d/rfprof.fish",
                 "share/doc/rfprof/README.md", "share/doc/rfprof/docs/exports.md", "share/doc/rfprof/docs/images/html-light.png"]:
        assert os.path.exists(os.path.join(prefix, path)), path


def test_bash_finds_the_completion(prefix):
    """bash-completion looks for a file of the command's name, with .bash or without."""
    folder = os.path.join(prefix, "share", "bash-completion", "completions")
    assert os.listdir(folder) == ["rfprof.bash"]


@pytest.mark.parametrize("sampler", ["perf", "timer"])
def test_it_profiles_where_it_was_put(t, prefix, sampler):
    """The library that is preloaded is found beside it; this is tried after a move, too."""
    words = [f"--sampler={sampler}", "--traffic=none", "--keep-roofs", "--no-save", t.program("three_to_one.c", ["-O2", "-g"])]
    moved = os.path.join(t.directory, "moved away")
    for where in (prefix, moved):
        if where == moved:
            shutil.move(prefix, moved)
        result = rfprof(t, where, *words)
        assert result.status == 0 and b"three_times" in result.stderr and b"MISSING" not in result.stderr, str(result)


def test_without_a_home(t, prefix):
    result = rfprof(t, prefix, "--traffic=none", "--no-save", "--keep-roofs", "/bin/echo", "ran",
                    env={"HOME": None, "XDG_CONFIG_HOME": None})
    assert result.status == 0 and result.stdout == b"ran\n", str(result)


def test_on_a_read_only_file_system(t, prefix):
    """The program runs and the table is shown; nothing needs to be kept."""
    need_command("/usr/bin/unshare")
    script = ('mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t tmpfs none /dev/shm && cd "$0" && '
              '! touch x 2>/dev/null && exec "$@"')
    command = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", script, t.directory]
    if t.run([*command, "true"], env={"TMPDIR": "/nonexistent"}).status:
        pytest.skip("nothing can be mounted here")
    program = [os.path.join(prefix, "bin", "rfprof"), "--traffic=none", "--keep-roofs", "--no-save"]
    result = t.run([*command, *program, "/bin/echo", "ran"], timeout=120)
    assert result.status == 0 and result.stdout == b"ran\n", str(result)
