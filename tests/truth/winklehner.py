"""[W] Winklehner and Friedl: Roofline, 2016."""

from lab import by

# As in the report: -O2 -mavx -mfma, "a tradeoff between the best possible results and obviously correct compiled code", and
# all optimizations.  GCC 12 vectorizes from -O2 on, which 5.3 did not.
FMA = ("-mavx", "-mfma")
BUILDS = {"O0": ("-O0", *FMA), "O2": ("-O2", *FMA, "-fno-tree-vectorize"), "Ofast": ("-Ofast", *FMA)}
SIXTEENTH, EIGHT = ("simple16", "fma16"), ("simple8", "simple8fastmath", "fma8", "fma8manpack")


def listing_2(lab):
    lab.say("## Listing 2: 1/16 in the source is not 1/16 in the code", "A product of a[i] and b[i] goes into a variable that is `volatile`. "
            "Bytes are those of all loads and stores, as in the report, which takes them for memory.")
    n = 100000
    rows, intensity = [], {}
    for name in ("O0", "O2"):
        point = lab.sweep(f"listing2-{name}", {"n": [n]}, [f"./intensity_{name}", "listing2", "{n}"], "--cache-sample=32", repeats=1)[0]
        moved = point.load_bytes + point.store_bytes
        intensity[name] = point.flop / moved
        rows.append([f"-{name}", f"{point.load_bytes / n:.2f}", f"{point.store_bytes / n:.2f}", f"1/{moved / point.flop:.1f}"])
    lab.table(["build", "bytes loaded by element", "bytes stored", "flop per byte"], rows)
    lab.finding("without optimization it has 1/40 at most, by indices and results that go to memory.", intensity["O0"] <= 1 / 40,
                f"1/{1 / intensity['O0']:.1f}; pointers are loaded again, too.")
    lab.finding("`volatile` keeps it from 1/16 with optimization, too.", intensity["O2"] < 0.95 / 16, f"1/{1 / intensity['O2']:.1f} with -O2.", compiled=True)


def experiments(lab):
    lab.say("# Winklehner and Friedl 2016: Roofline (report)")
    size = 1 << 20 if lab.fast else 1 << 23
    programs = {name: lab.program("intensity", f"intensity_{name}", flags) for name, flags in BUILDS.items()}
    listing_2(lab)
    names = SIXTEENTH + EIGHT
    results = {name: lab.sweep(name, {"k": names, "n": [size]}, [programs[name], "{k}", "{n}", "3"], "--caches=cold")
               for name in ("O2", "Ofast")}
    lab.say("## Tables 2 to 4 and figures 1 to 4", f"Arrays of {size * 8 >> 20} MiB, of which the last cache holds a part at most; one thread.")
    lab.plot("roofline", ["Ofast", "O2"], "figure-2", "--count-left", caption="Figure 2: all kernels, both builds")

    def point(build, kernel):
        return by(results[build], k=kernel)[0]

    rows = []
    for kernel in names:
        both = [point(build, kernel) for build in results]
        rows.append([kernel, *(f"{one.flop / size:.4g}" for one in both), *(f"{one.intensity:.4f}" for one in both),
                     *(f"{one.gflops:.2f}" if one.time_s else "–" for one in both),
                     *(f"{one.metric('flop_per_fp_instruction'):.2f}" for one in both)])
    lab.table(["kernel", "flop per element, -O2", "-Ofast", "I, -O2", "-Ofast", "Gflop/s, -O2", "-Ofast",
               "flop per FP instruction, -O2", "-Ofast"], rows)
    lab.finding("the kernels of 1/16 have I = 1/16, those of 8 have I = 8, in obvious code.",
                all(abs(point("O2", kernel).intensity * 16 - 1) < 0.02 for kernel in SIXTEENTH) and
                all(abs(point("O2", kernel).intensity / 8 - 1) < 0.02 for kernel in EIGHT),
                ", ".join(f"{kernel} {point('O2', kernel).intensity:.4f}" for kernel in names) + ".")
    flawed = point("Ofast", "simple8")
    lab.finding("-ffast-math drops work: simple8 is clearly flawed with it.", flawed.flop == 8 * size,
                f"a product of 129 factors by squaring is {flawed.flop / size:.0f} multiplications an element, not 128, and its I is "
                f"{flawed.intensity:.3f}. The report could only see it in the speed: 123 Gflop/s, which counted 128.", compiled=True)
    kept = point("Ofast", "simple8fastmath")
    lab.finding("simple8fastmath is safe with it.", kept.flop == 128 * size, f"{kept.flop / size:.0f} flop an element.")
    fma, manual = point("Ofast", "fma8"), point("Ofast", "fma8manpack")
    lab.finding("the work of fma8 and of all others is not tinkered with by -Ofast (the report is not a hundred percent sure).",
                all(point("Ofast", kernel).flop == point("O2", kernel).flop for kernel in names if kernel != "simple8"),
                f"{fma.flop / size:.0f} flop an element of fma8, as in obvious code.", compiled=True)
    for build in results:
        timed = point(build, "simple16")
        if timed.time_s:
            roof = lab.memory_bandwidth(("update",)) * timed.intensity * 1e-9
            lab.finding(f"simple16 is bound by memory (-{build}).", 0.5 * roof < timed.gflops < 1.3 * roof,
                        f"{timed.gflops:.2f} Gflop/s of a roof of {roof:.2f}, that of updates in place; the last cache keeps a part of the "
                        "array from one call to the next.", exact=False)
    if fma.time_s and manual.time_s:
        lab.finding("fma8 of the compiler is as fast as that of intrinsics, with all optimizations.", fma.gflops > 0.8 * manual.gflops,
                    f"{fma.gflops:.1f} and {manual.gflops:.1f} Gflop/s.", exact=False,
                    why=f"GCC 12 makes a·a + a into a·(a + 1) with -ffast-math: {fma.metric('flop_per_fp_instruction'):.2f} flop per FP instruction, "
                    "additions and multiplications of four, and no FMA, which has 8. The report's authors had to read that in disassembly.")
    alone = point("O2", "fma8")
    if alone.time_s and manual.time_s:
        lab.finding("at -O2 it is much slower than intrinsics ([W]: a third).", alone.gflops < 0.5 * point("O2", "fma8manpack").gflops,
                    f"{alone.gflops:.1f} and {point('O2', 'fma8manpack').gflops:.1f} Gflop/s.", exact=False)
    best = max((one for one in results["Ofast"] if one.time_s and one is not flawed), key=lambda one: one.gflops, default=None)
    if best:
        lab.finding("no kernel reaches the peak ([W]: a quarter of it).", best.gflops * 1e9 < 0.6 * lab.peak(),
                    f"{best.parameters['k']}, {best.gflops:.1f} of {lab.peak() * 1e-9:.0f} Gflop/s on one thread, where its vectors reach "
                    f"{lab.peak_of_width(best)[0] * 1e-9:.0f}: each operation waits for the one before.",
                    exact=False)
    lab.say("## Not reproduced", "- Runs with 2 and 4 threads, and arrays of 800 MB to 2 GB (tables 3 and 4): one thread and smaller arrays show the same.\n"
            "- Listing 1, NUMA-STREAM: `rfprof machine` has the bandwidths of this machine.")
