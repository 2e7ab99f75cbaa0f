"""What concerns caches, processors and roofs, on machines that are made up (machines.py): nothing that a test asserts
may hang on the machine that it runs on.

A few machines in the default suite, all with --slow; `--machine NAME` runs any other test on one of them.
"""

import pytest

import test_doctor
import test_export
import test_machine_command
import test_report
import test_targets
import test_traffic
from machines import MACHINES

QUICK = ["small", "large", "one_cpu"]
CASES = [
    test_doctor.test_agrees_with_a_run, test_doctor.test_table,
    test_export.test_exports_after_a_run_are_those_of_the_file,
    test_machine_command.test_another_machines_json, test_machine_command.test_empty_plot,
    test_machine_command.test_custom_roofs_in_the_plot, test_machine_command.test_quick_and_threads,
    test_report.test_no_traffic_is_said, test_report.test_once_says_so, test_report.test_saved_profile_redraws_the_same,
    test_report.test_sorts_and_cuts, test_report.test_svg_is_a_roofline, test_report.test_time_is_where_it_is_spent,
    test_report.test_traffic_of_a_triad,
    test_targets.test_counts_per_thread,
    test_traffic.test_evadable, test_traffic.test_gather,
]
DEAR = [test_report.test_sorts_and_cuts]  # on one machine only in the default suite


def on_machines():
    for name in MACHINES:
        if name != "this":
            for function in CASES:
                is_quick = name in QUICK and (function not in DEAR or name == QUICK[0])
                marks = [] if is_quick else [pytest.mark.slow]
                suite = function.__module__.removeprefix("test_")
                case = f"{name}/{suite}/{function.__name__.removeprefix('test_')}"
                yield pytest.param(name, function, id=case, marks=marks)


@pytest.mark.parametrize("machine, function", on_machines(), indirect=["machine"])
def test_on(t, machine, function):
    function(t)
