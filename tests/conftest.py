"""Fixtures, marks and choices of the tests in Python; ./dev test runs them, as `pytest tests` does.

A test has a plain name beside pytest's own: folder, suite and function or parameter, such as `e2e/report/demo_table`;
`--name` and `-k` choose by it.  What depends on time may fail because others use the machine, so a failing test is run
once more (pytest-rerunfailures); that time nothing else runs beside it, as with those that are marked `alone`.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import harness
import machines

SLOW_TIMEOUT = 4 * 3600  # seconds; what others may take is in pytest.ini
AGAIN = 4  # tests of a worker are run again: more failures are no accident

run_again = 0
measured = set()  # machines whose roofs this worker has seen measured
first_failures = {}  # of those that are run again: node id → what was wrong


def restore_signals():
    """A shell ignores Ctrl-C in what it starts in the background, nohup ignores hanging up, and what is ignored stays
    so in all programs that the tests start."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


# ---- which tests ----

def pytest_addoption(parser):
    group = parser.getgroup("rfprof")
    group.addoption("--build", default=os.path.join(harness.SOURCE, "build"), help="build directory")
    group.addoption("--slow", action="store_true", help="the slow tests too")
    group.addoption("--machine", default="this", choices=list(machines.MACHINES), help="run all tests on this machine")
    group.addoption("--name", action="append", default=[], metavar="PART",
                    help="only tests whose plain name has this part; repeated: one of these")


def pytest_configure(config):
    restore_signals()
    if config.getoption("slow"):
        os.environ["RFPROF_SLOW"] = "1"  # for tests that have more to do then


def plain_name(item):
    """As a module's SUITE says, else FOLDER/FILE, then the name of the parameters or of the function."""
    folder, file = os.path.split(os.path.relpath(item.path, os.path.dirname(__file__)))
    suite = getattr(item.module, "SUITE", None) or f"{folder}/{file.removeprefix('test_').removesuffix('.py')}"
    callspec = getattr(item, "callspec", None)
    return f"{suite}/{callspec.id if callspec else item.originalname.removeprefix('test_')}"


def pytest_itemcollected(item):
    item.extra_keyword_matches.add(plain_name(item))


def pytest_collection_modifyitems(config, items):
    names, slow = config.getoption("name"), config.getoption("slow")
    chosen, left_out = [], []
    for item in items:
        is_slow = item.get_closest_marker("slow")
        wanted = (slow or not is_slow) and (not names or any(part in plain_name(item) for part in names))
        (chosen if wanted else left_out).append(item)
        if is_slow:
            item.add_marker(pytest.mark.timeout(SLOW_TIMEOUT))
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


# ---- one by one, and again ----

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """After AGAIN of a worker no more are run again."""
    if run_again >= AGAIN:
        item.config.option.reruns = 0
    yield


def pytest_runtest_logreport(report):
    global run_again
    if report.outcome == "rerun":
        run_again += 1
        first_failures[report.nodeid] = report.longreprtext


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed"):
        if report.nodeid in first_failures:
            terminalreporter.line(f"unsteady {report.nodeid}: passed when run again, alone; before:")
            terminalreporter.line(first_failures[report.nodeid])


@pytest.fixture(scope="session")
def build(request):
    return os.path.abspath(request.config.getoption("build"))


@pytest.fixture(scope="session")
def shared(build):
    """The directory of what all workers share."""
    path = os.path.join(build, "tests", "shared")
    os.makedirs(path, exist_ok=True)
    return path


def limit_again(item):
    """The time limit of a test is over with the first run that reaches it (pytest-timeout); it holds for each."""
    marker = item.get_closest_marker("timeout")
    signal.setitimer(signal.ITIMER_REAL, float(marker.args[0] if marker else item.config.getini("timeout")))


@contextlib.contextmanager
def room_for(shared, alone):
    """Waits until nothing runs beside, or nothing that is to be alone.  Whoever wants the machine for itself holds the
    door until it has it, so that others cannot keep it waiting."""
    with open(os.path.join(shared, "machine"), "a", encoding="utf-8") as machine:
        with harness.locked(os.path.join(shared, "door")):
            fcntl.flock(machine, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@pytest.fixture
def room(request, roofs, shared):
    """Room for this test: none other runs beside one that is marked `alone` or is run again."""
    again = getattr(request.node, "execution_count", 1) > 1
    if again:
        limit_again(request.node)
    with room_for(shared, again or request.node.get_closest_marker("alone")):
        yield


# ---- what a test works with ----

@pytest.fixture(scope="session")
def programs(build):
    return harness.Programs(os.path.join(build, "tests", "e2e"))


@pytest.fixture
def machine(request):
    """The machine that the test sees (machines.py): its name.  Processors that it lacks are taken from the test, too."""
    name = getattr(request, "param", request.config.getoption("machine"))
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, machines.MACHINES[name].cpus())
    yield name
    os.sched_setaffinity(0, usable)


@pytest.fixture
def surroundings(machine, build):
    """Variables of the environment that make the machine."""
    path = os.path.join(build, "tests", "machines", machine)
    os.makedirs(path, exist_ok=True)
    return machines.MACHINES[machine].environment(path)


@pytest.fixture
def roofs(request, machine, surroundings, build, shared):
    """A cache directory with the roofs of the machine: the first worker measures them, or finds them valid from the
    last time, and the others wait for it.  Of machines that are made up a quick set is enough, unless with --slow:
    what a whole one adds, rows of more kinds of arithmetic and walks by size, is looked at on this machine."""
    path = os.path.join(build, "tests", "roofs", machine)
    if machine in measured:
        return path
    os.makedirs(path, exist_ok=True)
    extent = [] if machine == "this" or request.config.getoption("slow") else ["--quick"]
    with room_for(shared, alone=True):
        done = subprocess.run([os.path.join(build, "cli", "rfprof"), "machine", *extent], timeout=300, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={**os.environ, **surroundings, "XDG_CACHE_HOME": path})
    if done.returncode:
        print(f"the roofs could not be measured: {done.stderr}")  # the tests' results show what follows from it
    measured.add(machine)
    return path


@pytest.fixture
def directory():
    """An empty directory that other users may enter."""
    path = tempfile.mkdtemp(prefix="rfprof-test-")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def kept(shared, testrun_uid):
    """The directory of what the workers of this session record once; those of earlier ones go when they are old."""
    parent = os.path.join(shared, "recorded")
    os.makedirs(os.path.join(parent, testrun_uid), exist_ok=True)
    for entry in os.scandir(parent):
        with contextlib.suppress(FileNotFoundError):  # another worker was first
            if entry.stat().st_mtime < time.time() - SLOW_TIMEOUT:
                shutil.rmtree(entry, ignore_errors=True)
    return os.path.join(parent, testrun_uid)


@pytest.fixture
def t(roofs, room, build, directory, programs, surroundings, kept):
    context = harness.Context(build, directory, programs, roofs, surroundings, kept)
    yield context
    context.check_all_figures()
