"""rfprof diff on the two checked-in profiles; RFPROF_REWRITE_GOLDEN=1 rewrites the golden files."""

import json
import os
import xml.etree.ElementTree

from harness import text
from test_export import GOLDEN, PROFILE, expect_golden

AFTER = os.path.join(GOLDEN, "solver_after.rfp")
SVG = "{http://www.w3.org/2000/svg}"


def diff(t, *options, a="solver.rfp", b="solver_after.rfp", status=0):
    result = t.rfprof("diff", a, b, *options, cwd=GOLDEN)
    assert result.status == status, str(result)
    return result


def near(a, b):
    """Twelve digits are written."""
    return a == b if a is None or b is None else abs(a - b) <= 1e-11 * abs(b)


def test_comparison_is_as_checked_in(t):
    expect_golden("diff.txt", diff(t).stdout)
    expect_golden("diff.json", diff(t, "--json", "-").stdout)


def test_values_are_those_of_the_reports(t):
    """Both sides of each function, and the sums, are what the two reports say."""
    answers = []
    for profile in [PROFILE, AFTER]:
        result = t.rfprof("report", profile, "--json", "-")
        assert result.status == 0, str(result)
        answers.append({row["name"]: row for row in json.loads(result.stdout)["functions"]})
    comparison = json.loads(diff(t, "--json", "-").stdout)
    for row in comparison["functions"]:
        for side, rows in zip("ab", answers):
            own = rows.get(row["name"])
            for key in ["time_s", "flop", "distance", "headroom_s"]:
                if own and (key != "flop" or own["instructions"]) and (key != "distance" or own["time_s"]):
                    assert near(row[key][side], own[key]), f"{row['name']} {key} {side}: {row[key]}, {own[key]}"
    total = sum(row["time_s"] for row in answers[1].values())
    assert abs(comparison["total"]["time_s"]["b"] / total - 1) < 1e-9, comparison["total"]
    assert {row["name"]: row["verdict"] for row in comparison["functions"]}["fresh"] == "added"


def test_exit_status_says_what_is_met(t):
    """3 when a condition is met, 2 for trouble, 0 else; each condition that is met is named."""
    diff(t, "--fail-on", "time>5%")
    met = diff(t, "--fail-on", "time>5%", "--fail-on", "dot:time>40%", "--fail-on", "wall<1.3s", status=3)
    assert met.stderr.count(b"--fail-on") == 2 and b"dot: time 0.300 s" in met.stderr, str(met)
    assert b"rfprof diff: A " in met.stdout, "the table is written all the same"
    for words in [["--fail-on", "tiem>5%"], ["--fail-on", "nobody:time>5%"], ["--fail-on", "time"], ["--svg", "/proc/x.svg"]]:
        trouble = diff(t, *words, status=2)
        assert trouble.stderr.count(b"\n") == 1, str(trouble)
    diff(t, a="nowhere.rfp", status=2)
    alone = t.rfprof("diff", PROFILE)
    assert alone.status == 2 and b"two profiles" in alone.stderr, str(alone)
    same = diff(t, "--fail-on", "*:time>0%", "--fail-on", "*:time<0%", "--fail-on", "headroom>0%", b="solver.rfp")
    assert b"same within noise" in same.stdout and b"faster" not in same.stdout, str(same)


def test_plot_has_arrows_between_the_points(t):
    path = os.path.join(t.directory, "diff.svg")
    diff(t, "--svg", path)
    root = xml.etree.ElementTree.parse(path).getroot()
    before = {circle.get("data-name"): circle for circle in root.iter(SVG + "circle")
              if circle.get("class", "").startswith("before")}
    after = {circle.get("data-name"): circle for circle in root.iter(SVG + "circle")
             if circle.get("class", "").startswith("point")}
    assert {"triad", "dot", "masked_add"} <= set(before) and {"triad", "dot"} <= set(after), f"{set(before)} {set(after)}"
    assert before["masked_add"].get("class") == "before gone" and "masked_add" not in after
    x, low, high = (float(circle.get(key)) for circle, key in [(before["triad"], "cx"), (after["triad"], "cy"),
                                                              (before["triad"], "cy")])
    assert low < high, "the triad is faster: its point rises"
    arrows = [line for line in root.iter(SVG + "line") if line.get("class") == "change"]
    assert any(abs(float(line.get("x1")) - x) < 0.1 and abs(float(line.get("x2")) - x) < 0.1 and
               low < float(line.get("y2")) < float(line.get("y1")) < high for line in arrows), text(path)
    itself = diff(t, "--svg", path, b="solver.rfp")
    assert itself.status == 0
    assert not [line for line in xml.etree.ElementTree.parse(path).getroot().iter(SVG + "line")
                if line.get("class") == "change"], "no arrow where nothing changed"
