"""The roofs hold: no program gets above them, and code that does nothing else gets up to them.

These are timed, so they only run with ./dev test --slow, each alone.  Roofs are measured fresh before
and after in each round, and the better of the two counts, since other load on the machine only makes
them lower; what is amiss in one round is measured again, a few times in all, and only fails when it is
amiss in each.
"""

import json
import math
import os

import pytest

from harness import SOURCE, functions

SUITE = "roofs"

STREAM_ROUNDS = 3
POINT_ROUNDS = 8  # a point is a mean, a roof is what the machine lets be in good moments
MARGIN = 1.02
SECONDS = 1.0  # of a kernel whose point is placed
LEVELS = ["L1", "L2", "L3", "DRAM"]


class Roofs:
    """The better of the roofs measured before and after."""

    def __init__(self, t, *options):
        self.t, self.options, self.machines = t, options, []
        self.measure()

    def measure(self):
        result = self.t.rfprof("machine", "--refresh", "--json", *self.options)
        assert result.status == 0, str(result)
        self.machines.append(json.loads(result.stdout))

    def best(self, **wanted):
        """The highest roof with these members, or None."""
        rows = [roof["best"] for machine in self.machines for roof in machine["roofs"]
                if roof.get("cpu_node") is None and all(roof[key] == value for key, value in wanted.items())]
        return max(rows, default=None)

    def at(self, concurrency, **wanted):
        """The same at a number of threads that may lie between those measured: linear between them."""
        counts = sorted({roof["threads"] for roof in self.machine["roofs"]})
        below = max((count for count in counts if count <= concurrency), default=counts[0])
        above = min((count for count in counts if count >= concurrency), default=counts[-1])
        low, high = (self.best(**wanted, threads=count) for count in (below, above))
        return low + (high - low) * (concurrency - below) / max(above - below, 1)

    def bandwidth(self, ops, level, threads):
        found = [self.best(kind="bandwidth", op=op, level=level, threads=threads) for op in ops]
        return max((value for value in found if value), default=None)

    @property
    def machine(self):
        return self.machines[0]

    def thread_counts(self):
        return sorted({1, self.machine["usable_threads"]})


def level_bytes(machine, level, threads):
    """Bytes for each thread that stay in a level, as docs/roofs.md chooses them; 0: no such level."""
    if level == "DRAM":
        last = max(machine["caches"], key=lambda cache: cache["level"])
        return 4 * last["size_bytes"] * math.ceil(threads / last["shared_by"]) // threads
    sizes = {cache["level"]: cache["size_bytes"] // min(threads, cache["shared_by"]) for cache in machine["caches"]}
    number = int(level[1])
    own, inner = sizes.get(number, 0), sizes.get(number - 1, 0)
    if number < 3 or not own:
        return own // 2
    if own // 2 < 2 * inner:
        return inner + own // 2
    return min(max(int(math.sqrt(inner * own)), 4 * inner), own // 2)


def available_bytes():
    with open("/proc/meminfo", encoding="utf-8") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))


# ---- STREAM ----

# As gcc compiles it, and with its loops left to be loops: it makes the first into a call of memcpy.
STREAM_FLAGS = {"gcc -O3": (), "loops": ("-fno-tree-loop-distribute-patterns",)}
COPIES = ("copy", "copy_nt", "copy_rep")  # which of these memcpy does depends on the size


def stream_roof(roofs, kernel, build, level, threads):
    if kernel == "copy" and not STREAM_FLAGS[build]:
        return roofs.bandwidth(COPIES, level, threads)
    return roofs.bandwidth(("copy",) if kernel in ("copy", "scale") else ("triad",), level, threads)


def stream_elements(machine, level, threads):
    """Elements of each array, all threads together.  STREAM's own rule for memory is that each array is
    at least 4 times the last-level cache."""
    bytes_each = level_bytes(machine, level, threads)
    if level != "DRAM":
        bytes_each //= 3
    if not bytes_each or 3 * bytes_each * threads > available_bytes() // 2:
        return 0
    return bytes_each * threads // 8


def run_stream(t, program, elements, threads):
    """Kernel → best rate."""
    repetitions = 20 if elements > 1 << 22 else 200
    result = t.run([program, str(elements), str(repetitions), str(threads)])
    assert result.status == 0, str(result)
    lines = [dict(word.split("=") for word in line.split()[1:]) for line in result.stdout.decode().splitlines()]
    assert [line["kernel"] for line in lines] == ["copy", "scale", "add", "triad"], str(result)
    return {line["kernel"]: float(line["best"]) for line in lines}


def stream_round(t, programs, wanted):
    """(kernel, build, level, threads) → (rate, roof) for those that are wanted; None: all."""
    roofs, rates, found = Roofs(t), {}, {}
    for build, program in programs.items():
        for level in LEVELS:
            for threads in roofs.thread_counts():
                if wanted is not None and not any(key[1:] == (build, level, threads) for key in wanted):
                    continue
                elements = stream_elements(roofs.machine, level, threads)
                if elements:
                    for kernel, rate in run_stream(t, program, elements, threads).items():
                        rates[kernel, build, level, threads] = rate
    roofs.measure()
    for key, rate in rates.items():
        roof = stream_roof(roofs, *key)
        if roof and (wanted is None or key in wanted):
            found[key] = rate, roof
    return found


@pytest.mark.slow
@pytest.mark.alone
def test_stream_stays_below(t):
    """STREAM as gcc -O3 -march=native compiles it never exceeds the roof of its level and convention."""
    source = os.path.join(SOURCE, "tests", "targets", "stream.c")
    programs = {build: t.program(source, ("-O3", "-march=native", *flags)) for build, flags in STREAM_FLAGS.items()}
    above, measured = None, 0
    print(f"{'kernel':8}{'build':10}{'level':6}{'threads':>8}{'STREAM GB/s':>13}{'roof':>9}{'ratio':>8}")
    for _ in range(STREAM_ROUNDS):
        rows = stream_round(t, programs, above)
        measured = measured or len(rows)
        above = []
        for (kernel, build, level, threads), (rate, roof) in rows.items():
            too_high = rate > MARGIN * roof
            print(f"{kernel:8}{build:10}{level:6}{threads:8}{rate:13.1f}{roof:9.1f}{rate / roof:8.3f}"
                  f"{'  above: measured again' if too_high else ''}", flush=True)
            if too_high:
                above.append((kernel, build, level, threads))
        if not above:
            break
    assert measured, "nothing to compare"
    assert not above, f"above the roof in {STREAM_ROUNDS} rounds: {above}"


# ---- points ----

def fma_tasks(roofs, threads):
    """Name → (tasks of roof_points, of which the fastest counts; roof's members; member of the report; band)."""
    tasks = {}
    for precision in ("double", "single"):
        for isa in ("scalar", "sse2", "avx2", "avx512f"):
            members = {"kind": "compute", "isa": isa, "precision": precision, "op": "fma"}
            roof = roofs.best(**members, threads=threads)
            if roof:
                bits = {"scalar": 0, "sse2": 128, "avx2": 256, "avx512f": 512}[isa]
                lanes = max(1, bits // (64 if precision == "double" else 32))
                count = round(SECONDS * roof / threads * 1e9 / (24 * 2 * lanes))
                name = f"fma_{precision}_{isa}"
                tasks[name] = {name: (count, 0)}, members, "gflops", 0.97
    return tasks


def stream_tasks(roofs, level, threads):
    """The same for streams; dot reads only.  Beyond L2 it depends on the CPU whether prefetches help."""
    tasks = {}
    wide = roofs.best(kind="compute", isa="avx512f", precision="double", op="fma", threads=1)
    isa = "avx512f" if wide else "avx2"
    size = level_bytes(roofs.machine, level, threads)
    if not size or size * threads > available_bytes() // 2:
        return {}
    for name, op, arrays, bytes_each in (("copy", "copy", 2, 16), ("triad", "triad", 3, 24),
                                         ("daxpy", "daxpy", 2, 24), ("dot", "read", 2, 16)):
        members = {"kind": "bandwidth", "op": op, "level": level}
        roof = roofs.best(**members, threads=threads)
        if roof:
            moved = size // arrays // 512 * 512 // 8 * bytes_each
            count = max(2, round(SECONDS * roof / threads * 1e9 / moved))
            shapes = [name] if level in ("L1", "L2") else [name, f"{name}_ahead"]
            choice = {f"{shape}_{isa}": (count, size) for shape in shapes}
            tasks[name] = choice, members, "gbytes_per_s", 0.90
    return tasks


def measured_points(t, program, tasks, threads):
    """Name → (what rfprof's report says of it, its concurrency, function)."""
    words = [f"{function}:{count}:{size}" for choice, *_ in tasks.values() for function, (count, size) in choice.items()]
    report = t.profile([program, str(threads), *words]).json
    points = {}
    for name, (choice, _, member, _) in tasks.items():
        rows = [row for function in choice for row in functions(report, function)]
        assert len(rows) == len(choice), f"{len(rows)} rows for {name}"
        points[name] = max((row[member], row["threads"], row["name"]) for row in rows)
    return points


def points_round(t, program, plans, wanted):
    """Measures the tasks that the plans make from fresh roofs, as far as they are wanted (None: all);
    returns (plan, name) of those above and of those below."""
    roofs, points = Roofs(t, "--quick"), []
    for what, threads, make in plans:
        tasks = {name: task for name, task in make(roofs).items() if wanted is None or (what, threads, name) in wanted}
        if tasks:
            found = measured_points(t, program, tasks, threads)
            points += [((what, threads, name), tasks[name], found[name]) for name in tasks]
    roofs.measure()
    above, below = set(), set()
    for key, (_, members, _, band), (point, concurrency, function) in points:
        part = point / roofs.at(concurrency, **members)
        where = "above" if part > MARGIN else "below" if part < band else ""
        {"above": above, "below": below}.get(where, set()).add(key)
        print_point(function, members.get("level", ""), concurrency, point, part, where)
    return above, below, len(points)


def print_point(name, level, concurrency, point, part, where):
    print(f"{name:20}{level:6}{concurrency:8.2f}{point:10.1f}{point / part:9.1f}{100 * part:8.1f} %  {where}",
          flush=True)


def points_on_roofs(t, plans):
    """plans: (name, threads, function of fresh roofs that makes tasks); in up to POINT_ROUNDS rounds.  What is
    amiss must be so in the same way in each."""
    program = t.program("roof_points.c")
    print(f"{'function':20}{'level':6}{'threads':>8}{'measured':>10}{'roof':>9}{'percent':>10}")
    above, below, measured = points_round(t, program, plans, None)
    assert measured, "nothing to compare"
    for _ in range(POINT_ROUNDS - 1):
        if above | below:
            now_above, now_below, _ = points_round(t, program, plans, above | below)
            above, below = above & now_above, below & now_below
    wrong = [f"{name}, {what}, {threads} threads: {where} in {POINT_ROUNDS} rounds"
             for where, keys in (("above its roof", above), ("below its band", below))
             for what, threads, name in sorted(keys)]
    assert not wrong, "\n".join(wrong)


def thread_counts(t):
    return Roofs(t, "--quick").thread_counts()


def need_fma():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        if " fma " not in file.read():
            pytest.skip("this CPU has no fma")


@pytest.mark.slow
@pytest.mark.alone
def test_crunch_points_on_the_ceiling(t):
    """Multiply-adds between registers reach 97 to 100 % of their ceiling."""
    need_fma()
    points_on_roofs(t, [("FMA", threads, lambda roofs, threads=threads: fma_tasks(roofs, threads))
                        for threads in thread_counts(t)])


@pytest.mark.slow
@pytest.mark.alone
def test_stream_points_on_the_slope(t):
    """Streams reach 90 to 100 % of the roof of the level where their data is."""
    need_fma()
    points_on_roofs(t, [(level, threads, lambda roofs, level=level, threads=threads: stream_tasks(roofs, level, threads))
                        for level in LEVELS for threads in thread_counts(t)])


@pytest.mark.slow
@pytest.mark.alone
def test_random_mixes_reach_their_ceilings(t):
    """Loops of random mixes of instructions come within 5 % of the ceiling that follows from the measured kernels."""
    program = os.path.join(t.build_directory, "tests", "bench", "mix_ceilings")
    for seed in range(1, 5):
        result = t.run([program, str(seed)], timeout=600)
        print(result.stdout.decode())
        if result.status == 77:
            pytest.skip("no AVX-512VL here")
        if result.status == 0:
            return
    assert result.status == 0, str(result)
