"""[T] Steinmann: Applying the Roofline Model, Master's thesis, 2012."""

import shared
from lab import BLAS, PLAIN_CODE, STEINMANN_CACHE, STEINMANN_COLD, STEINMANN_WARM, by, median, over

LAST_CACHE = 2 << 20  # [T]'s last cache, bytes
UNEXPLAINED = ("[T] has no explanation for it. A simulated cache goes by the program's addresses and evicts what was used least recently: it "
               "keeps what fits.")
PHYSICAL = ("[T] has no explanation for it. A part may be that its cache goes by physical addresses: with pages of 4 KiB anywhere in memory "
            "some sets get more lines than ways before all are full. Simulated caches go by the program's addresses.")
EXPECTED = {  # of buffers of s bytes on some threads: as a formula of plots over n, and of s
    "read_all": ("8*n*{t}", lambda s: s),
    "write_stream": ("8*n*{t}", lambda s: s),
    "write_all": (f"8*n*{{t}}+max(0,8*n*{{t}}-{LAST_CACHE})", lambda s: s + max(0, s - LAST_CACHE)),
    # its a is only written here, but read into the cache for that
    "triad": (f"24*n*{{t}}+max(0,8*n*{{t}}-{LAST_CACHE}/3)", lambda s: 3 * s + max(0, s - LAST_CACHE / 3)),
}


def figure_1(lab):
    lab.say("## Figure 1.1: the introduction's example",
            "M_ij ← 3j² M_ij of m × 4 elements: by rows (variant 0), and with the loops exchanged so that 3j² is computed once "
            "(variant 1), which goes down the columns.")
    program = lab.program("memory")
    points = lab.sweep("order", {"n": [200000 if lab.fast else 2000000], "k": ["by_rows", "by_columns"]},
                       [program, "{k}", "{n}", "1", "1" if lab.fast else "2"], *STEINMANN_COLD[:2])
    lab.plot("roofline", ["order"], "figure-1", "--count-left", caption="Figure 1.1")
    rows, columns = by(points, k="by_rows")[0], by(points, k="by_columns")[0]
    ratio = rows.intensity / columns.intensity
    lab.finding("the variant by columns has a lower intensity, as it goes through all lines four times.", abs(ratio - 4) < 0.2,
                f"I = {rows.intensity:.4f} and {columns.intensity:.4f}, {ratio:.2f} times; [T]: an order of magnitude.")
    if rows.time_s and columns.time_s:
        lab.finding("the variant by columns is slower, although it computes less.", columns.time_s > rows.time_s,
                    f"{rows.gflops:.2f} and {columns.gflops:.2f} Gflop/s.", exact=False)


def volumes(lab, threads, figure, sizes):
    """The four kernels by size of the buffers: what is off from theory, and what is left in the caches."""
    program = lab.program("memory")
    rows, ratios, left = [], {}, {}
    for kernel, (formula, theta) in EXPECTED.items():
        name = f"volume-{kernel}-{threads}"
        points = lab.sweep(name, {"n": sizes}, [program, kernel, "{n}", "1", "1", "1", str(threads)], *STEINMANN_COLD, repeats=1)
        lab.plot("traffic", [name], f"{figure}-{kernel}", f"--traffic-formula={formula.format(t=threads)}",
                 caption=f"{kernel}: volume over what is expected")
        ratios[kernel] = [point.moved_in_call / theta(8 * threads * point.n) for point in points]
        left[kernel] = max(point.left for point in points)
        rows.append([kernel, *(f"{ratio:.4f}" for ratio in ratios[kernel]), f"{left[kernel] / 1e6:.2f} MB"])
    lab.table(["kernel", *(f"S = {8 * n >> 10} KiB" for n in sizes), "left in the caches, most"], rows)
    return {kernel: [abs(ratio - 1) for ratio in values] for kernel, values in ratios.items()}, left


def chapter_3(lab):
    lab.say("## Figures 3.1 to 3.3: transfer volume over what is expected",
            f"Caches as [T]'s machine had them ({STEINMANN_CACHE}), empty before the call. Expected are S for reading and for "
            "streaming stores, S + max(0, S − 2 MB) for writing, 3 S + max(0, S − 2/3 MB) for the triad.")
    off, left = volumes(lab, 1, "figure-3.1", [2 ** k for k in (range(14, 21, 3) if lab.fast else range(12, 23, 2))])
    lab.finding("the expected volumes are measured ([T]: within 5 to 10 %, up to 40 % around 2 MB for what writes).",
                max(map(max, off.values())) < 0.05,
                ", ".join(f"{kernel} {100 * max(off[kernel]):.2f} %" for kernel in off) + " off at most, for small buffers by the few lines that the "
                "call itself needs. That the triad has a third of the cache for what it writes is [T]'s guess.")
    lab.finding("a kernel that writes leaves the whole last cache changed, the triad a third of it (figure 3.3).",
                abs(left["write_all"] / LAST_CACHE - 1) < 0.05 and abs(3 * left["triad"] / LAST_CACHE - 1) < 0.15,
                f"{left['write_all'] / 1e6:.2f} and {left['triad'] / 1e6:.2f} MB of 2.10 MB.")


def arithmetic(lab):
    lab.say("## Figures 3.4 to 3.9, 3.12, 3.13: arithmetic in registers, and times",
            "Eight chains each; a pass adds to, or multiplies, all of them. Scalar code, as [T]'s SSE scalar variant.")
    program = lab.program("memory", "memory_scalar", PLAIN_CODE)
    counts = [10 ** k for k in ((5, 6) if lab.fast else range(4, 9))]
    points = lab.sweep("arithmetic", {"n": counts, "k": ["add", "mul"]}, [program, "{k}", "{n}", "-40"], repeats=7)
    lab.plot("time", ["arithmetic"], "figure-3.5", "--per-cycle", caption="Figure 3.5: execution time")
    lab.plot("distribution", ["arithmetic"], "figure-3.12", caption="Figures 3.6, 3.12: error of the execution time")
    lab.finding("the operation count is exact (figures 3.9, 3.13).", all(point.flop == 8 * point.n + 8 - 1 for point in points),
                "8 n of the chains, and 7 that add them up at the end, in every run.")
    lab.finding("such kernels move no memory (figure 3.4).", max(point.read for point in points) < 4096,
                f"at most {max(point.read for point in points):.0f} bytes a call ([T]: 2.5 kB and more, by what else goes over the bus).")
    sizes = [2 ** k for k in ((14, 18) if lab.fast else range(12, 23, 2))]
    memory = lab.sweep("memory-times", {"n": sizes, "k": list(EXPECTED)}, [lab.program("memory"), "{k}", "{n}", "-40"], repeats=7)
    lab.plot("time", ["memory-times"], "figure-3.7", caption="Figure 3.7: execution time of the memory kernels")
    lab.plot("distribution", ["memory-times"], "figure-3.8", caption="Figure 3.8: its error")
    spread = {}
    for name, own in (("arithmetic", points), ("memory", memory)):
        times = [point.json["time_s"] for point in own if point.time_s]
        spread[name] = median(time["median"] / time["min"] - 1 for time in times) if times else None
    if None not in spread.values():
        lab.finding("times of kernels that move memory vary more than those of arithmetic (figures 3.6 and 3.8).",
                    spread["memory"] > spread["arithmetic"],
                    f"the median of repeats is {100 * spread['memory']:.1f} and {100 * spread['arithmetic']:.1f} % above the least one.",
                    exact=False, why="Others on this machine disturb both.")
    return [point for point in points if point.time_s]


def chapter_4(lab):
    lab.say("## Chapter 4: two kernels beside each other",
            "Two threads, which begin together, each with its own buffers of S bytes; the last cache is theirs together. Expected is what "
            "chapter 3 has for 2 S.")
    off, _ = volumes(lab, 2, "figure-4.1", [2 ** k for k in (range(14, 21, 3) if lab.fast else range(14, 21, 2))])
    large = {kernel: max(values[1:]) for kernel, values in off.items()}
    lab.finding("the volumes are those expected ([T]: 10 to 20 % more below 10 MB, less beyond; figures 4.1 to 4.4, 4.14 to 4.17).",
                max(large.values()) < 0.1,
                ", ".join(f"{kernel} {100 * value:.2f} %" for kernel, value in large.items()) + " off at most, but for the smallest buffers, where "
                f"{100 * max(values[0] for values in off.values()):.0f} % more is moved: what begins and ends a thread.")
    program = lab.program("memory", "memory_scalar", PLAIN_CODE)
    counts = [10 ** k for k in ((6,) if lab.fast else range(6, 9))]
    points = lab.sweep("add-threads", {"n": counts, "t": [1, 2]}, [program, "add", "{n}", "3", "1", "1", "{t}"])
    lab.plot("time", ["add-threads"], "figure-4.9", caption="Figure 4.9: time of one and of two ADD kernels")
    one, two = (by(points, t=threads) for threads in (1, 2))
    lab.finding("the operation count is exact (figures 4.13, 4.23).",
                all(b.flop == 2 * (8 * b.n + 7) for b in two), "twice 8 n + 7.")
    if one[-1].time_s and two[-1].time_s:
        ratio = two[-1].time_s / one[-1].time_s
        lab.finding("two arithmetic kernels do not disturb each other (figure 4.9).", ratio < 1.1,
                    f"two take {ratio:.2f} times as long as one (n = {int(one[-1].n)}).", exact=False, why="Others use the second processor, too.")


def chapter_5(lab, timed):
    lab.say("## Chapter 5: ceilings")
    machine, clock = lab.machine(), lab.machine()["clock_ghz"]
    if timed:
        rates = {kernel: median(point.gflops for point in by(timed, k=kernel)) / clock for kernel in ("add", "mul")}
        lab.finding("independent operations reach what the core can do.", min(rates.values()) > 0.85 * 2,
                    f"{rates['add']:.2f} additions and {rates['mul']:.2f} multiplications a cycle, where this core begins 2 of each "
                    "([T]: 0.93 of 1, and 0.5 of 0.5).", exact=False)
    mixes = {row["op"]: row["best"] / clock for row in machine["roofs"]
             if row["kind"] == "compute" and row["precision"] == "double" and row["threads"] == 1 and row["isa"] == "scalar"}
    if "mul1_add2" in mixes:
        lab.finding("a mix of additions and multiplications does more than either ([T]: 1.35 of 1.5 flop per cycle).",
                    mixes["mul1_add2"] > 1.2 * max(mixes["add"], mixes["mul"]),
                    f"{mixes['mul1_add2']:.2f} flop per cycle with two additions for each multiplication, {mixes['mul1_add1']:.2f} with one, "
                    f"{mixes['add']:.2f} of additions alone (`rfprof machine`, scalar).", exact=False)
    rows = {row["op"]: row["best"] / clock for row in machine["roofs"]
            if row["kind"] == "bandwidth" and row["level"] == "DRAM" and row["threads"] == 1 and row["cpu_node"] is None}
    # a line that is written has been read before, as [T] counts it; the roof has the stores alone
    theirs = {"load": (2.16, rows["read"]), "write, lines read before": (1.71, 2 * rows["write"]),
              "non-temporal": (1.66, rows["write_nt"]), "random access": (0.525, rows["random"])}
    lab.table(["at memory, bytes per cycle", "[T]", "here"], [[name, old, f"{new:.2f}"] for name, (old, new) in theirs.items()])
    lab.finding("random access has a fraction of the bandwidth of streams ([T]: a quarter).", rows["random"] < 0.6 * rows["read"],
                f"{rows['random'] / rows['read']:.2f} of it.", exact=False)


def states(lab, kernel, values, command):
    """A kernel with cold caches, and with its data loaded: sweeps, a plot and a table."""
    cold = lab.sweep(kernel, {"n": values}, command, *STEINMANN_COLD, repeats=1)
    warm = lab.sweep(f"{kernel}-data", {"n": values}, command, *STEINMANN_WARM, repeats=1)
    lab.plot("intensity", [kernel, f"{kernel}-data"], f"figure-6-{kernel}", caption=f"{kernel}: cold, and with data loaded, where I is finite")
    lab.table(["n", "I cold", "I data loaded"], [[int(a.n), *(f"{point.intensity_in_call:.4g}" for point in (a, b))]
                                                 for a, b in zip(cold, warm)])
    return cold, warm


def data_loaded(lab, kernel, cold, warm, drop, part):
    """What [T] says of all kernels; `drop`: the n from which its intensity fell, which has a part of the cache."""
    lab.finding(f"with the data loaded I of {kernel} is far higher for small sizes, and the same for large ones.",
                over(warm[0].intensity_in_call, cold[0].intensity_in_call) > 5 and
                (lab.fast or warm[-1].intensity_in_call < 1.5 * cold[-1].intensity_in_call),
                f"{warm[0].intensity_in_call / cold[0].intensity_in_call:.3g} times for the smallest, "
                f"{warm[-1].intensity_in_call / cold[-1].intensity_in_call:.2f} for the largest.")
    if not lab.fast:
        early = [point for point in warm if point.n > drop][0]
        lab.finding(f"I of {kernel} falls from n = {drop} on, where the data have {part} of the cache, and not where they fill it.",
                    early.intensity_in_call < 0.5 * max(point.intensity_in_call for point in warm if point.n <= drop),
                    f"{early.intensity_in_call:.4g} flop per byte at n = {int(early.n)}.", why=UNEXPLAINED)


def blas(lab):
    lab.say("## Figures 6.1 to 6.4: daxpy and dgemv",
            "OpenBLAS, caches of [T]'s machine: what was written is not counted while it is in the cache, as [T] does.")
    program = lab.program("libraries", libraries=BLAS)
    values = {"daxpy": [10000, 400000] if lab.fast else [1000, 16000, 32000, 64000, 120000, 260000, 1000000, 4000000],
              "dgemv": [100, 800] if lab.fast else [50, 100, 200, 300, 400, 500, 600, 1000]}
    for kernel, (drop, part) in {"daxpy": (16000, "an eighth"), "dgemv": (300, "a third")}.items():
        cold, warm = states(lab, kernel, values[kernel], [program, kernel, "{n}", "2"])
        large = cold[-1].intensity_in_call
        if kernel == "daxpy":
            fits = [point.intensity_in_call for point in cold if 10000 <= point.n < 131072]
            lab.finding("I of daxpy is 1/8 while its vectors fit, and falls to 1/12.",
                        all(abs(value * 8 - 1) < 0.05 for value in fits) and (lab.fast or abs(large * 12 - 1) < 0.06),
                        f"{min(fits):.4f} to {max(fits):.4f}, and {large:.4f}; for n = {int(cold[0].n)}, {cold[0].intensity_in_call:.4f}, lines "
                        "that the call itself needs tell.")
        else:
            lab.finding("I of dgemv goes to 1/4.", abs(large * 4 - 1) < 0.03, f"{large:.4f}.")
        data_loaded(lab, kernel, cold, warm, drop, part)


def model(n):
    """[T] 6.1.3, of the triple loop: B fits, or it does not."""
    matrix = 8 * n * n
    fits = matrix <= LAST_CACHE
    volume = 3 * matrix + max(matrix - max(LAST_CACHE - matrix, 0), 0) if fits else 8 * (n ** 3 + 3 * n * n)
    return 2 * n ** 3 / volume


def products(lab):
    lab.say("## Figures 6.5 and 6.7: products of matrices",
            "Intensities by caches of [T]'s machine; models are those of [T] 6.1.3. The roofline is of this machine, with its own caches.")
    points, theirs = shared.products(lab)
    lab.plot("intensity", shared.PRODUCTS, "figure-6.5", caption="Figure 6.5")
    triple, six, scalar = (by(points, k=kernel) for kernel in shared.LOOPS)
    lab.table(["n", "model of the triple loop", "triple loop", "six loops", "scalar replacement", "OpenBLAS"],
              [[int(a.n), f"{model(a.n):.2f}", *(f"{point.intensity_in_call:.2f}" for point in (a, b, c, d))]
               for a, b, c, d in zip(triple, six, scalar, theirs)])
    small = [point for point in triple if point.n <= 200]
    lab.finding("the model of the triple loop matches up to n = 200.",
                all(abs(point.intensity_in_call / model(point.n) - 1) < 0.05 for point in small),
                ", ".join(f"n = {int(point.n)}: {point.intensity_in_call / model(point.n):.3f}" for point in small) + " of the model.")
    if not lab.fast:
        early, middle = (by(points, k="triple", n=n)[0] for n in (400, 500))
        lab.finding("the triple loop's drop begins before one matrix fills the cache (n = 512).", middle.intensity_in_call < 0.8 * model(500),
                    f"{middle.intensity_in_call:.2f} of {model(500):.2f} at n = 500.")
        lab.finding("the triple loop's drop begins at half of the cache (n = 362).", early.intensity_in_call < 0.8 * model(400),
                    f"{early.intensity_in_call:.2f} of {model(400):.2f} at n = 400.", why=PHYSICAL)
        lab.finding("for large n I of the triple loop is 1/4, and blocking makes that some 10.",
                    abs(triple[-1].intensity_in_call * 4 - 1) < 0.1 and six[-1].intensity_in_call > 5,
                    f"{triple[-1].intensity_in_call:.3f}, {six[-1].intensity_in_call:.1f}, {scalar[-1].intensity_in_call:.1f}.")
        lab.finding("the model of blocks, N_b / 4 = 12.5, is twice what is measured for large matrices.",
                    six[-1].intensity_in_call < 0.6 * 12.5, f"{six[-1].intensity_in_call:.1f} at n = {int(six[-1].n)}.", why=UNEXPLAINED)
    timed, library = shared.timed_products(lab)
    lab.plot("roofline", shared.TIMED_PRODUCTS, "figure-6.7", "--per-cycle", "--join", caption="Figure 6.7")
    last = {kernel: by(timed, k=kernel)[-1] for kernel in shared.LOOPS}
    if all(point.time_s for point in (*last.values(), library[-1])):
        lab.finding("the blocked version with scalar replacement is faster than the triple loop, the library faster than that.",
                    last["triple"].gflops < last["scalar"].gflops < library[-1].gflops,
                    f"{last['triple'].gflops:.1f}, {last['six'].gflops:.1f} (six loops), {last['scalar'].gflops:.1f} and "
                    f"{library[-1].gflops:.1f} Gflop/s at n = {int(library[-1].n)}.", exact=False)
        lab.finding("the library is only 20 % faster than the blocked version with scalar replacement.", library[-1].gflops < 1.5 * last["scalar"].gflops,
                    f"{library[-1].gflops / last['scalar'].gflops:.1f} times as fast.", exact=False,
                    why=f"It has {library[-1].metric('flop_per_fp_instruction'):.1f} flop per FP instruction, the loops "
                    f"{last['scalar'].metric('flop_per_fp_instruction'):.1f}: vectors are wider than in 2006.")


TLB_PAGES, PAGE, BLOCK = 128, 4096, 50


def walks_of_triple(n):
    """[T] 6.1.3: each page of the three matrices once; or, where B has more than the TLB, a page of it for each of its rows that
    an element of the result needs, or as many as it has."""
    pages = 8 * n * n / PAGE
    return 3 * pages if pages <= TLB_PAGES else n * n * min(n, pages)


def walks_of_blocks(n):
    """The same, of blocks whose rows have pages of their own (n > 512)."""
    return 3 * n ** 3 / BLOCK ** 2


def figure_6_6(lab):
    lab.say("## Figure 6.6: misses of the TLB",
            f"Counted by a simulated TLB of {TLB_PAGES} pages of 4 KiB (`--tlb-pages=16:{TLB_PAGES}`), which keeps what was used last; models are those of [T] 6.1.3. "
            "The program has written the matrices before: where all three of them fit into the TLB (n < 148) nothing is missed, somewhat beyond "
            "that less than all, and [T]'s model is that of an empty one.")
    values = [100, 250, 300] if lab.fast else [50, 100, 150, 200, 250, 300, 400, 550]
    points = lab.sweep("tlb", {"n": values, "k": ["triple", "six"]}, [lab.program("matrix"), "{k}", "{n}"],
                       f"--tlb-pages=16:{TLB_PAGES}", repeats=1)
    triple, six = (by(points, k=kernel) for kernel in ("triple", "six"))
    walks = {name: [(point.n, point.metric("page_walks")) for point in of] for name, of in (("triple", triple), ("blocks", six))}
    lab.curves("figure-6.6", "Misses of the TLB", "n", "misses in a call",
               {"triple loop": walks["triple"], "model": [(n, walks_of_triple(n)) for n, _ in walks["triple"]],
                "six loops": walks["blocks"], "model, blocks": [(n, walks_of_blocks(n)) for n, _ in walks["blocks"] if n > 512]},
               dots=("model, blocks",), caption="Figure 6.6", log=True)
    lab.table(["n", "triple loop", "model", "six loops", "model"],
              [[int(n), f"{a:.0f}", f"{walks_of_triple(n):.0f}", f"{b:.0f}", f"{walks_of_blocks(n):.0f}" if n > 512 else "–"]
               for (n, a), (_, b) in zip(walks["triple"], walks["blocks"])])
    parts = {"while B fits into the TLB (n = 256), and all three are half as large again": [n for n in values if 181 <= n <= 256],
             "beyond n = 256": [n for n in values if n > 256]}
    for part, sizes in parts.items():
        ratios = [over(dict(walks["triple"])[n], walks_of_triple(n)) for n in sizes]
        lab.finding(f"the triple loop's misses are those of the model {part}.", all(abs(ratio - 1) < 0.1 for ratio in ratios),
                    ", ".join(f"n = {n}: {ratio:.3f} of it" for n, ratio in zip(sizes, ratios)) + ".")
    if not lab.fast:
        n, missed = walks["blocks"][-1]
        lab.finding("blocking makes misses for large n some hundred times fewer, 3 n^3 / N_b^2.",
                    missed < walks["triple"][-1][1] / 100 and abs(missed / walks_of_blocks(n) - 1) < 0.25,
                    f"n = {int(n)}: {walks['triple'][-1][1] / missed:.0f} times fewer, {missed / walks_of_blocks(n):.2f} of the model.")


def figure_6_9(lab):
    lab.say("## Figure 6.9: dgemm, cold and with data loaded")
    program = lab.program("libraries", libraries=BLAS)
    values = [50, 300] if lab.fast else [25, 50, 100, 150, 200, 250, 300, 400, 600]
    cold, warm = states(lab, "dgemm", values, [program, "dgemm", "{n}", "2"])
    lab.finding("for small matrices the data make more than an order of magnitude.",
                warm[0].intensity_in_call > 10 * cold[0].intensity_in_call,
                f"n = {int(cold[0].n)}: {cold[0].intensity_in_call:.3g} and {warm[0].intensity_in_call:.3g}.")
    if not lab.fast:
        large = [(a, b) for a, b in zip(cold, warm) if a.n > 300]
        ratios = [over(b.intensity_in_call, a.intensity_in_call) for a, b in large]
        lab.finding("beyond n = 300 the initial state has almost no effect.", max(ratios) < 1.3,
                    ", ".join(f"n = {int(a.n)}: {ratio:.2f} times" for (a, _), ratio in zip(large, ratios)) + ".",
                    why="What OpenBLAS copies into memory of its own is warm, too.")


def transforms(lab):
    lab.say("## Figures 2.1, 2.2 and 6.10: Fourier transforms, cold and with data loaded",
            "This machine and its caches. FFTW stands for MKL, `fft_recurrence` is the routine of Numerical Recipes.")
    found = shared.transforms(lab)
    names = [shared.TRANSFORMS[state][1] for state in ("cold", "warm")]
    lab.plot("roofline", names, "figure-2.1", "--per-cycle", "--join", caption="Figure 2.1")
    lab.plot("performance", names, "figure-2.2", "--per-cycle", caption="Figure 2.2")
    lab.plot("roofline", shared.TRANSFORMS["cold"], "figure-6.10", "--per-cycle", caption="Figure 6.10")
    cold, warm = found["cold"][1], found["warm"][1]
    lab.finding("for small transforms loaded data make I many times as large.",
                over(warm[0].intensity_in_call, cold[0].intensity_in_call) > 5,
                f"n = {int(cold[0].n)}: {cold[0].intensity_in_call:.3g} and {warm[0].intensity_in_call:.3g} flop per byte.")
    gains = [(int(a.n), a.time_s / b.time_s) for a, b in zip(cold, warm) if a.time_s and b.time_s]
    if gains:
        lab.finding("performance changes far less than I ([T]: 20 % at n = 10,000; at most 1.5 times where memory is the limit).",
                    max(gain for _, gain in gains) < 2, ", ".join(f"n = {n}: {gain:.2f} times" for n, gain in gains) + ".", exact=False,
                    why="Memory is farther from this core, in cycles, than it was from that of 2006, and a small transform is over before the "
                    "first lines have come.")
    slow, quick = by(found["cold"][0], k="fft_recurrence"), cold
    if slow[-1].time_s and quick[-1].time_s:
        rates = {name: points[-1].gflops / max(point.gflops for point in points if point.time_s)
                 for name, points in (("the recurrence", slow), ("FFTW", quick))}
        lab.finding("performance of the routine of Numerical Recipes drops for large n far more than that of a library.",
                    rates["the recurrence"] < 0.5 * rates["FFTW"],
                    ", ".join(f"{name} has {100 * rate:.0f} % of its best at n = {int(slow[-1].n)}" for name, rate in rates.items()) + ".",
                    exact=False)


def wht(lab):
    lab.say("## Figures 6.11 and 6.12: the Walsh-Hadamard transform", "Caches of [T]'s machine; n is the number of values, 2^k.")
    program = lab.program("transforms")
    values = [2 ** k for k in ((10, 19) if lab.fast else (8, 10, 12, 14, 15, 16, 17, 18, 20))]
    cold, warm = states(lab, "wht", values, [program, "wht", "{n}", "2"])
    lab.finding("the WHT of 2^k values has k·2^k flop.", all(point.flop == point.n * (int(point.n).bit_length() - 1) for point in cold),
                "k·2^k in each run.")
    data_loaded(lab, "wht", cold, warm, 2 ** 14, "an eighth")


def experiments(lab):
    lab.say("# Steinmann 2012: Applying the Roofline Model (thesis)")
    figure_1(lab)
    transforms(lab)
    chapter_3(lab)
    timed = arithmetic(lab)
    chapter_4(lab)
    chapter_5(lab, timed)
    blas(lab)
    products(lab)
    figure_6_6(lab)
    figure_6_9(lab)
    wht(lab)
    lab.say("## Not reproduced",
            "- '-Code' and '-Data-Code' of figures 2.1, 6.8, 6.9, 6.11 and 6.12: instructions are not fetched through the simulated caches.\n"
            "- MemBus against MemL2 (figures 3.1 to 3.4, 4.1 to 4.8): two ways of counting on a bus of 2006; here nothing is counted by the machine.\n"
            "- Figures 3.10 and 3.11, 4.14 to 4.17 and 4.23 (least of ten measurements): counts are the same in each run, so that there is none to choose.\n"
            "- Figures 4.10 to 4.12 and 4.18 to 4.22 (times of two kernels beside each other): others use both hardware threads.\n"
            "- The libraries' parallel versions in chapter 6: see ofenbeck.md, figure 2 (b).\n"
            "- Appendix C: a second machine of then.")
