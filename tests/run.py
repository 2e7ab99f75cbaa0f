#!/usr/bin/python3
"""Runs the tests of a build: unit tests, then end-to-end tests; called by ./dev test.

The last line is `N passed, N failed`, with `, N skipped` where there are any.  The exit status is 0
when nothing failed, 1 when something did, 2 when there was nothing to run.

What depends on time can fail because others use the machine.  So up to AGAIN tests that fail are run once more,
alone, when all others have ended; one that passes then is called unsteady, with its first failure.
"""

import argparse
import concurrent.futures
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TESTS = os.path.dirname(os.path.abspath(__file__))
FOLDERS = [os.path.join(TESTS, name) for name in ("e2e", "transparency")]
sys.path[:0] = FOLDERS

import harness  # noqa: E402

WORKERS = 2
AGAIN = 4  # more failures are no accident


def restore_signals():
    """A shell ignores Ctrl-C in what it starts in the background, nohup ignores hanging up, and what is
    ignored stays so in all programs that the tests start."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Result:
    """Of one test: "passed", "failed" or "skipped"; seconds or None; what to print with it."""

    def __init__(self, name, outcome, seconds=None, detail=""):
        self.name, self.outcome, self.seconds, self.detail = name, outcome, seconds, detail


def indented(detail):
    return "        " + detail.rstrip().replace("\n", "\n        ")


class Tally:
    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.failures = []  # (result, function that runs it again and returns results)

    def note(self, result, again=None):
        if result.outcome == "failed" and again:
            self.failures.append((result, again))
            return
        self.counts[result.outcome] += 1
        took = "" if result.seconds is None else f" ({result.seconds:.1f} s)"
        reason = f": {result.detail}" if result.outcome == "skipped" else ""
        print(f"{result.outcome:7} {result.name}{took}{reason}", flush=True)
        if result.outcome == "failed" and result.detail:
            print(indented(result.detail), flush=True)

    def settle(self):
        """Runs again what failed, one after the other."""
        are_few = len(self.failures) <= AGAIN
        for first, again in self.failures:
            second = {result.name: result for result in again()} if are_few else {}
            result = second.get(first.name, first)
            if result.outcome == "passed":
                print(f"unsteady {first.name}: passed when run again, alone; before:", flush=True)
                print(indented(first.detail), flush=True)
            self.note(result)

    def line(self):
        skipped = f", {self.counts['skipped']} skipped" if self.counts["skipped"] else ""
        return f"{self.counts['passed']} passed, {self.counts['failed']} failed{skipped}"


def wanted(name, filters):
    return not filters or any(word in name for word in filters)


def unit_tests(build):
    done = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def run_bounded(command, test, directory):
    """Runs a test program of the build; returns its exit status, None when it ran out of time, and its
    output, which goes to a file, so that a process left behind cannot hold this one up."""
    path = os.path.join(directory, "output")
    with open(path, "wb") as file:
        process = subprocess.Popen(command, cwd=test["workdir"] or directory, env={**os.environ, **test["env"]},
                                   stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            status = process.wait(test["timeout"] or None)
        except subprocess.TimeoutExpired:
            status = None
        harness.end_group(process.pid)
        process.wait()
    with open(path, errors="replace", encoding="utf-8") as file:
        return status, file.read()


def unit_results(test):
    """Of one test program of the build; those named test_MODULE are Criterion's and report in TAP."""
    name = "unit/" + test["name"]
    criterion = os.path.basename(test["cmd"][0]).startswith("test_")
    with tempfile.TemporaryDirectory() as where:
        tap = os.path.join(where, "tap")
        command = test["cmd"] + (["--tap=" + tap] if criterion else [])
        start = time.monotonic()
        status, output = run_bounded(command, test, where)
        seconds = time.monotonic() - start
        lines = harness.text(tap).splitlines() if criterion and os.path.exists(tap) else []
    outcomes = [match for match in map(re.compile(r"(not ok|ok) +- +(\S+)(.*)").match, lines) if match]
    results = []
    for match in outcomes:
        skipped = "# skip" in match[3].lower()
        outcome = "skipped" if skipped else "passed" if match[1] == "ok" else "failed"
        detail = output if outcome == "failed" else match[3]
        results.append(Result("unit/" + match[2].replace("::", "/"), outcome, None, detail))
    if status == 77 and not outcomes:
        results.append(Result(name, "skipped", seconds, output.strip()))
    elif status != 0 and not any(match[1] == "not ok" for match in outcomes):
        reason = "not finished in time" if status is None else f"exit status {status}"
        results.append(Result(name, "failed", seconds, f"{reason}\n{output}"))
    elif not outcomes:
        results.append(Result(name, "passed", seconds))
    return results


def run_unit_test(test, tally):
    for result in unit_results(test):
        tally.note(result, lambda: unit_results(test))


def run_case(case, build, programs, roofs):
    directory = tempfile.mkdtemp(prefix="rfprof-test-")
    start = time.monotonic()
    try:
        os.chmod(directory, 0o755)
        case.function(harness.Context(build, directory, programs, roofs))
        outcome, detail = "passed", ""
    except harness.Skip as skip:
        outcome, detail = "skipped", str(skip)
    except AssertionError as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        outcome, detail = "failed", f"{os.path.basename(where.filename)}:{where.lineno}: {error}"
    except Exception:
        outcome, detail = "failed", traceback.format_exc()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return Result(case.name, outcome, time.monotonic() - start, detail)


def measure_roofs(build, roofs):
    """Measures the roofs once for all cases, or finds them valid from the last time; what is wrong with
    that shows in the cases' results."""
    os.makedirs(roofs, exist_ok=True)
    try:
        subprocess.run([os.path.join(build, "tracer", "rfprof"), "machine"], timeout=300, stdin=subprocess.DEVNULL,
                       capture_output=True, check=True, env={**os.environ, "XDG_CACHE_HOME": roofs})
    except (OSError, subprocess.SubprocessError) as error:
        print(f"the roofs could not be measured: {error}", flush=True)


def run_cases(cases, build, tally):
    programs = harness.Programs(os.path.join(build, "tests", "e2e"))
    roofs = os.path.join(build, "tests", "roofs")

    if cases:
        measure_roofs(build, roofs)

    def run(case):
        tally.note(run_case(case, build, programs, roofs), lambda: [run_case(case, build, programs, roofs)])

    for case in cases:
        if case.alone:
            run(case)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(run, [case for case in cases if not case.alone]))


def load_cases():
    for name in sorted(name for folder in FOLDERS for name in os.listdir(folder)):
        if name.startswith("test_") and name.endswith(".py"):
            importlib.import_module(name[:-3])
    return harness.cases


def main():
    parser = argparse.ArgumentParser(prog="./dev test")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--slow", action="store_true", help="the slow tests too")
    parser.add_argument("--asan", action="store_true", help="with rfprof built with sanitizers")
    parser.add_argument("--list", action="store_true", help="only name the tests")
    parser.add_argument("filter", nargs="*", help="unit, targets, e2e, transparency or part of a name")
    options = parser.parse_args()
    if options.slow:
        os.environ["RFPROF_SLOW"] = "1"  # for the unit tests that have more to do
    options.build = os.path.abspath(options.build)

    units = [test for test in unit_tests(options.build) if wanted("unit/" + test["name"], options.filter)]
    cases = [case for case in load_cases() if wanted(case.name, options.filter)]
    slow = [case for case in cases if case.slow and not options.slow]
    cases = [case for case in cases if case not in slow]
    if options.list:
        for name in ["unit/" + test["name"] for test in units] + [case.name for case in cases]:
            print(name)
        return 0
    restore_signals()
    tally = Tally()
    for test in units:
        run_unit_test(test, tally)
    run_cases(cases, options.build, tally)
    tally.settle()
    if slow:
        print(f"{len(slow)} slow tests left out (./dev test --slow runs them)")
    print(tally.line())
    if not any(tally.counts.values()):
        return 2
    return 1 if tally.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
