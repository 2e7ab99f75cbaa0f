"""rfprof sweep: a program at all points of a parameter space; results are kept, and none is lost (docs/sweep.md)."""

import json
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

import harness

SOURCE = """
#include <stdlib.h>
__attribute__((noinline, noipa)) double add(long n)
{ double s = 1; for (long i = 0; i < n; i++) { s += 1.0; __asm__ volatile("" : "+x"(s)); } return s; }
int main(int argc, char **argv) { if (argc > 2) return atoi(argv[2]); for (int i = 0; i < 4; i++) add(atol(argv[1])%s); return 0; }
"""
OPTIONS = ("--kernel=add", "--repeats=2", "--cache-sample=16", "-q")


def build(t, more="", name="adds"):
    """The program at a place of this test's own, where it can be replaced."""
    source = os.path.join(t.directory, f"{name}.c")
    with open(source, "w") as file:
        file.write(SOURCE % more)
    path = os.path.join(t.directory, name)
    shutil.copy(t.program(source, ("-O1",)), path + ".new")
    os.rename(path + ".new", path)
    return path


def sweep(t, *arguments, status=0, **options):
    result = t.rfprof("sweep", *OPTIONS, "--json=-", *arguments, cwd=t.directory, **options)
    assert result.status == status, result
    return json.loads(result.stdout)["points"] if status == 0 else result


def n_kept(path):
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return connection.execute("SELECT count(*) FROM repeats").fetchone()[0]


def rows(path):
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT * FROM repeats ORDER BY id").fetchall()


def test_points(t):
    program = build(t)
    points = sweep(t, "n=1000:3000:1000", "--", program, "{n}")
    assert [point["parameters"] for point in points] == [{"n": "1000"}, {"n": "2000"}, {"n": "3000"}]
    for point in points:
        n = int(point["parameters"]["n"])
        assert (point["kernel"], point["repeats"], point["calls"]) == ("add", 2, 4)
        assert set(point["flop"].values()) == {n}
        assert point["mem_read_bytes"]["min"] >= 0
        if point["time_s"]:
            time_s = point["time_s"]
            assert time_s["min"] <= time_s["q1"] <= time_s["median"] <= time_s["q3"] <= time_s["max"]


def test_nothing_is_measured_twice(t):
    program = build(t)
    command = ("n=1000,2000", "--", program, "{n}")
    sweep(t, *command)
    path = os.path.join(t.directory, "sweep.rfp")
    before = rows(path)
    sweep(t, *command)
    assert rows(path) == before
    sweep(t, "n=1000,2000,3000", "--", program, "{n}")
    assert rows(path)[:len(before)] == before and n_kept(path) == 6


def test_what_has_changed_is_measured_again(t):
    program = build(t)
    command = ("n=1000", "--", program, "{n}")
    path = os.path.join(t.directory, "sweep.rfp")
    sweep(t, *command)
    build(t, "+1")
    assert sweep(t, *command)[0]["flop"]["median"] == 1001
    assert n_kept(path) == 2  # of the program that is gone nothing is kept
    before = n_kept(path)
    sweep(t, *command, env={"OMP_NUM_THREADS": "3"})
    assert n_kept(path) == before + 2
    sweep(t, *command, env={"NOT_LISTED": "3"})
    assert n_kept(path) == before + 2
    sweep(t, "--env=LISTED", *command, env={"LISTED": "3"})
    assert n_kept(path) == before + 4
    sweep(t, "--cache=L1=32K:8,L2=256K:8,L3=1M:16", *command)
    assert n_kept(path) == before + 6


def test_dry_run(t):
    program = build(t)
    sweep(t, "n=1000", "--", program, "{n}")
    result = t.rfprof("sweep", *OPTIONS, "--dry-run", "n=1000,2000", "--", program, "{n}", cwd=t.directory)
    assert b"2 kept, 0 to run" in result.stdout and b"0 kept, 2 to run" in result.stdout
    assert b"2 points, 2 runs" in result.stdout
    assert n_kept(os.path.join(t.directory, "sweep.rfp")) == 2


def test_dry_run_makes_no_file(t):
    result = t.rfprof("sweep", "--dry-run", "n=1", "--", "true", "{n}", cwd=t.directory)
    assert result.status == 0 and b"0 kept, 5 to run" in result.stdout
    assert not os.path.exists(os.path.join(t.directory, "sweep.rfp"))


def test_a_point_that_fails_is_left_out(t):
    program = build(t)
    result = t.rfprof("sweep", *OPTIONS, "--json=points.json", "s=0,3", "--", program, "1000", "{s}", cwd=t.directory)
    assert result.status == 1
    assert b"status 3" in result.stderr and b"left out" in result.stderr
    with open(os.path.join(t.directory, "points.json")) as file:
        assert [point["repeats"] for point in json.load(file)["points"]] == [2, 0]


def test_budget(t):
    """What is left of it goes to more repeats."""
    program = build(t)
    points = sweep(t, "--budget=15s", "n=3000000,6000000", "--", program, "{n}")
    assert all(point["repeats"] >= 2 for point in points)
    assert sum(point["repeats"] for point in points) > 4


@pytest.mark.parametrize("words", [("n=1:2",), ("--", "true", "{m}"), ("n=1", "--", "true"), ("--budget=soon", "true"),
                                   ("--kernel=a,a", "true")])
def test_refused(t, words):
    result = t.rfprof("sweep", *words, cwd=t.directory)
    assert result.status == 2 and result.stderr
    assert not os.path.exists(os.path.join(t.directory, "sweep.rfp"))


def test_another_file_is_refused(t):
    path = os.path.join(t.directory, "other.rfp")
    for content in (b"not a database, but long enough to look like one" * 20, None):
        if content:
            with open(path, "wb") as file:
                file.write(content)
        else:
            os.unlink(path)
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE things (id INTEGER)")
        before = open(path, "rb").read()
        assert t.rfprof("sweep", f"--save={path}", "true").status == 2
        assert open(path, "rb").read() == before


@pytest.mark.parametrize("kills", [8, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_any_moment(t, kills):
    """No result that was kept is lost or changed, and in the end all are there."""
    program = build(t)
    draw = random.Random(kills)
    n = 3 if kills == 8 else 12
    path = os.path.join(t.directory, "sweep.rfp")
    command = [t.rfprof_path, "sweep", *OPTIONS, f"n=1000:{n}000:1000", "--", program, "{n}"]
    temporary, known = os.path.join(t.directory, "temporary"), []
    os.mkdir(temporary)
    for _ in range(kills):
        process = subprocess.Popen(command, cwd=t.directory, env={**t.environment(), "TMPDIR": temporary}, start_new_session=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, 1.5))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if os.path.exists(path) and os.path.getsize(path):
            now = rows(path) if n_tables(path) else []
            assert now[:len(known)] == known
            known = now
    assert len(os.listdir(temporary)) <= 1  # of the last one, for the next to remove
    assert t.run(command, cwd=t.directory, env={"TMPDIR": temporary}).status == 0 and not os.listdir(temporary)
    points = sweep(t, f"n=1000:{n}000:1000", "--", program, "{n}")
    assert [point["repeats"] for point in points] == [2] * n
    assert rows(path)[:len(known)] == known and n_kept(path) == 2 * n


def n_tables(path):
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()[0]


def points_of(svg):
    """(series, label, x, y) of the points of a picture."""
    found = []
    for point in re.findall(r'<[^>]* class="point"[^>]*>', svg):
        words = dict(re.findall(r'data-(\w+)="([^"]*)"', point))
        found.append((words["series"], words["label"], float(words["x"]), float(words["y"])))
    return found


# What is in the file is shown without the program.
TWO = ("n=20000000,40000000", "m=0,1", "--", "env", "M={m}")


def kept(t):
    """A file with a sweep of two sizes in two series, and its points."""
    program = build(t)
    points = sweep(t, *TWO, program, "{n}")
    os.unlink(program)
    assert len(points) == 4 and all(point["time_s"] for point in points)
    return points


def show(t, *arguments):
    result = t.rfprof("sweep", *arguments, cwd=t.directory)
    assert result.status == 0, result
    return result.stdout.decode()


def test_shown_without_the_program(t):
    points = kept(t)
    assert json.loads(show(t, "--json=-"))["points"] == points
    assert t.rfprof("sweep", "--save=none.rfp", cwd=t.directory).status == 2


def test_rooflines(t):
    """Points are where flop, bytes and times say, labelled, connected in series and joined across them."""
    points = kept(t)
    keys = {"roofline": "mem_bytes", "read": "mem_read_bytes", "write": "mem_write_bytes", "cache-aware": None}
    for kind, key in keys.items():
        picture = show(t, f"--plot={kind}", "--join", "--svg=-")
        drawn = points_of(picture)
        expected = set()
        for point in points:
            flop = point["flop"]["median"]
            moved = point[key]["median"] if key else point["load_bytes"]["median"] + point["store_bytes"]["median"]
            x = "inf" if not moved else f"{flop / moved:.6g}"
            expected.add((point["parameters"]["n"], x, f"{flop / point['time_s']['median'] * 1e-9:.6g}"))
        assert {(label, f"{x:.6g}", f"{y:.6g}") for _, label, x, y in drawn} == expected
        assert picture.count('class="roof"') >= 2
        assert picture.count('class="series"') == len(drawn) - len({series for series, *_ in drawn})
        assert picture.count('class="join"') == 2


def test_plots_by_size(t):
    points = kept(t)
    formulas = ("--work-formula=5*n*log2(n)", "--traffic-formula=8*n+8", "--size-formula=2*n")

    def values(point):
        n, time_s = int(point["parameters"]["n"]), point["time_s"]["median"]
        work = 5 * n * math.log2(n)
        ls = point["load_bytes"]["median"] + point["store_bytes"]["median"]
        moved = point["mem_bytes"]["median"]
        return {"performance": work / time_s * 1e-9, "intensity": work / moved if moved else math.inf,
                "traffic": moved / (8 * n + 8), "time": time_s, "bandwidth": ls / time_s * 1e-9}

    for kind in ("performance", "intensity", "traffic", "time", "bandwidth"):
        drawn = points_of(show(t, f"--plot={kind}", "--svg=-", *formulas))
        expected = {(2.0 * int(point["parameters"]["n"]), f"{values(point)[kind]:.6g}") for point in points
                    if math.isfinite(values(point)[kind])}
        assert {(x, f"{y:.6g}") for _, _, x, y in drawn} == expected, kind


def test_distribution(t):
    """All repeats are there, and the least is 0."""
    kept(t)
    drawn = points_of(show(t, "--plot=distribution", "--svg=-"))
    assert len(drawn) == 4 * 3  # two repeats and the median of each
    assert min(y for *_, y in drawn) == 0


def test_pseudo_flop_are_marked(t):
    kept(t)
    assert "pseudo-flop" in show(t, "--work-formula=5*n*log2(n)", "--svg=-")
    assert "pseudo-flop" not in show(t, "--svg=-")


def test_per_cycle(t):
    kept(t)
    rate, cycle = (points_of(show(t, "--plot=performance", "--svg=-", *more)) for more in ((), ("--per-cycle",)))
    ratios = {f"{a[3] / b[3]:.6g}" for a, b in zip(rate, cycle)}
    assert len(ratios) == 1 and 0.5 < float(ratios.pop()) < 10


def test_several_files(t):
    """Series of all of them, named by their files."""
    kept(t)
    shutil.copy(os.path.join(t.directory, "sweep.rfp"), os.path.join(t.directory, "other.rfp"))
    series = {name for name, *_ in points_of(show(t, "--with=other.rfp", "--svg=-"))}
    assert series == {"sweep m=0", "sweep m=1", "other m=0", "other m=1"}


def test_page_and_terminal(t):
    kept(t)
    page = show(t, "--html=-")
    # what the few lines that the program touches move is by chance 0 in a sample of sets: then there is no plot of it
    for kind in ("cache-aware", "performance", "time", "distribution", "metrics"):
        assert f'id="{kind}"' in page
    text = show(t, "--plot=roofline", "--metrics")
    assert "up: flop per ns" in text and "LD ins/ST ins" in text and "estimates them" in text


@pytest.mark.skipif(not shutil.which("rsvg-convert"), reason="needs rsvg-convert")
def test_png(t):
    kept(t)
    show(t, "--png=plot.png")
    with open(os.path.join(t.directory, "plot.png"), "rb") as file:
        assert file.read(4) == b"\x89PNG"


@pytest.mark.parametrize("formula", ["5*", "n n", "(n", "log3(n)", "k*2", "", "min(n)", "(" * 500 + "n"])
def test_formulas_that_are_none(t, formula):
    kept(t)
    result = t.rfprof("sweep", f"--work-formula={formula}", "--svg=-", cwd=t.directory)
    assert result.status == 2 and (b"5*n*log2(n)" in result.stderr or not formula)


def test_metrics(t):
    """Those of table 9 follow from what is counted."""
    for point in kept(t):
        metrics, ls = point["metrics"], point["load_bytes"]["median"] + point["store_bytes"]["median"]
        assert metrics["flop"] == int(point["parameters"]["n"]) and metrics["ls_bytes"] == ls
        assert metrics["flop_per_fp_instruction"] == 1
        assert metrics["arithmetic_intensity"] == pytest.approx(metrics["flop"] / ls)


def test_what_is_left_in_the_caches(t):
    """A cold call reads its array, and leaves it changed: it is written for --count-left alone."""
    program = t.program(os.path.join(harness.SOURCE, "tests", "papers", "intensity.c"), ("-O2",), ("-lm",))
    words = ("n=4096,8192", "--", program, "simple16", "{n}", "500")
    result = t.rfprof("sweep", "--kernel=kernel", "--repeats=2", "--traced=2", "--caches=cold", "-q", "--json=-", *words,
                      cwd=t.directory, timeout=300)
    points = json.loads(result.stdout)["points"]
    for point in points:
        array = 8 * int(point["parameters"]["n"])
        assert array <= point["metrics"]["mem_left_bytes"] < array + 256  # and lines of the stack
        assert array <= point["mem_read_bytes"]["median"] < array + 4096 and point["mem_write_bytes"]["median"] < 4096
        assert point["mem_read_bytes"]["min"] > 0  # of both repeats
    for kind in ("roofline", "read", "write", "intensity", "traffic"):
        drawn = points_of(show(t, f"--plot={kind}", "--count-left", "--svg=-"))
        expected = set()
        for point in points:
            n, read = int(point["parameters"]["n"]), point["mem_read_bytes"]["median"]
            written = point["mem_write_bytes"]["median"] + point["metrics"]["mem_left_bytes"]
            moved = read if kind == "read" else written if kind == "write" else read + written
            expected.add(f"{moved if kind == 'traffic' else n / moved:.6g}")
        across = kind not in ("intensity", "traffic")
        assert {f"{x if across else y:.6g}" for _, _, x, y in drawn} == expected, kind
    without = points_of(show(t, "--svg=-"))
    assert all(x == pytest.approx(1 / 8, rel=0.1) for _, _, x, _ in without) and len(without) == 2
    assert "what is left there" in show(t, "--count-left", "--svg=-") and "what is left there" not in show(t, "--svg=-")


def test_series_of_words(t):
    """Where the first parameter is a word its values have no order: their points are not connected."""
    points = sweep(t, "w=b,a", "n=20000000,40000000", "--", "env", "M={w}", build(t), "{n}")
    assert all(point["time_s"] for point in points)
    picture = show(t, "--svg=-")
    assert {label for _, label, _, _ in points_of(picture)} == {"a", "b"}
    assert len(points_of(picture)) == 4 and 'class="series"' not in picture


def test_many_series_differ(t):
    """There are fewer colours than series; no two have the same colour and shape."""
    points = sweep(t, "n=20000000", "m=1:20", "--", "env", "M={m}", build(t), "{n}", timeout=300)
    assert len(points) == 20 and all(point["time_s"] for point in points)
    picture = show(t, "--plot=time", "--svg=-")
    marks = re.findall(r'<(?:circle|path transform="[^"]*") (?:d="(?P<shape>[^"]*)"|cx[^>]*?) fill="(?P<fill>[^"]*)"[^>]* class="point"', picture)
    assert len(marks) == 20 == len(set(marks))


PAGES = """
#include <stdlib.h>
__attribute__((noinline, noipa)) void write_pages(volatile char *memory, long pages) { for (long i = 0; i < pages; i++) memory[4096 * i] = 1; }
__attribute__((noinline, noipa)) void read_pages(volatile char *memory, long pages, int times)
{ for (int t = 0; t < times; t++) for (long i = 0; i < pages; i++) (void)memory[4096 * i]; }
int main(int argc, char **argv)
{
    long pages = atol(argv[1]);
    char *memory = aligned_alloc(4096, pages * 4096);
    write_pages(memory, pages);
    for (int call = 0; call < 2; call++) read_pages(memory, pages, 5);
    return 0;
}
"""


def pages_program(t):
    path = os.path.join(t.directory, "pages.c")
    with open(path, "w") as file:
        file.write(PAGES)
    return t.program(path, ("-O1",))


def test_tlb_and_other_caches(t):
    """Walks of a TLB of 16 and 128 pages, and what moves in another machine's caches, by kernel: rounds over pages know both."""
    command = ("sweep", "--kernel=write_pages,read_pages", "--repeats=2", "-q", "--tlb-pages=16:128", "--json=points.json", "--svg=walks.svg",
               "--plot=walks", "--output=table.txt",
               "--other-caches=line=256,L1=4K:4,L2=16K:4", "n=100,200", "--", pages_program(t), "{n}")
    result = t.rfprof(*command, cwd=t.directory)
    assert result.status == 0, result
    with open(os.path.join(t.directory, "points.json")) as file:
        points = json.load(file)["points"]
    for point in points:
        n, metrics = int(point["parameters"]["n"]), point["metrics"]
        times = 5 if point["kernel"] == "read_pages" else 1
        stray = 4  # pages and lines of the stack, at each call
        walks = n * times if n > 128 or times == 1 else 0
        assert n * times <= metrics["page_accesses"] <= (n + stray) * times, point
        assert n * times <= metrics["tlb_near_misses"] <= (n + stray) * times, point
        assert walks <= metrics["page_walks"] <= walks + stray * times, point
        assert n * times * 256 <= metrics["other_mem_read_bytes"] <= (n + stray) * times * 256, point
        assert metrics["other_l2_bytes"] >= metrics["other_mem_read_bytes"], point
    with open(os.path.join(t.directory, "table.txt")) as file:
        table = file.read()
    assert "TLB" in table and "other:" in table, table
    with open(os.path.join(t.directory, "walks.svg")) as file:
        assert "misses of the TLB in a call" in file.read()


def test_simulated_only_where_asked_for(t):
    """Without the options nothing is known of them, and results of one are none of another."""
    program = pages_program(t)
    command = ("--kernel=read_pages", "--repeats=1", "-q", "--save=kept.rfp", "--json=-")
    words = ("n=100", "--", program, "{n}")

    def metrics(*options):
        result = t.rfprof("sweep", *command, *options, *words, cwd=t.directory)
        assert result.status == 0, result
        return json.loads(result.stdout)["points"][0]["metrics"]
    plain, small, large = metrics(), metrics("--tlb-pages=16:64"), metrics("--tlb-pages=16:256")
    assert plain["page_walks"] is None and plain["other_mem_read_bytes"] is None
    assert small["page_walks"] >= 500 and large["page_walks"] <= 4, (small, large)
    for wrong in ("16", "0:4", "64:16", "16:x", "16:128k"):
        result = t.rfprof("--tlb-pages=" + wrong, "true")
        assert result.status == 2 and b"pages" in result.stderr, result
