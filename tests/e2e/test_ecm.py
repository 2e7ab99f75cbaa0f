"""Time accounts: the table of --ecm, a function's page, JSON and the page for browsers say the same."""

import json
import os
import re

from harness import SOURCE, text

PROFILE = os.path.join(SOURCE, "tests", "e2e", "golden", "solver.rfp")
PARTS = {"core", "chain", "l1_l2", "l2_l3", "memory", "latency", "branches", "rest"}


def report(t, *options):
    path = os.path.join(t.directory, "report.json")
    result = t.rfprof("report", f"--json={path}", *options, PROFILE)
    assert result.status == 0, str(result)
    return json.loads(text(path))


def terminal(t, *options):
    result = t.rfprof("report", "--width=160", *options, PROFILE)
    assert result.status == 0, str(result)
    return result.stdout.decode()


def told(functions):
    return [f for f in functions if f["ecm"] and f["ecm"]["measured_s"]]


def test_parts_add_up_to_the_measured_time(t):
    functions = told(report(t)["functions"])
    assert functions
    for f in functions:
        assert {part["part"] for part in f["account"]} <= PARTS
        assert abs(sum(part["seconds"] for part in f["account"]) - f["time_s"]) <= 1e-9 * f["time_s"], f["name"]
        rest = sum(part["seconds"] for part in f["account"] if part["part"] == "rest")
        assert abs(f["ecm"]["predicted_s"] + rest - f["ecm"]["measured_s"]) <= 1e-9 * f["time_s"], f["name"]
        assert f["ecm"]["light_speed_s"] <= f["ecm"]["predicted_s"] * (1 + 1e-9)


def test_a_function_is_the_sum_of_its_pieces(t):
    for f in told(report(t)["functions"]):
        outermost = [loop["ecm"] for loop in f["loops"] if loop["parent"] is None]
        assert sum(loop["predicted_s"] for loop in outermost) <= f["ecm"]["predicted_s"] * (1 + 1e-9), f["name"]


def test_cycles_are_of_loops(t):
    data = report(t)
    for f in told(data["functions"]):
        assert f["ecm"]["t_ol"] is None and f["ecm"]["branches"] is None
        for loop in f["loops"]:
            assert loop["ecm"]["t_ol"] >= 0 and loop["ecm"]["t_nol"] >= 0
    assert data["machine"]["ecm"]["source"] == "prior"  # two kernels a level are too few to choose a rule


def test_without_a_prediction_there_is_none(t):
    functions = report(t)["functions"]
    assert any(f["ecm"] is None and f["account"] == [] for f in functions)
    assert all(f["ecm"] is None for f in functions if f["bound"] in ("kernel", "uncounted"))
    shaped = report(t, "--by=module")["functions"]
    assert all(f["ecm"] is None and f["account"] == [] for f in shaped)


def test_the_table_says_the_same(t):
    lines = terminal(t, "--ecm").split("\n")
    head = next(i for i, line in enumerate(lines) if "cycles a turn" in line and "predicted" in line)
    for f in told(report(t)["functions"])[:5]:
        row = next(line for line in lines[head:] if line.strip().startswith(f["name"][:8]))
        ratio = round(100 * f["ecm"]["predicted_s"] / f["ecm"]["measured_s"])
        assert re.search(rf"[ ~]{ratio} %", row), (row, ratio)
    assert "overlap:" in terminal(t, "--ecm")
    assert "cycles a turn" not in terminal(t)


def test_the_page_of_a_function(t):
    page = terminal(t, "-f", "triad")
    assert "why it takes its time" in page and "light speed of the code as it is" in page


def test_rows_are_functions(t):
    for option in ("--by=loop", "--focus=dot", "--ignore=dot", "--min=5%"):
        result = t.rfprof("report", "--ecm", option, PROFILE)
        assert result.status == 2 and b"--ecm" in result.stderr, str(result)


def test_the_page_for_browsers_has_accounts(t):
    path = os.path.join(t.directory, "page.html")
    result = t.rfprof("report", f"--html={path}", PROFILE)
    assert result.status == 0, str(result)
    details = [json.loads(part) for part in re.findall(r'id="detail-\d+">(.*?)</script>', text(path))]
    functions = {f["name"]: f for f in report(t)["functions"]}
    accounts = [detail["ecm"] for detail in details if detail.get("ecm")]
    assert len(accounts) == sum(1 for f in functions.values() if f["ecm"])
    assert all(len(account) == 6 + len(PARTS) for account in accounts)
