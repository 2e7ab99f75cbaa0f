"""A process that runs already is measured, and does what it does without."""

import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from harness import SOURCE, functions, text
from test_errors import as_nobody

SUITE = "transparency"

# At once waiting for an answer.
WAITING = 500
LIMIT_S = 60


class Load:
    """A server under load: requests are sent as long as not too many wait, and each answer is checked."""

    def __init__(self, t, threads):
        path = os.path.join(t.directory, "socket")
        program = t.program("server.c")
        self.server = subprocess.Popen([program, path, str(threads)], stdout=subprocess.PIPE, env=t.environment())
        wait_until(lambda: os.path.exists(path))
        self.socket = socket.socket(socket.AF_UNIX)
        wait_until(lambda: self.connect(path))
        self.sent, self.answered, self.wrong, self.ends = 0, set(), [], False
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()
        wait_until(lambda: len(self.answered) > 2000)

    def connect(self, path):
        try:
            self.socket.connect(path)
        except ConnectionRefusedError:
            return False
        return True

    def send(self):
        while not self.ends:
            if self.sent - len(self.answered) > WAITING:
                time.sleep(0.001)
                continue
            self.socket.sendall(b"".join(b"%d\n" % n for n in range(self.sent, self.sent + 50)))
            self.sent += 50

    def receive(self):
        rest = b""
        while data := self.socket.recv(65536):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                number, result = map(int, line.split())
                if result != number * number + 1 or number in self.answered:
                    self.wrong.append(line)
                self.answered.add(number)

    def state(self):
        """What must be as it was: descriptors, what is mapped executable, who traces, signals that are blocked, caught."""
        base = f"/proc/{self.server.pid}"
        status = dict(line.split(":\t", 1) for line in text(base + "/status").splitlines() if ":\t" in line)
        code = [line for line in text(base + "/maps").splitlines() if "x" in line.split()[1]]
        return sorted(os.listdir(base + "/fd")), code, [status[name] for name in ("TracerPid", "SigCgt", "SigBlk", "SigIgn")]

    def end(self):
        self.ends = True
        self.threads[0].join(LIMIT_S)
        self.socket.shutdown(socket.SHUT_WR)
        self.threads[1].join(LIMIT_S)
        out, _ = self.server.communicate(timeout=LIMIT_S)
        assert not self.wrong and len(self.answered) == self.sent, (self.wrong[:3], len(self.answered), self.sent)
        assert self.server.returncode == 0 and out == b"signals came\n", (self.server.returncode, out)


def wait_until(holds):
    for _ in range(int(LIMIT_S / 0.01)):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("did not come about")


def attach(t, pid, *options, prefix=(), status=0, **more):
    path = os.path.join(t.work, "attached.json")
    result = t.run([*prefix, t.rfprof_path, "-q", "--keep-roofs", "--no-save", "--json", path, "-p", str(pid), *options],
                   **more)
    assert result.status == status, str(result)
    return json.loads(text(path)) if status == 0 else result


def many(t, n, threads):
    load = Load(t, threads)
    before, answered = load.state(), len(load.answered)
    for _ in range(n):
        report = attach(t, load.server.pid, "--duration=10ms")
        assert report["run"]["account"]["lives_s"] > 0
    assert len(load.answered) > answered, "the server stood still"
    assert load.state() == before
    load.end()


def test_a_server_answers_all_the_time(t):
    many(t, 50, 4)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 4, 50])
def test_a_thousand_times(t, threads):
    many(t, 1000 if threads == 4 else 200, threads)


def started(t, *words):
    return subprocess.Popen([t.program("phases.c"), *words], stdout=subprocess.PIPE, env=t.environment())


def ended(process):
    """It ends when it is asked to: nothing holds it."""
    process.terminate()
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == -signal.SIGTERM


def test_time_is_where_the_process_is(t):
    process = started(t, "a99999")
    report = attach(t, process.pid, "--duration=400ms")
    assert process.poll() is None
    ended(process)
    rows = {row["name"]: row["time_s"] for row in report["functions"]}
    user = sum(row["time_s"] for row in report["functions"] if row["module"] != "[kernel]")
    assert rows["phase_a"] >= 0.9 * user > 0, rows
    assert report["run"]["work_source"] == "none" and report["run"]["exit_status"] is None
    assert report["run"]["wall_s"] == pytest.approx(0.4, abs=0.2)
    account = report["run"]["account"]
    assert account["lives_s"] == pytest.approx(account["wall_s"], rel=0.01)
    assert any("while it ran" in note for note in report["run"]["notes"])
    assert functions(report, "phase_a")[0]["flop"] in (0, None)


def test_a_process_that_sleeps_waits(t):
    process = started(t, "s99999")
    report = attach(t, process.pid, "--duration=500ms")
    ended(process)
    account = report["run"]["account"]
    assert account["waiting_s"] + account["runnable_s"] >= 0.95 * account["wall_s"], account
    causes = {wait["cause"]: wait["time_s"] for wait in report["waits"]}
    assert causes.get("sleep", 0) > 0.5 * account["waiting_s"], report["waits"]


def test_children_are_followed(t):
    process = started(t, "c99999")
    whole = attach(t, process.pid, "--duration=300ms")
    alone = attach(t, process.pid, "--duration=300ms", "--no-children")
    ended(process)
    assert functions(whole, "inner")[0]["time_s"] > 0 and len(whole["processes"]) > 1
    assert not functions(alone, "inner") and len(alone["processes"]) == 1


def test_an_interruption_ends_the_measurement_alone(t):
    process = started(t, "a99999")
    path = os.path.join(t.directory, "interrupted.json")
    command = [t.rfprof_path, "-q", "--keep-roofs", "--no-save", "--json", path, "-p", str(process.pid)]
    rfprof = subprocess.Popen(command, env=t.environment(), cwd=t.work)
    # it takes the signal from when it has the process's events on
    wait_until(lambda: any("perf_event" in os.readlink(f"/proc/{rfprof.pid}/fd/{fd}")
                           for fd in os.listdir(f"/proc/{rfprof.pid}/fd") if os.path.lexists(f"/proc/{rfprof.pid}/fd/{fd}")))
    time.sleep(0.3)
    rfprof.send_signal(signal.SIGINT)
    assert rfprof.wait(LIMIT_S) == 0
    assert process.poll() is None
    assert functions(json.loads(text(path)), "phase_a")
    ended(process)


def test_the_end_of_the_process_ends_it(t):
    process = started(t, "a30")
    report = attach(t, process.pid, timeout=LIMIT_S)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 3
    assert any("has ended" in note for note in report["run"]["notes"]), report["run"]["notes"]


def test_json_is_as_its_schema_says(t):
    jsonschema = pytest.importorskip("jsonschema")
    process = started(t, "a99999")
    report = attach(t, process.pid, "--duration=50ms")
    ended(process)
    schema = json.loads(text(os.path.join(SOURCE, "docs", "report.schema.json")))
    assert not list(jsonschema.Draft7Validator(schema).iter_errors(report))


@pytest.mark.parametrize("options, message", [
    (["-p", "4194304"], b"no process 4194304"),
    (["-p", "1", "/bin/true"], b"not both"),
    (["-p", "1", "--once"], b"goes without --pid"),
    (["-p", "1", "--kernel=main", "--caches=cold"], b"goes without --pid"),
    (["-p", "1", "--kernel=main,main"], b"twice"),
    (["-p", "0"], b"a number from 1 on"),
    (["-p", "1", "--sampler=timer"], b"preloaded"),
])
def test_what_cannot_be_is_refused(t, options, message):
    result = t.rfprof(*options)
    assert result.status == 2 and message in result.stderr, str(result)


def check_kernel(report, row, names):
    """Its processor time is that of the functions that it is, and of interrupts within; its time has what threads
    waited for a processor besides."""
    own = sum(function["time_s"] for name in names for function in functions(report, name))
    system = sum(function["time_s"] for function in report["functions"] if function["module"] == "[kernel]")
    assert own > 0.1 and -1e-6 <= row["cpu_time_s"] - own <= system + 1e-6, (row, own, system)
    assert row["cpu_time_s"] - 1e-6 <= row["time_s"] <= report["run"]["account"]["lives_s"], row


@pytest.mark.parametrize("kernel, names", [("phase_b", ("phase_b", "inner")), ("inner", ("inner",))])
def test_time_of_kernels(t, kernel, names):
    """By stacks, with what they call; neither work nor calls are known, and none is told."""
    jsonschema = pytest.importorskip("jsonschema")
    process = started(t, "b99999")
    report = attach(t, process.pid, "--duration=1.5s", f"--kernel={kernel},not_there")
    ended(process)
    row, missing = report["kernels"]
    assert row["time_source"] == "samples" and row["samples"] > 100, row
    check_kernel(report, row, names)
    for name in ("calls", "threads", "flop", "load_bytes", "instructions", "mem_read_bytes", "per_call", "call_times"):
        assert row[name] is None and missing[name] is None, name
    assert missing["time_s"] is None
    notes = report["run"]["notes"]
    assert any("not_there" in note and "no file" in note for note in notes) and not any(kernel in note for note in notes), notes
    schema = json.loads(text(os.path.join(SOURCE, "docs", "report.schema.json")))
    assert not list(jsonschema.Draft7Validator(schema).iter_errors(report))


def test_time_of_a_kernel_in_a_library_that_is_opened_meanwhile(t):
    library = os.path.join(t.directory, "libplug.so")
    with open(os.path.join(t.directory, "plug.c"), "w") as file:
        file.write("void plugged(void) { for (volatile long i = 0; i < 30000000; i++) ; }\n")
    assert t.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-o", library,
                  os.path.join(t.directory, "plug.c")]).status == 0
    script = (f"import ctypes, time\nprint('there', flush=True)\ntime.sleep(1)\nplug = ctypes.CDLL({library!r})\n"
              "end = time.monotonic() + 6\nwhile time.monotonic() < end: plug.plugged()\n")
    process = subprocess.Popen(["python3", "-c", script], stdout=subprocess.PIPE, env=t.environment())
    assert process.stdout.readline() == b"there\n"
    report = attach(t, process.pid, "--duration=3s", "--kernel=plugged")
    process.kill()
    process.communicate()
    row, = report["kernels"]
    assert row["time_source"] == "samples"
    check_kernel(report, row, ("plugged",))


def test_another_users_process_is_refused(t):
    prefix = as_nobody(t, t.work)
    process = started(t, "a99999")
    result = attach(t, process.pid, "--duration=50ms", prefix=prefix, status=2)
    assert b"may not be measured" in result.stderr, str(result)
    ended(process)


def test_ones_own_is_measured_by_anybody(t):
    prefix = as_nobody(t, t.work)
    process = subprocess.Popen([*prefix, t.program("phases.c"), "a99999"], stdout=subprocess.DEVNULL, env=t.environment())
    result = t.run([*prefix, t.rfprof_path, "--keep-roofs", "--no-save", "-p", str(process.pid), "--duration=300ms"])
    ended(process)
    assert result.status == 0 and b"phase_a" in result.stderr, str(result)


def test_snapshots_can_be_reported_meanwhile(t):
    process = started(t, "a99999")
    saved = os.path.join(t.work, "taken.rfp")
    command = [t.rfprof_path, "-q", "--keep-roofs", "--save", saved, "-p", str(process.pid), "--every=100ms"]
    rfprof = subprocess.Popen(command, env=t.environment(), cwd=t.work, stderr=subprocess.PIPE)
    wait_until(lambda: os.path.exists(os.path.join(t.work, "taken.4.rfp")))
    assert process.poll() is None and rfprof.poll() is None
    for number in (1, 2, 3):
        path, out = (os.path.join(t.work, f"taken.{number}.{ending}") for ending in ("rfp", "json"))
        result = t.rfprof("report", path, "--json", out)
        assert result.status == 0, str(result)
        report = json.loads(text(out))
        assert functions(report, "phase_a")[0]["time_s"] > 0
        assert report["run"]["wall_s"] == pytest.approx(0.1, abs=0.09)
    ended(process)
    _, err = rfprof.communicate(timeout=LIMIT_S)
    assert rfprof.returncode == 0, err
    assert not os.path.exists(saved)


def test_snapshots_end_with_the_duration(t):
    process = started(t, "s99999")
    result = t.rfprof("--keep-roofs", "-p", str(process.pid), "--every=100ms", "--duration=250ms")
    ended(process)
    taken = [name for name in os.listdir(t.work) if name.startswith("rfprof-phases.")]
    assert result.status == 0 and 1 <= len(taken) <= 3 and "rfprof-phases.1.rfp" in taken, (str(result), taken)
