"""--debuginfod: debug files by build id from a server, which is one of this test's own, on this machine."""

import contextlib
import http.server
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

import pytest

from harness import SOURCE, end_group

ID = re.compile(r"Build ID: ([0-9a-f]+)")


def build_id(path):
    found = ID.search(subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout)
    if not found:
        pytest.skip("the compiler writes no build ids")
    return found.group(1)


def split(t, program="three_to_one.c"):
    """A program without its debug information, its build id and the debug file."""
    if not shutil.which("objcopy"):
        pytest.skip("objcopy is not installed")
    whole = t.program(program, ["-Wl,--build-id"])
    stripped, debug = os.path.join(t.work, "program"), os.path.join(t.directory, "program.debug")
    subprocess.run(["strip", "-o", stripped, whole], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
    return stripped, build_id(whole), debug


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        answer = self.server.files.get(self.path.split("/")[2]) if self.path.endswith("/debuginfo") else None
        if answer == "silence":
            self.server.ended.wait(100)
        elif answer is None:
            self.send_error(404)
        else:
            with open(answer, "rb") as file:
                data = file.read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def server(files):
    """files: build id → path of what is sent, or "silence"; all others are not found."""
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    made.files, made.asked, made.ended = files, [], threading.Event()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.ended.set()
        made.shutdown()
        made.server_close()


def environment(t, made, **more):
    return {"DEBUGINFOD_URLS": f"http://127.0.0.1:{made.server_address[1]}/", "DEBUGINFOD_CACHE_PATH": os.path.join(t.directory, "client"),
            "no_proxy": "*", **more}


def record(t, made, program, *options, **more):
    profile = os.path.join(t.directory, "p.rfp")
    result = t.rfprof("--work=count", "--traffic=none", "--save", profile, *options, program, env=environment(t, made, **more))
    if b"built without libdebuginfod" in result.stderr or b"cannot be loaded" in result.stderr:
        pytest.skip("libdebuginfod is not installed")
    assert result.status == 0, str(result)
    return profile, result


def rows(profile, query):
    with contextlib.closing(sqlite3.connect(profile)) as database:
        return database.execute(query).fetchall()


LINES = "SELECT count(*) FROM lines JOIN modules m ON m.id = module_id WHERE m.name = 'program'"
NAMES = "SELECT f.name FROM functions f JOIN modules m ON m.id = f.module_id WHERE m.name = 'program'"


def test_fetches_what_is_not_here(t):
    """Names, lines and inlined functions of a stripped program; what no server has is counted; a second run asks nobody for it."""
    program, identity, debug = split(t)
    with server({identity: debug}) as made:
        profile, result = record(t, made, program, "--debuginfod")
        asked = [path for path in made.asked if identity in path]
        assert asked == [f"/buildid/{identity}/debuginfo"], str(made.asked)
        assert re.search(rb"debuginfod: 1 debug file fetched, \d+ not found", result.stderr), str(result)
        assert rows(profile, LINES)[0][0] > 3 and ("main",) in rows(profile, NAMES), rows(profile, NAMES)
        del made.asked[:]
        profile, _ = record(t, made, program, "--debuginfod")
        assert not [path for path in made.asked if identity in path], "the client's cache has it"
        assert rows(profile, LINES)[0][0] > 3


def test_fetches_what_debug_files_share(t):
    """dwz puts what two debug files have in common into a third, with a build id of its own: the names of inlined functions."""
    if not shutil.which("dwz", path=t.environment()["PATH"]):
        pytest.skip("dwz is not installed")
    program, identity, debug = split(t, os.path.join(SOURCE, "tests", "targets", "inlined.c"))
    twin, shared = os.path.join(t.directory, "twin.debug"), os.path.join(t.directory, "shared.debug")
    shutil.copy(debug, twin)
    made_part = t.run(["dwz", "-m", shared, "-M", "/nonexistent/shared.debug", debug, twin])
    assert made_part.status == 0 and os.path.exists(shared), str(made_part)
    with server({identity: debug, build_id(shared): shared}) as made:
        profile, result = record(t, made, program, "--debuginfod")
        assert b"debuginfod: 2 debug files fetched" in result.stderr, str(result)
    names = {name for name, in rows(profile, "SELECT name FROM inlined_functions")}
    assert {"multiply", "dot", "triple"} <= names, names


def test_asks_nobody_unless_told_to(t):
    """DEBUGINFOD_URLS alone brings no request; neither does the doctor, nor a report."""
    program, identity, debug = split(t)
    with server({identity: debug}) as made:
        profile, _ = record(t, made, program)
        for words in (["doctor"], ["report", profile], ["report", "-f", rows(profile, NAMES)[0][0], profile]):
            t.rfprof(*words, env=environment(t, made))
        assert made.asked == [], str(made.asked)
        assert rows(profile, LINES)[0][0] == 0
        assert ("main",) not in rows(profile, NAMES)


def test_what_is_not_found_is_said(t):
    program, identity, _ = split(t)
    with server({}) as made:
        profile, result = record(t, made, program, "--debuginfod")
        assert any(identity in path for path in made.asked), str(made.asked)
        assert re.search(rb"debuginfod: 0 debug files fetched, [1-9]\d* not found", result.stderr), str(result)
        assert rows(profile, LINES)[0][0] == 0


def test_a_wrong_file_is_refused(t):
    """The debug file of another program, and what is no file of the kind: neither names anything."""
    program, identity, _ = split(t)
    other = t.program("sum_input.c", ["-Wl,--build-id"])
    nonsense = os.path.join(t.directory, "nonsense")
    with open(nonsense, "wb") as file:
        file.write(b"<html>proxy</html>" * 100)
    for wrong in (other, nonsense):
        shutil.rmtree(os.path.join(t.directory, "client"), ignore_errors=True)
        with server({identity: wrong}) as made:
            profile, result = record(t, made, program, "--debuginfod")
            assert b"what came for program is no debug file with its build id" in result.stderr, str(result)
            assert re.search(rb"debuginfod: 0 debug files fetched", result.stderr), str(result)
            assert rows(profile, LINES)[0][0] == 0 and ("main",) not in rows(profile, NAMES)


def test_a_silent_server_is_left(t):
    """After the time that is allowed it is given up, and nobody is asked for the other modules."""
    program, identity, _ = split(t)
    with server({identity: "silence"}) as made:
        profile, result = record(t, made, program, "--debuginfod", DEBUGINFOD_TIMEOUT="5")
        assert b"no answer for 5 s" in result.stderr, str(result)
        assert identity in made.asked[-1], str(made.asked)
        assert rows(profile, LINES)[0][0] == 0
        shown = t.rfprof("report", profile)
        assert b"no answer for 5 s" in shown.stdout, str(shown)


def test_a_server_that_is_not_there(t):
    program, _, _ = split(t)
    with server({}) as made:
        pass  # nobody listens any more
    _, result = record(t, made, program, "--debuginfod")
    assert b"not all debug information was fetched" in result.stderr, str(result)


def wait_for(condition, what):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"never: {what}")


def test_an_interrupt_ends_the_fetch_alone(t):
    """Ctrl-C while a file is fetched, on a terminal that shows the progress: the report and the profile are there."""
    program, identity, _ = split(t)
    profile = os.path.join(t.directory, "p.rfp")
    with server({identity: "silence"}) as made:
        record(t, made, "/bin/true")  # the roofs; a skip without libdebuginfod
        master, slave = pty.openpty()
        command = [t.rfprof_path, "--work=count", "--traffic=none", "--debuginfod", "--save", profile, program]
        process = subprocess.Popen(command, cwd=t.work, env=t.environment(environment(t, made)),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=slave, start_new_session=True)
        os.close(slave)
        written = []

        def read():
            with contextlib.suppress(OSError):
                while part := os.read(master, 65536):
                    written.append(part)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            wait_for(lambda: any(identity in path for path in made.asked) or process.poll() is not None, "the request")
            wait_for(lambda: b"debug information of program" in b"".join(written) or process.poll() is not None, "progress")
            process.send_signal(signal.SIGINT)
            status = process.wait(100)
        finally:
            end_group(process.pid)
            reader.join()
            os.close(master)
        output = b"".join(written)
        assert status == 0, output
        assert b"interrupted: not all debug information was fetched" in output and b"saved " in output, output
        assert identity in made.asked[-1], str(made.asked)
    assert rows(profile, "SELECT count(*) FROM blocks")[0][0] > 0


def test_no_server_is_named(t):
    """Said before the program runs; the program is profiled all the same."""
    result = t.rfprof("--work=count", "--traffic=none", "--no-save", "--debuginfod", "/bin/true", env={"DEBUGINFOD_URLS": None})
    assert result.status == 0, str(result)
    words = (b"DEBUGINFOD_URLS is not set", b"built without libdebuginfod", b"cannot be loaded")
    assert any(word in result.stderr.split(b"run 1/2")[0] for word in words), str(result)
    result = t.rfprof("report", "--debuginfod", "any.rfp")
    assert result.status == 2, str(result)
