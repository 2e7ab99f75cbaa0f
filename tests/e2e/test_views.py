"""What several views of one profile show: a roof of one name has one figure, and what is above its roof stands above it."""

import csv
import io
import json
import math
import os
import re
import shutil
import sqlite3
import xml.etree.ElementTree

from browser import Browser
from harness import SOURCE, text
from test_machine_command import check_labels

PROFILE = os.path.join(SOURCE, "tests", "e2e", "golden", "solver.rfp")
NUMBER = r"([\d.]+)"


def three(value):
    """As the texts have it: three significant digits."""
    return float(f"{value:.3g}")


def copy_of(t, *statements):
    """The profile, changed; sums are made anew."""
    path = os.path.join(t.directory, "views.rfp")
    shutil.copy(PROFILE, path)
    base = sqlite3.connect(path)
    for statement in statements:
        base.execute(statement)
    base.commit()
    base.close()
    return path


def views(t, profile, function):
    """All views as text or data: terminal, page, json, csv, svg, html."""
    paths = {form: os.path.join(t.directory, f"views.{form}") for form in ("json", "csv", "svg", "html")}
    files = [word for form, path in paths.items() for word in (f"--{form}", path)]
    table = t.rfprof("report", "-v", "--plot", "--width=1000", *files, profile)
    page = t.rfprof("report", "--width=1000", "-f", function, profile)
    assert table.status == 0 and page.status == 0, f"{table} {page}"
    return {"terminal": table.stdout.decode(), "page": page.stdout.decode(), "json": json.loads(text(paths["json"])),
            "csv": list(csv.DictReader(io.StringIO(text(paths["csv"])))), "svg": text(paths["svg"]), "html": paths["html"]}


def found(pattern, where):
    """The one figure that the pattern names there."""
    figures = set(re.findall(pattern, where))
    assert len(figures) == 1, f"{pattern}: {figures} in\n{where}"
    return float(figures.pop())


def drawn_in(browser, selector):
    return "\n".join(browser.value(f'[...document.querySelectorAll("{selector}")].map(node => node.textContent)'))


def test_a_roof_of_one_name_has_one_figure(t):
    shown = views(t, copy_of(t), "triad")
    threads = shown["json"]["roof_threads"]
    named = {row["mix"]: row["gbytes_per_s"] for row in shown["json"]["bandwidths"] if row["level"] == "DRAM" and row["threads"] == threads}
    assert named["fastest mix"] > named["reading"] > 0, named
    head = found(rf"roofs of {threads} threads: .*, reading .* / DRAM {NUMBER} GB/s", shown["terminal"])
    figures = {"head": {"reading": head}}
    for view, where, pattern in [("plot", shown["terminal"], "{} DRAM "), ("page", shown["page"], "{} "), ("svg", shown["svg"], "DRAM, {} ")]:
        figures[view] = {mix: found(pattern.format(mix) + NUMBER + (" GB/s<" if view == "svg" else r"\b"),
                                    where if view != "page" else "".join(line for line in where.splitlines() if "with other mixes" in line)
                                    ) for mix in ("reading", "fastest mix")}
    with Browser(t.directory) as browser:
        browser.open(shown["html"])
        figures["html"] = {mix: found(f"DRAM, {mix} {NUMBER} GB/s", drawn_in(browser, "#list .roof-label, #list .legend span")) for mix in ("reading", "fastest mix")}
    for row in shown["json"]["machine"]["roofs"]: # the sample has one clock
        per_cycle = row["best"] / shown["json"]["machine"]["clock_ghz"]
        assert row["per_cycle"] is None if row["kind"] == "bandwidth" else abs(row["per_cycle"] - per_cycle) < 1e-9 * per_cycle, row
    for view, figure in figures.items():
        assert figure == {mix: three(named[mix]) for mix in figure}, (view, figures, named)


def test_a_functions_own_roof_is_the_same_in_all_views(t):
    shown = views(t, copy_of(t), "triad")
    row = next(row for row in shown["json"]["functions"] if row["name"] == "triad")
    own = next(level for level in row["levels"] if level["level"] == "DRAM")["bandwidth_gbytes_per_s"]
    cells = next(line for line in shown["csv"] if line["function"] == "triad")
    assert cells["level"] == "DRAM" and abs(float(cells["level_gbytes_per_s"]) - own) < 1e-6 * own, cells
    assert found(rf"\n  DRAM .* {NUMBER} +–\n", shown["page"]) == three(own)
    with Browser(t.directory) as browser:
        browser.open(f"{shown['html']}#f{shown['json']['functions'].index(row)}")
        cells = browser.value("""[...document.querySelectorAll("#page table")].flatMap(table =>
            [...table.querySelectorAll("tbody tr")].map(row => [...row.children].map(cell => cell.textContent))).find(row => row[0] === "DRAM")""")
        assert float(cells[6]) == three(own), cells
        lines = browser.value('[...document.querySelectorAll("#page .roof[data-level=DRAM]")].map(line => +line.dataset.rate)')
        assert len(lines) == 1 and abs(lines[0] - own) < 1e-6 * own, lines


def test_what_is_above_its_roof_stands_above_it_in_all_views(t):
    """The same work in less time: roofs of a fifth."""
    shown = views(t, copy_of(t, "UPDATE roofs SET best = best / 5"), "triad")
    row = next(row for row in shown["json"]["functions"] if row["name"] == "triad")
    cells = next(line for line in shown["csv"] if line["function"] == "triad")
    assert row["above_roof"] and row["distance"] < 0.3 and row["headroom_s"] == 0, row
    assert abs(row["distance"] - row["roof"] / row["point"]) < 1e-9, row
    assert cells["above_roof"] == "1" and float(cells["distance"]) < 0.3, cells
    of_roof = f"{math.ceil(100 / row['distance'])} %!"
    line = next(line for line in shown["terminal"].splitlines() if " triad " in line)
    assert of_roof in line and " 100 %" not in line, line
    assert re.search("!: above the roof: .*triad.*: the machine was faster", shown["terminal"]), shown["terminal"]
    key = line.split()[0]
    assert re.search(rf"above its roof \(!\):.* {key}\b", shown["terminal"]), shown["terminal"]
    assert re.search(rf"[│┤|].*{key}!", shown["terminal"]), shown["terminal"]
    assert found(f"above its roof of {NUMBER}: {of_roof}", shown["page"]) == three(row["roof"])
    ring = re.search(r'<circle class="point"[^>]*data-name="triad"[^>]*>', shown["svg"]).group()
    assert "#c00000" in ring and "red ring: above its roof" in shown["svg"], ring
    check_labels(xml.etree.ElementTree.fromstring(shown["svg"]))
    with Browser(t.directory) as browser:
        browser.open(shown["html"])
        assert of_roof in drawn_in(browser, "#list tbody td")
        assert browser.value('document.querySelectorAll("#list path.point.above").length') > 0


def test_theory_is_drawn_where_it_is_known(t):
    known = copy_of(t, "UPDATE roofs SET theory = 190 WHERE op = 'fma' AND isa = 'avx512f' AND precision = 'double' AND threads = 2",
                    "UPDATE roofs SET theory = 38.4 WHERE op = 'read' AND level = 'DRAM'")
    shown = views(t, known, "triad")
    check_labels(xml.etree.ElementTree.fromstring(shown["svg"]))
    for line in ["theory 190 GFLOP/s<", "DRAM, theory 38.4 GB/s<"]:
        assert line in shown["svg"], line
    with Browser(t.directory) as browser:
        browser.open(shown["html"])
        labels = drawn_in(browser, "#list .roof-label, #list .legend span")
        assert "theory 190 GFLOP/s" in labels and "DRAM, theory 38.4 GB/s" in labels, labels
        assert browser.value('document.querySelectorAll("#list line.theory").length') == 2
    shown = views(t, copy_of(t), "triad")
    assert "theory: not known here" in shown["svg"] and 'class="theory"' not in shown["svg"]
    with Browser(t.directory) as browser:
        browser.open(shown["html"])
        assert "Theory is not known here of arithmetic and this level's bandwidth." in drawn_in(browser, "#list .legend")


def test_zeros_explain_what_is_above_its_roof(t):
    """Rows of zeros are a reason where they are as fast as the point."""
    zeros = "INSERT INTO roofs SELECT (SELECT max(id) FROM roofs) + 1, 2, isa, precision, 'copy_rep', level, threads, {}, {}, {}, {}, " \
            "unit, bytes_convention, 1, 0, 0, 0, 0, 0 FROM roofs WHERE op = 'read' AND level = 'DRAM' AND threads = 1"
    for rate, told in [(30, True), (15, False)]: # copy moves 28.2 GB/s, 3/2 of these
        shown = views(t, copy_of(t, zeros.format(*[rate / 1.5] * 4)), "copy")
        row = next(row for row in shown["json"]["functions"] if row["name"] == "copy")
        assert row["above_roof"] and ("zeros move that fast" in row["why"]) == told, row["why"]


def test_the_picture_fits_its_data(t):
    """Its title is no path, its axes end near what they show, and no ceiling stands above the roof."""
    profile = copy_of(t, "UPDATE facts SET value = '/a/long/way/to/solver --fast' WHERE key = 'command'")
    path = os.path.join(t.directory, "picture.svg")
    assert t.rfprof("report", "--svg", path, profile).status == 0
    root = xml.etree.ElementTree.parse(path).getroot()
    tag = "{http://www.w3.org/2000/svg}"
    assert next(root.iter(tag + "text")).text == "solver"
    low, high = float(root.get("data-y-min")), float(root.get("data-y-max"))
    points = [float(circle.get("data-point")) for circle in root.iter(tag + "circle") if circle.get("class") == "point"]
    peaks = [float(re.match(NUMBER, node.text).group()) for node in root.iter(tag + "text") if re.match(NUMBER + " GFLOP/s [SD]P", node.text or "")]
    assert points and peaks and max(points + peaks) <= high <= 5 * max(points + peaks), (low, high, points, peaks)
    assert low <= min(points) and low >= min(points + [max(peaks) / 100]) / 10, (low, points)
    lines = [(line.get("class"), float(line.get("y1")), float(line.get("y2")), line.get("stroke-width")) for line in root.iter(tag + "line")]
    main = next(y1 for kind, y1, _, width in lines if kind == "peak" and width == "2")
    ceilings = [(y1, y2) for kind, y1, y2, _ in lines if kind == "ceiling"]
    flat = [y1 for y1, y2 in ceilings if y1 == y2]
    assert flat and all(y > main for y in flat), (main, ceilings)


def flat(n, samples, size):
    """Statements: n functions with so many samples of 1 ms each, of code that nothing else has, from `size` on."""
    rows = f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {n})"
    return [f"{rows} INSERT INTO functions SELECT (SELECT count(*) FROM functions) + i, 0, (1 << {size}) + i * 16, "
            f"(1 << {size}) + i * 16 + 16, 'flat_{size}_' || i, '', 0 FROM n",
            f"{rows} INSERT INTO frames SELECT (SELECT count(*) FROM frames) + i, NULL, 0, (1 << {size}) + i * 16 FROM n",
            f"{rows}, s(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM s WHERE k + 1 < {samples}) INSERT INTO samples SELECT "
            f"(SELECT count(*) FROM samples) + i * {samples} + k, 0, 0, 1000000, (SELECT count(*) FROM frames) - 1 - i "
            f"FROM n, s"]


def rows_of(t, profile):
    told = t.rfprof("report", "--width=1000", profile)
    assert told.status == 0, told
    return re.findall(r"^ *\d+ .*\b(flat_\w+)", told.stdout.decode(), re.M), re.findall(r"(\d+) more", told.stdout.decode())


def test_a_flat_profile_is_not_one_sum(t):
    """40 functions of 2 % with 10 samples each: 8 rows with the one that has 10 %; beside one that has most, only that."""
    for samples, expected in (45, 8), (500, 1):
        profile = copy_of(t, "DELETE FROM samples", *flat(40, 10, 41), *flat(1, samples, 42))
        rows, more = rows_of(t, profile)
        assert len(rows) == expected and rows[0] == "flat_42_0" and more == [str(41 - expected)], (rows, more)
