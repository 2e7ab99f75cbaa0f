"""`rfprof machine`: its options, custom roofs, and the empty plot."""

import contextlib
import glob
import json
import math
import os
import re
import sqlite3
import time
import xml.etree.ElementTree

import pytest

from harness import named, text
from test_errors import as_nobody, check_error, check_usage

SUITE = "e2e/machine"

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(1)</script> & \"q\" 'a'"


def roof(name, value=100, unit="GFLOP/s", source="a data sheet"):
    return {"name": name, "value": value, "unit": unit, "source": source}


def roof_file(t, content, name="given.json"):
    """A file with these roofs, or with this text; returns its path."""
    path = os.path.join(t.directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content if isinstance(content, str) else json.dumps({"roofs": content}))
    return path


def do(t, *arguments, **options):
    result = t.rfprof("machine", *arguments, **options)
    assert result.status == 0 and result.stderr == b"", str(result)
    return result


def kept(t):
    """The custom roofs as the machine's JSON lists them."""
    return json.loads(do(t, "--quick", "--json").stdout)["custom_roofs"]


def drawing(t, *arguments, **options):
    """Root of the empty plot."""
    path = os.path.join(t.directory, "machine.svg")
    do(t, "--svg", path, *arguments, **options)
    return xml.etree.ElementTree.parse(path).getroot()


def words(root):
    return ["".join(element.itertext()) for element in root.iter(SVG + "text")]


def lines(root, kind):
    return [line for line in root.iter(SVG + "line") if line.get("class") == kind]


# ---- usage ----


@pytest.mark.parametrize("value", named({
    f"bad_threads_{value or 'empty'}": value for value in ["0", "-1", "two", "1,", "4-2", "1,,2", "1-9999", ""]}))
def test_bad_threads(t, value):
    check_usage(t.rfprof("machine", "--threads", value), "--threads")


@pytest.mark.parametrize("arguments, word", named({
    "threads_without_list": (["--threads"], "--threads"),
    "unknown_option": (["--frobnicate"], "--frobnicate"),
    "argument": (["now"], "now"),
    "import_and_json": (["--import", "f", "--json"], "--import"),
    "import_and_forget": (["--import", "f", "--forget", "x"], "--import"),
    "forget_and_svg": (["--forget", "x", "--svg", "f"], "--forget"),
}))
def test_bad_usage(t, arguments, word):
    check_usage(t.rfprof("machine", *arguments), word)


def test_help_names_the_options(t):
    result = do(t, "--help")
    for word in ["--refresh", "--quick", "--threads", "--json", "--svg", "--import", "--forget"]:
        assert word in result.stdout.decode(), f"no {word}\n{result}"


def test_quick_and_threads(t):
    """The rows that they ask for are there; what is kept may add others."""
    for arguments in [["--quick"], ["--quick", "--threads", "1"], ["--quick", "--threads", "1-1,1"]]:
        rows = json.loads(do(t, "--json", *arguments).stdout)["roofs"]
        for kind in ["compute", "bandwidth"]:
            assert any(row["kind"] == kind and row["threads"] == 1 for row in rows), f"{arguments}: no {kind} row"


def test_output_that_cannot_be_written(t):
    check_error(t.rfprof("machine", "--svg", "/nonexistent/directory/file"), "/nonexistent/directory")
    check_error(t.rfprof("machine", "--svg", "/dev/full"), "/dev/full", "no space left")
    for option in [[], ["--json"]]:
        with open("/dev/full", "wb") as full:
            check_error(t.rfprof("machine", *option, stdout=full), "cannot write", "no space left")


# ---- the history, and walks by size ----


def store(t):
    """The file in which the roofs of this machine are kept."""
    [path] = [path for path in glob.glob(os.path.join(t.cache, "rfprof", "roofs-*"))
              if json.loads(text(path))["machine"]["cpu_model"] == json.loads(do(t, "--json").stdout)["cpu_model"]]
    return path


def change_store(t, change):
    path = store(t)
    content = json.loads(text(path))
    change(content["machine"])
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


def test_history_and_sizes_are_told(t):
    machine = json.loads(do(t, "--json").stdout)
    for row in machine["roofs"]:
        rates = [visit["best"] for visit in row["history"]]
        assert 1 <= len(rates) <= row["measured"] and len(rates) <= 8, row
        assert row["best"] >= max(rates) * (1 - 1e-9) and row["median"] <= row["best"], row
    zeros = [row for row in machine["roofs"] if row["kind"] == "zeros"]
    assert {"write_nt", "write_rep"} <= {row["op"] for row in zeros} and {row["level"] for row in zeros} >= {"DRAM"}
    sizes = machine["sizes"]
    assert 16 <= len(sizes) <= 32 and sizes == sorted(sizes, key=lambda size: size["bytes"]), sizes
    assert all(size["latency_ns"] <= size["latency_median_ns"] for size in sizes)
    moves = machine["line_transfers"]
    assert len(moves) <= 3 and all(0 < move["best_ns"] <= move["q1_ns"] <= move["median_ns"] <= move["q3_ns"]
                                   for move in moves), moves
    assert bool(moves) == (machine["usable_threads"] > 1)
    pages = machine["pages"]
    assert len(pages["one_set_ns"]) == 3 and pages["one_set_ns"][-1] > 0, pages
    assert pages["first_pages"] <= pages["last_pages"], pages
    assert all(len(pages[key]) == 2 and min(pages[key]) >= 0 for key in ("second_ns", "walk_ns", "huge_walk_ns")), pages
    table = do(t).stdout.decode()
    history = table[table.index("\nHistory\n"):]
    assert "measured" in history.splitlines()[2] and " UTC" in history.splitlines()[2], history
    plot = table[table.index("\nBy size"):].splitlines()
    assert sum("█" in line and " ns " in line and "GB/s" in line for line in plot) == len(sizes), table
    assert any("knee: " in line for line in plot), table


def make_slow(factor):
    """As if this machine had been so many times as fast yesterday."""
    def change(machine):
        for row in machine["roofs"]:
            for key in ["best", "median", "q1", "q3"]:
                row[key] *= factor
            row["history"] = [{"when": int(time.time()) - 86400, "best": row["best"]}]
            row["measured"] = 1
    return change


def facts_of(path):
    with contextlib.closing(sqlite3.connect(path)) as profile:
        return dict(profile.execute("SELECT key, value FROM facts"))


@pytest.mark.alone
def test_runs_measure_roofs_again(t):
    """Some rows, the best stays the roof, and a machine in a slower mode is told so; not with --keep-roofs."""
    saved = os.path.join(t.directory, "saved.rfp")
    path = change_store(t, make_slow(5))
    before = text(path)
    result = t.rfprof("-q", "--keep-roofs", "--save", saved, "/bin/true")
    assert result.status == 0 and text(path) == before and "roofs_now" not in facts_of(saved), str(result)
    for _ in range(20):  # other load holds it off
        result = t.rfprof("-q", "--save", saved, "/bin/true")
        assert result.status == 0 and result.stderr == b"", str(result)
        if text(path) != before:
            break
    else:
        pytest.skip("this machine is too busy to be measured")
    again = [row for row in json.loads(text(path))["machine"]["roofs"] if row["measured"] == 2]
    assert again, "written without a measurement"
    for row in again:
        first, now = row["history"]
        assert first["best"] == row["best"] > 1.2 * now["best"] and now["when"] > first["when"], row
    share = min(row["history"][1]["best"] / row["best"] for row in again)
    assert abs(share - float(facts_of(saved)["roofs_now"])) < 0.001  # the fact has three digits
    report = t.rfprof("report", saved).stdout.decode()
    assert re.search(rf"SLOWER NOW: .* at {100 * share:.0f} % of its roof", " ".join(report.split())), report
    history = do(t).stdout.decode()
    history = history[history.index("\nHistory\n"):history.index("\nBy size")]
    assert f"0 of the {len(again)} that were measured more than once never fell below 80 %" in history, history
    assert sum(line.split()[-1] in ("GB/s", "GFLOP/s", "GOP/s") for line in history.splitlines()[4:] if line) == len(again)


def walks(machine, last):
    """Walks of a thread that has so many bytes of the last cache, whose lines go when they are the least recent."""
    ends = sorted((cache["size_bytes"] for cache in machine["caches"]))
    ends[-1] = last
    sizes = []
    for i in range(32):
        size = 8192 * (4 * max(cache["size_bytes"] for cache in machine["caches"]) / 8192) ** (i / 31)
        beyond = sum(size > end for end in ends)
        latency, read = 1.2 * 4 ** beyond + (40 if beyond == len(ends) else 0), 240 / 2 ** beyond
        sizes.append({"bytes": int(size), "latency_ns": latency, "latency_median_ns": 1.1 * latency, "read_gbs": read,
                      "read_median_gbs": 0.9 * read})
    return sizes


def test_the_last_cache_that_one_has_is_simulated(t):
    """And the reported one with --cache=nominal, and where the walks are of a machine that has all of it."""
    machine = json.loads(do(t, "--json").stdout)
    *inner, reported = sorted(cache["size_bytes"] for cache in machine["caches"])
    if len(inner) < 2 or reported // 8 <= inner[-1]:
        pytest.skip("the last cache is too small to have an eighth of it")

    def simulated(*options):
        traffic = t.profile([t.program("three_to_one.c")], *options).json["run"]["traffic"]
        size = traffic["geometry"].split(",")[-1].split("=")[1].split(":")[0]
        return int(size[:-1]) << {"K": 10, "M": 20, "G": 30}[size[-1]], traffic["geometry_source"]

    change_store(t, lambda machine: machine.update(sizes=walks(machine, reported // 8)))
    assert simulated() == (reported // 8, "effective")
    assert simulated("--cache=nominal") == (reported, "machine")
    result = t.rfprof("--no-save", "-v", t.program("three_to_one.c"))
    assert b"--cache=nominal: as reported" in result.stderr + result.stdout, str(result)
    assert b"what rfprof simulates (--cache=nominal" in do(t).stdout
    checks = json.loads(t.rfprof("doctor", "--json").stdout)
    assert "one thread has" in json.dumps(checks, ensure_ascii=False)
    change_store(t, lambda machine: machine.update(sizes=walks(machine, reported)))
    assert simulated() == (reported, "machine")


# ---- custom roofs ----


def test_import_list_forget(t):
    """What is imported is listed with its source, in the table and in the JSON, until it is forgotten."""
    given = [roof("vendor's peak", 3456.5), roof("DDR5 ünd " + HOSTILE, 38.4, "GB/s", "JEDEC <JESD79-5>")]
    result = do(t, "--import", roof_file(t, given))
    assert b"2 roofs imported" in result.stdout, str(result)
    where = os.path.join(t.directory, ".config", "rfprof", "roofs.json")
    assert where.encode() in result.stdout and json.loads(text(where)) == {"roofs": given}, str(result)
    assert kept(t) == given
    table = do(t).stdout.decode()
    below = table[table.index("stated, not measured"):]
    for word in ["vendor's peak", "3456", "GFLOP/s", "JEDEC <JESD79-5>", "38.4", "GB/s"]:
        assert word in below, f"no {word}\n{table}"
    do(t, "--import", roof_file(t, [roof("vendor's peak", 7)]))
    assert kept(t) == [roof("vendor's peak", 7), given[1]]
    check_error(t.rfprof("machine", "--forget", "vendor"), "vendor")
    assert b"1 custom roof removed" in do(t, "--forget", "vendor's peak").stdout
    assert kept(t) == [given[1]]
    assert b"1 custom roof removed" in do(t, "--forget", "all").stdout
    assert kept(t) == [] and b"stated" not in do(t).stdout


BAD_FILES = {
    "not_json": ("GFLOP/s: 3\n", ["given.json", "not JSON", "line 1"]),
    "empty": ("", ["given.json", "not JSON"]),
    "no_roofs": ('{"roof": []}', ["given.json", "roofs"]),
    "unit": ([roof("good"), roof("odd", 1, "GiB/s")], ["given.json", "roof 2", "odd", "unit", "GB/s"]),
    "negative": ([roof("under", -1)], ["given.json", "roof 1", "under", "value"]),
    "zero": ([roof("none", 0)], ["given.json", "roof 1", "none", "value"]),
    "huge_number": ('{"roofs": [{"name": "a", "value": 1e400, "unit": "GB/s", "source": "x"}]}', ["given.json", "overflow"]),
    "huge_name": ([roof("x" * (2 << 20))], ["given.json", "roof 1", "name", "95 bytes"]),
    "no_name": ([roof("")], ["given.json", "roof 1", "name", "empty"]),
    "no_source": ([roof("a", source="")], ["given.json", "source", "empty"]),
    "escape": ([roof("a\x1b[31m")], ["given.json", "name", "control"]),
    "twice": ([roof("same"), roof("same", 2)], ["given.json", "roof 2", "same", "twice"]),
    "too_many": ([roof(str(n)) for n in range(65)], ["given.json", "65", "64"]),
    "machine_without_rows": ('{"cpu_model": "x", "roofs": []}', ["given.json"]),
    "machine_of_nonsense": ('{"cpu_model": {}, "roofs": [3]}', ["given.json"]),
    "deep": ("[" * 100000, ["given.json", "not JSON"]),
}


@pytest.mark.parametrize("content, wanted", named({f"import_{name}": values for name, values in BAD_FILES.items()}))
def test_bad_file(t, content, wanted):
    check_error(t.rfprof("machine", "--import", roof_file(t, content)), *wanted)
    assert not os.path.exists(os.path.join(t.directory, ".config", "rfprof", "roofs.json")), "something was kept"


def test_import_of_what_is_no_file(t):
    check_error(t.rfprof("machine", "--import", "missing.json"), "missing.json", "no such file")
    check_error(t.rfprof("machine", "--import", t.work), t.work, "directory")


def test_where_roofs_are_kept(t):
    """XDG_CONFIG_HOME, else HOME; without either nothing can be kept, and everything else works."""
    path = roof_file(t, [roof("peak")])
    elsewhere = os.path.join(t.directory, "elsewhere")
    do(t, "--import", path, env={"XDG_CONFIG_HOME": elsewhere})
    assert os.listdir(os.path.join(elsewhere, "rfprof")) == ["roofs.json"]
    assert kept(t) == [], "read from the wrong place"
    nowhere = {"HOME": None, "XDG_CONFIG_HOME": None}
    check_error(t.rfprof("machine", "--import", path, env=nowhere), "XDG_CONFIG_HOME")
    check_error(t.rfprof("machine", "--forget", "all", env=nowhere), "XDG_CONFIG_HOME")
    do(t, env=nowhere)
    result = t.rfprof("-q", "--no-save", "/bin/true", env=nowhere)
    assert result.status == 0 and result.stderr == b"", str(result)


def test_place_that_cannot_be_written(t):
    path = roof_file(t, [roof("peak")])
    prefix = as_nobody(t, t.work)
    closed = os.path.join(t.directory, "closed")
    os.makedirs(closed)
    os.chmod(closed, 0o555)
    os.chmod(path, 0o644)
    env = {"HOME": t.work, "XDG_CONFIG_HOME": closed, "XDG_CACHE_HOME": t.work}
    check_error(t.run([*prefix, t.rfprof_path, "machine", "--import", path], env=env), closed, "XDG_CONFIG_HOME")


def test_corrupt_kept_file(t):
    """It is warned of and left out, never fails a run, and is never overwritten."""
    folder = os.path.join(t.directory, ".config", "rfprof")
    os.makedirs(folder)
    where = os.path.join(folder, "roofs.json")
    with open(where, "w", encoding="utf-8") as file:
        file.write('{"roofs": [')
    run = t.rfprof("-q", "--no-save", "/bin/echo", "ran")
    assert run.status == 0 and run.stdout == b"ran\n", str(run)
    table = t.rfprof("machine")
    assert table.status == 0 and b"DRAM" in table.stdout, str(table)
    for result in [run, table]:
        warning = result.stderr.decode().splitlines()
        assert len(warning) == 1 and where in warning[0] and "custom roofs" in warning[0], str(result)
    path = roof_file(t, [roof("peak")])
    check_error(t.rfprof("machine", "--import", path), where)
    check_error(t.rfprof("machine", "--forget", "all"), where)
    assert text(where) == '{"roofs": [', "the corrupt file was changed"


def test_another_machines_json(t):
    """The output of `rfprof machine --json` elsewhere becomes roofs with its name."""
    machine = json.loads(do(t, "--quick", "--json").stdout)
    machine["cpu_model"] = "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz"
    most = max(row["threads"] for row in machine["roofs"])
    result = do(t, "--import", roof_file(t, json.dumps(machine), "xeon.json"))
    rows = {row["name"]: row for row in kept(t)}
    assert f"{len(rows)} roof".encode() in result.stdout, str(result)

    def best(threads, **wanted):
        return max(row["best"] for row in machine["roofs"] if row["threads"] == threads and row["cpu_node"] is None
                   and all(row[key] == value for key, value in wanted.items()))

    for threads in {1, most}:
        plural = f"{threads} thread" + ("" if threads == 1 else "s")
        peak = rows[f"Xeon Gold 6130: DP peak, {plural}"]
        assert peak["value"] == best(threads, kind="compute", precision="double") and peak["unit"] == "GFLOP/s", peak
        read = rows[f"Xeon Gold 6130: DRAM read, {plural}"]
        assert read["value"] == best(threads, kind="bandwidth", level="DRAM", op="read") and read["unit"] == "GB/s", read
        assert read["source"] == "rfprof machine, Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", read


# ---- pictures ----


def check_line(root, line):
    """A custom line lies where its value says: level, or as steep as a bandwidth."""
    ends = {name: float(root.get("data-" + name)) for name in
            ["x-min", "x-max", "y-min", "y-max", "left", "right", "top", "bottom"]}

    def intensity(x):
        share = (x - ends["left"]) / (ends["right"] - ends["left"])
        return ends["x-min"] * (ends["x-max"] / ends["x-min"]) ** share

    def rate(y):
        share = (ends["bottom"] - y) / (ends["bottom"] - ends["top"])
        return ends["y-min"] * (ends["y-max"] / ends["y-min"]) ** share

    value = float(line.get("data-value"))
    for end in "12":
        x, y = intensity(float(line.get("x" + end))), rate(float(line.get("y" + end)))
        got = y if line.get("data-unit") == "GFLOP/s" else y / x
        assert abs(math.log(got / value)) < 0.005, f"{line.attrib}: {got}"
    # one that is far above what the machine does begins near the right end
    assert float(line.get("x2")) - float(line.get("x1")) > 30, f"too short to see: {line.attrib}"
    assert line.get("stroke-dasharray"), "not dashed"


def corners(element):
    """The rectangle of a label in the plot; letters are at least 5 pixels wide."""
    length = 5.0 * len("".join(element.itertext()))
    if element.get("transform"):
        x, y, angle = (float(word) for word in element.get("transform").replace("translate(", "").replace(
            "rotate(", "").replace(")", "").split())
        angle, base = math.radians(angle), float(element.get("dy"))
    else:
        x, y, angle, base = float(element.get("x")) - length, float(element.get("y")), 0.0, 0.0
    return [(x + along * math.cos(angle) - down * math.sin(angle), y + along * math.sin(angle) + down * math.cos(angle))
            for along, down in [(0, base), (length, base), (length, base - 8), (0, base - 8)]]


def apart(a, b):
    """True where a line separates two rectangles."""
    for shape in [a, b]:
        for k in range(2):
            nx, ny = shape[k + 1][1] - shape[k][1], shape[k][0] - shape[k + 1][0]
            pa, pb = ([nx * x + ny * y for x, y in other] for other in [a, b])
            if max(pa) < min(pb) or max(pb) < min(pa):
                return True
    return False


def check_labels(root):
    labels = [element for element in root.iter(SVG + "text")
              if "halo" in element.get("class", "") and "label" not in element.get("class", "")]
    assert labels, "no label"
    shapes = [(corners(label), "".join(label.itertext())) for label in labels]
    for i, (a, name) in enumerate(shapes):
        for b, other in shapes[:i]:
            assert apart(a, b), f"{name} and {other} overlap"
        for x, y in a:
            assert 78 <= x <= 810 and 62 <= y <= 580, f"{name} leaves the plot"


TWELVE = [roof(HOSTILE, 3000), roof("a vendor's peak with a very long name, all threads, boost", 135), roof("peak", 262),
          roof("12 channels", 460.8, "GB/s"), roof("1 channel", 38.4, "GB/s"), roof("1 channel, other", 38.0, "GB/s"),
          roof("PCIe 4", 31.5, "GB/s"), roof("network", 1.25, "GB/s"), roof("Cray-1", 0.16), roof("Pi", 13.5),
          roof("Pi again", 13.6), roof("屋根", 70, "GB/s")]


def test_rates_per_cycle(t):
    """Beside each compute rate what it is in a cycle of the clock in the head; none beside a bandwidth."""
    machine = json.loads(do(t, "--json").stdout)
    head, _, rest = do(t, "--threads=1").stdout.decode().partition("\nCompute\n")
    compute, _, bandwidth = rest.partition("\nBandwidth\n")
    clocks = [float(word) for word in re.findall(r"([\d.]+) GHz", head)]
    assert "per cycle" in compute and "per cycle" not in bandwidth, rest
    shown = {tuple(line.split()[:3]): line.split() for line in compute.splitlines()}
    rows = [row for row in machine["roofs"] if row["kind"] == "compute" and row["threads"] == 1]
    assert rows
    for row in rows:
        cells = shown[row["precision"], row["isa"], row["op"]]
        clock = machine["clock_fp_ghz"] if row["isa"] in ("avx2", "avx512f", "amx") else machine["clock_ghz"]
        assert min(abs(clock - told) for told in clocks) < 0.006, (clock, head)
        assert abs(float(cells[4]) - row["best"] / clock) <= 0.006 * row["best"] / clock, (cells, row, clock)


def test_empty_plot(t):
    """CPU model, levels, double and single peaks at one and all threads, no points."""
    machine = json.loads(do(t, "--quick", "--json").stdout)
    root = drawing(t, "--quick")
    assert root.tag == SVG + "svg", root.tag
    told = words(root)
    assert told[0] == machine["cpu_model"], told[:2]
    most = max(row["threads"] for row in machine["roofs"])
    levels = {row["level"] for row in machine["roofs"]
              if row["kind"] == "bandwidth" and row["op"] == "read" and row["distinguishable"]}  # "narrow" is no roof
    for threads in {1, most}:
        drawn = {line.get("data-level") for line in lines(root, "roof") if line.get("data-threads") == str(threads)}
        assert drawn == levels, f"{threads} threads: {drawn}, not {levels}"
        for precision in ["DP", "SP"]:
            wanted = f"{threads} thread" + ("" if threads == 1 else "s")
            assert any(precision in word and word.removesuffix(" (= theory)").endswith(wanted) and "GFLOP/s" in word for word in told), told
    assert not list(root.iter(SVG + "circle")) and "bound by" not in told, "points or their legend"
    assert not lines(root, "custom") and "roofs (stated)" not in told
    check_labels(root)


def test_custom_roofs_in_the_plot(t):
    """Twelve of them, near each other and hostile: each is where it belongs and has its name."""
    do(t, "--import", roof_file(t, TWELVE))
    root = drawing(t, "--quick")
    drawn = lines(root, "custom")
    assert [line.get("data-name") for line in drawn] == [row["name"] for row in TWELVE]
    for line in drawn:
        check_line(root, line)
        assert line.find(SVG + "title") is not None
    assert not list(root.iter(SVG + "script")), "a name became an element"
    told = "\n".join(words(root))
    for row in TWELVE:
        head = row["name"][:8]
        assert head in told, f"{row['name']} is not named in {told}"
    check_labels(root)


def test_absurd_values(t):
    """What no picture could show beside this machine is named and not drawn."""
    do(t, "--import", roof_file(t, [roof("tiny", 1e-300), roof("vast", 1e300), roof("still", 5e-324, "GB/s"),
                                    roof("warp", 1.7e308, "GB/s"), roof("sane", 100)]))
    root = drawing(t)
    assert [line.get("data-name") for line in lines(root, "custom")] == ["sane"]
    told = words(root)
    for name in ["tiny", "vast", "still", "warp"]:
        assert name in told, told
    path = os.path.join(t.directory, "machine.svg")
    for word in ["nan", "inf"]:
        assert f'"{word}' not in text(path) and f'"-{word}' not in text(path), word


def test_sixty_four(t):
    do(t, "--import", roof_file(t, [roof(f"roof {n}", 50 + n) for n in range(64)]))
    root = drawing(t)
    assert len(lines(root, "custom")) == 64
    assert any(word.startswith("and ") and word.endswith(" more") for word in words(root))
    check_labels(root)


def test_custom_roofs_of_a_run(t):
    """A run draws them and keeps them: the saved profile shows them after they are forgotten."""
    do(t, "--import", roof_file(t, TWELVE[:5]))
    first, again, saved = (os.path.join(t.directory, name) for name in ["first.svg", "again.svg", "saved.rfp"])
    result = t.rfprof("-q", "--svg", first, "--save", saved, t.program("three_to_one.c"))
    assert result.status == 0 and result.stderr == b"", str(result)
    do(t, "--forget", "all")
    result = t.rfprof("report", "--svg", again, saved)
    assert result.status == 0, str(result)
    assert text(first) == text(again), "another picture without the kept roofs"
    root = xml.etree.ElementTree.parse(again).getroot()
    assert [line.get("data-name") for line in lines(root, "custom")] == [row["name"] for row in TWELVE[:5]]
    for line in lines(root, "custom"):
        check_line(root, line)
    assert list(root.iter(SVG + "circle")), "no points"
