"""What the experiments of all papers need: programs, sweeps, plots, and a page that says what was found."""

import glob
import json
import os
import re
import statistics
import subprocess
import sys
import time

from curves import curves

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAST_CODE = ("-O3", "-march=native")
PLAIN_CODE = ("-O2", "-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-ffp-contract=off")
LIBRARIES = ("-lm",)
BLAS = ("-lopenblas", "-lfftw3", "-lm")
# [T]'s machine: two levels, the last one of 2 MB.
STEINMANN_CACHE = "L1=32K:8,L2=2M:8"
# A core of [G]'s Cascade Lake, with its share of the last level, which takes what L2 evicts.
GRAVELLE_CACHE = "L1=32K:8,L2=1M:16,L3=1408K:11:victim"
# A call begins with empty caches; all sets are simulated.
STEINMANN_COLD = ("--caches=cold", f"--cache={STEINMANN_CACHE}", "--cache-sample=1")
# ... with what the same call leaves there, unchanged.
STEINMANN_WARM = ("--caches=warm", *STEINMANN_COLD[1:])


class Point:
    """A point of a sweep; figures are of a call, medians."""

    def __init__(self, json_point):
        self.json = json_point
        self.parameters = json_point["parameters"]

    def __getattr__(self, name):
        figure = self.json.get(name)
        return figure["median"] if isinstance(figure, dict) else figure

    @property
    def n(self):
        return float(self.parameters["n"])

    @property
    def left(self):
        return self.json["metrics"]["mem_left_bytes"] or 0

    @property
    def read(self):
        return self.json["mem_read_bytes"]["median"]

    @property
    def written(self):
        """With what is left in the caches at the end of a call."""
        return self.json["mem_write_bytes"]["median"] + self.left

    @property
    def moved(self):
        return self.read + self.written

    @property
    def moved_in_call(self):
        """Without what is left in the caches."""
        return self.read + self.mem_write_bytes

    @property
    def intensity(self):
        return over(self.flop, self.moved)

    @property
    def intensity_in_call(self):
        return over(self.flop, self.moved_in_call)

    @property
    def gflops(self):
        return self.flop / self.time_s * 1e-9 if self.time_s else None

    def metric(self, name):
        return self.json["metrics"][name]


class Lab:
    def __init__(self, paper, build, out, fast, kept=False):
        self.paper, self.out, self.fast, self.kept = paper, out, fast, kept
        self.rfprof = os.path.join(build, "cli", "rfprof")
        self.work = os.path.join(build, "truth", "work")
        self.lines, self.verdicts = [], []
        self.begin = time.monotonic()
        for folder in (self.file(""), self.file("shared/")):
            os.makedirs(os.path.join(self.work, os.path.dirname(folder)), exist_ok=True)
        os.makedirs(out, exist_ok=True)
        for old in glob.glob(os.path.join(out, paper, "*.svg")):  # of figures that are no longer made
            os.remove(old)

    # ---- measuring ----

    def program(self, source, name=None, flags=FAST_CODE, libraries=LIBRARIES):
        """Built as ./NAME of the working directory, anew where the source or the flags have changed."""
        name = name or source
        path = os.path.join(TOP, "tests", "papers", source + ".c")
        output, note = os.path.join(self.work, name), os.path.join(self.work, name + ".flags")
        newest = max(os.path.getmtime(path), os.path.getmtime(os.path.join(os.path.dirname(path), "paper.h")))
        wanted = " ".join((source, *flags, *libraries))
        known = open(note, encoding="utf-8").read() if os.path.exists(note) else None
        if known != wanted or not os.path.exists(output) or os.path.getmtime(output) < newest:
            subprocess.run(["cc", "-g", "-D_GNU_SOURCE", *flags, path, "-o", output, *libraries], check=True)
            with open(note, "w", encoding="utf-8") as file:
                file.write(wanted)
        return "./" + name

    def run_rfprof(self, *arguments, threads=1):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        # bounded: no experiment takes as long
        done = subprocess.run([self.rfprof, *arguments], cwd=self.work, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=1800, check=False)
        if done.returncode:
            sys.exit(f"rfprof {' '.join(arguments)}:\n{done.stderr}")
        return done.stdout

    def file(self, name):
        """Of a sweep of this paper; that of shared/NAME is every paper's."""
        folder, name = os.path.split(name)
        return os.path.join((folder or self.paper) + ("-fast" if self.fast else ""), name + ".rfp")

    def sweep(self, name, parameters, command, *options, repeats=3, threads=1):
        """The points of a sweep, which is kept under that name."""
        words = [f"{key}={','.join(str(value) for value in values)}" for key, values in parameters.items()]
        repeats = 2 if self.fast else repeats
        print(f"{self.paper}: {name}", file=sys.stderr, flush=True)
        if self.kept and os.path.exists(os.path.join(self.work, self.file(name))):
            return [Point(point) for point in json.loads(self.run_rfprof("sweep", f"--save={self.file(name)}", "--json=-"))["points"]]
        text = self.run_rfprof("sweep", "-q", "--kernel=kernel", f"--repeats={repeats}", f"--save={self.file(name)}",
                               "--json=-", *options, *words, "--", *command, threads=threads)
        return [Point(point) for point in json.loads(text)["points"]]

    def machine(self):
        return json.loads(self.run_rfprof("machine", "--json"))

    def memory_bandwidth(self, ops=("read",)):
        """The best that one thread reaches at memory with one of these kernels, bytes per second."""
        best = [row["best"] for row in self.machine()["roofs"]
                if row["kind"] == "bandwidth" and row["level"] == "DRAM" and row["threads"] == 1
                and row["op"] in ops and row["cpu_node"] is None]
        return max(best) * 1e9

    def peak(self, isa=None):
        """What FMA of doubles reach on one thread, of the widest vectors or those of an instruction set; flop per second."""
        best = [row["best"] for row in self.machine()["roofs"]
                if row["kind"] == "compute" and row["precision"] == "double" and row["threads"] == 1
                and row["op"] == "fma" and isa in (None, row["isa"])]
        return max(best) * 1e9

    def peak_of_width(self, point):
        """The same of the vectors that a point used, by its flop per FP instruction, and their name."""
        flop = point.metric("flop_per_fp_instruction")
        isa = "avx512f" if flop > 8 else "avx2" if flop > 4 else "sse2" if flop > 2 else "scalar"
        return self.peak(isa), isa

    # ---- the page ----

    def say(self, *lines):
        for line in lines:
            self.lines += [line, ""] if line.startswith("#") else [line]
        self.lines.append("")

    def picture(self, name):
        os.makedirs(os.path.join(self.out, self.paper), exist_ok=True)
        return os.path.join(self.out, self.paper, name + ".svg")

    def plot(self, kind, files, name, *options, caption=""):
        """A plot of the sweeps of these names."""
        first, *others = [self.file(file) for file in files]
        path = self.picture(name)
        self.run_rfprof("sweep", f"--save={first}", *(f"--with={other}" for other in others), f"--plot={kind}",
                        f"--svg={path}", *options)
        self.say(f"![{caption or name}]({self.paper}/{name}.svg)")

    def curves(self, name, title, across, up, series, marks=(), dots=(), caption="", log=False):
        """A plot of what sweeps have no plot for."""
        curves(self.picture(name), title, across, up, series, marks, dots, log)
        self.say(f"![{caption or name}]({self.paper}/{name}.svg)")

    def table(self, titles, rows):
        self.say("| " + " | ".join(titles) + " |\n| " + " | ".join("---" for _ in titles) + " |\n" +
                 "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows))

    def finding(self, text, holds, measured, exact=True, compiled=False, why=""):
        """What is counted or simulated (`exact`) has to hold, unless it is known why it does not, or hangs on what the compiler makes
        (`compiled`); times are disturbed by others on the machine."""
        word = "holds" if holds else "does not hold here"
        kind = " (compiler)" if compiled else "" if exact else " (times)"
        reason = f" {why}" if why and not holds else ""
        self.verdicts.append((text, holds, exact and not compiled and not why))
        self.say(f"**Finding**: {text} **{word}**{kind}: {measured}{reason}")

    def failed(self):
        return any(has_to and not holds for _, holds, has_to in self.verdicts)

    def write(self):
        machine = self.machine()
        minutes = (time.monotonic() - self.begin) / 60
        head = [f"Made by `tests/truth/run {self.paper}` on: {machine['cpu_model']}, "
                f"{machine['microarchitecture'] or 'unknown core'}, {machine['usable_threads']} hardware threads, "
                f"{machine['clock_ghz']:.2f} GHz; caches " +
                ", ".join(f"L{cache['level']} {cache['size_bytes'] >> 10} KiB" for cache in machine["caches"]) +
                ". The machine had other work, too: times are medians of repeats, and still vary by tens of percent. "
                "Work and bytes of loads and stores are exact, memory traffic is of simulated caches.", ""]
        title, rest = self.lines[0], self.lines[1:]
        held = sum(holds for _, holds, _ in self.verdicts)
        summary = [f"{held} of {len(self.verdicts)} findings hold" + ("." if held == len(self.verdicts) else "; these do not:")]
        summary += ["", *(f"- {text}" for text, holds, _ in self.verdicts if not holds)]
        path = os.path.join(self.out, self.paper + ".md")
        with open(path, "w", encoding="utf-8") as file:
            text = "\n".join([title, "", *head, *summary, *rest]).rstrip() + "\n"
            file.write(re.sub(r"\n{3,}", "\n\n", text))
        print(f"{path}: {held} of {len(self.verdicts)} findings hold; {minutes:.1f} minutes", file=sys.stderr)
        for text, holds, has_to in self.verdicts:
            if not holds:
                print(f"  {'NOT' if has_to else 'not here'}: {text}", file=sys.stderr)


def over(a, b):
    return a / b if b else float("inf")


def median(values):
    return statistics.median(list(values))


def by(points, **parameters):
    """Those with these parameters."""
    return [point for point in points
            if all(point.parameters[key] == str(value) for key, value in parameters.items())]
