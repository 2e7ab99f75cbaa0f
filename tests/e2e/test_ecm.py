"""Time accounts: the table of --ecm, a function's page, JSON and the page for browsers say the same."""

import json
import os
import re
import shutil
import sqlite3

from browser import Browser
from harness import SOURCE, text

PROFILE = os.path.join(SOURCE, "tests", "e2e", "golden", "solver.rfp")
PARTS = {"core", "chain", "l1_l2", "l2_l3", "memory", "latency", "page_walks", "branches", "shared_core", "rest"}


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


CHANGES = {"vectorised", "blocked_to_l2", "predicted", "prefetched"}


def changes(account):
    return {change["change"]: change for change in account["what_if"]}


def check_potentials(data):
    """Ranked, of functions that are there, and no more than all functions together could save."""
    saved = [row["saved_s"] for row in data["potentials"]]
    assert saved == sorted(saved, reverse=True) and {row["change"] for row in data["potentials"]} <= CHANGES
    assert saved
    for row in data["potentials"]:
        of = [(f["ecm"]["measured_s"], changes(f["ecm"]).get(row["change"]))
              for f in told(data["functions"]) if f["name"] == row["function"]]
        assert any(abs(change["saved_s"] - row["function_saved_s"]) < 1e-9 if change else row["function_saved_s"] < 0.05 * measured
                   for measured, change in of), row
        assert row["function_saved_s"] <= row["saved_s"] <= data["run"]["cpu_time_s"], row


def test_what_if(t):
    """The program's kernels say by their names which change is the one; its measured times are never exceeded."""
    program = t.program(os.path.join(SOURCE, "tests", "targets", "reasons", "kernels.c"),
                        ("-fno-tree-vectorize", "-ffp-contract=off", "-march=x86-64", "-mtune=generic"))
    result = t.profile([program])
    functions = {f["name"]: f for f in result.json["functions"]}
    for name, change in (("branch_random", "predicted"), ("scalar_axpy", "vectorised"), ("scalar_float", "vectorised")):
        found = changes(functions[name]["ecm"])
        assert max(found.values(), key=lambda row: row["saved_s"])["change"] == change, (name, found)
        for row in found.values():
            assert abs(row["seconds"] + row["saved_s"] - functions[name]["ecm"]["measured_s"]) < 1e-9 and row["seconds"] >= 0
    for name in ("chain_sum", "chain_horner"):
        assert "vectorised" not in changes(functions[name]["ecm"]), name
    check_potentials(result.json)
    path = os.path.join(t.directory, "profiled.rfp")
    page = t.rfprof("report", "-f", "branch_random", path).stdout.decode()
    assert re.search(r"without mispredicted branches it would take .* less", page), page
    table = t.rfprof("report", "--ecm", "--width=160", path).stdout.decode()
    assert re.search(r"^ +without mispredicted branches +[\d.]+ m?s +\d+ % +branch_random: ", table, re.MULTILINE), table


def test_prefetched_lines_are_moved(t):
    """A chase through memory that waits for no line still moves its lines: it takes a part of its time, and not nothing."""
    program = t.program(os.path.join(SOURCE, "tests", "targets", "reasons", "memory.c"),
                        ("-fno-tree-vectorize", "-fno-tree-loop-distribute-patterns", "-ffp-contract=off", "-march=x86-64"))
    result = t.profile([program, "64"])
    chase = next(f for f in result.json["functions"] if f["name"] == "chase")
    account, change = chase["ecm"], changes(chase["ecm"])["prefetched"]
    after = account["predicted_s"] - change["saved_s"] * max(1, account["predicted_s"] / account["measured_s"])
    fastest = max(row["gbytes_per_s"] for row in result.json["bandwidths"] if row["level"] == "DRAM")
    assert 0.5 * chase["mem_read_bytes"] / fastest / 1e9 < after < account["predicted_s"], (account, chase["mem_read_bytes"], fastest)


def test_potentials(t):
    check_potentials(report(t))


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


def test_threads(t):
    """What one thread is predicted to take, which ran it, is what is predicted; more never take longer by the clock, nor less than their share."""
    data = report(t)
    assert data["machine"]["usable_threads"] == 2
    for f in told(data["functions"]):
        for account in [f["ecm"]] + [loop["ecm"] for loop in f["loops"]]:
            one, two = account["threads"]
            assert (one["threads"], two["threads"]) == (1, 2)
            if f["threads"] == 1:
                assert abs(one["predicted_s"] - account["predicted_s"]) <= 1e-9 * account["predicted_s"], f["name"]
            assert one["predicted_s"] / 2 * (1 - 1e-9) <= two["predicted_s"] <= one["predicted_s"] * (1 + 1e-9), f["name"]
        one, two = f["ecm"]["threads"]
        if f["flop"]:
            assert abs(two["gflop_per_s"] * two["predicted_s"] - f["flop"] * 1e-9) <= 1e-9 * f["flop"] * 1e-9
        else:
            assert two["gflop_per_s"] is None
        assert two["turns_per_s"] is None
        for loop in f["loops"]:
            row = loop["ecm"]["threads"][1]
            assert abs(row["turns_per_s"] * row["predicted_s"] - loop["turns"]) <= 1e-9 * loop["turns"]
    triad = next(f for f in data["functions"] if f["name"] == "triad")["ecm"]["threads"]
    page = terminal(t, "-f", "triad")
    said = re.search(r"predicted with 1, 2 threads: ([\d.]+), ([\d.]+) GFLOP/s", page)
    assert said, page
    for row, figure in zip(triad, said.groups()):
        assert abs(float(figure) / row["gflop_per_s"] - 1) < 0.005


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
    assert all(len(account) == 9 + len(PARTS) for account in accounts)


def with_threads(t, n):
    """The profile on a machine with so many hardware threads."""
    path = os.path.join(t.directory, f"threads{n}.rfp")
    shutil.copy(PROFILE, path)
    base = sqlite3.connect(path)
    assert base.execute("UPDATE facts SET value = ? WHERE key = 'usable_threads'", (str(n),)).rowcount == 1
    base.commit()
    base.close()
    return path


def page_of(t, profile):
    html, data = profile + ".html", profile + ".json"
    result = t.rfprof("report", f"--html={html}", f"--json={data}", profile)
    assert result.status == 0, str(result)
    return html, json.loads(text(data))


def test_the_page_draws_threads(t):
    """Each point of the plot stands where the figures of JSON put it; the words beside it are these figures."""
    html, data = page_of(t, with_threads(t, 8))
    index = next(i for i, f in enumerate(data["functions"]) if f["name"] == "triad")
    rows = data["functions"][index]["ecm"]["threads"]
    assert [row["threads"] for row in rows] == [1, 2, 3, 4, 6, 8]
    with Browser(t.directory) as browser:
        browser.open(html)
        browser.value(f'location.hash = "f{index}"')
        browser.until(f"rfprof.last === {index}")
        points = browser.value('[...document.querySelectorAll("#page .saturation circle.line-0")].map(c => [c.cx.baseVal.value, c.cy.baseVal.value])')
        ideal = browser.value('(line => [line.x1, line.y1, line.x2, line.y2].map(at => at.baseVal.value))(document.querySelector("#page .saturation .ideal"))')
        words = browser.value('document.querySelector("#page .threads-plot .bar-legend li").innerText')
        assert len(points) == len(rows) and not browser.console
        for (x, y), row in zip(points, rows):
            times = rows[0]["predicted_s"] / row["predicted_s"]
            assert abs(x - ideal[0] - (ideal[2] - ideal[0]) * (row["threads"] - 1) / 7) < 0.5, (x, row)
            assert abs(y - ideal[1] - (ideal[3] - ideal[1]) * (times - 1) / 7) < 0.5, (y, row)
        said = [float(figure) for figure in re.findall(r"threads? ([\d.]+) GFLOP/s", words)]
        assert len(said) == len(rows) and all(abs(figure / row["gflop_per_s"] - 1) < 0.005 for figure, row in zip(said, rows)), words


def test_the_page_has_no_plot_of_one_thread(t):
    html, data = page_of(t, with_threads(t, 1))
    index = next(i for i, f in enumerate(data["functions"]) if f["name"] == "triad")
    with Browser(t.directory) as browser:
        browser.open(html)
        browser.value(f'location.hash = "f{index}"')
        browser.until(f"rfprof.last === {index}")
        assert browser.value('document.querySelectorAll("#page .accounts").length') == 1
        assert browser.value('document.querySelectorAll("#page .saturation").length') == 0


def test_the_page_has_what_changes_would_save(t):
    html, data = page_of(t, with_threads(t, 2))
    with Browser(t.directory) as browser:
        browser.open(html)
        rows = browser.value('[...document.querySelectorAll("#list .potentials tbody tr")].map(row => [...row.cells].map(cell => cell.innerText))')
    assert len(rows) == len(data["potentials"]) > 0
    for shown, row in zip(rows, data["potentials"]):
        value, unit = shown[1].split()
        assert abs(float(value) * {"s": 1, "ms": 1e-3, "µs": 1e-6}[unit] / row["saved_s"] - 1) < 0.005 and shown[3] == row["function"], (shown, row)
