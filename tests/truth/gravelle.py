"""[G] Gravelle: Portable hardware counter metrics (dissertation), 2022."""

import re

from lab import FAST_CODE, GRAVELLE_CACHE, PLAIN_CODE, by

VERSIONS = ("triple", "transposed", "unroll_jam", "blocked")  # algorithms 4 to 7
UNOPTIMIZED = ("-O0",)
OPTIMIZED = ("-Ofast", "-march=native")
VECTORS = (*FAST_CODE, "-fno-math-errno")
CASCADE_LAKE = (f"--cache={GRAVELLE_CACHE}", "--cache-sample=1")
LEVELS = ("l2_bytes", "l3_bytes", "mem_bytes")
LEVEL_NAMES = ("L2", "L3", "MEM")


def ls_bytes(point):
    return point.load_bytes + point.store_bytes


def metrics_table(lab, name):
    """Table 9 of a sweep, as rfprof prints it, without the notes on what its rows mean."""
    text = lab.run_rfprof("sweep", f"--save={lab.file(name)}", "--metrics", "--output=-")
    table = re.split(r"\n\s*·", text[text.index("metric"):])[0]
    lab.say("```", *table.rstrip().splitlines(), "```")


def ratios(points, name):
    """Of the second point over the first."""
    first, second = (ls_bytes(point) if name == "ls_bytes" else point.metric(name) for point in points)
    return second / first if first else float("nan")


# Lines as cache/machines.def has them, bytes.
MACHINES = {"a64fx": 256, "power9": 128, "thunderx2": 64}


def other_figures(point):
    """Bytes at L2 and at memory, of a call."""
    return point.metric("other_l2_bytes"), point.metric("other_mem_read_bytes") + point.metric("other_mem_write_bytes")


def other_machines(lab):
    lab.say("## Figures 20 and 32, of other machines: A64FX, POWER9 and ThunderX2",
            "What the same code would move there (`--other-caches`): lines of 256, 128 and 64 bytes, the first L1 larger than the others, that of POWER9 writes through. "
            "Loads and stores are those of this machine's code, built without vectors.")
    stream, product = lab.program("memory", "memory_plain", PLAIN_CODE), lab.program("matrix", "matrix_plain", PLAIN_CODE)
    sizes, n = [1 << 10, 1 << 13, 1 << 16], 96 if lab.fast else 320
    triads, products = {}, {}
    for name in MACHINES:
        options = (f"--other-caches={name}",)
        triads[name] = lab.sweep(f"triad-{name}", {"n": sizes}, [stream, "triad", "{n}", "-4", "20"], *options, repeats=1)
        products[name] = lab.sweep(f"products-{name}", {"k": ["triple", "blocked"], "n": [n]}, [product, "{k}", "{n}"], *options, repeats=1)
    rows = [[f"triad, {24 * size >> 10} KiB", *(f"{value / 20 / size:.2f}" for name in MACHINES for value in other_figures(triads[name][i]))]
            for i, size in enumerate(sizes)]
    rows += [[f"{kernel}, n = {n}", *(f"{value / n ** 3:.3f}" for name in MACHINES for value in other_figures(by(products[name], k=kernel)[0]))]
             for kernel in ("triple", "blocked")]
    lab.table(["bytes of an element and pass; of products, of a multiplication", *(f"{name}: {level}" for name in MACHINES for level in ("L2", "memory"))], rows)
    at_l2 = {name: [other_figures(point)[0] / 20 / point.n for point in triads[name]] for name in MACHINES}
    lab.finding("what the triad moves at L2 is near 0 while its data fit into an L1 that writes back, and 32 bytes an element beyond it.",
                all(at_l2[name][0] < 2 and abs(at_l2[name][-1] / 32 - 1) < 0.02 for name in ("a64fx", "thunderx2")),
                ", ".join(f"{name}: {values[0]:.2f} at 24 KiB, {values[-1]:.2f} at 1.5 MiB" for name, values in at_l2.items()) + " bytes.")
    lab.finding("an L1 that writes through passes 8 bytes an element on to L2 wherever the data are, and brings no lines in for stores.",
                abs(at_l2["power9"][0] / 8 - 1) < 0.15 and abs(at_l2["power9"][-1] / 24 - 1) < 0.02,
                f"POWER9: {at_l2['power9'][0]:.2f} bytes at 24 KiB, {at_l2['power9'][-1]:.2f} at 1.5 MiB, where 16 are loaded.")
    if not lab.fast:
        triple = {name: other_figures(by(products[name], k="triple")[0])[0] / n ** 3 for name in MACHINES}
        lab.finding("the triple loop moves a whole line for each multiplication, so that the longest lines move most: a column of B, in steps of 2,560 bytes, "
                    "meets so few of L1's sets that none of its lines stays.",
                    all(abs(value / MACHINES[name] - 1) < 0.05 for name, value in triple.items()),
                    ", ".join(f"{name}: {value:.1f} bytes of lines of {MACHINES[name]}" for name, value in triple.items()) + ".")
        less = {name: triple[name] / (other_figures(by(products[name], k="blocked")[0])[0] / n ** 3) for name in MACHINES}
        lab.finding("blocks lessen what moves at L2 most on A64FX, with the longest lines (figure 32).", max(less, key=less.get) == "a64fx",
                    ", ".join(f"{name}: {value:.0f} times" for name, value in less.items()) + ".")


def bandwidth(lab):
    lab.say("## Figures 2 to 6, 15 and 16: bandwidth of STREAM's triad by the size of its data",
            "As many passes as make the same work (algorithm 1); bytes are those of loads and stores; this machine.")
    program = lab.program("memory", "memory_fast", FAST_CODE)
    sizes = [1 << k for k in ((9, 13, 20) if lab.fast else range(8, 23, 2))]
    points = lab.sweep("stream", {"n": sizes}, [program, "triad", "{n}", "-15" if lab.fast else "-75", "20"], "--cache-sample=32")
    lab.plot("bandwidth", ["stream"], "figure-4", "--size-formula=24*n", caption="Figures 4 to 6, with the sizes of the caches")
    caches = {cache["level"]: cache["size_bytes"] for cache in lab.machine()["caches"]}
    speed = {}
    for level, low, high in ((1, 0, 0.7 * caches[1]), (2, 1.5 * caches[1], 0.7 * caches[2]),
                             (3, 1.5 * caches[2], 0.5 * caches[3]), (4, 2 * caches[3], float("inf"))):
        inside = [ls_bytes(point) / point.time_s * 1e-9 for point in points if low < 24 * point.n < high and point.time_s]
        if inside:
            speed[level] = max(inside)
    if len(speed) > 2:
        lab.finding("the same work takes longer with each level of the caches, and bandwidth falls.",
                    list(speed.values()) == sorted(speed.values(), reverse=True),
                    ", ".join(f"{'memory' if level == 4 else f'L{level}'} {value:.0f}" for level, value in speed.items()) + " GB/s.",
                    exact=False)


def stream(lab):
    lab.say("## Figures 7 to 10, 20, 21, 36, 37, 40 and 41: STREAM, counted",
            f"Caches of one core of [G]'s Cascade Lake with its share of L3 ({GRAVELLE_CACHE}): all that is counted below here is of these.")
    program = lab.program("memory", "memory_fast", FAST_CODE)
    caches = {"L1": 32 << 10, "L2": 1 << 20, "L3": (1 << 20) + (1408 << 10)}  # a victim cache has other lines than L2
    sizes = [1 << k for k in (9, 10, 14, 15, 16, 18, 20)]
    # the same work for all sizes; in the first of hundreds of passes data come from memory
    passes = 20
    points = lab.sweep("stream-counted", {"n": sizes}, [program, "triad", "{n}", "-4", str(passes)], *CASCADE_LAKE, repeats=1)
    each = {point.n: [value / passes / point.n for value in (point.flop, ls_bytes(point), *(point.metric(name) for name in LEVELS))]
            for point in points}
    lab.table(["n", "data", "flop", "LS bytes", "L2 bytes", "L3 bytes", "MEM bytes"],
              [[int(n), f"{24 * n / 1024:.0f} KiB", *(f"{value:.3f}" for value in values)] for n, values in each.items()])
    lab.say("Of an element, in the mean of all passes.")
    lab.curves("figure-21", "STREAM", "data (KiB)", "bytes of an element",
               {name: [(24 * n / 1024, values[k + 1]) for n, values in each.items()] for k, name in enumerate(("LS", *LEVEL_NAMES))},
               [(name, size / 1024) for name, size in caches.items()], caption="Figures 20 and 21: bytes of all levels by the size of the data")
    lab.finding("the flop of the triad are those of theory (figures 36, 37; [G]: within 0.5 %).",
                all(point.flop == 2 * point.n * passes for point in points), "2 n a pass, exactly.")
    lab.finding("LS bytes are those of theory, and the same for all sizes (figures 7, 8, 20, 21).",
                all(abs(values[1] / 24 - 1) < 0.005 for values in each.values()),
                f"24 bytes an element, and at most {100 * max(values[1] / 24 - 1 for values in each.values()):.2f} % more by what a call itself needs.")
    names = ("flop_per_load_instruction", "flop_per_store_instruction", "flop_per_load_byte", "flop_per_store_byte")
    spread = max(max(point.metric(name) for point in points) / min(point.metric(name) for point in points) - 1 for name in names)
    width = points[-1].metric("flop_per_load_instruction") / points[-1].metric("flop_per_load_byte")
    lab.finding("flop per load and store, by instruction and byte, are the same for all sizes, 64 times apart with vectors of 512 bits "
                "(figures 40, 41).", spread < 0.05 and abs(width - round(width)) < 0.01,
                f"{100 * spread:.2f} % at most between sizes, by what a call itself needs; {width:.0f} times apart, as the compiler takes "
                f"vectors of {8 * width:.0f} bits.", compiled=True)
    beyond = {"L1": 2, "L2": 3, "L3": 4}
    near = max(values[beyond[name]] for n, values in each.items() for name, size in caches.items() if 24 * n < 0.8 * size)
    far = min(values[beyond[name]] for n, values in each.items() for name, size in caches.items() if 24 * n > 1.5 * size)
    lab.finding("bytes of a level are near 0 as long as the data fit into the level above, and then many (figures 20, 21).",
                near < 1 and far > 20, f"at most {near:.2f} and at least {far:.1f} bytes an element.")


def crunch(lab):
    lab.say("## Tables 3 and 4: FP Crunch", "Algorithm 2, compiled for scalars and for vectors.")
    rows, points = [], {}
    for name, flags in (("scalar", (*PLAIN_CODE, "-march=native")), ("vectors", OPTIMIZED)):
        program = lab.program("memory", f"memory_{name}", flags)
        points[name] = lab.sweep(f"crunch-{name}", {"n": [256], "k": ["fp_crunch", "add", "mul"]},
                                 [program, "{k}", "{n}", "-200", "1"], "--cache-sample=32")
        for point in points[name]:
            rows.append([f"{point.parameters['k']} {name}", f"{point.flop:.0f}", f"{point.metric('flop_per_fp_instruction'):.2f}",
                         f"{point.gflops:.2f}" if point.time_s else "–"])
    lab.table(["kernel", "flop a call", "flop per FP instruction", "Gflop/s"], rows)
    lab.finding("the flop of FP Crunch are exact (figures 9 and 10).",
                all(by(points[name], k="fp_crunch")[0].flop == 2 * 1000 * 256 for name in points), "2 × 1000 × 256 a call, in both builds.")
    vectors = by(points["vectors"], k="fp_crunch")[0].metric("flop_per_fp_instruction")
    lab.finding("compiled for vectors FP Crunch uses them (tables 3 and 4).", vectors >= 4, f"{vectors:.2f} flop per FP instruction.",
                compiled=True, why="What keeps the compiler from multiplying once instead of 1000 times in this project's kernel keeps it from vectors, too.")


def matrices(lab):
    lab.say("## Figures 13, 14, 17 to 19, 32 to 51, table 14: four versions of matrix multiplication",
            "Built with -Ofast, as [G]'s compilers may change the order of sums by default. n = 480, where [G] has 8192.")
    program = lab.program("matrix", "matrix_ofast", OPTIMIZED)
    n = 480
    points = lab.sweep("versions", {"k": VERSIONS, "n": [n]}, [program, "{k}", "{n}", "2"], *CASCADE_LAKE)
    lab.plot("cache-aware", ["versions"], "figure-14", caption="Figures 13 and 14: the cache-aware roofline")
    lab.say("Table 9, a column for each version:")
    metrics_table(lab, "versions")
    metric = {point.parameters["k"]: point for point in points}
    more = {name: metric[name].flop / (2 * n ** 3) - 1 for name in VERSIONS}
    lab.finding("more flop are counted than the source has, most with blocks, as the compiler adds up partial sums (figures 38, 39).",
                max(more, key=more.get) == "blocked" and 0 <= min(more.values()),
                ", ".join(f"{name} {100 * value:.2f} %" for name, value in more.items()) +
                " more than 2 n³; [G]: none, but 25 to 100 % with small blocks.", compiled=True)
    lab.finding("unrolling keeps the compiler from vectors (table 14: 1.00 flop per FP instruction, and near 8 in the others).",
                metric["unroll_jam"].metric("flop_per_fp_instruction") < 2,
                ", ".join(f"{name} {metric[name].metric('flop_per_fp_instruction'):.2f}" for name in VERSIONS) + " flop per FP instruction.",
                compiled=True, why="This compiler takes vectors for it, too; narrow ones for the default, which goes down the columns of B.")

    def part(version, other, name):
        return metric[version].metric(name) / metric[other].metric(name)

    lab.finding("transposing B lessens what moves from L2 (figures 32, 33).", part("transposed", "triple", "l2_bytes") < 0.5,
                f"{part('transposed', 'triple', 'l2_bytes'):.2f} of the default's.")
    lab.finding("blocking lessens what moves from L2 and from L3.",
                max(part("blocked", "transposed", name) for name in LEVELS[:2]) < 0.3,
                f"{part('blocked', 'transposed', 'l2_bytes'):.2f} and {part('blocked', 'transposed', 'l3_bytes'):.2f} of the transposed one's.")
    lab.finding("L1 misses fall with blocking, and L2 misses say nothing: few accesses come there (figures 34, 35).",
                metric["blocked"].metric("l1_miss_ratio") < 0.1 < metric["blocked"].metric("l2_miss_ratio"),
                f"L1 {metric['blocked'].metric('l1_miss_ratio'):.3f}, L2 {metric['blocked'].metric('l2_miss_ratio'):.2f}, "
                f"L2 / LS {metric['blocked'].metric('l2_per_ls'):.3f}.")
    if all(point.time_s for point in points):
        lab.finding("the default is the slowest (figures 44, 45).", max(points, key=lambda point: point.time_s).parameters["k"] == "triple",
                    ", ".join(f"{name} {metric[name].time_s * 1e3:.1f}" for name in VERSIONS) + " ms a call.", exact=False)
        fastest = min(points, key=lambda point: point.time_s)
        lab.finding("the fastest version is the one with the most flop per load instruction, transposed, which blocks do not beat (figures 42 to 51).",
                    fastest is max(points, key=lambda point: point.metric("flop_per_load_instruction")),
                    ", ".join(f"{name} {metric[name].metric('flop_per_load_instruction'):.2f}" for name in VERSIONS) +
                    f" flop per load ([G]: transposed 26.2, the others near 8); {fastest.parameters['k']} is the fastest.", exact=False,
                    why="With n = 480 a row is 4 KiB long, and blocks leave nothing to be loaded from L2, where the others' loads go.")


def blocks(lab):
    lab.say("## Figures 22 to 25: blocks of different sizes")
    sizes = (8, 16, 32, 96, 240)
    for size in sizes:
        lab.program("matrix", f"matrix_b{size}", (*OPTIMIZED, f"-DBLOCK_G={size}"))
    n = 480
    points = lab.sweep("blocks", {"b": sizes}, ["./matrix_b{b}", "blocked", str(n), "2"], *CASCADE_LAKE)
    lab.table(["block", "flop over 2 n³", "flop per FP instruction", "LS bytes", "L2 bytes", "L3 bytes", "MEM bytes", "ms a call"],
              [[point.parameters["b"], f"{point.flop / 2 / n ** 3:.4f}", f"{point.metric('flop_per_fp_instruction'):.2f}", f"{ls_bytes(point):.3g}",
                *(f"{point.metric(name):.3g}" for name in LEVELS), f"{point.time_s * 1e3:.2f}" if point.time_s else "–"] for point in points])
    lab.curves("figure-24", "blocks", "rows of a block", "GB", {
        "LS": [(float(point.parameters["b"]), ls_bytes(point) * 1e-9) for point in points],
        **{name: [(float(point.parameters["b"]), point.metric(level) * 1e-9) for point in points]
           for name, level in zip(LEVEL_NAMES, LEVELS)}}, caption="Figure 24: bytes of all levels by the size of blocks")
    small, large = points[2], points[-1]
    lab.finding("bytes from L2 are few as long as blocks fit into L1, and then rise at once.",
                large.metric("l2_bytes") > 5 * small.metric("l2_bytes"),
                f"blocks of {small.parameters['b']} have 8 KiB each, and {small.metric('l2_bytes'):.3g} bytes; those of {large.parameters['b']} "
                f"have 450 KiB, and {large.metric('l2_bytes'):.3g} bytes.")
    falling = [point.metric("l3_bytes") for point in points[:-1]]
    lab.finding("bytes from L3 go on to fall, until a block fills L2.", falling == sorted(falling, reverse=True),
                ", ".join(f"{point.parameters['b']}: {point.metric('l3_bytes'):.3g}" for point in points) + ".")
    added = [point.flop for point in points]
    lab.finding("the flop that the compiler adds are fewer for larger blocks (figures 38, 39).", added == sorted(added, reverse=True),
                ", ".join(f"{point.parameters['b']}: {100 * (point.flop / 2 / n ** 3 - 1):.2f} %" for point in points) + ".",
                compiled=True, why="This compiler takes other vectors for each size of blocks, and so other partial sums; for the smallest it adds none.")


def conflicts(lab):
    lab.say("## Figures 26 to 31: cache conflicts by the offset",
            "Algorithm 3: the same number of loads and stores over an array that L2 holds and L1 does not (512 KiB), at each offset, in elements.")
    program = lab.program("memory", "memory_fast", FAST_CODE)
    # beside each of them as many lines fit into L1
    beside = {256: 252, 512: 508, 1024: 1020, 2048: 2044}
    offsets = sorted({*beside, *beside.values(), *(offset + 4 for offset in beside)})
    points = lab.sweep("conflict", {"n": offsets}, [program, "conflict", "{n}", "4"], *CASCADE_LAKE, repeats=1)
    names = ("l1_miss_ratio", "l2_miss_ratio", "l2_per_ls", "l3_per_ls", "mem_per_ls")
    lab.table(["offset", "LS bytes", "L1 MR", "L2 MR", "L2 / LS", "L3 / LS", "MEM / LS"],
              [[int(point.n), f"{ls_bytes(point):.0f}", *(f"{point.metric(name) or 0:.4f}" for name in names)] for point in points])
    lab.curves("figure-29", "conflicts", "offset (elements)", "bytes over LS bytes",
               {f"{name} / LS": [(point.n, point.metric(f"{name.lower()}_per_ls") or 0) for point in points] for name in LEVEL_NAMES},
               caption="Figure 29: bytes of all levels over LS bytes, by the offset")
    all_ls = [ls_bytes(point) for point in points]
    lab.finding("LS bytes are the same for all offsets ([G]: within 10 %).", max(all_ls) < 1.1 * min(all_ls),
                f"within {100 * (max(all_ls) / min(all_ls) - 1):.2f} %.")

    def of(offset, name):
        return by(points, n=offset)[0].metric(name) or 0

    lab.finding("offsets that are multiples of L1's sets have many L1 misses, those beside them few (figures 26, 27, 30, 31).",
                all(of(offset, "l2_per_ls") > 10 * of(other, "l2_per_ls") for offset, other in beside.items()),
                ", ".join(f"{offset}: L2 / LS {of(offset, 'l2_per_ls'):.2f}, {other}: {of(other, 'l2_per_ls'):.3f}"
                          for offset, other in beside.items()) + ".")
    lab.finding("more ways and sets keep L2 and L3 free of them (figures 28, 29).",
                max(of(offset, "l3_per_ls") for offset in offsets) < 0.1, f"L3 / LS is {max(of(offset, 'l3_per_ls') for offset in offsets):.4f} at most.")
    lab.finding("the L2 miss rate drops where conflicts are, as more comes there (figures 30, 31).",
                all(of(offset, "l2_miss_ratio") < of(other, "l2_miss_ratio") for offset, other in beside.items()),
                ", ".join(f"{offset}: {of(offset, 'l2_miss_ratio'):.4f}, {other}: {of(other, 'l2_miss_ratio'):.4f}"
                          for offset, other in beside.items()) + ".")


def n_body(lab):
    lab.say("## Tables 8, 15 and 16, figures 11 and 12: N-body, unoptimized and optimized",
            "Algorithm 8; optimized with -Ofast -march=native, unoptimized with -O0.")
    n = 1000
    for name, flags in (("unoptimized", UNOPTIMIZED), ("optimized", OPTIMIZED)):
        lab.program("bodies", f"bodies_{name}", flags)
    points = lab.sweep("bodies", {"version": ["unoptimized", "optimized"], "n": [n]}, ["./bodies_{version}", "n_body", "{n}", "4"],
                       *CASCADE_LAKE)
    lab.plot("cache-aware", ["bodies"], "figure-12", caption="Figures 11 and 12")
    metrics_table(lab, "bodies")
    slow, fast = points
    less = 1 / ratios(points, "ls_bytes")
    lab.finding("the flop of the unoptimized one are those of the source: 19 n² + 12 n.", slow.flop == 19 * n * n + 12 * n,
                f"{slow.flop:.0f}; -Ofast makes another computation of it, with {fast.flop:.0f}.")
    lab.finding("optimizing lessens LS bytes many times, and so raises AI ([G]: 9 times fewer on A64FX, 6.3 on Cascade Lake).", less > 5,
                f"{less:.1f} times fewer; AI {slow.metric('arithmetic_intensity'):.3f} → {fast.metric('arithmetic_intensity'):.2f}.", compiled=True)
    lab.finding("optimizing makes stores nearly vanish: loads per store rise ([G]: 2.26 → 80.8).", ratios(points, "load_per_store_instruction") > 10,
                f"{slow.metric('load_per_store_instruction'):.2f} → {fast.metric('load_per_store_instruction'):.1f}.", compiled=True)
    lab.finding("optimizing uses vectors: flop per FP instruction ([G]: 1 → 8.00, FMA counted as two).", ratios(points, "flop_per_fp_instruction") > 6,
                f"{slow.metric('flop_per_fp_instruction'):.2f} → {fast.metric('flop_per_fp_instruction'):.2f}.", compiled=True)
    if slow.time_s and fast.time_s:
        lab.finding("optimizing shortens the time ([G]: 11.8 and 3.8 times).", slow.time_s > 3 * fast.time_s,
                    f"{slow.time_s / fast.time_s:.1f} times shorter.", exact=False)


def mini(lab, name, versions, n, calls="2"):
    """A kernel of a mini-app in its versions: a sweep, and table 9 of it."""
    program = lab.program("miniapps", "miniapps", VECTORS)
    points = lab.sweep(name, {"k": versions, "n": [n]}, [program, "{k}", "{n}", calls], *CASCADE_LAKE)
    metrics_table(lab, name)
    return points


def lookups(lab):
    lab.say("## Table 17: XSBench, lookups at random, sorted by material and energy, and by energy alone")
    points = mini(lab, "lookups", ("lookup_random", "lookup_material", "lookup_energy"), 60000)
    lab.finding("flop and LS bytes of lookups are the same in all orders.",
                len({point.flop for point in points}) == 1 and len({ls_bytes(point) for point in points}) == 1,
                f"{points[0].flop:.0f} flop, {ls_bytes(points[0]):.0f} bytes, to the last one.")
    moved = {name: [point.metric(name) for point in points] for name in LEVELS}
    lab.finding("sorting lookups by material and energy lessens what moves at all levels.", all(values[1] < values[0] for values in moved.values()),
                ", ".join(f"{name.split('_')[0].upper()} to {values[1] / values[0]:.3f}" for name, values in moved.items()) +
                " ([G]: L2 to 0.64, L3 to 0.07, MEM to 0.87).")
    lab.finding("sorting them by energy alone lessens what moves at memory further.", moved["mem_bytes"][2] < moved["mem_bytes"][1],
                f"to {moved['mem_bytes'][2] / moved['mem_bytes'][1]:.3f} of that ([G]: 0.07).")
    if all(point.time_s for point in points):
        lab.finding("both ways of sorting make lookups faster ([G]: 1.46, 0.80, 0.58 s).", points[0].time_s > max(points[1].time_s, points[2].time_s),
                    ", ".join(f"{point.time_s * 1e3:.1f}" for point in points) + " ms a call.", exact=False)


def pdv(lab):
    lab.say("## Table 18: CloverLeaf's PdV, without and with blocks of 4 × 4 cells",
            "A uniform grid, without artificial viscosity.")
    points = mini(lab, "pdv", ("pdv", "pdv_blocks"), 512)
    lab.finding("blocks do not pay for PdV: LS bytes rise (Cascade Lake: to 1.41) and vectors are used less (flop per FP instruction 8 → 3.2).",
                ratios(points, "ls_bytes") >= 1 and ratios(points, "flop_per_fp_instruction") < 0.8,
                f"LS bytes to {ratios(points, 'ls_bytes'):.2f}, {points[0].metric('flop_per_fp_instruction'):.2f} → "
                f"{points[1].metric('flop_per_fp_instruction'):.2f} flop per FP instruction.", compiled=True)
    lab.finding("with blocks what moves at memory stays as it is.", 0.9 < ratios(points, "mem_bytes") < 1.1,
                f"{ratios(points, 'mem_bytes'):.2f} times ([G]: 0.97).")
    lab.finding("AI falls with blocks ([G]: 0.11 → 0.081).", ratios(points, "arithmetic_intensity") <= 1,
                f"{points[0].metric('arithmetic_intensity'):.4f} → {points[1].metric('arithmetic_intensity'):.4f}.", compiled=True)
    lab.finding("the compiler adds flop for blocks ([G]: 6 to 56 %).", ratios(points, "flop") > 1,
                f"{points[0].flop:.0f} and {points[1].flop:.0f}.", compiled=True, why="This compiler keeps to the source.")
    if all(point.time_s for point in points):
        lab.finding("blocks are slower ([G]: 1.14 times).", points[1].time_s > points[0].time_s,
                    f"{points[1].time_s / points[0].time_s:.2f} times.", exact=False)


def pennant(lab):
    lab.say("## Table 19: PENNANT's sides, in chunks of 64 and of 4", "One thread: [G]'s chunks are what threads get at a time.")
    points = mini(lab, "sides", ("sides_64", "sides_4"), 1 << 18)
    lab.finding("flop, and bytes at all levels, are hardly changed by the size of chunks (Cascade Lake).",
                points[0].flop == points[1].flop and abs(ratios(points, "ls_bytes") - 1) < 0.1 and
                all(abs(ratios(points, name) - 1) < 0.2 for name in LEVELS),
                f"flop are the same, LS {ratios(points, 'ls_bytes'):.3f}, " +
                ", ".join(f"{name.split('_')[0].upper()} {ratios(points, name):.3f}" for name in LEVELS) + " times.", compiled=True)
    lab.finding("flop per FP instruction are the same with both sizes of chunks.", abs(ratios(points, "flop_per_fp_instruction") - 1) < 0.05,
                f"{points[0].metric('flop_per_fp_instruction'):.2f} and {points[1].metric('flop_per_fp_instruction'):.2f}.",
                compiled=True, why="With chunks of 4 there is too little for the vectors that this compiler uses with 64.")
    if all(point.time_s for point in points):
        lab.finding("the smaller chunks are faster ([G]: 1.4 and 1.6 times).", points[0].time_s > 1.1 * points[1].time_s,
                    f"{points[0].time_s / points[1].time_s:.2f} times.", exact=False, why="There is one thread here, which has all chunks.")


def vpic(lab):
    lab.say("## Table 20: VPIC's particles, as structures, and as structures of arrays by cell")
    points = mini(lab, "particles", ("push_aos", "push_aosoa"), 1 << 18)
    lab.finding("flop of particles are the same in both orders ([G]: within 1 %).", points[0].flop == points[1].flop, f"{points[0].flop:.0f}, 66 a particle.")
    lab.finding("with particles by cell LS bytes are about half, and AI is higher ([G]: to 0.38 and 0.17; Cascade Lake: 0.27 → 1.58).",
                ratios(points, "ls_bytes") < 0.7 and ratios(points, "arithmetic_intensity") > 1.4,
                f"to {ratios(points, 'ls_bytes'):.2f}, {points[0].metric('arithmetic_intensity'):.2f} → "
                f"{points[1].metric('arithmetic_intensity'):.2f}.", compiled=True)
    lab.finding("with particles by cell less moves at memory (Cascade Lake: to 0.72).", ratios(points, "mem_bytes") < 0.9,
                f"to {ratios(points, 'mem_bytes'):.2f}: of a structure the whole is written back, of arrays what has changed.")
    lab.finding("with particles by cell the miss rate of L1 rises ([G]: 0.09 → 0.41).", ratios(points, "l1_miss_ratio") > 1,
                f"{points[0].metric('l1_miss_ratio'):.3f} → {points[1].metric('l1_miss_ratio'):.3f}.", compiled=True)
    lab.finding("flop per FP instruction are the same with both orders of particles.", abs(ratios(points, "flop_per_fp_instruction") - 1) < 0.05,
                f"{points[0].metric('flop_per_fp_instruction'):.2f} and {points[1].metric('flop_per_fp_instruction'):.2f}.",
                compiled=True, why="VPIC has its vectors written by hand, here the compiler makes them.")
    if all(point.time_s for point in points):
        lab.finding("particles by cell are faster ([G]: 1.4 and 2.5 times).", points[0].time_s > points[1].time_s,
                    f"{points[0].time_s / points[1].time_s:.2f} times.", exact=False)


def experiments(lab):
    lab.say("# Gravelle 2022: Portable hardware counter metrics (dissertation)")
    bandwidth(lab)
    stream(lab)
    crunch(lab)
    matrices(lab)
    blocks(lab)
    other_machines(lab)
    conflicts(lab)
    n_body(lab)
    lab.say("## Chapter 6: kernels of mini-apps",
            "Written anew (`tests/papers/miniapps.c`): the same in kind, smaller, on one thread. All of a kernel's versions compute the same.")
    lookups(lab)
    pdv(lab)
    pennant(lab)
    vpic(lab)
    lab.say("## Not reproduced",
            "- Times and hardware counters of A64FX, and all of 48 cores: each figure of A64FX has a counterpart of Cascade Lake, which is shown here. What "
            "code for its vectors would load and store is not known either; what would move between its caches is in the table above.\n"
            "- Two threads of a core beside each other (table 4, 96 threads): there are no such here.\n"
            "- Tables 5 to 7 and 10 to 13: hardware counters, of which there are none on this machine; rfprof counts by itself.\n"
            "- Pagosa (chapter 7): not public.")
