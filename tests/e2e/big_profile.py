"""Makes large profiles of small ones, for tests and benchmarks: everything that has a place in code is there several
times, as if the program had that many copies of its modules, and every sample again later in the run.  What rfprof has
summed up is multiplied with what it was summed up from, so both still agree.  As a program:

    big_profile.py SOURCE TARGET MEGABYTES"""

import os
import shutil
import sqlite3
import sys

# Tables with rows of their own for each copy, a row's id the last; what their references point at is in `REFERENCES`.
COPIED = ["modules", "functions", "blocks", "counts", "units", "frames", "samples", "traffic", "objects", "object_traffic",
          "strides", "working_sets", "counter_places", "lines", "sums", "sum_classes", "sum_flop", "sum_threads", "sum_times",
          "sum_traffic", "sum_objects", "sum_strides", "sum_irregular", "sum_working_sets", "sum_quantities", "sum_code"]
REFERENCES = {"module_id": "modules", "function_id": "functions", "block_id": "blocks", "frame_id": "frames",
              "object_id": "objects", "sum_id": "sums", "parent_id": "frames"}


def rows_of(connection, table):
    return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def functions_of(path):
    """Functions that did something."""
    connection = sqlite3.connect(path)
    n = rows_of(connection, "sums")
    connection.close()
    return n


def cells(connection, table, copy, counts):
    """What the columns of a copy's rows are, in SQL."""
    for _, name, *_ in connection.execute(f"PRAGMA table_info({table})"):
        of = table if name == "id" else REFERENCES.get(name)
        if of:
            yield f"{name} + {copy * counts[of]}"
        elif name == "name" and table in ("functions", "modules"):
            yield f"name || '.{copy}'"
        elif name == "path" and table == "modules":
            yield f"path || '.{copy}'"
        else:
            yield name


def repeat_samples(connection, times):
    """Every sample again in each of as many further runs of the program, one behind the other."""
    n = rows_of(connection, "samples")
    span = connection.execute("SELECT coalesce(max(time_ns), 0) + 1000000000 FROM samples").fetchone()[0]
    for k in range(1, times):
        connection.execute("INSERT INTO samples SELECT id + ?, thread_id, time_ns + ?, weight_ns, frame_id FROM samples "
                           "WHERE id < ?", (k * n, k * span, n))
    connection.execute("UPDATE sum_times SET samples = samples * ?, time_ns = time_ns * ?", (times, times))


def multiply(source, target, copies, samples=1):
    """`copies` of all code, `samples` times the samples; counters' totals are not multiplied."""
    shutil.copyfile(source, target)
    connection = sqlite3.connect(target)
    connection.execute("PRAGMA journal_mode=OFF")
    connection.execute("DROP INDEX functions_by_place")
    repeat_samples(connection, samples)
    counts = {table: rows_of(connection, table) for table in COPIED}
    for table in COPIED:
        for copy in range(1, copies):
            connection.execute(f"INSERT INTO {table} SELECT {', '.join(cells(connection, table, copy, counts))} "
                               f"FROM {table} WHERE id < {counts[table]}")
    connection.execute("CREATE INDEX functions_by_place ON functions(module_id, start_offset)")
    connection.commit()
    connection.execute("VACUUM")
    connection.close()


def without_sums(source, target):
    """The same profile, of which rfprof has to sum up everything anew."""
    shutil.copyfile(source, target)
    connection = sqlite3.connect(target)
    connection.execute("DELETE FROM facts WHERE key = 'sums'")
    connection.execute("UPDATE facts SET id = (SELECT count(*) FROM facts AS f WHERE f.id < facts.id)")
    connection.commit()
    connection.close()


def grow(source, target, megabytes):
    """As many copies as it takes, a sample for each 16 blocks at least: of a run of minutes."""
    connection = sqlite3.connect(source)
    samples = max(1, rows_of(connection, "blocks") // 16 // max(1, rows_of(connection, "samples")))
    connection.close()
    multiply(source, target, 1, samples)
    copies = max(1, round(megabytes * 1e6 / os.path.getsize(target)))
    multiply(source, target, copies, samples)
    return copies, samples


if __name__ == "__main__":
    print(*grow(sys.argv[1], sys.argv[2], float(sys.argv[3])))
