"""Configuration files: the command line before the user's file before the system's; errors name file and line."""

import os
import shutil
import subprocess

import pytest

from harness import named


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def user_file(t, text):
    """Where HOME has it."""
    return write(os.path.join(t.directory, ".config", "rfprof", "config"), text)


def report(t, *options, **how):
    """The table of a profile with many functions, as lines."""
    path, _ = t.recorded("--traffic=none", t.program("three_to_one.c", ["-O2", "-g"]))
    result = t.rfprof("report", *options, path, **how)
    assert result.status == 0 and result.stderr == b"", str(result)
    return result.stdout.decode()


def test_a_file_says_what_the_command_line_does_not(t):
    bare, by_module, by_loop = report(t), report(t, "--by=module"), report(t, "--by=loop")
    assert len({bare, by_module, by_loop}) == 3
    user_file(t, "# rows\n\n  by = module  \n")
    assert report(t) == by_module
    assert report(t, "--by=loop") == by_loop
    assert report(t, "--no-config") == bare
    elsewhere = write(os.path.join(t.directory, "elsewhere", "rfprof", "config"), "by=loop\n")
    assert report(t, env={"XDG_CONFIG_HOME": os.path.dirname(os.path.dirname(elsewhere))}) == by_loop
    assert report(t, env={"HOME": None}) == bare


def test_flags(t):
    """A flag stands alone or says yes or no; the command line undoes it."""
    bare, plot = report(t), report(t, "--plot")
    for text, expected in [("plot\n", plot), ("plot = yes", plot), ("plot = no", bare), ("plot\nplot = no", bare)]:
        user_file(t, text)
        assert report(t) == expected, text
    user_file(t, "plot\n")
    assert report(t, "--no-plot") == bare
    user_file(t, "no-save = yes\n")
    result = t.rfprof("--save=kept.rfp", "-q", "/bin/true")
    assert result.status == 0 and os.path.exists(os.path.join(t.work, "kept.rfp")), str(result)


def test_a_name_of_two_kinds(t):
    """--plot is a flag, but of a sweep a word: without a section it is the flag, and a sweep is asked in its own."""
    plot = report(t, "--plot")
    user_file(t, "plot\n[sweep]\nplot = read\n")
    assert report(t) == plot
    told = t.rfprof("config")
    assert told.status == 0 and b"\nplot = yes\n" in told.stdout and b"\nplot = read\n" in told.stdout, str(told)
    user_file(t, "plot\n")
    assert t.rfprof("sweep", "--dry-run", "n=1:2", "--", "/bin/true", "{n}").status == 0
    user_file(t, "plot = read\n")
    assert b"plot takes yes or no" in t.rfprof("config").stderr


def test_a_section_is_of_one_command(t):
    bare, by_loop = report(t), report(t, "--by=loop")
    user_file(t, "[run]\nby = loop\n")
    assert report(t) == bare
    user_file(t, "by = module\n[ report ]\nby = loop\n")
    assert report(t) == by_loop


WRONG = {
    "unknown_key": ("by = loop\ntpo = 3\n", 2, "tpo: there is no such option (did you mean top?)"),
    "unknown_section": ("[reprot]\n", 1, "did you mean report?"),
    "key_of_another_section": ("[doctor]\ntop = 3\n", 2, "top: there is no such option"),
    "not_a_key": ("help = yes\n", 1, "help: there is no such option"),
    "no_end": ("[report\n", 1, "a section is [COMMAND]"),
    "bad_number": ("\n\ntop = many\n", 3, "invalid numeric value"),
    "bad_range": ("top = 0\n", 1, "a number from 1 on is wanted"),
    "bad_word": ("sort = tiem\n", 1, "did you mean time?"),
    "bad_flag": ("plot = 3\n", 1, "plot takes yes or no"),
    "no_value": ("top\n", 1, "missing argument"),
}


@pytest.mark.parametrize("contents, line, what", named(WRONG))
def test_what_is_wrong_has_its_place(t, contents, line, what):
    path = user_file(t, contents)
    for words in (["report"], ["config"]):
        result = t.rfprof(*words)
        assert result.status == 2 and result.stdout == b"", str(result)
        assert f"{path}:{line}: " in result.stderr.decode() and what in result.stderr.decode(), str(result)
    assert t.rfprof("--help").status == 0


def test_others_must_not_write_it(t):
    path = user_file(t, "by = loop\n")
    os.chmod(path, 0o666)
    result = t.rfprof("report")
    assert result.status == 2 and path in result.stderr.decode() and "--no-config" in result.stderr.decode(), str(result)


def test_config_tells_what_holds(t):
    path = user_file(t, "top = 3\nplot\ntop = 5\n[diff]\nfail-on = time>5%\nfail-on = wall>2s\ntop = 7\n")
    result = t.rfprof("config")
    assert result.status == 0 and result.stderr == b"", str(result)
    told = result.stdout.decode()
    for line, key in [(2, "plot = yes"), (3, "top = 5"), (5, "fail-on = time>5%"), (6, "fail-on = wall>2s"), (7, "top = 7")]:
        assert f"# {path}:{line}\n{key}\n" in told, told
    assert "top = 3" not in told and told.index("top = 5") < told.index("[diff]"), told
    # what it tells is a file that says the same
    user_file(t, told)
    keys = [line for line in told.splitlines() if line and not line.startswith("#")]
    again = t.rfprof("config").stdout.decode().splitlines()
    assert [line for line in again if line and not line.startswith("#")] == keys


def with_system_file(t, text):
    """A prefix of commands for which /etc is one that has this file."""
    etc = os.path.join(t.directory, "etc")
    write(os.path.join(etc, "rfprof", "config"), text)
    for name in ("ld.so.cache", "passwd", "group"):
        shutil.copy(os.path.join("/etc", name), etc)
    prefix = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c",
              'mount --bind "$0" /etc && exec "$@"', etc]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    return prefix


def test_system_file(t):
    """The user's file comes before it, key by key, and of an option that may be repeated as a whole."""
    prefix = with_system_file(t, "top = 9\nby = loop\n[diff]\nfail-on = time>1%\n")
    user_file(t, "top = 5\n[diff]\nfail-on = time>5%\nfail-on = wall>2s\n")
    result = t.run([*prefix, t.rfprof_path, "config"])
    told = result.stdout.decode()
    assert result.status == 0 and "# /etc/rfprof/config:2\nby = loop\n" in told, str(result)
    assert "top = 9" not in told and "top = 5" in told and "time>1%" not in told and "wall>2s" in told, told
