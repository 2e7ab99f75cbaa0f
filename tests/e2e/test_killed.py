"""rfprof, or the program, is killed at a random moment: nothing is left stopped, no file is left, and what is saved is
whole.  A program of the first run goes on alone when rfprof is killed by force, to its own end."""

import itertools
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from harness import end_group
from processes_of import session_processes

KILLS, SLOW_KILLS = 12, 300
LIMIT = 60  # seconds for what must come
WAYS = list(itertools.product(("two runs", "once"), ("rfprof", "program"),
                              (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))


class Killing:
    def __init__(self, t):
        self.t, self.program = t, t.program("busy.c")
        self.temporary = os.path.join(t.directory, "tmp")
        os.makedirs(self.temporary)
        self.cached = sorted(os.listdir(t.cache))
        self.shared = set(os.listdir("/dev/shm"))
        self.took = {mode: self.run(mode, None, None, LIMIT) for mode in ("two runs", "once")}

    def start(self, mode):
        shutil.rmtree(self.t.work)
        os.makedirs(self.t.work)
        options = ["--once"] if mode == "once" else []
        return subprocess.Popen([self.t.rfprof_path, "-q", *options, "--save=x.rfp", self.program], cwd=self.t.work,
                                env=self.t.environment({"TMPDIR": self.temporary}), start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, mode, target, number, after):
        """Returns how long it took."""
        begin = time.monotonic()
        process = self.start(mode)
        try:
            try:
                process.wait(after)
            except subprocess.TimeoutExpired:
                self.kill(process, target, number)
            process.wait(LIMIT)
            self.check(process.pid)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"rfprof does not end: {session_processes(process.pid)}") from None
        finally:
            end_group(process.pid)
            process.wait()
        return time.monotonic() - begin

    @staticmethod
    def kill(process, target, number):
        others = [pid for pid in session_processes(process.pid) if pid != process.pid]
        pid = process.pid if target == "rfprof" else random.choice(others or [process.pid])
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def check(self, session):
        end = time.monotonic() + LIMIT
        while (left := session_processes(session)) and time.monotonic() < end:
            time.sleep(0.02)
        assert not left, f"processes are left: {left}"
        files = os.listdir(self.t.work)
        assert set(files) <= {"x.rfp"}, f"files are left: {files}"
        if files:
            result = self.t.run([self.t.rfprof_path, "report", "x.rfp"])
            assert result.status == 0, f"what is saved is not whole\n{result}"
        assert os.listdir(self.temporary) == [], "temporary files are left"
        assert sorted(os.listdir(self.t.cache)) == self.cached, "files are left in the cache"
        assert not [name for name in set(os.listdir("/dev/shm")) - self.shared if "rfprof" in name]


def kill_often(t, times):
    seed = int(os.environ.get("RFPROF_SEED", "0")) or random.randrange(1, 1 << 30)
    random.seed(seed)
    killing, wrong = Killing(t), []
    print(f"RFPROF_SEED={seed}")
    for i in range(times):
        mode, target, number = WAYS[i % len(WAYS)]
        after = random.uniform(0, killing.took[mode])
        try:
            killing.run(mode, target, number, after)
        except AssertionError as error:
            wrong.append(f"{mode}, {target} by {number.name} after {after:.3f} s: {error}")
    assert not wrong, f"{len(wrong)} of {times}\n" + "\n".join(wrong[:8])


def test_killed(t):
    kill_often(t, KILLS)


@pytest.mark.slow
def test_killed_often(t):
    kill_often(t, SLOW_KILLS)
