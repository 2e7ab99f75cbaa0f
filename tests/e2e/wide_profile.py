"""Makes profiles with very many rows of one kind from a recorded one, for tests and measurements of what they cost.
As a program, prints processor time and memory of `rfprof report` for growing numbers of each kind:

    wide_profile.py RFPROF PROFILE [ROWS]"""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile

ROWS = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {n}) "
# A function with a sample, of {n} blocks of 4 bytes that ran 5 times.
WIDE = ["INSERT INTO frames SELECT {base}, NULL, 0, 1 << 41",
        "INSERT INTO samples SELECT {base}, thread_id, time_ns, 1000000, (SELECT count(*) FROM frames) - 1 FROM samples "
        "WHERE id = 0",
        "INSERT INTO functions SELECT {base}, 0, 1 << 41, (1 << 41) + {n} * 4, 'wide', '', 0",
        "INSERT INTO counts SELECT {base} + i, (SELECT count(*) FROM blocks) + i, (SELECT min(id) FROM threads WHERE run = 2), 5, 0 "
        "FROM n"]


def blocks(code):
    return f"INSERT INTO blocks SELECT {{base}} + i, 0, (1 << 41) + i * 4, {len(code) // 2}, x'{code}' FROM n"


# Statements that add {n} rows each; of what refers to rows, all refer to different ones.
KINDS = {
    # inc eax; jnz 0: a loop; and mov eax,[rax]; jmp 0: with a load whose addresses are random
    "loops": [*WIDE, blocks("ffc075fc")],
    "chases": [*WIDE, blocks("8b00ebfc"),
               "INSERT INTO strides SELECT {base} + i, 0, (1 << 41) + i * 4, 0, 0, 5, 0, 320, 20 FROM n",
               "INSERT INTO traffic SELECT {base} + i, 0, (1 << 41) + i * 4" + ", 0" * 22 + " FROM n"],
    # jmp rax: each may lead to all others
    "jumps": [*WIDE, blocks("ffe0")],
    "modules": ["INSERT INTO modules SELECT {base} + i, '/m/' || i, 'm' || i, '' FROM n"],
    "functions": ["INSERT INTO functions SELECT {base} + i, 0, (1 << 40) + i * 16, (1 << 40) + i * 16 + 16, 'f' || i, '', 0 "
                  "FROM n"],
    "objects": ["INSERT INTO objects SELECT {base} + i, 1, 'o' || i, NULL, 0, '', 0, 64, 1 FROM n",
                "INSERT INTO object_traffic SELECT {base} + i, (SELECT count(*) FROM objects) - 1 - i, t.module_id, "
                "t.code_offset, 1, 0, 1 FROM n, (SELECT * FROM traffic WHERE mem_read_lines > 0 LIMIT 1) AS t"],
    "processes": ["INSERT INTO processes SELECT {base} + i, 1, 0, NULL, 1000000 + i, 2, 0, 'c' || i, NULL, 0, 1, 0, '', 0 FROM n",
                  "INSERT INTO threads SELECT {base} + i, 1, 1000000 + i, 1000000 + i, 't' || i FROM n",
                  "INSERT INTO samples SELECT {base} + i, (SELECT count(*) FROM threads) - 1 - i, 0, 1000000, s.frame_id "
                  "FROM n, (SELECT * FROM samples LIMIT 1) AS s"],
    "reasons": ["INSERT INTO modules SELECT {base} + i, '/m/' || i, 'm' || i, '' FROM n",
                "INSERT INTO uncounted SELECT {base} + i, 'because', (SELECT count(*) FROM modules) - 1 - i FROM n",
                "INSERT INTO frames SELECT {base} + i, NULL, (SELECT count(*) FROM modules) - 1 - i, 0 FROM n",
                "INSERT INTO samples SELECT {base} + i, 0, 0, 1000000, (SELECT count(*) FROM frames) - 1 - i FROM n"],
}


def add(connection, kind, n):
    """`n` more rows, without the sums, so that all is summed up anew."""
    for sql in KINDS[kind]:
        table = sql.split()[2]
        base = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        at = sql.index("SELECT")
        connection.execute(sql[:at] + ROWS.format(n=n) + sql[at:].format(base=base, n=n))
    connection.execute("DELETE FROM facts WHERE key = 'sums'")
    connection.execute("UPDATE facts SET id = (SELECT count(*) FROM facts AS f WHERE f.id < facts.id)")


def widen(source, target, kind, n):
    shutil.copyfile(source, target)
    connection = sqlite3.connect(target)
    add(connection, kind, n)
    connection.commit()
    connection.close()


def limit_processor(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def cost(command, limit=600):
    """How it ended, its processor time in seconds and the most memory in MB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=lambda: limit_processor(limit))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def main():
    rfprof, source, *most = sys.argv[1:]
    print("| rows | number | file, MB | status | processor time, s | memory, MB |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "wide.rfp")
        for kind in KINDS:
            for n in [int(most[0]) // 4, int(most[0])] if most else [25000, 100000]:
                widen(source, path, kind, n)
                status, seconds, megabytes = cost([rfprof, "report", path])
                print(f"| {kind} | {n} | {os.path.getsize(path) / 1e6:.0f} | {status} | {seconds:.2f} | {megabytes:.0f} |",
                      flush=True)


if __name__ == "__main__":
    main()
