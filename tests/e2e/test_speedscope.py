"""Imports by speedscope itself (npm package `speedscope`, in Chromium): what it makes of the exports is what it writes as
its own format again.  RFPROF_SPEEDSCOPE names the package's folder where `npm root -g` does not have it."""

import base64
import collections
import json
import os
import shutil
import subprocess

import pytest

from browser import Browser
from harness import SOURCE

PROFILE = os.path.join(SOURCE, "tests", "e2e", "golden", "solver.rfp")
HOOK = """(() => {
	const real = URL.createObjectURL;
	URL.createObjectURL = blob => { blob.text().then(text => { window.exported = text; }); return real(blob); };
	const button = [...document.querySelectorAll("div")].filter(e => /Export$/.test(e.textContent) && e.childElementCount < 3);
	button.forEach(e => e.click());
	return button.length;
})()"""


def page():
    """speedscope's own page."""
    folder = os.environ.get("RFPROF_SPEEDSCOPE")
    if not folder and shutil.which("npm"):
        found = subprocess.run(["npm", "root", "-g"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
        folder = os.path.join(found.stdout.decode().strip(), "speedscope")
    path = os.path.join(folder or "", "dist", "release", "index.html")
    if not folder or not os.path.exists(path):
        pytest.skip("speedscope is not installed (npm install -g speedscope, or RFPROF_SPEEDSCOPE)")
    return path


def imported(t, form):
    """An export as speedscope has read it."""
    index, data = page(), os.path.join(t.directory, "solver." + form)
    result = t.rfprof("report", PROFILE, f"--{form}", data)
    assert result.status == 0, str(result)
    script = os.path.join(t.directory, form + ".js")
    with open(data, "rb") as source, open(script, "w", encoding="ascii") as file:
        file.write(f"speedscope.loadFileFromBase64({json.dumps('solver.' + form)}, "
                   f"{json.dumps(base64.b64encode(source.read()).decode())})")
    with Browser(t.directory) as browser:
        browser.open(f"{index}#localProfilePath={script}")
        browser.until('document.body.textContent.includes("Export")')
        assert browser.value(HOOK) > 0, "no button for an export"
        browser.until("window.exported")
        return json.loads(browser.value("window.exported"))


def own_weights(profile, frames):
    """Weight by the name of the innermost frame; profiles are lists of samples, or frames that open and close."""
    own = collections.Counter()
    if profile["type"] == "sampled":
        for stack, weight in zip(profile["samples"], profile["weights"]):
            own[frames[stack[-1]]["name"]] += weight
        return own
    stack, last = [], profile["startValue"]
    for event in profile["events"]:
        if stack:
            own[frames[stack[-1]]["name"]] += event["at"] - last
        last = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            assert stack.pop() == event["frame"], event
    assert not stack and last == profile["endValue"]
    return own


def check(t, own, key, scale, slack, called=lambda name: name):
    """slack: of each function's weight, by rounding, in the unit of the report."""
    result = t.rfprof("report", PROFILE, "--json", "-")
    expected = collections.Counter()
    for row in json.loads(result.stdout)["functions"]:
        expected[called(row["name"])] += row[key] or 0
    checked = 0
    for name, value in expected.items():
        if value > 0 and not name.startswith("["):
            assert abs(own[name] * scale - value) <= slack, f"{name}: {own[name] * scale}, not {value}\n{own}"
            checked += 1
    assert checked >= 2, expected


def test_reads_folded_stacks(t):
    """Collapsed stacks: each function's own time, in µs."""
    read = imported(t, "folded")
    assert len(read["profiles"]) == 1, read["profiles"]
    check(t, own_weights(read["profiles"][0], read["shared"]["frames"]), "time_s", 1e-6, 2e-5,
          lambda name: name.replace(";", ":") or "?")


def test_reads_pprof(t):
    """profile.proto: one type of the several, as in the report.  1.25 takes the last, bytes, and not the one that the file
    names as the default, time."""
    read = imported(t, "pprof")
    own = collections.Counter()
    for profile in read["profiles"]:
        own += own_weights(profile, read["shared"]["frames"])
    units = {profile["unit"] for profile in read["profiles"]}
    assert units in ({"bytes"}, {"nanoseconds"}), units
    if units == {"bytes"}:
        check(t, own, "mem_bytes", 1, 2)
    else:
        check(t, own, "time_s", 1e-9, 1e-6)
