"""Profiles that come from strangers: nothing but the file is read, and nothing in it steers a terminal or a page."""

import concurrent.futures
import gzip
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess

import pytest

import harness
import mutants
import wide_profile

# What must not come through, each behind a letter of its own: a colour, the clipboard (OSC 52), an order of writing, C1
# (as UTF-8), bytes that are no UTF-8, a line's end with what another line would be.
PLANTED = b"P\x1b[31mQ\x1b]52;c;aGk=\x07R\xe2\x80\xaeS\xc2\x9b2JT\xff\xfeU\r\nV"
FORBIDDEN = [b"P\x1b", b"Q\x1b", b"\x07R", b"R\xe2\x80\xae", b"S\xc2\x9b", b"T\xff", b"U\r", b"\\u001b", b"\\u202e", b"\\u009b"]
EXPORTS = ["csv", "folded", "pprof", "firefox", "callgrind"]
VIEWS = harness.named({
    "table": [], "plot": ["--plot", "--levels"], "tree": ["--processes=tree"], "page": ["-f", "P"],
    **{f"by {what}": ["--by", what] for what in ["inlined", "loop", "line", "module", "thread", "process", "call-path"]}})


recorded = []  # the bytes of a profile, recorded once in each worker


@pytest.fixture
def profile(t):
    path = os.path.join(t.directory, "good.rfp")
    if recorded:
        write_bytes(path, recorded[0])
        return path
    done = t.rfprof("-q", "--save", path, os.path.join(t.build_directory, "tests", "demo", "demo"), timeout=400)
    assert done.status == 0, str(done)
    with open(path, "rb") as file:
        recorded.append(file.read())
    return path


def write_bytes(path, data):
    with open(path, "wb") as file:
        file.write(data)


def facts_of_text():
    with open(os.path.join(harness.SOURCE, "profile", "facts.def"), encoding="utf-8") as file:
        return [key for key in re.findall(r"^FACT\((\w+), TEXT", file.read(), re.MULTILINE) if key != "sums"]


def add_processes(connection):
    """Three that took time, and went on natively in the counted run."""
    base = mutants.rows_of(connection, "processes")
    wide_profile.add(connection, "processes", 3)
    for i in range(3):
        connection.execute("INSERT INTO processes SELECT ?, 2, NULL, ?, ?, birth, execs, command, NULL, 0, 1, 0, '', 0 "
                           "FROM processes WHERE id = ?", (base + 3 + i, base + i, 2000000 + i, base + i))


def plant(path):
    """Into every text of the profile, and makes all of them be shown."""
    connection = sqlite3.connect(path)
    add_processes(connection)
    text = f"CAST(x'{PLANTED.hex()}' AS TEXT)"
    have = {key for key, in connection.execute("SELECT key FROM facts")}
    for key in [*facts_of_text(), "note.77"]:
        if key not in have:
            connection.execute("INSERT INTO facts SELECT count(*), ?, '' FROM facts", (key,))
    mutants.fill(connection, "shared_lines")  # which has no text, but shared places are of it
    planted = 0
    for table in mutants.tables(connection):
        if table in ("ranks", "rank_nodes"):
            continue  # a profile that has ranks is shown in few ways only: test_nothing_planted_in_ranks_is_shown
        for name, kind in mutants.columns(connection, table):
            if kind != "TEXT" or (table == "facts" and name == "key"):
                continue
            mutants.fill(connection, table)
            short = table in ("roofs", "custom_roofs") and name not in ("name", "source", "bytes_convention")
            if table == "roofs" and name != "bytes_convention":
                connection.execute(f"UPDATE roofs SET {name} = CAST(x'501b5b33316d51' AS TEXT) WHERE id % 5 = 4")
            elif table == "facts":
                keys = ", ".join(f"'{key}'" for key in [*facts_of_text(), "note.77"])
                connection.execute(f"UPDATE facts SET value = {text} WHERE key IN ({keys})")
            else:
                connection.execute(f"UPDATE {table} SET {name} = " + ("CAST(x'501b' AS TEXT)" if short else text))
            planted += 1
    connection.execute("UPDATE processes SET execs = execs + id")  # no two are one node of the tree
    connection.commit()
    connection.close()
    return planted


def check_clean(data, what):
    """No byte of what was planted, and valid UTF-8."""
    for word in FORBIDDEN:
        assert word not in data, f"{what}: {word} in {data[max(0, data.find(word) - 80):][:200]}"


def check_text(data, what):
    check_clean(data, what)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", data.decode()), what


def test_nothing_planted_is_shown(t, profile):
    """Every text column of the schema, with every view, export and message."""
    bad = os.path.join(t.work, PLANTED.decode(errors="surrogateescape").replace("/", "") + ".rfp")
    shutil.copyfile(profile, bad)
    assert plant(bad) > 20
    for view in VIEWS:
        done = t.rfprof("report", *view.values[0], bad)
        assert done.status == 0 and done.stdout, str(done)
        check_text(done.stdout + done.stderr, view.id)
    for options in [["--check"], ["-f", PLANTED.decode(errors="surrogateescape")], ["--level=L7"], ["--color=always"]]:
        done = t.rfprof("report", *options, bad)
        assert done.status in (0, 1, 2), str(done)
        check_clean(done.stdout + done.stderr, options)
    for others in [[profile, bad], [bad, profile]]:
        for options in [[], ["--json=-"], ["--svg=-"], ["--fail-on", "time>1%"]]:
            done = t.rfprof("diff", *options, *others)
            assert done.status in (0, 3) and done.stdout, str(done)
            check_text(done.stdout + done.stderr, ["diff", *options])
    for name in [*EXPORTS, "json", "html", "svg"]:
        path = os.path.join(t.work, name)
        done = t.rfprof("report", f"--{name}", path, bad)
        assert done.status == 0, str(done)
        with open(path, "rb") as file:
            data = file.read()
        if data.startswith(b"\x1f\x8b"):
            check_clean(gzip.decompress(data), name)
        else:
            check_text(data.replace(b"\r\n", b"\n") if name == "csv" else data, name)
        if name in ("json", "firefox"):
            json.loads(data)


def test_messages_show_no_name_as_it_is(t, profile):
    """Names of files in messages, and what SQLite says of a file."""
    name = PLANTED.decode(errors="surrogateescape")
    write_bytes(os.path.join(t.work, "empty" + name), b"")
    broken = os.path.join(t.work, "broken.rfp")
    shutil.copyfile(profile, broken)
    connection = sqlite3.connect(broken)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(f"INSERT INTO sqlite_schema VALUES ('table', CAST(x'{PLANTED.hex()}' AS TEXT), 'a', 99999, 'CREATE no')")
    connection.commit()
    connection.close()
    for words in [["report", name], ["report", "empty" + name], ["report", broken], ["report", "--svg", name + "/a", profile],
                  ["report", f"--html-compare={name}", "--html=a.html", profile], ["diff", profile, name], [name], [f"./{name}"],
                  ["--save", name + "/a.rfp", "/bin/true"], ["--" + name]]:
        done = t.rfprof(*words)
        assert done.status not in (0, 99) and b"rfprof: " in done.stderr, str(done)
        check_text(done.stdout + done.stderr, words)


def test_what_is_recorded_is_shown_clean(t):
    """A program with such a name, which the report reads from memory."""
    program = os.path.join(t.work, "P\x1b[31mQ\u202e")
    shutil.copyfile("/bin/true", program)
    os.chmod(program, 0o755)
    done = t.rfprof("--json", "a.json", program, PLANTED.decode(errors="surrogateescape"))
    assert done.status == 0 and b"saved " in done.stderr, str(done)
    check_text(done.stderr, "table")
    assert json.loads(harness.text(os.path.join(t.work, "a.json")))


def test_hints_are_quoted_for_a_shell(t):
    """The command that is shown does what it says, whatever the file is called."""
    for path in ["a b;$(touch pwned).rfp", "-x.rfp", "it's\\.rfp", "P\x1b[31mQ\u202e\n.rfp", "\udcff.rfp"]:
        done = t.rfprof("--save", "./" + path if path[0] == "-" else path, "/bin/true")
        said = re.search(r"notes?: rfprof (report -v .*?) · page: ", done.stderr.decode())
        assert done.status == 0 and said, str(done)
        check_text(done.stderr, path)
        again = t.run(["bash", "-c", f"'{t.rfprof_path}' {said[1]}"])
        assert again.status == 0 and b"wall" in again.stdout, f"{said[0]}\n{again}"
    assert not os.path.exists(os.path.join(t.work, "pwned"))


def change_bytes(path, changes):
    with open(path, "r+b") as file:
        for at, data in changes.items():
            file.seek(at)
            file.write(data)


def test_nothing_but_the_file_is_read(t, profile):
    """A log of changes that lies beside it adds nothing, a journal does not block, and nothing is created."""
    path = os.path.join(t.work, "a.rfp")
    before = t.rfprof("report", "--json=-", profile).stdout
    writer = os.path.join(t.work, "wal.rfp")
    shutil.copyfile(profile, writer)
    connection = sqlite3.connect(writer)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("UPDATE facts SET value = 'somebody else' WHERE key = 'cpu_model'")
    connection.commit()
    shutil.copyfile(writer + "-wal", path + "-wal")
    connection.close()
    journal = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", 1, 0, 2, 512, 4096)
    for names in [["-wal"], ["-journal"], ["-wal", "-shm", "-journal"]]:
        shutil.copyfile(profile, path)
        for name in names:
            if name != "-wal":
                write_bytes(path + name, journal.ljust(512, b"\0") + b"\0\0\0\1" + bytes(4100))
        done = t.rfprof("report", "--json=-", path)
        assert done.status == 0 and done.stdout == before, f"{names}\n{done}"


def test_nothing_is_created_beside_it(t, profile):
    """Not where the header asks for a log of changes either: that is said."""
    folder = os.path.join(t.work, "folder")
    os.mkdir(folder)
    path = os.path.join(folder, "a.rfp")
    shutil.copyfile(profile, path)
    for change, status in [({}, 0), ({18: b"\2\2"}, 2), ({18: b"\2\1"}, 2), ({18: b"\1\2"}, 2)]:
        change_bytes(path, change)
        done = t.rfprof("report", path)
        assert done.status == status and os.listdir(folder) == ["a.rfp"], f"{change} {os.listdir(folder)}\n{done}"
        assert status == 0 or b"write-ahead" in done.stderr, str(done)


def test_names_that_a_uri_takes_for_its_own(t, profile):
    for name in ["a?mode=rw.rfp", "a#b.rfp", "a%41.rfp", "file:a.rfp", ":memory:", "a b&immutable=0", "ä\udcff.rfp"]:
        shutil.copyfile(profile, os.path.join(t.work, name))
        for path in [name, os.path.join(t.work, name), "/" + os.path.join(t.work, name)]:
            done = t.rfprof("report", path)
            assert done.status == 0 and b"wall" in done.stdout, f"{path!r}\n{done}"


def test_a_schema_that_never_ends_is_refused(t, profile):
    """Views and triggers of a file are not carried out."""
    connection = sqlite3.connect(profile)
    connection.execute("DROP VIEW function_times")
    connection.execute("CREATE VIEW function_times AS WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c) "
                       "SELECT i FROM c")
    connection.execute("CREATE TRIGGER t AFTER INSERT ON facts BEGIN DELETE FROM facts; END")
    connection.commit()
    connection.close()
    done = t.rfprof("report", profile)
    assert done.status == 0 and b"wall" in done.stdout, str(done)


@pytest.mark.parametrize("sql", harness.named({
    "roofs without bounds": ("UPDATE roofs SET best = 1.7e308, theory = 1.7e308",),
    "half a row of facts": ("UPDATE facts SET key = key || char(0) WHERE id = 3",),
    "times beyond all years": ("UPDATE samples SET weight_ns = 9223372036854775807",),
    "threads below 0": ("UPDATE roofs SET threads = -2147483648",),
}))
def test_figures_out_of_range_are_refused(t, profile, sql):
    connection = sqlite3.connect(profile)
    connection.execute(sql)
    connection.commit()
    connection.close()
    for options in [["--svg=-"], ["--json=-"], ["--plot", "--levels"]]:
        done = t.rfprof("report", *options, profile)
        refused = done.status == 2 and b"makes no sense" in done.stderr
        assert refused or (done.status == 0 and "samples" in sql), str(done)


def test_call_paths_have_a_limit(t, profile):
    """Of all views and exports, those of call paths cost most where these are long."""
    connection = sqlite3.connect(profile)
    connection.execute("DELETE FROM facts WHERE key = 'sums'")
    connection.execute("UPDATE facts SET id = (SELECT count(*) FROM facts AS f WHERE f.id < facts.id)")
    base = mutants.rows_of(connection, "frames")
    for n, status in [(1024, 0), (1025, 2)]:
        connection.execute("DELETE FROM frames WHERE id >= ?", (base,))
        connection.executemany("INSERT INTO frames VALUES (?, ?, 0, 16)",
                               [(base + i, base + i - 1 if i else None) for i in range(n)])
        connection.commit()
        done = t.rfprof("report", "--folded=/dev/null", profile)
        assert done.status == status and (status == 0 or b"a call path is longer" in done.stderr), str(done)
    connection.close()


# ---- what it costs ----

# Rows that take no sixteenth of the processor time allowed, and took more of it when each was compared with each.
@pytest.mark.slow
@pytest.mark.parametrize("kind, rows", harness.named({
    "objects": ("objects", 400000), "processes": ("processes", 150000), "reasons": ("reasons", 120000),
    "loops": ("loops", 150000), "chases": ("chases", 150000), "jumps": ("jumps", 150000)}))
def test_cost_is_not_quadratic(t, profile, kind, rows):
    path = os.path.join(t.directory, "wide")
    wide_profile.widen(profile, path, kind, rows)
    views = {"loops": [["--by", "loop"], ["--check"]], "jumps": [["--by", "loop"]], "processes": [["--by", "thread"], ["--check"]]}
    for options in [[], *views.get(kind, [])]:
        status, seconds, megabytes = wide_profile.cost([t.rfprof_path, "report", *options, path], limit=25)
        assert status == 0, f"{options}: {status}, {seconds} s, {megabytes} MB"


@pytest.mark.parametrize("kind", ["modules", "functions"])
def test_what_took_no_time_takes_no_memory(t, profile, kind):
    """60,000 rows of which nothing is told: less than 1 kB each, with what the loader has of them."""
    if "libasan" in t.run(["/usr/bin/ldd", t.rfprof_path]).stdout.decode():
        pytest.skip("a sanitizer's allocator takes more")
    path = os.path.join(t.directory, "wide")
    wide_profile.widen(profile, path, kind, 60000)
    few, many = (wide_profile.cost([t.rfprof_path, "report", file])[2] for file in (profile, path))
    assert many - few < 60, f"{few} MB, {many} MB"


# ---- mutants ----

# The seeds that are looked at: RFPROF_MUTANTS of them (as many as the test says), from RFPROF_SEED on (1).
SEED = int(os.environ.get("RFPROF_SEED", "1"))
MUTANTS = int(os.environ.get("RFPROF_MUTANTS", "0"))
CPU_LIMIT = 60  # seconds of processor time for one report, with sanitizers
FILES = [f"--{name}=/dev/null" for name in [*EXPORTS, "json", "html", "svg"]]
TABLES = ["--levels", "--plot", "--top=1000", "--svg=/dev/null", "--csv=/dev/null"]
TURNS = [["--check"], ["-f", "stencil"], ["-f", ""], ["--focus=a", "--min=1%"], ["--level=L2", "--direction=read"],
         *(["--by", what] for what in ["inlined", "loop", "line", "module", "thread", "process", "call-path"])]


def trouble_with(t, seed, good, path):
    """What a report of the mutant of that seed does that it may not, or None.  It ends with the status 0, of --check 1,
    or of all with 2 and one line; never by a signal or a sanitizer (99)."""
    mutants.make(good, path, seed)
    turn = TURNS[seed // 2 % len(TURNS)]
    commands = [["report", *TABLES, path], ["report", "--processes=tree", *FILES, path], ["report", *turn, path],
                ["diff", *[[good, path], [path, good]][seed // 2 % 2]]]
    for words in commands if seed % 2 or not seed % 10 else commands[:3]:
        done = subprocess.run([f"{t.rfprof_path}", *words], env=t.environment(), cwd=t.work, timeout=10 * CPU_LIMIT,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              preexec_fn=lambda: wide_profile.limit_processor(CPU_LIMIT))
        told = done.returncode == 0 or (done.returncode == 1 and "--check" in words)
        if not told and not (done.returncode == 2 and done.stderr.startswith(b"rfprof: ") and done.stderr.count(b"\n") == 1):
            return f"seed {seed}: rfprof {' '.join(words)}: status {done.returncode}\n{done.stderr[-6000:].decode(errors='replace')}"
        if done.returncode == 2:
            try:
                check_text(done.stderr, seed)
            except AssertionError as error:
                return f"seed {seed}: rfprof {' '.join(words)}: {error}"
    return None


def look_at_mutants(t, profile, n):
    """In as many threads as there are processors.  A mutant that does harm is made again by mutants.make(…, seed)."""
    workers, n = len(os.sched_getaffinity(0)), MUTANTS or n
    print(f"seeds {SEED} to {SEED + n - 1}")

    def look(worker):
        path = os.path.join(t.directory, f"mutant-{worker}")
        return [trouble_with(t, seed, profile, path) for seed in range(SEED + worker, SEED + n, workers)]

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        found = [trouble for some in pool.map(look, range(workers)) for trouble in some if trouble]
    assert not found, f"{len(found)} of {n} mutants\n" + "\n\n".join(found[:10])


def test_some_mutants(t, profile):
    look_at_mutants(t, profile, 6)


@pytest.mark.slow
def test_mutants(t, profile):
    look_at_mutants(t, profile, 5000)
