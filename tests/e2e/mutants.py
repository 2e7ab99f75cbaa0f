"""Profiles as somebody might make them who wants a reader to fall: from a seed, and the same from the same seed.

Even seeds change bytes of the file, odd ones values by SQL, of any type, whatever the schema says of them."""

import os
import random
import shutil
import sqlite3

INTEGERS = [0, 1, -1, 2, 63, 64, 255, 256, 2**31 - 1, 2**31, -2**31, 2**32 - 1, 2**32, 2**47, 2**52, 2**59, 2**60, 2**60 + 1,
            2**62, 2**63 - 1, -2**60, -2**63]
REALS = [0.0, -0.0, 1e-320, 1e-300, 1e-9, 0.5, 1.0, -1.0, 3.7, 1e9, 1e12, 1e18, 1e24, 1e48, 1e300, 1.8e308, float("inf"),
         -float("inf"), float("nan")]
TEXTS = ["", "0", "-1", "nan", "1e308", "9" * 40, "a" * 100000, "%s%n%x", "../../../etc/passwd", "\x1b]0;x\x07", "\u202e",
         "L1=x L2=y", "</script><script>alert(1)</script>", "a,b\"c\nd", "'", "[jit]", "[rfprof]"]


def tables(connection):
    return [name for name, in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]


def columns(connection, table):
    """Name and type of each column but the id, as the schema has them."""
    return [(name, kind) for _, name, kind, _, _, key in connection.execute(f"PRAGMA table_info({table})") if not key]


def rows_of(connection, table):
    return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def fill(connection, table):
    """A row in a table that has none, so that there is something to change."""
    values = {"INTEGER": "1" if table == "timed_runs" else "0", "REAL": "1.0", "TEXT": "''", "BLOB": "x''"}
    if not rows_of(connection, table):
        row = [values[kind] for _, kind in columns(connection, table)]
        connection.execute(f"INSERT INTO {table} VALUES (0, {', '.join(row)})")


# ---- bytes ----

def flip(draw, data):
    for _ in range(draw.randint(1, 16)):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def overwrite(draw, data):
    at, n = draw.randrange(len(data)), draw.randint(1, 200)
    data[at:at + n] = draw.choice([bytes(n), b"\xff" * n, draw.randbytes(n)])[:len(data) - at]


def cut(draw, data):
    del data[draw.randrange(len(data)):]


def swap_pages(draw, data):
    a, b = (4096 * draw.randrange(1, max(2, len(data) // 4096)) for _ in range(2))
    data[a:a + 4096], data[b:b + 4096] = data[b:b + 4096], data[a:a + 4096]


def change_header(draw, data):
    data[draw.randrange(16, 100)] = draw.randrange(256)


def change_page_header(draw, data):
    """Of a page of a tree: its kind, how many cells it has and where, or the page that follows."""
    at = 4096 * draw.randrange(len(data) // 4096)
    data[min(len(data) - 1, at + draw.randrange(16 if at else 116))] = draw.randrange(256)


def mutate_bytes(draw, path):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    for _ in range(draw.choice([1, 1, 2, 4])):
        draw.choice([flip, flip, overwrite, cut, swap_pages, change_header, change_page_header])(draw, data)
        if len(data) < 4096:
            break
    with open(path, "wb") as file:
        file.write(data)


# ---- values ----

def some_rows(draw, n):
    one = draw.randrange(max(1, n))
    return draw.choice(["1", f"id = {one}", f"id >= {one}", f"id % {draw.randint(2, 9)} = 0"])


def value_for(draw, connection, kind):
    """Mostly of the column's type, mostly beyond what it can be."""
    kind = draw.choice([kind] * 6 + ["INTEGER", "REAL", "TEXT", "BLOB", "NULL"])
    if kind == "INTEGER":
        near = rows_of(connection, draw.choice(tables(connection)))
        return draw.choice([*INTEGERS, near, near - 1, draw.getrandbits(draw.randint(1, 63))])
    if kind == "REAL":
        return draw.choice([*REALS, draw.uniform(-1, 1) * 10 ** draw.randint(-30, 30)])
    return {"TEXT": draw.choice(TEXTS), "BLOB": draw.randbytes(draw.randint(0, 40)), "NULL": None}[kind]


def change_value(draw, connection):
    table = draw.choice(tables(connection))
    name, kind = draw.choice(columns(connection, table))
    connection.execute(f"UPDATE OR IGNORE {table} SET {name} = ? WHERE {some_rows(draw, rows_of(connection, table))}",
                       (value_for(draw, connection, kind),))


def change_fact(draw, connection):
    n = rows_of(connection, "facts")
    connection.execute("UPDATE facts SET value = ? WHERE id = ?",
                       (str(value_for(draw, connection, draw.choice(["INTEGER", "REAL", "TEXT"]))), draw.randrange(max(1, n))))


def remove_rows(draw, connection):
    """The last ones, so that what refers to them has nothing, or any."""
    table = draw.choice(tables(connection))
    n = rows_of(connection, table)
    where = draw.choice([f"id >= {draw.randrange(n + 1)}", some_rows(draw, n)])
    connection.execute(f"DELETE FROM {table} WHERE {where}")


def move_references(draw, connection):
    """To other rows that are there, to earlier ones, to themselves, in circles."""
    table = draw.choice(tables(connection))
    names = [name for name, _ in columns(connection, table) if name.endswith("_id")]
    if names:
        to = draw.choice(["id", "id + 1", "id - 1", "abs(random()) % (id + 1)", "max(0, id / 2)", "0", "NULL"])
        connection.execute(f"UPDATE {table} SET {draw.choice(names)} = {to} WHERE "
                           f"{some_rows(draw, rows_of(connection, table))}")


def repeat_rows(draw, connection):
    table = draw.choice([name for name in tables(connection) if name != "facts"])
    n = rows_of(connection, table)
    names = ", ".join(name for name, _ in columns(connection, table))
    for k in range(draw.randint(1, 3)):
        connection.execute(f"INSERT INTO {table} SELECT id + {(k + 1) * n}, {names} FROM {table} WHERE id < {n} AND id < 2000")
        if n > 2000:
            break


def loosen(connection):
    """Takes from the schema what it says of values; returns the texts to be put back."""
    texts = connection.execute("SELECT sql, rowid FROM sqlite_schema WHERE type = 'table'").fetchall()
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = replace(replace(sql, ') STRICT', ')'), ' NOT NULL', '') "
                       "WHERE type = 'table'")
    connection.commit()
    return texts


def restore(path, texts):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    connection.executemany("UPDATE sqlite_schema SET sql = ? WHERE rowid = ?", texts)
    connection.commit()
    connection.close()


def mutate_values(draw, path):
    connection = sqlite3.connect(path)
    for table in tables(connection):
        fill(connection, table)
    connection.commit()
    texts = loosen(connection)
    connection.close()
    connection = sqlite3.connect(path)
    if draw.randrange(2):
        connection.execute("DELETE FROM facts WHERE key = 'sums'")
        connection.execute("UPDATE facts SET id = (SELECT count(*) FROM facts AS f WHERE f.id < facts.id)")
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        draw.choice([change_value] * 5 + [change_fact, remove_rows, move_references, repeat_rows])(draw, connection)
    connection.commit()
    connection.close()
    restore(path, texts)


def make(source, target, seed):
    shutil.copyfile(source, target)
    draw = random.Random(seed)
    (mutate_values if seed % 2 else mutate_bytes)(draw, target)
    for beside in ("-journal", "-wal", "-shm"):
        if os.path.exists(target + beside):
            os.unlink(target + beside)
