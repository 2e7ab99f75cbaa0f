"""Files that rfprof writes and reads of its own accord: whole or not at all, not over links of others, not from others."""

import gzip
import json
import os
import resource
import shutil
import stat
import subprocess

import pytest

from harness import SOURCE, files_below, named, text
from test_errors import as_nobody, check_error, check_usage
from test_export import PROFILE

OTHER = 65534  # the user nobody


def need_root():
    if os.getuid() != 0:
        pytest.skip("files of another user take root")


def public(t):
    """A directory that all can write to, as /tmp."""
    path = os.path.join(t.directory, "public")
    os.mkdir(path)
    os.chmod(path, 0o1777)
    return path


def plant(target, link):
    os.symlink(target, link)
    os.lchown(link, OTHER, OTHER)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


WAYS = ["-o", "--json", "--html", "--svg", "--csv", "--pprof", "--png"]


def write(way, path):
    """The words that write `path` and nothing to standard output."""
    return [way, path, *(["-o", "/dev/null"] if way != "-o" else [])]


# ---- links and places of others ----

@pytest.mark.parametrize("way", WAYS)
def test_a_planted_link_is_not_followed(t, way):
    need_root()
    victim, link = os.path.join(t.directory, "victim"), os.path.join(public(t), "out")
    with open(victim, "w", encoding="ascii") as file:
        file.write("mine\n")
    plant(victim, link)
    check_error(t.rfprof("report", PROFILE, *write(way, link)), "out", "link of another user")
    assert text(victim) == "mine\n" and os.path.islink(link)


@pytest.mark.parametrize("words", named({"named": ["--save", "rfprof-echo.rfp"], "by_itself": [],
                                         "log": ["--no-save", "--log", "rfprof-echo.rfp"]}))
def test_a_planted_link_is_told_before_the_run(t, words):
    need_root()
    where, victim = public(t), os.path.join(t.directory, "victim.rfp")
    shutil.copy(PROFILE, victim)
    plant(victim, os.path.join(where, "rfprof-echo.rfp"))
    check_error(t.rfprof(*words, "/bin/echo", "ran", cwd=where), "link of another user")
    with open(victim, "rb") as written, open(PROFILE, "rb") as before:
        assert written.read() == before.read()


def test_special_files_of_others_are_not_written(t):
    need_root()
    path = os.path.join(public(t), "out")
    os.mkfifo(path)
    os.chown(path, OTHER, OTHER)
    check_error(t.rfprof("report", PROFILE, *write("--json", path)), "special file of another user")


def test_own_links_are_followed(t):
    os.mkdir(os.path.join(t.work, "there"))
    os.symlink("there/page", os.path.join(t.work, "link"))
    for _ in range(2):  # the file is made, and is replaced
        assert t.rfprof("report", PROFILE, "--svg", "link").status == 0
        assert os.path.islink(os.path.join(t.work, "link")) and text(os.path.join(t.work, "there/page")).startswith("<")
    assert list(files_below(t.work)).count("there/page") == 1 and os.listdir(os.path.join(t.work, "there")) == ["page"]


def test_special_files_are_written_as_they_are(t):
    fifo = os.path.join(t.work, "pipe")
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
        assert t.rfprof("report", PROFILE, "--svg", fifo, "-o", "/dev/null").status == 0
        drawn = reader.communicate(timeout=30)[0]
    assert drawn.startswith(b"<") and stat.S_ISFIFO(os.stat(fifo).st_mode)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    wanted = t.rfprof("report", PROFILE, "--csv", "-").stdout
    piped = t.rfprof("report", PROFILE, "--csv", "/dev/stdout", "-o", "table")
    assert piped.stdout == wanted, str(piped)
    with open(os.path.join(t.work, "redirected"), "wb") as file:
        t.rfprof("report", PROFILE, "--csv", "/dev/stdout", "-o", "table", stdout=file)
    with open(os.path.join(t.work, "redirected"), "rb") as file:
        assert file.read() == wanted
    process = t.run(["/bin/bash", "-c", f"'{t.rfprof_path}' report '{PROFILE}' -o table --csv >(cat >substituted); wait $!"])
    assert process.status == 0, str(process)


def test_a_file_in_a_closed_directory_is_written_in_place(t):
    closed = os.path.join(t.work, "closed")
    os.mkdir(closed)
    path = os.path.join(closed, "out.csv")
    with open(path, "w", encoding="ascii"):
        pass
    prefix = as_nobody(t, t.work)
    if prefix:
        os.chown(path, OTHER, OTHER)
    os.chmod(closed, 0o555)
    profile = shutil.copy(PROFILE, t.work)
    os.chmod(profile, 0o644)
    for _ in range(2):
        result = t.run([*prefix, t.rfprof_path, "report", profile, "--csv", path])
        assert result.status == 0 and text(path).count("\n") > 3, str(result)
    os.chmod(closed, 0o755)


# ---- whole or not at all ----

@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk_leaves_the_older_file(t, way):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    path = os.path.join(t.work, "out")
    with open(path, "w", encoding="ascii") as file:
        file.write("the older one\n")
    result = t.run(["/usr/bin/env", "--ignore-signal=XFSZ", t.rfprof_path, "report", PROFILE, *write(way, path)],
                   preexec_fn=limited)
    check_error(result, "too large")
    assert text(path) == "the older one\n" and os.listdir(t.work) == ["out"]


def test_a_file_that_is_replaced_keeps_its_mode(t):
    for name, before in [("closed.json", 0o600), ("open.json", 0o664)]:
        path = os.path.join(t.work, name)
        with open(path, "w", encoding="ascii"):
            os.chmod(path, before)
        assert t.rfprof("report", PROFILE, "--json", path).status == 0
        assert mode(path) == before and json.loads(text(path))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("command", [("report",), ()])
def test_a_report_is_not_written_over_a_profile(t, command, way):
    """As where NAME in `rfprof report --json NAME` was meant to be read."""
    here = os.path.join(t.work, "here.rfp")
    shutil.copy(PROFILE, here)
    before = open(here, "rb").read()
    result = t.rfprof(*command, way, here, *(["--no-save", "--", "true"] if not command else [PROFILE]))
    assert result.status == 2 and b"here.rfp is a profile, and would be lost" in result.stderr, str(result)
    assert open(here, "rb").read() == before


def test_a_profile_named_by_rfprof_is_private_and_the_one_before_is_kept(t):
    for _ in range(2):
        assert t.rfprof("-q", "/bin/true").status == 0
        assert mode(os.path.join(t.work, "rfprof-true.rfp")) == 0o600
    assert sorted(os.listdir(t.work)) == ["rfprof-true.rfp", "rfprof-true.rfp.old"]
    assert t.rfprof("report", "rfprof-true.rfp.old").status == 0
    assert t.rfprof("-q", "--save", "named.rfp", "/bin/true").status == 0
    assert t.rfprof("-q", "--save", "named.rfp", "/bin/true").status == 0
    assert not os.path.exists(os.path.join(t.work, "named.rfp.old"))


def test_save_and_no_save(t):
    check_usage(t.rfprof("--save", "a.rfp", "--no-save", "/bin/echo", "ran"), "--no-save")


# ---- what is passed on ----

SECRETS = ["--pin=4711", "alices-home", "my project", "secrethost"]


def unpacked(path):
    with open(path, "rb") as file:
        data = file.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def recorded(t, *words):
    """Files of a run whose program, argument, host and directories are to be kept for oneself."""
    need_root()
    where = os.path.join(t.work, "alices-home", "my project")
    os.makedirs(where)
    source = shutil.copy(os.path.join(SOURCE, "tests", "e2e", "programs", "jit_names.c"), where)
    subprocess.run(["gcc", "-O1", "-g", source, "-o", os.path.join(where, "solve it")], check=True)
    result = t.run(["/usr/bin/unshare", "--uts", "/bin/sh", "-c", "hostname secrethost && exec \"$@\"", "sh", t.rfprof_path, *words,
                    os.path.join(where, "solve it"), "--pin=4711"])
    assert result.status == 0, str(result)


def others(t):
    """Every view of it, by name, and the words that write them."""
    names = ["json", "html", "svg", "csv", "folded", "pprof", "firefox", "callgrind"]
    return [word for name in names for word in [f"--{name}", name]] + ["-o", "table", "--save", "shared.rfp"]


def found_secrets(t):
    return {(name, secret) for name in os.listdir(t.work) if os.path.isfile(os.path.join(t.work, name))
            for secret in SECRETS if secret.encode() in unpacked(os.path.join(t.work, name))}


def test_what_is_redacted_tells_nobody(t):
    """In the profile itself and in all views; without --redact each secret is in some of them."""
    recorded(t, "-q", "--save", "own.rfp")
    own = os.path.join(t.work, "own.rfp")
    assert t.rfprof("report", "-v", own, *others(t)).status == 0
    before = found_secrets(t)
    assert {secret for _, secret in before} == set(SECRETS), before
    os.rename(own, os.path.join(t.directory, "own.rfp"))
    result = t.rfprof("report", "-v", os.path.join(t.directory, "own.rfp"), "--redact", *others(t))
    assert result.status == 0 and not found_secrets(t), f"{found_secrets(t)}\n{result}"
    report, shared = json.loads(text(os.path.join(t.work, "json"))), os.path.join(t.work, "shared.rfp")
    assert report["run"]["program"] == "solve it" and report["run"]["command"] == "'solve it'" and report["machine"]["hostname"] is None
    assert "main" in {row["name"] for row in report["functions"]} and "--redact" in text(os.path.join(t.work, "table"))
    again = t.rfprof("report", shared, "--json", "-")
    assert json.loads(again.stdout) == report
    rows = json.loads(t.rfprof("report", shared, "--by=line", "--json", "-").stdout)["functions"]
    assert any("jit_names.c" in row["name"] for row in rows), rows


def test_a_run_can_be_redacted(t):
    recorded(t, "--redact", *others(t))
    assert not found_secrets(t)


# ---- files that are found, not named ----

def kept_roofs(t):
    return next(os.path.join(where, name) for where, _, names in os.walk(t.cache) for name in names if name.startswith("roofs-"))


def test_roofs_of_another_user_are_not_used(t):
    """A thousandfold roof that somebody has put into a shared cache directory."""
    need_root()
    t.rfprof("machine", "--quick", "--threads=1")
    path = kept_roofs(t)
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    for roof in kept["machine"]["roofs"]:
        roof.update({key: 1000 * roof[key] for key in ["best", "median", "q1", "q3"]})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(kept, file)
    most = max(roof["best"] for roof in kept["machine"]["roofs"])
    os.chown(path, OTHER, OTHER)
    result = t.rfprof("machine", "--quick", "--threads=1", "--json")
    assert b"belongs to another user" in result.stderr and result.stderr.count(b"\n") == 1, str(result)
    assert max(roof["best"] for roof in json.loads(result.stdout)["roofs"]) < most / 10
    os.chmod(kept_roofs(t), 0o666)
    assert b"can be written by other users" in t.rfprof("machine", "--quick", "--threads=1").stderr


def test_no_lock_is_made_over_a_link(t):
    need_root()
    victim = os.path.join(t.directory, "victim")
    shutil.rmtree(t.cache)
    os.makedirs(os.path.join(t.cache, "rfprof"))
    plant(victim, os.path.join(t.cache, "rfprof", "lock"))
    t.rfprof("machine", "--quick", "--threads=1")
    assert not os.path.exists(victim)


def test_names_from_another_user_are_not_used(t):
    """perf-PID.map of another owner: ignored with one line, and the report has a note."""
    need_root()
    program = t.program("jit_names.c", ["-DOWNER=65534"])
    result = t.profile([program])
    names = {row["name"] for row in result.json["functions"]}
    assert "hot function" not in names, names
    log = t.rfprof("--save", "a.rfp", program)
    assert log.stderr.count(b"is not used: it belongs to another user") == 2, str(log)  # the line, and the note


def test_jit_dump_from_another_user_is_not_used(t):
    need_root()
    result = t.profile([t.program("jit_dump.c", ["-DOWNER=65534"])], "--traffic=none", cwd=t.work)
    names = {row["name"] for row in result.json["functions"]}
    assert not names & {"first", "second", "mover", "third"}, names
    assert any("jit-" in note and "is not used: it belongs to another user" in note for note in result.json["run"]["notes"]), str(result)


def test_settings_of_another_user_are_not_used(t):
    need_root()
    config = os.path.join(t.work, "config", "rfprof")
    os.makedirs(config)
    path = os.path.join(config, "roofs.json")
    with open(path, "w", encoding="ascii") as file:
        json.dump({"roofs": [{"name": "planted", "value": 1e9, "unit": "GB/s", "source": "nobody"}]}, file)
    env = {"XDG_CONFIG_HOME": os.path.dirname(config)}
    assert b"planted" in t.rfprof("machine", env=env).stdout
    os.chown(path, OTHER, OTHER)
    result = t.rfprof("machine", env=env)
    assert b"planted" not in result.stdout and b"belongs to another user" in result.stderr, str(result)


# ---- standard input that is kept ----

KEPT = 80 << 20


def test_large_input_is_kept_on_disk_and_said(t):
    """In TMPDIR, without a name; where nothing can be made there, elsewhere."""
    big, where = os.path.join(t.directory, "big"), os.path.join(t.directory, "tmpdir")
    os.mkdir(where)
    with open(big, "wb") as file:
        file.truncate(KEPT)
    for folder, said in [(where, where), ("/proc", "/tmp")]:
        command = f"cat '{big}' | '{t.rfprof_path}' --save kept.rfp --work=count --traffic=none wc -c"
        result = t.run(["/bin/sh", "-c", command], env={"TMPDIR": folder})
        assert result.stdout.decode().split() == [str(KEPT)], str(result)
        assert f"{KEPT / 1e9:.3g} GB were kept in a file in " in result.stderr.decode() and said in result.stderr.decode(), str(result)
        assert not os.listdir(where)


def test_input_that_has_no_room_is_said(t):
    """The program's own run has all of it; the report says that the other had not."""
    def seen(path):
        return path.replace("/tmp/", "/mnt/", 1) if path.startswith("/tmp/") else path

    need_root()
    mounts = "mount --bind /tmp /mnt && for d in /tmp /var/tmp; do mount -t tmpfs -o size=1m none $d; done"
    watched = f"'{seen(t.rfprof_path)}' --no-save --work=count --traffic=none wc -c"
    command = f"{mounts}; cd '{seen(t.work)}'; head -c {KEPT} /dev/zero | {watched}"
    if t.run(["/usr/bin/unshare", "--mount", "/bin/sh", "-c", mounts]).status:
        pytest.skip("no right to mount a small file system here")
    result = t.run(["/usr/bin/unshare", "--mount", "/bin/sh", "-c", command],
                   env={"HOME": seen(t.directory), "XDG_CACHE_HOME": seen(t.cache)})
    assert result.stdout.decode().split() == [str(KEPT)], str(result)
    assert b"standard input was too large to keep: the next run has its beginning alone" in result.stderr, str(result)
