"""What rfprof says: table, JSON, SVG, profile file, roofs."""

import csv
import itertools
import json
import os
import re
import shlex
import shutil
import sqlite3
import xml.etree.ElementTree

import pytest

import big_profile
from harness import functions, need_samples, text

SVG = "{http://www.w3.org/2000/svg}"
ROW_KEYS = {"name", "module", "time_s", "share", "flop", "flop_by_kind", "load_bytes", "store_bytes", "instructions",
            "gflops", "intensity", "bound", "roof_gflops", "distance", "headroom_s", "threads"}


@pytest.mark.alone
def test_machine_is_measured_once(t):
    """The roofs are measured, make sense, and come from the cache the second time; the whole set, which was measured for
    all tests, and a quick one."""
    whole, first, second = (t.rfprof("machine", "--json", *options, timeout=300)
                            for options in ([], ["--quick", "--refresh"], ["--quick"]))
    for result in (whole, first, second):
        assert result.status == 0, str(result)
    roofs, again = json.loads(first.stdout)["roofs"], json.loads(second.stdout)["roofs"]
    assert roofs == again, "other roofs from the cache"
    assert roofs != json.loads(whole.stdout)["roofs"], "not measured"
    check_sense(json.loads(whole.stdout)["roofs"])
    check_sense(roofs)


def check_sense(roofs):
    def best(**wanted):
        values = [roof["best"] for roof in roofs if all(roof[key] == value for key, value in wanted.items())]
        assert values, f"no roof {wanted} in {roofs}"
        return max(values)

    assert best(kind="compute", precision="double", threads=1) > best(kind="compute", precision="double",
                                                                      isa="scalar", threads=1)
    assert best(kind="bandwidth", level="L1", threads=1) > best(kind="bandwidth", level="DRAM", threads=1)
    assert 0.1 < best(kind="compute", precision="double", isa="scalar", threads=1) < 50


def test_large_profile_from_sums(t):
    """What is recorded has sums; a report from them is the same as one without, also of a program with five times the
    code and 22 times the samples; and the damaged details of a profile are not read for a table."""
    path, big, plain = (os.path.join(t.directory, name) for name in ["a.rfp", "big.rfp", "plain.rfp"])
    recorded = t.rfprof("--save", path, t.target("triad"), timeout=300)
    assert recorded.status == 0, str(recorded)
    big_profile.multiply(path, big, 5, 22)
    big_profile.without_sums(big, plain)
    for options in [[], ["--sort=bytes", "--levels", "--top=500"], ["--sort=flops", "--level=L2", "--plot"], ["--csv=-"],
                    ["--svg=-"]]:
        fast, slow = (t.rfprof("report", *options, file) for file in [big, plain])
        assert fast.status == 0 and fast.stdout, str(fast)
        assert fast.stdout.replace(b"big.rfp", b"plain.rfp") == slow.stdout, f"{options}\n{fast}\n{slow}"
    connection = sqlite3.connect(big)
    connection.execute("UPDATE blocks SET size_bytes = size_bytes + 1")
    connection.commit()
    connection.close()
    assert t.rfprof("report", big).status == 0
    refused = t.rfprof("report", "--by=loop", big)
    assert refused.status != 0 and b'table "blocks" makes no sense' in refused.stderr, str(refused)


def test_processors_make_no_difference(t):
    """What several processors make of a large profile is what one makes of it."""
    path, big = (os.path.join(t.directory, name) for name in ["a.rfp", "big.rfp"])
    recorded = t.rfprof("--save", path, t.target("triad"), timeout=300)
    assert recorded.status == 0, str(recorded)
    big_profile.multiply(path, big, 40)
    assert big_profile.functions_of(big) > 2000
    one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    for options in [["--json=-"], ["--html=-"], ["--json=-", "--by=loop"], ["--json=-", "--by=thread"]]:
        fast, slow = (t.run([*wrapper, t.rfprof_path, "report", *options, big]) for wrapper in [[], one])
        assert fast.status == 0 and fast.stdout, f"{options}: {fast.stderr}"
        assert fast.stdout == slow.stdout, options


def demo(t):
    return os.path.join(t.build_directory, "tests", "demo", "demo")


def is_minor(row):
    """As report/rows/ranking.c has it."""
    linker = os.path.basename(row["module"]).startswith("ld-")
    return row["share"] < 0.005 or row["share"] < 0.05 and (row["samples"] < 20 or linker)


def test_demo_table(t):
    """The demo's parts are all there, with their characters."""
    saved, result = t.recorded(demo(t))
    native = t.run([demo(t)])
    assert result.stdout == native.stdout, f"{native}\n{result}"
    report = json.loads(t.rfprof("report", "--json", "-", saved).stdout)
    table = result.stderr.decode()
    for name in ["stream_triad", "stencil_5_points", "chase_pointers", "reciprocal_roots", "hash_bytes", "heat_step"]:
        assert name in table, f"no {name} in the table\n{table}"
        row = functions(report, name, "demo")[0]
        assert ROW_KEYS <= set(row), f"keys missing: {ROW_KEYS - set(row)}"
        assert row["time_s"] > 0 and row["distance"] > 0, f"{name} has no time or place: {row}"
    triad = functions(report, "stream_triad")[0]
    elements = 80 * (4 << 20)
    assert triad["flop"] == 2 * elements, triad["flop"]
    assert triad["store_bytes"] == 8 * elements, triad["store_bytes"]
    # Where other load takes the machine's bandwidth, the triad falls to less than half of its roof.
    expected = "memory" if triad["distance"] <= 2 else "latency"
    assert expected in (triad["bound"], triad["bound_or"]), triad
    assert abs(triad["intensity"] - 1 / 12) < 0.001, triad["intensity"]
    assert functions(report, "hash_bytes")[0]["flop"] == 0
    assert functions(report, "reciprocal_roots")[0]["flop"] == 2 * 1024 * 160000
    share = sum(row["share"] for row in report["functions"])
    assert 0.95 < share < 1.01 or 95 < share < 101, f"the shares' sum is {share}"
    # rows of little time, of few samples and of the dynamic linker are minor ones, and come behind the others
    ranks = [(is_minor(row), -row["headroom_s"]) for row in report["functions"] if row["headroom_s"] is not None and row["samples"]]
    assert ranks == sorted(ranks), "not ranked by headroom"


def test_traffic_of_a_triad(t):
    """With caches far smaller than its arrays, all simulated, a triad moves what it has to: 24 bytes an element in
    (16 past the caches), 8 out; the table of levels shows it."""
    path = os.path.join(t.directory, "triad.json")
    result = t.rfprof("--no-save", "-v", "--levels", "--json", path, "--cache=L1=32K:8,L2=64K:16", "--cache-sample=1",
                      t.target("triad"), timeout=300)
    assert result.status == 0, str(result)
    report = json.loads(text(path))
    assert report["run"]["traffic"]["source"] == "traced", report["run"]["traffic"]
    for name, allocated in [("triad", 8), ("triad_stream", 0)]:
        triad = functions(report, name)[0]
        elements = triad["flop"] // 2
        written = triad["mem_write_bytes"] + triad["mem_left_bytes"]
        assert elements >= 500000, triad["flop"]
        assert abs(triad["mem_read_bytes"] / (16 * elements) - 1) < 0.02, triad["mem_read_bytes"]
        assert abs(triad["mem_write_allocate_bytes"] / elements - allocated) < 0.16, triad["mem_write_allocate_bytes"]
        assert abs(written / (8 * elements) - 1) < 0.02, written
        assert triad["mem_stderr_bytes"] == 0 and triad["l3_bytes"] is None, triad["mem_stderr_bytes"]
        assert [level["level"] for level in triad["levels"]] == ["L1", "L2", "DRAM"], triad["levels"]
        assert abs(triad["metrics"]["l2_miss_ratio"] - 1) < 0.02, triad["metrics"]
        assert len(triad["loops"]) == 1 and triad["loops"][0]["flop"] == triad["flop"], triad["loops"]
    table = result.stderr.decode()
    assert "memory traffic: traced" in table and "all sets" in table, table


def test_no_traffic_is_said(t):
    """Without it: one line in the table, null in the JSON, never 0."""
    for words, why in [(["--once"], "--once"), (["--traffic=none"], "--traffic=none")]:
        path = os.path.join(t.directory, "none.json")
        result = t.rfprof("--no-save", "-v", "--json", path, *words, "/bin/true", timeout=120)
        assert result.status == 0 and f"memory traffic: none ({why})" in result.stderr.decode(), str(result)
        report = json.loads(text(path))
        assert report["run"]["traffic"]["source"] == "none" and report["run"]["traffic"]["why"] == why
        assert all(row["mem_bytes"] is None and row["levels"] is None for row in report["functions"])


def three_to_one(make_report):
    """A report in which one function runs about three times as long as the other of the same code.  In a
    few hundred samples that may be by chance otherwise: one of four must show it."""
    seen = []
    for _ in range(4):
        report = make_report()
        long, short = (functions(report, name)[0]["time_s"] for name in ["three_times", "one_time"])
        seen.append(f"{long} s and {short} s")
        if 2.4 < long / short < 3.6:
            return report
    raise AssertionError("; ".join(seen))


def test_time_is_where_it_is_spent(t):
    """One function runs three times as long as another of the same code."""
    report = three_to_one(lambda: t.profile([t.program("three_to_one.c")]).json)
    known = sum(functions(report, name)[0]["time_s"] for name in ["three_times", "one_time"])
    time = sum(row["time_s"] or 0 for row in report["functions"])
    assert known / time > 0.95, f"{known} s of {time} s"


def test_both_samplers_agree(t):
    path = os.path.join(t.directory, "s.json")

    def report(sampler):
        result = t.rfprof("--sampler", sampler, "-q", "--no-save", "--json", path, t.program("three_to_one.c"))
        if sampler == "perf" and result.status == 2 and b"perf_event" in result.stderr:
            pytest.skip("perf_event_open is refused here")
        assert result.status == 0, str(result)
        return json.loads(text(path))

    three_to_one(lambda: report("timer"))
    three_to_one(lambda: report("perf"))


def test_saved_profile_redraws_the_same(t):
    """`rfprof report` needs neither program nor binaries and writes what the run wrote."""
    table, again = os.path.join(t.directory, "table"), os.path.join(t.directory, "again")
    program = os.path.join(t.directory, "daxpy")
    shutil.copy(t.target("daxpy"), program)
    result = t.rfprof("-o", table, "--json", table + ".json", "--svg", table + ".svg", program)
    assert result.status == 0, str(result)
    saved = os.path.join(t.work, "rfprof-daxpy.rfp")
    assert os.path.exists(saved), f"not saved as rfprof-daxpy.rfp: {os.listdir(t.work)}\n{result}"
    assert b"saved rfprof-daxpy.rfp" in result.stderr, f"the next step is not named\n{result}"
    os.unlink(program)
    report = t.rfprof("report", "-o", again, "--json", again + ".json", "--svg", again + ".svg")
    assert report.status == 0, str(report)
    for suffix in ["", ".svg"]:
        assert text(table + suffix) == text(again + suffix), f"another {suffix or 'table'}"
    assert json.loads(text(table + ".json")) == json.loads(text(again + ".json")), "another JSON"


def test_svg_is_a_roofline(t):
    path = os.path.join(t.directory, "roofline.svg")
    result = t.rfprof("-q", "--no-save", "--svg", path, t.program("three_to_one.c"))
    assert result.status == 0, str(result)
    root = xml.etree.ElementTree.parse(path).getroot()
    assert root.tag == SVG + "svg", root.tag
    words = " ".join("".join(element.itertext()) for element in root.iter(SVG + "text"))
    for word in ["three_times", "one_time", "GFLOP/s", "DRAM"]:
        assert word.lower() in words.lower(), f"no {word} in: {words}"
    assert list(root.iter(SVG + "circle")), "no point"
    numbers = re.findall(r'[= "](?:nan|-?inf)\b', text(path))
    assert not numbers, numbers


def test_nobody_reads_on(t):
    """Behind `| head` the profile is saved, and the status is the program's."""
    path = os.path.join(t.directory, "saved.rfp")
    script = f'"$@" --save {path} /bin/sh -c "exit 3" 2>&1 | head -n 1; exit ${{PIPESTATUS[0]}}'
    result = t.run(["/bin/bash", "-c", script, "bash", t.rfprof_path])
    assert result.status == 3 and result.stdout.count(b"\n") == 1, str(result)
    report = t.rfprof("report", path)
    assert report.status == 0 and b"could save" in report.stdout, str(report)


def test_where_the_table_goes(t):
    """Standard error, or a file, or standard output, or the log; quiet says nothing."""
    program = ["/bin/echo", "ran"]
    plain = t.rfprof("--no-save", *program)
    assert plain.status == 0 and plain.stdout == b"ran\n", str(plain)
    assert b" wall" in plain.stderr and b"could save" in plain.stderr, str(plain)
    to_stdout = t.rfprof("--no-save", "--stdout", *program)
    assert to_stdout.stdout.startswith(b"ran\n") and b"could save" in to_stdout.stdout, str(to_stdout)
    assert b"could save" not in to_stdout.stderr, str(to_stdout)
    path = os.path.join(t.directory, "table")
    to_file = t.rfprof("--no-save", "-o", path, *program)
    assert to_file.stdout == b"ran\n" and b"could save" not in to_file.stderr, str(to_file)
    assert "could save" in text(path), text(path)
    log = os.path.join(t.directory, "log")
    to_log = t.rfprof("--no-save", "--log", log, *program)
    assert to_log.stdout == b"ran\n" and to_log.stderr == b"", str(to_log)
    assert "rfprof: " in text(log), text(log)
    quiet = t.rfprof("-q", "--no-save", *program)
    assert quiet.stdout == b"ran\n" and quiet.stderr == b"", str(quiet)
    assert os.listdir(t.work) == [], f"--no-save left {os.listdir(t.work)}"


def table_names(output):
    """Function names of the demo in the order of the table's rows; what notes say below them depends on the machine."""
    rows = itertools.takewhile(lambda line: not re.match(r" *[·→]", line), output.splitlines())
    return re.findall(r"\b(stream_triad|chase_pointers|hash_bytes|heat_step|stencil_5_points|reciprocal_roots)\b",
                      "\n".join(rows))


def test_sorts_and_cuts(t):
    saved, _ = t.recorded(demo(t))
    path = os.path.join(t.directory, "rows.json")

    def redraw(*options):
        result = t.rfprof("report", saved, "--json", path, *options)
        assert result.status == 0, str(result)
        return table_names(result.stdout.decode()), json.loads(text(path))["functions"]

    by_name, rows = redraw("--sort", "name", "--top", "1000")
    assert len(by_name) == 6 and by_name == sorted(by_name), by_name
    by_time, rows = redraw("--sort", "time")
    times = {row["name"]: row["time_s"] for row in rows}
    assert by_time == sorted(by_time, key=lambda name: -times[name]), f"{by_time}: {times}"
    by_flop, rows = redraw("--sort", "flops")
    assert by_flop[-1] in ("hash_bytes", "chase_pointers"), by_flop
    one, rows = redraw("--sort", "time", "--top", "1")
    assert len(one) <= 1 and len(rows) > 1, f"{one}, {len(rows)} rows in the JSON"


def test_once_says_so(t):
    """--once: one run, whose times include the counting; the program runs a single time."""
    marker = os.path.join(t.work, "runs")
    command = ["/bin/sh", "-c", f"echo run >> {marker}"]
    result = t.rfprof("--once", "--no-save", *command)
    assert result.status == 0 and text(marker) == "run\n", f"{text(marker)!r}\n{result}"
    assert b"counting" in result.stderr or b"counted run" in result.stderr, f"does not say it\n{result}"
    os.unlink(marker)
    result = t.rfprof("--no-save", *command)
    assert result.status == 0 and text(marker) == "run\nrun\n", f"{text(marker)!r}\n{result}"
    assert b"run 1/2" in result.stderr and b"run 2/2" in result.stderr, f"does not say that it runs twice\n{result}"


def test_says_when_outputs_differ(t):
    """Runs that did not do the same are not silently merged."""
    result = t.rfprof("--no-save", "/bin/sh", "-c", "echo $$; head -c 9 /dev/urandom | base64 | tr 0-9 a-j")
    assert result.status == 0 and b"wrote different output" in result.stderr, str(result)


def test_other_numbers_are_no_other_output(t):
    """Programs print times and process ids: that is no sign of other work."""
    script = "echo took -$(date +%N).5e-3 s, process $$"
    result = t.rfprof("--save", "numbers.rfp", "/bin/sh", "-c", script)
    assert result.status == 0 and b"wrote" not in result.stderr, str(result)
    notes = t.rfprof("report", "-v", "numbers.rfp")
    assert b"other numbers, such as times, in the same words" in notes.stdout, str(notes)


def test_help_names_everything(t):
    result = t.rfprof("help", "run")
    assert result.status == 0 and result.stderr == b"", str(result)
    for word in ["--once", "--quiet", "--no-save", "--top", "--sort", "--svg", "--json", "--output", "--stdout", "--log",
                 "--sampler", "--save", "--csv", "--folded", "--pprof", "--firefox", "--callgrind", "--png"]:
        assert word in result.stdout.decode(), f"no {word}\n{result}"


def test_files_obey_what_shapes_the_table(t):
    """--json, --csv and --svg have the rows of --by, --focus, --ignore and --min; other files refuse them."""
    need_samples()
    path = os.path.join(t.directory, "a.rfp")

    def has_samples(name):
        report = json.loads(t.rfprof("report", "--json=-", path).stdout)
        return any(row["name"] == name and row["samples"] for row in report["functions"])

    for _ in range(20):  # some runs of so few milliseconds leave a function without a sample, and so without a point
        recorded = t.rfprof("--save", path, t.target("triad"), timeout=300)
        assert recorded.status == 0, str(recorded)
        if has_samples("triad") and has_samples("triad_stream"):
            break

    def rows(*options):
        out = os.path.join(t.directory, "out")
        read = {}
        for kind in ["json", "csv", "svg"]:
            result = t.rfprof("report", f"--{kind}={out}.{kind}", *options, path)
            assert result.status == 0, str(result)
            read[kind] = text(f"{out}.{kind}")
        report = json.loads(read["json"])
        names = [row["name"] for row in report["functions"]]
        cells = list(csv.DictReader(read["csv"].splitlines()))
        assert names == [row["function"] for row in cells], f"{names}\n{read['csv']}"
        drawn = xml.etree.ElementTree.fromstring(read["svg"])
        points = {e.get("data-name") for e in drawn.iter(SVG + "circle") if "point" in e.get("class", "").split()}
        for head, _, tail in (point.partition("…") for point in points):
            assert any(name.startswith(head) and name.endswith(tail) for name in names), f"{head}…{tail}: {names}"
        assert points, read["svg"]
        return report["run"]["rows"], names, report

    plain, all_names, whole = rows()
    assert plain == {"by": "function", "focus": None, "ignore": None, "min_share": 0}, plain
    assert "triad" in all_names
    how, names, part = rows("--focus=triad_stream")
    assert how["focus"] == "triad_stream" and names == ["triad_stream"], names
    same = {row["name"]: row for row in whole["functions"]}
    for row in part["functions"]:
        for key in ["flop", "load_bytes", "store_bytes", "instructions", "samples", "time_s", "distance"]:
            assert row[key] == same[row["name"]][key], f"{row['name']}: {key}"
    assert "triad_stream" not in rows("--ignore=triad_stream")[1]
    how, names, part = rows("--min=5%")
    assert how["min_share"] == 0.05 and all(row["share"] >= 0.05 for row in part["functions"]), names
    how, names, part = rows("--by=module")
    assert how["by"] == "module" and "triad" in names and len(names) < len(all_names), names
    assert sum(row["flop"] for row in part["functions"]) == sum(row["flop"] for row in whole["functions"])
    assert any("loop 1" in name for name in rows("--by=loop", "--focus=triad")[1])
    for option in ["--html", "--folded", "--pprof", "--firefox", "--callgrind"]:
        for shape in ["--by=module", "--focus=x", "--ignore=x", "--min=1"]:
            refused = t.rfprof("report", f"{option}=x", shape, path)
            assert refused.status == 2 and option.encode() in refused.stderr, str(refused)
    for option in ["--json", "--csv", "--svg", "--png"]:
        refused = t.rfprof("report", f"{option}=x", "--by=call-path", path)
        assert refused.status == 2 and b"call-path" in refused.stderr, str(refused)


def test_the_command_under_the_table_works(t):
    """What the table says to type shows the page of the worst function, also of a file with a name that needs quotes."""
    path = os.path.join(t.directory, "a 'quoted' $name.rfp")
    recorded = t.rfprof("--save", path, t.program("three_to_one.c"), timeout=300)
    for said in [recorded.stderr.decode(), t.rfprof("report", path).stdout.decode()]:
        command = re.search("→ 1: (\\S+) .*: rfprof (report -f 1 .*)", said)
        assert command, said
        words = shlex.split(command.group(2))
        page = t.rfprof(*words)
        assert words[-1] == path and page.status == 0 and page.stdout.decode().startswith(command.group(1)), f"{words}\n{page}"
    unsaved = t.rfprof("--no-save", t.program("three_to_one.c"), timeout=300).stderr.decode()
    assert ": the same command with -f 1" in unsaved, unsaved


def test_the_newest_profile_is_taken_unasked(t):
    """rfprof report without a file: what was recorded last in this directory; its commands need name no file, either."""
    assert t.rfprof("report").status == 2
    for name in ["true", "echo"]:
        recorded = t.rfprof(f"/bin/{name}")
        assert recorded.status == 0 and b"rfprof report -v\xc2\xb7".replace(b"\xc2", b" \xc2") in recorded.stderr, str(recorded)
        shown = t.rfprof("report")
        assert shown.status == 0 and shown.stdout.startswith(name.encode() + b" "), str(shown)
    os.utime(os.path.join(t.work, "rfprof-true.rfp"))
    assert t.rfprof("report").stdout.startswith(b"true ")
