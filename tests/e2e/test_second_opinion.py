"""What llvm-mca says of loops stands beside rfprof's own figure, where it is installed and new enough."""

import json
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

from harness import text

HERE = os.path.dirname(os.path.abspath(__file__))
PROFILE = os.path.join(HERE, "golden", "solver.rfp")
LOOP = r"with all data in L1: ([\d.]+) cycles a turn, ([\d.]+) by (llvm-mca\S*) for (\S+?)(, whose table is another core's)?\n"
# Says that it is VERSION, knows the processors that begin with KNOWN and has their resources begin with OWN, and keeps what it is given.
FAKE = """#!/bin/sh
[ "$1" = --version ] && { echo "  LLVM version VERSION"; exit; }
for word; do case "$word" in -mcpu=*) cpu=${word#-mcpu=};; esac; done
cat >> KEPT
case "$cpu" in KNOWN*) ;; *) exit 1;; esac
echo '{"CodeRegions": [{"SummaryView": {"Iterations": 200, "TotalCycles": 2500}}],
       "TargetInfo": {"CPUName": "'"$cpu"'", "Resources": ["OWNAGU0", "a\\u0000b"]}}'
"""
# By the name that rfprof has: what LLVM calls it, and the resources of its own table.
CORES = {"Zen 2": ("znver2", "Zn2"), "Zen 4": ("znver4", "Zn4"), "Zen 5": ("znver4", "Zn5"), "Ice Lake-SP": ("icelake-server", "ICX"),
         "Emerald Rapids": ("sapphirerapids", "SPR")}


def page(t, path, name, directory):
    result = t.rfprof("report", "--ecm", "--width=200", f"--function={name}", path, env={"PATH": f"{directory}:/usr/bin:/bin"})
    assert result.status == 0 and result.stderr == b"", str(result)
    return result.stdout.decode()


def fake(t, version="17.0.1", cpu="znver4", own="Zn4", name="llvm-mca"):
    """A directory in front of PATH, and the file that it keeps what it is given in."""
    directory = os.path.join(t.directory, f"bin-{version}-{cpu}-{own}-{name}")
    kept = os.path.join(directory, "kept")
    os.makedirs(directory, exist_ok=True)
    program = os.path.join(directory, name)
    with open(program, "w", encoding="utf-8") as file:
        file.write(FAKE.replace("VERSION", version).replace("KEPT", kept).replace("KNOWN", cpu).replace("OWN", own))
    os.chmod(program, 0o755)
    return directory, kept


def of_core(t, core):
    """The profile as if it had been made on that core, and a function of it with loops."""
    copy, report = os.path.join(t.directory, "copy.rfp"), os.path.join(t.directory, "report.json")
    shutil.copy(PROFILE, copy)
    with sqlite3.connect(copy) as database:
        database.execute("INSERT OR REPLACE INTO facts (key, value) VALUES ('microarchitecture', ?)", (core,))
    database.close()
    assert t.rfprof("report", f"--json={report}", copy).status == 0
    name = next(f["name"] for f in json.loads(text(report))["functions"] if f["loops"] and f["ecm"])
    return copy, name


@pytest.mark.parametrize("core", CORES)
def test_it_is_asked_for_this_core(t, core):
    cpu, own = CORES[core]
    directory, kept = fake(t, cpu=cpu, own=own)
    loops = re.findall(LOOP, page(t, *of_core(t, core), directory))
    assert loops and all(loop[1:3] == ("12.5", "llvm-mca") and loop[3] == cpu and not loop[4] for loop in loops), loops
    # what it is given is assembly
    given = text(kept)
    assert len(given.splitlines()) > 2
    assembled = subprocess.run(["as", "-o", os.devnull], input=given, capture_output=True, text=True, check=False)
    assert assembled.returncode == 0, assembled.stderr


@pytest.mark.parametrize("own, other", [("Zn4", True), ("Zn", True), ("Zn5", False), ("Zn52", True)])
def test_the_table_of_another_core_is_told(t, own, other):
    directory, _ = fake(t, own=own)
    loops = re.findall(LOOP, page(t, *of_core(t, "Zen 5"), directory))
    assert loops and all(bool(loop[4]) == other for loop in loops), loops


@pytest.mark.parametrize("core, how", [("Zen 4", {"version": "15.0.7"}), ("Zen 4", {"cpu": "haswell"}), ("of somebody", {})])
def test_without_one_that_knows_nothing_is_said(t, core, how):
    directory, _ = fake(t, **how)
    assert "by llvm-mca for" not in page(t, *of_core(t, core), directory)


def test_the_name_of_a_package(t):
    directory, _ = fake(t, version="40.1.0", name="llvm-mca-40")
    assert "by llvm-mca-40 for znver4\n" in page(t, *of_core(t, "Zen 4"), directory)


def installed():
    for name in ("llvm-mca", *(f"llvm-mca-{version}" for version in range(40, 15, -1))):
        if shutil.which(name):
            said = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout
            version = re.search(r"LLVM version (\d+)", said)
            if version and int(version[1]) >= 16:
                return True
    return False


def test_the_real_one(t):
    if not installed():
        pytest.skip("no llvm-mca from 16 on")
    loops = re.findall(LOOP, page(t, *of_core(t, "Ice Lake-SP"), "/usr/bin"))
    assert loops and all(0.2 < float(own) / float(its) < 5 for own, its, _, _, _ in loops), loops
