"""The page of --html: source beside instructions, call paths, the plane of instructions, and that all of it fits."""

import json
import math
import os
import sqlite3
import time

from browser import Browser
from harness import text
from test_html import DATA, PLACES, add_samples, check_quiet, choose, detail, log_position, make_functions, report, saved_profile

PROGRAM = r"""
#include <stdio.h>

/* %s */
static double work(double *a, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += a[i] * 1.5;
	return sum;
}

__attribute__((noinline)) static double outer(double *a)
{
	double sum = 0;
	for (int k = 0; k < 40000; k++)
		sum += work(a, 2000 + (k & 7));
	return sum;
}

int main(void)
{
	static double a[2048];
	printf("%%g\n", outer(a));
	return 0;
}
"""
HOSTILE = b"</script><script>hacked=1</script><!--<script> <img src=x onerror=hacked=1> \xe2\x80\xae \xff\xfe \x1b[31m ${hacked=1} ]]>"


def recorded_source(t, *options, comment=b"plain", age=100):
    """A profile of a program and its source, which is that many seconds older than the program."""
    source = os.path.join(t.directory, "own.c")
    program = os.path.join(t.directory, "own")
    with open(source, "wb") as file:
        file.write((PROGRAM % "COMMENT").encode().replace(b"COMMENT", comment))
    done = t.run(["gcc", "-g", "-O1", "-o", program, "own.c"], cwd=t.directory)
    assert done.status == 0, str(done)
    now = time.time()
    os.utime(source, (now - age, now - age))
    path = os.path.join(t.directory, "own.rfp")
    done = t.rfprof("-q", "--cache-sample=1", "--save", path, *options, program, timeout=200)
    assert done.status == 0, str(done)
    return path, source


def index_of(expected, name):
    return next(i for i, row in enumerate(expected["functions"]) if row["name"] == name)


def open_function(browser, html, index):
    browser.open(html)
    browser.value(f'location.hash = "f{index}"')
    browser.until(f"rfprof.last === {index}")


def test_source_stands_beside_its_instructions(t):
    """Each instruction has its line, the lines have their text and the sums of their instructions, and a click on one
    marks the others."""
    profile, source = recorded_source(t)
    html, expected = report(t, profile)
    page = text(html)
    lines = text(source).split("\n")
    kept = json.loads(dict(DATA.findall(page))["sources"])
    own = next(i for i, file in enumerate(kept) if file["file"] == source)
    assert kept[own]["state"] is None and len(kept[own]["lines"]) > 20
    for number, said in kept[own]["lines"]:
        assert said == lines[number - 1].replace("\t", " " * 8), (number, said)
    outer = index_of(expected, "outer")
    code = detail(page, outer)["code"]
    loop = next(i for i, line in enumerate(lines) if "sum += a[i]" in line) + 1
    hot = [row for row in code if row[7] == own and row[8] == loop]
    flop = expected["functions"][outer]["flop"]  # the additions of what `work` gives may be another line's
    assert flop - 40000 <= sum(row[4] for row in hot) <= flop
    assert any(loop["line"] for loop in [dict(line=row[16]) for row in detail(page, outer)["loops"]] if "own.c:" in loop["line"])
    with Browser(t.directory) as browser:
        open_function(browser, html, outer)
        row = f'#page .source tr[data-line="{own}:{loop}"]'
        assert browser.value(f"document.querySelector('{row} .text').textContent.trim()") == lines[loop - 1].strip()
        assert "G" in browser.value(f"document.querySelector('{row}').innerText") or "M" in browser.value(f"document.querySelector('{row}').innerText")
        browser.value(f"document.querySelector('{row}').click()")
        marked = browser.value('[...document.querySelectorAll("#page .code:not(.source) tr.in-line")].map(row => +row.dataset.offset)')
        assert marked == [at[0] for at in hot], (marked, hot)
        browser.value('document.querySelector("#page .code:not(.source) tr[data-line]").click()')
        assert browser.value('document.querySelectorAll("#page .source tr.in-line").length') == 1
        check_quiet(browser)


def test_source_text_is_text(t):
    """Whatever stands in a source file is neither markup nor script, and shown clean."""
    profile, _ = recorded_source(t, comment=HOSTILE)
    html, expected = report(t, profile)
    page = text(html)
    assert "hacked=1" in page and "\u202e" not in page and "\x1b" not in page
    assert "\\u202e" not in page and "\\u001b" not in page, "cleaned, too"
    assert page.count("<script") == page.count("</script") == len(expected["functions"]) + 5
    with Browser(t.directory) as browser:
        outer = index_of(expected, "outer")
        open_function(browser, html, outer)
        assert "hacked=1" in browser.value('document.querySelector("#page .source").innerText'), "the comment is in sight"
        assert browser.value("typeof hacked") == "undefined"
        assert browser.value('document.querySelectorAll("img, #app script").length') == 0
        check_quiet(browser)


def test_source_that_is_not_told(t):
    """A source that was changed behind the program is named and not shown; --no-source and --redact leave all out."""
    profile, source = recorded_source(t, age=-100)
    html, expected = report(t, profile)
    assert "sum += a[i]" not in text(html)
    with Browser(t.directory) as browser:
        open_function(browser, html, index_of(expected, "outer"))
        shown = browser.value('document.querySelector("#page .source").innerText')
        assert source in shown and "newer than the program" in shown, shown
        check_quiet(browser)
    for options, told in (([], True), (["--no-source"], False), (["--redact"], False)):
        profile, _ = recorded_source(t, *options)
        assert (b"sum += a[i]" in open(profile, "rb").read()) == told, options
    profile, _ = recorded_source(t)
    for option in ("--no-source", "--redact"):
        assert "sum += a[i]" not in text(report(t, profile, option)[0]), option


def test_call_paths(t):
    """The steps are those of --folded; widths in the picture are their times; a click, the search and a function's page
    say so, too."""
    profile, _ = recorded_source(t)
    folded = os.path.join(t.directory, "own.folded")
    assert t.rfprof("report", "--folded", folded, profile).status == 0
    html, expected = report(t, profile)
    calls = json.loads(dict(DATA.findall(text(html)))["calls"])["steps"]
    name = lambda step: expected["functions"][step[1]]["name"] if isinstance(step[1], int) else step[1]
    own = {}
    for line in text(folded).splitlines():
        path, us = line.rsplit(" ", 1)
        leaf = path.split(";")[-1]
        own[leaf] = own.get(leaf, 0) + int(us)
    for leaf, us in own.items():
        told = sum(step[3] for step in calls if name(step) == leaf) / 1000
        assert abs(told - us) <= 2 + 1e-3 * us, (leaf, told, us)
    for i, step in enumerate(calls):
        below = sum(child[2] for child in calls if child[0] == i)
        assert step[2] == step[3] + below, (step, below)
    with Browser(t.directory) as browser:
        browser.size(1280, 1000)
        browser.open(html)
        browser.until('Math.abs(+document.querySelector(".flame g[name=all] rect").getAttribute("width") - document.querySelector(".flame").clientWidth) < 0.5')
        frames = browser.value('[...document.querySelectorAll(".flame g.frame")].map(g => [g.getAttribute("name"), +g.querySelector("rect").getAttribute("width")])')
        whole = next(width for shown, width in frames if shown == "all")
        all_ns = sum(step[2] for step in calls if step[0] is None)
        outer = next(step for step in calls if name(step) == "outer")
        width = next(width for shown, width in frames if shown == "outer")
        assert abs(width - whole * outer[2] / all_ns) < 0.5, (width, whole, outer, all_ns)
        browser.value('const search = document.getElementById("search-paths"); search.value = "OUT"; search.dispatchEvent(new Event("input"))')
        said = browser.value('document.querySelector(".calls [role=status]").textContent')
        assert said.startswith("1 found: ") and f"{100 * outer[2] / all_ns:.1f} %" in said, said
        browser.value('document.querySelector(".flame g[name=outer]").dispatchEvent(new MouseEvent("click", {bubbles: true}))')
        browser.until(f'Math.abs(+document.querySelector(".flame g[name=outer] rect").getAttribute("width") - {whole}) < 0.5')
        assert "outer" in browser.value('document.querySelector(".calls [role=status]").textContent')
        browser.value('document.getElementById("whole").click()')
        browser.until(f'Math.abs(+document.querySelector(".flame g[name=outer] rect").getAttribute("width") - {width}) < 0.5')
        index = index_of(expected, "outer")
        open_function(browser, html, index)
        assert "main" in browser.value('[...document.querySelectorAll("#page section")].find(s => s.querySelector("h2").textContent === "Calls").innerText')
        check_quiet(browser)


def test_programs_without_flop(t):
    """The plot opens in the plane of instructions, where each function stands by its instructions, time and bytes."""
    profile = saved_profile(t)
    make_functions(profile, 40, 1)
    base = sqlite3.connect(profile)
    base.execute("UPDATE blocks SET code = x'8b07ffc975fa', size_bytes = 6")  # a load, a decrement, a jump
    base.commit()
    base.close()
    html, expected = report(t, profile)
    rows = expected["functions"]
    with Browser(t.directory) as browser:
        browser.size(1280, 1000)
        browser.open(html)
        choose(browser, "level", "L1")
        assert browser.value('rfprof.state.plane') == "instructions"
        places = browser.value(PLACES)
        timed = {i for i, row in enumerate(rows) if row["time_s"] > 0 and row["instructions"] > 0}
        assert {point["index"] for point in places["points"]} == timed and len(timed) == 40
        for point in places["points"]:
            row = rows[point["index"]]
            assert abs(point["y"] - log_position(places["y"], row["instructions"] / row["elapsed_s"] * 1e-9)) < 0.5, (row["name"], point)
            assert abs(point["x"] - log_position(places["x"], row["instructions"] / (row["load_bytes"] + row["store_bytes"]))) < 0.5, (row["name"], point)
        issue = browser.value('+document.querySelector("#list line.roof[data-rate]:not([data-level])").dataset.rate')
        assert math.isclose(issue, expected["machine"]["issue_width"] * expected["machine"]["clock_ghz"] * browser.value("rfprof.state.threads"))
        check_quiet(browser)


def test_what_moved_adds_up(t):
    """The sums by level are those of the run, and the time that levels bind that of their functions."""
    html, expected = report(t, saved_profile(t))
    traffic, rows = expected["run"]["traffic"], expected["functions"]
    with Browser(t.directory) as browser:
        browser.open(html)
        sums = {row["level"]: row for row in browser.value("levelSums(rfprof.profile).map(({level, read, written, time}) => ({level, read, written, time}))")}
        for level, key in (("L2", "l2_bytes"), ("L3", "l3_bytes"), ("DRAM", "mem_bytes")):
            assert math.isclose(sums[level]["read"] + sums[level]["written"], traffic[key], rel_tol=1e-9, abs_tol=1), (level, sums, traffic)
        assert sums["L1"]["read"] == sum(row["load_bytes"] for row in rows) and sums["L1"]["read"] > 0
        for level, row in sums.items():
            assert math.isclose(row["time"], sum(f["time_s"] for f in rows if f["level"] == level), abs_tol=1e-9), level
        cells = browser.value('[...document.querySelectorAll("#list table.levels tbody tr")].map(row => row.cells[0].textContent)')
        assert cells == list(sums)
        check_quiet(browser)


FITS = """(() => {
	const wide = [...document.querySelectorAll("#list .scroll, #static .scroll")].filter(box => box.offsetParent && box.scrollWidth > box.clientWidth + 1);
	return [document.documentElement.scrollWidth <= innerWidth, wide.length];
})()"""


def test_nothing_is_cut_off(t):
    """At every width the page fits its window and the table of functions its box, with and without scripts."""
    profile = saved_profile(t)
    make_functions(profile, 20, 1)
    base = sqlite3.connect(profile)
    base.execute("UPDATE functions SET name = 'std::vector<std::pair<std::string, std::map<int, std::string>>>::name_' || id || '(int, double)::operator()'")
    base.commit()
    base.close()
    html, _ = report(t, profile)
    with Browser(t.directory) as browser:
        for width in (1400, 1024, 800, 390):
            browser.size(width, 900, mobile=width < 500)
            browser.open(html)
            fits, wide = browser.value(FITS)
            assert fits, width
            box = browser.value('(table => [table.getBoundingClientRect().right, table.closest(".scroll").getBoundingClientRect().right])(document.querySelector("#list table.functions"))')
            assert box[0] <= box[1] + 1, (width, box)
            browser.send("Emulation.setScriptExecutionDisabled", value=True)
            browser.send("Page.navigate", "Page.loadEventFired", url="file://" + html)
            browser.send("Emulation.setScriptExecutionDisabled", value=False)
            assert browser.value("document.documentElement.scrollWidth <= innerWidth"), width
            fill = browser.value('getComputedStyle(document.querySelector("#static svg circle.point")).fill')
            assert fill not in ("rgb(119, 119, 119)", "rgb(160, 160, 160)"), "points have the colours of their bounds"


def test_open(t):
    """--open starts the browser that is named with the page, or says why not; the status stays."""
    profile = saved_profile(t)
    page, seen = os.path.join(t.directory, "a page.html"), os.path.join(t.directory, "seen")
    browser = os.path.join(t.directory, "browser")
    with open(browser, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nprintf %s "$1" >"{seen}.new" && mv "{seen}.new" "{seen}"\n')
    os.chmod(browser, 0o755)
    none = {"DISPLAY": None, "WAYLAND_DISPLAY": None, "BROWSER": None}
    done = t.rfprof("report", "--html", page, "--open", profile, env={**none, "BROWSER": browser})
    assert done.status == 0 and not done.stderr, str(done)
    for _ in range(200):
        if os.path.exists(seen):
            break
        time.sleep(0.05)
    assert text(seen) == os.path.realpath(page)
    for env, said in ((none, "no display"), ({**none, "BROWSER": "/nonexistent/browser"}, "no browser could be started")):
        done = t.rfprof("report", "--html", page, "--open", profile, env=env)
        assert done.status == 0 and said in done.stderr.decode() and "a page.html" in done.stderr.decode(), str(done)
    done = t.rfprof("report", "--open", profile)
    assert done.status == 2 and "--html" in done.stderr.decode(), str(done)
