"""rfprof below mpirun: ranks run once, each has a profile, and the work of all is the exact sum."""

import collections
import json
import os
import random
import re
import shutil
import sqlite3

import pytest

from harness import functions
from launchers import fake, mpi  # pylint: disable=unused-import

COUNTS = ("flop", "flop_unmasked", "load_bytes", "store_bytes", "nt_store_bytes", "string_bytes", "load_instructions",
          "store_instructions", "instructions")


def report(t, *words):
    path = os.path.join(t.directory, "ranks.json")
    result = t.rfprof("report", *words, "--json", path)
    assert result.status == 0, str(result)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def truths(output):
    """Rank → flop in work(), as the program itself says; all have received what they should."""
    lines = re.findall(rb"^rank (\d+) of (\d+): work (\d+) flop, received right$", output, re.MULTILINE)
    assert len({size for _, size, _ in lines}) == 1 and len(lines) == int(lines[0][1]), output
    return {int(rank): int(flop) for rank, _, flop in lines}


def flop_of_work(json_report):
    return sum(row["flop"] for row in functions(json_report, "work"))


def totals(json_report):
    return {name: sum(row[name] for row in json_report["functions"]) for name in COUNTS}


def check_sum(t, paths, merged):
    """Tolerance 0: of the program, and of each rank."""
    ranks = [report(t, path) for path in paths]
    expected = {name: sum(totals(rank)[name] for rank in ranks) for name in COUNTS}
    assert totals(merged) == expected
    for row, rank in zip(merged["ranks"], ranks):
        assert {name: row[name] for name in ("flop", "load_bytes", "store_bytes", "instructions")} == \
            {name: totals(rank)[name] for name in ("flop", "load_bytes", "store_bytes", "instructions")}


# ---- for real ----

@pytest.mark.parametrize("n", [2, 4])
def test_each_rank_is_counted_once(t, mpi, n):
    program = mpi.program()
    expected = truths(mpi.run(n, program, "500").stdout)
    result = mpi.profile(n, "--keep-roofs", program, "500")
    assert result.status == 0, str(result)
    assert truths(result.stdout) == expected
    assert result.stderr.count(b" s wall") == 1, f"not one report\n{result}"
    paths = [os.path.join(t.work, f"rfprof-ranks.{rank}.rfp") for rank in range(n)]
    assert sorted(name for name in os.listdir(t.work) if name.endswith(".rfp")) == sorted(map(os.path.basename, paths))
    for rank, path in enumerate(paths):
        assert flop_of_work(report(t, path)) == expected[rank]
    merged = report(t, t.work)
    assert flop_of_work(merged) == sum(expected.values())
    assert [row["rank"] for row in merged["ranks"]] == list(range(n))
    assert [row["exit_status"] for row in merged["ranks"]] == ["0"] * n
    assert {row["call"] for row in merged["mpi"]} >= {"MPI_Init"}
    check_sum(t, paths, merged)


def test_threads_within_ranks(t, mpi):
    program = mpi.program(flags=("-fopenmp",))
    result = mpi.profile(2, "-q", program, "300")
    assert result.status == 0, str(result)
    assert flop_of_work(report(t, t.work)) == sum(truths(result.stdout).values()) == 2 * 2 * 300 * 1000 * 3


@pytest.mark.parametrize("how", [("7",), ("0", "15")], ids=["status", "signal"])
def test_ranks_end_as_they_would(t, mpi, how):
    """What mpirun makes of it: as without rfprof."""
    program = mpi.program()
    words = ["100", "1", *how[1:]]
    native = mpi.run(2, program, *words)
    result = mpi.profile(2, "-q", program, *words)
    assert result.status == native.status, f"{native}\n{result}"
    assert truths(result.stdout) == truths(native.stdout)


def test_two_jobs_joined(t, mpi):
    program = mpi.program()
    for kind in ("time", "count"):
        result = mpi.profile(2, "-q", f"--run={kind}", "--save", f"{kind}.%r.rfp", program, "20000")
        assert result.status == 0, str(result)
    expected = truths(result.stdout)
    paths = [os.path.join(t.work, f"joined.{rank}.rfp") for rank in (0, 1)]
    for rank, path in enumerate(paths):
        joined = t.rfprof("join", f"time.{rank}.rfp", f"count.{rank}.rfp", "--save", path)
        assert joined.status == 0, str(joined)
        t.check_figures(path)
        one = report(t, path)
        assert flop_of_work(one) == expected[rank]
        assert one["run"]["once"] is False and one["run"]["exit_same"] == "same"
        assert functions(one, "work")[0]["gflops"] > 0
    merged = report(t, *paths)
    assert flop_of_work(merged) == sum(expected.values())
    check_sum(t, paths, merged)
    wrong = t.rfprof("join", "time.0.rfp", "count.1.rfp")
    assert wrong.status == 2 and b"another rank" in wrong.stderr, str(wrong)
    wrong = t.rfprof("join", "count.0.rfp", "time.0.rfp")
    assert wrong.status == 2 and b"--run=time" in wrong.stderr, str(wrong)


def test_chosen_ranks_are_counted(t, mpi):
    program = mpi.program()
    result = mpi.profile(2, "-q", "--ranks=1", program, "500")
    assert result.status == 0, str(result)
    merged = report(t, t.work)
    assert [row["counted"] for row in merged["ranks"]] == [False, True]
    assert [row["once"] for row in merged["ranks"]] == [False, True]
    assert flop_of_work(merged) == truths(result.stdout)[1]
    assert merged["rank_summary"]["counted_ranks"] == 1
    shown = t.rfprof("report", t.work)
    assert b"the work is that of 1 of the ranks" in shown.stdout.replace(b"\n", b" ").replace(b"  ", b" "), str(shown)


def test_the_launcher_itself(t, mpi):
    """rfprof mpirun: both runs, the whole tree."""
    program = mpi.program()
    path = os.path.join(t.directory, "tree.json")
    result = t.rfprof("-q", "--json", path, "--traffic=none", mpi.mpirun, "-np", "2", program, "500", env=mpi.environment)
    assert result.status == 0, str(result)
    with open(path, encoding="utf-8") as file:
        tree = json.load(file)
    assert flop_of_work(tree) == sum(truths(result.stdout).values())
    ranks = {row["rank"]: row["flop"] for row in tree["processes"] if row["command"] == "ranks"}
    assert set(ranks) == {0, 1} and all(flop <= ranks[rank] < 1.3 * flop for rank, flop in truths(result.stdout).items()), ranks


# ---- without a launcher: its variables ----

def rank_profile(t, rank, size, *words, **more):
    return t.rfprof(*words, env=fake(rank, size, **more))


def test_each_rank_writes_its_own_files(t):
    program = t.target("daxpy")
    for rank in (0, 1):
        result = rank_profile(t, rank, 2, "--keep-roofs", "-o", "table.%r", "--json", "one.json", "--log", "log", program)
        assert result.status == 0, str(result)
        assert not result.stderr, str(result)
    assert sorted(os.listdir(t.work)) == ["log.0", "log.1", "one.json", "rfprof-daxpy.0.rfp", "rfprof-daxpy.1.rfp", "table.0"] \
        or sorted(os.listdir(t.work)) == ["log.0", "log.1", "one.json", "rfprof-daxpy.0.rfp", "rfprof-daxpy.1.rfp",
                                          "table.0", "table.1"], os.listdir(t.work)


@pytest.mark.parametrize("script", ["exit 3", "kill -SEGV $$", "kill -TERM $$"])
def test_status_and_signal_of_a_rank(t, script):
    native = t.run(["/bin/sh", "-c", script])
    for rank in (0, 1):
        result = rank_profile(t, rank, 2, "-q", "--keep-roofs", "/bin/sh", "-c", script)
        assert result.status == native.status, f"{native}\n{result}"


def test_roofs_that_cannot_be_kept_are_measured_by_one(t):
    homeless = {"XDG_CACHE_HOME": "/proc/none", "HOME": "/proc/none", "TMPDIR": t.directory, "PMIX_NAMESPACE": "job 1"}
    results = [rank_profile(t, rank, 2, "--keep-roofs", "/bin/true", **homeless) for rank in (0, 1)]
    assert [result.status for result in results] == [0, 0], str(results)
    assert b"measuring this machine" in results[0].stderr and b"no roofs" not in results[0].stderr, str(results[0])
    assert b"no roofs: another rank of this node has measured them" in results[1].stderr, str(results[1])
    ranks = [report(t, os.path.join(t.work, f"rfprof-true.{rank}.rfp")) for rank in (0, 1)]
    assert ranks[0]["machine"]["roofs"] and not ranks[1]["machine"]["roofs"]
    assert report(t, t.work)["machine"]["roofs"] == ranks[0]["machine"]["roofs"]


def test_what_is_refused(t):
    program = t.target("daxpy")
    for words, said in ((("--ranks=0", program), b"mpirun, srun"), (("--run=time", "--once", program), b"--once")):
        result = t.rfprof(*words)
        assert result.status == 2 and said in result.stderr, str(result)
    for words, said in ((("--repeat=2", program), b"--repeat"), (("--ranks=1-", program), b"no list of ranks")):
        result = rank_profile(t, 0, 2, *words)
        assert result.status == 2 and said in result.stderr, str(result)
    assert rank_profile(t, 0, 2, "-q", "--keep-roofs", program, PMIX_NAMESPACE="one").status == 0
    shutil.copy(os.path.join(t.work, "rfprof-daxpy.0.rfp"), os.path.join(t.directory, "again.rfp"))
    result = t.rfprof("report", "rfprof-daxpy.0.rfp", os.path.join(t.directory, "again.rfp"))
    assert result.status == 2 and b"both of rank 0" in result.stderr, str(result)
    result = t.rfprof("report", "--by=line", t.work)
    assert result.status == 2 and b"one rank" in result.stderr, str(result)
    # a directory may hold those of an earlier job, too
    assert rank_profile(t, 1, 3, "-q", "--keep-roofs", program, PMIX_NAMESPACE="two").status == 0
    merged = report(t, t.work)
    assert [row["rank"] for row in merged["ranks"]] == [1]
    assert any("1 other profile" in note for note in merged["run"]["notes"])


def test_a_merged_profile_is_saved_and_shown_again(t):
    for rank in (0, 1):
        assert rank_profile(t, rank, 2, "-q", "--keep-roofs", t.target("daxpy")).status == 0
    merged = report(t, t.work)
    saved = os.path.join(t.directory, "all.rfp")
    assert t.rfprof("report", t.work, "--save", saved).status == 0
    again = report(t, saved)
    for key in ("ranks", "rank_nodes", "functions", "mpi", "rank_summary"):
        assert again[key] == merged[key]
    t.check_figures(saved)


def test_other_caches_of_ranks_add_up(t):
    """What ranks would move in another machine's caches is the sum of theirs, function by function."""
    for rank in (0, 1, 2):
        assert rank_profile(t, rank, 3, "-q", "--keep-roofs", "--other-caches=a64fx", t.target("daxpy")).status == 0
    paths = sorted(name for name in os.listdir(t.work) if name.endswith(".rfp"))
    assert len(paths) == 3
    merged = report(t, t.work)["other_caches"]
    ranks = [report(t, os.path.join(t.work, path))["other_caches"] for path in paths]
    columns = [name for name in merged if name.endswith("_bytes") and name != "line_bytes"]
    assert (merged["geometry"], merged["line_bytes"]) == (ranks[0]["geometry"], 256) and len(columns) > 10
    assert merged["mem_read_bytes"] > 0
    for name in columns:
        assert merged[name] == sum(one[name] for one in ranks), name
    names = {row["name"] for one in ranks for row in one["functions"] if row["name"] and "+0x" not in row["name"]}
    for function in names:
        for name in columns:
            of = [sum(row[name] for row in one["functions"] if row["name"] == function) for one in (merged, *ranks)]
            assert of[0] == sum(of[1:]), (function, name, of)


TLB_COLUMNS = ("page_accesses", "tlb_near_misses", "page_walks")


def rounds(t, pages):
    return t.program("page_rounds.c", ("-O1", "-g")), str(pages), "3"


def test_walks_of_ranks_add_up(t):
    """Of a rank that is not counted there are none; each has other pages, and so other instructions that miss."""
    for rank in (0, 1, 2):
        result = rank_profile(t, rank, 3, "-q", "--keep-roofs", "--tlb", "--tlb-pages=16:64", "--ranks=1,2", *rounds(t, 20 * (2 * rank + 1)))
        assert result.status == 0, str(result)
    merged = report(t, t.work)["tlb"]
    ranks = [report(t, os.path.join(t.work, f"rfprof-page_rounds.{rank}.rfp"))["tlb"] for rank in (0, 1, 2)]
    assert ranks[0] is None and merged["simulated"] == ranks[1]["simulated"]
    of_rounds = [[row for row in one["functions"] if row["name"] == "rounds"][0] for one in ranks[1:]]
    # beside the pages there is its own return
    assert of_rounds[0]["page_walks"] == 0 and 100 * 3 <= of_rounds[1]["page_walks"] <= 100 * 3 + 1, of_rounds
    names = {row["name"] for one in ranks[1:] for row in one["functions"] if row["name"] and "+0x" not in row["name"]}
    for name in TLB_COLUMNS:
        assert merged[name] == sum(one[name] for one in ranks[1:]) > 0, name
        assert merged[name] == sum(row[name] for row in merged["functions"]), name
        for function in names:
            of = [sum(row[name] for row in one["functions"] if row["name"] == function) for one in (merged, *ranks[1:])]
            assert of[0] == sum(of[1:]), (function, name, of)
    saved = os.path.join(t.directory, "all.rfp")
    assert t.rfprof("report", t.work, "--save", saved).status == 0
    assert report(t, saved)["tlb"] == merged


def test_ranks_with_other_tlbs_are_told(t):
    for rank in (0, 1):
        assert rank_profile(t, rank, 2, "-q", "--keep-roofs", "--tlb", f"--tlb-pages={16 + rank}:64", *rounds(t, 20)).status == 0
    assert any("did not simulate the same" in note for note in report(t, t.work)["run"]["notes"])


def test_walks_of_a_joined_run(t):
    """They are the counted run's."""
    for kind, more in (("time", ()), ("count", ("--tlb", "--tlb-pages=16:64"))):
        result = rank_profile(t, 0, 1, "-q", "--keep-roofs", f"--run={kind}", *more, "--save", f"{kind}.%r.rfp", *rounds(t, 100))
        assert result.status == 0, str(result)
    joined = t.rfprof("join", "time.0.rfp", "count.0.rfp", "--save", "joined.rfp")
    assert joined.status == 0, str(joined)
    both, counted = ({**one, "functions": sorted(map(str, one["functions"]))}
                     for one in (report(t, path)["tlb"] for path in ("joined.rfp", "count.0.rfp")))
    assert both == counted and both["page_walks"] > 0


def test_the_page_has_a_heat_map(t):
    """A cell for each function with time and each rank, in the order of ranks; also where ranks share columns."""
    for n in (3, 300):
        where = os.path.join(t.directory, f"of-{n}")
        os.makedirs(where)
        if n == 3:
            path = os.path.join(t.directory, "source.rfp")
            assert t.rfprof("-q", "--keep-roofs", "--once", "--save", path, t.target("daxpy")).status == 0
        for rank in range(n):
            make_rank(path, os.path.join(where, f"{rank}.rfp"), rank, n, "one")
        page = os.path.join(t.directory, "page.html")
        result = t.rfprof("report", where, "--html", page)
        assert result.status == 0, str(result)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        section = re.search(r'<section id="ranks".*?</section>', text, re.DOTALL).group(0)
        rows = section.count('text-anchor="end"')
        columns = n if n <= 256 else (n + (n + 255) // 256 - 1) // ((n + 255) // 256)
        assert rows > 1 and section.count('class="heat"') == rows * columns
        assert f"{n} ranks on 1 node." in section
        # all ranks are the same profile
        assert set(re.findall(r'fill-opacity="([^"]*)"', section)) == {"1.00"}


def test_nothing_planted_in_ranks_is_shown(t):
    """Control characters and mark-up in the texts of a merged profile."""
    assert rank_profile(t, 0, 1, "-q", "--keep-roofs", t.target("daxpy")).status == 0
    saved = os.path.join(t.directory, "all.rfp")
    assert t.rfprof("report", t.work, "--save", saved).status == 0
    planted = "node\x1b[31m<b>&\u202e"
    with sqlite3.connect(saved) as db:
        db.execute("UPDATE rank_nodes SET name = ?, cpu_model = ?", (planted, planted))
        db.execute("UPDATE ranks SET file = ?, exit_status = ?", (planted, planted))
    db.close()
    page = os.path.join(t.directory, "page.html")
    shown = t.rfprof("report", "-v", saved, "--html", page)
    assert shown.status == 0, str(shown)
    with open(page, encoding="utf-8") as file:
        html = file.read()
    text = shown.stdout.decode() + json.dumps(report(t, saved), ensure_ascii=False)
    for what in (text, html):
        assert "\x1b" not in what and "\u202e" not in what
    assert "<b>&" not in re.search(r'<section id="ranks".*?</section>', html, re.DOTALL).group(0)


# ---- against a slow reference ----

def key_of(row):
    """Code without a file and a name has another address in each process."""
    nameless = row["module"].startswith("[") and "+0x" in row["name"]
    return row["module"], f"[unknown in {row['module']}]" if nameless else row["name"], row["file"], row["line"]


def summed(reports):
    """By function: exact counts; time and samples."""
    sums = collections.defaultdict(collections.Counter)
    for one in reports:
        for row in one["functions"]:
            to = sums[key_of(row)]
            to.update({name: row[name] for name in (*COUNTS, "samples")})
            to.update({"flop " + kind: flop for kind, flop in (row["flop_by_kind"] or {}).items()})
            to.update({"time_s": row["time_s"]})
    return sums


def make_rank(source, path, rank, size, node):
    shutil.copy(source, path)
    with sqlite3.connect(path) as db:
        facts = {"rank": rank, "rank_size": size, "rank_node": node, "rank_job": "random"}
        db.execute("DELETE FROM facts WHERE key IN (%s)" % ",".join("?" * len(facts)), list(facts))
        first = db.execute("SELECT max(id) + 1 FROM facts").fetchone()[0]
        rows = [(first + i, key, str(value)) for i, (key, value) in enumerate(facts.items())]
        db.executemany("INSERT INTO facts VALUES (?, ?, ?)", rows)
        # ids count from 0 without gaps
        left = [row[0] for row in db.execute("SELECT id FROM facts ORDER BY id")]
        db.executemany("UPDATE facts SET id = ? WHERE id = ?", [(i, old) for i, old in enumerate(left)])
    db.close()


def programs_of_ranks(t):
    """Profiles with different code and data."""
    commands = [("daxpy",), ("triad_threads",), ("divsqrt",), ("string_ops",), ("x87",)]
    found = []
    for name, *words in commands:
        if os.path.exists(t.target(name)):
            path = os.path.join(t.directory, f"source-{name}.rfp")
            result = t.rfprof("-q", "--keep-roofs", "--once", "--save", path, t.target(name), *words)
            assert os.path.exists(path), str(result)
            found.append((path, report(t, path)))
    assert len(found) >= 2, "no targets"
    return found


def test_random_ranks_add_up(t):
    sources = programs_of_ranks(t)
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    for turn in range(6):
        n = chance.randint(1, 12)
        where = os.path.join(t.directory, f"turn-{turn}")
        os.makedirs(where)
        chosen = [chance.choice(sources) for _ in range(n)]
        nodes = [f"node{chance.randint(0, 3)}" for _ in range(n)]
        order = chance.sample(range(n), n)
        for rank in order:
            make_rank(chosen[rank][0], os.path.join(where, f"x{chance.randint(0, 9)}-{rank}.rfp"), rank, n, nodes[rank])
        merged = report(t, where)
        expected, got = summed(one for _, one in chosen), summed([merged])
        said = f"seed {seed}, turn {turn}: {[path for path, _ in chosen]}"
        for key in expected.keys() | got.keys():
            exact = {name: value for name, value in expected[key].items() if name != "time_s" and value}
            assert {name: value for name, value in got[key].items() if name != "time_s" and value} == exact, f"{key} {said}"
            assert abs(got[key]["time_s"] - expected[key]["time_s"]) < 1e-6 * n, f"{key} {said}"
        assert sorted(row["rank"] for row in merged["ranks"]) == list(range(n)), said
        by_node = collections.Counter(nodes)
        assert {row["node"]: row["ranks"] for row in merged["rank_nodes"]} == by_node, said
        busy = [row["busy_s"] for row in merged["ranks"]]
        assert abs(merged["rank_summary"]["busy"]["imbalance"] - (1 - sum(busy) / n / max(busy))) < 1e-9, said
