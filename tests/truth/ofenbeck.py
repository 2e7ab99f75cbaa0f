"""[O] Ofenbeck, Steinmann, Caparros, Spampinato, Püschel: Applying the Roofline Model, 2014."""

import math

import shared
from lab import BLAS, STEINMANN_CACHE, STEINMANN_COLD, STEINMANN_WARM, by, median

EXPECTED = {  # table I: W, Q_r, Q_w
    "daxpy": lambda n: (2 * n, 16 * n, 8 * n),
    "dgemv": lambda n: (2 * n * n + 2 * n, 8 * n * n + 16 * n, 8 * n),
    "dgemm": lambda n: (2 * n ** 3 + 2 * n * n, 24 * n * n, 8 * n * n),
}


def sizes(lab):
    if lab.fast:
        return {"daxpy": [40000, 130000], "dgemv": [300, 600], "dgemm": [100, 200]}
    return {"daxpy": [10000 + 30000 * i * i for i in (0, 1, 3, 7)], "dgemv": [100, 300, 600, 1000, 1600],
            "dgemm": [100, 200, 400, 700, 1000]}


def libraries(lab):
    """Cold and warm sweeps of the kernels of libraries."""
    program = lab.program("libraries", libraries=BLAS)
    work = 100 if lab.fast else 400
    cold, warm = {}, {}
    for kernel, values in sizes(lab).items():
        cold[kernel] = lab.sweep(f"{kernel}-cold", {"n": values}, [program, kernel, "{n}", f"-{work}"], "--caches=cold",
                                 repeats=7)
        # from small ones, which fit, to one of which the data are more than the last cache
        largest = values[-1:] if lab.fast else [{"daxpy": 4000000, "dgemv": 2500}.get(kernel, values[-1])]
        warm[kernel] = lab.sweep(f"{kernel}-warm", {"n": sorted({*values[::2], *largest})},
                                 [program, kernel, "{n}", f"-{work // 2}"], "--caches=warm")
    transforms = shared.transforms(lab)
    cold["fftw"], warm["fftw"] = transforms["cold"][1], transforms["warm"][1]
    return cold, warm, transforms


def files(kernels, state):
    return [shared.TRANSFORMS[state][1] if kernel == "fftw" else f"{kernel}-{state}" for kernel in kernels]


def table_4(lab, cold):
    lab.say("## Table IV: W and Q against theory",
            "OpenBLAS stands for MKL. Cold caches (simulated ones are emptied at each call); Q_w counts what is left in the "
            "caches at the end of a call, as a measurement does that begins with caches full of the same.")
    rows, worst, middle = [], {}, {}
    for kernel in EXPECTED:
        ratios = {"W": [], "Q_r": [], "Q_w": [], "Q": []}
        for point in cold[kernel]:
            work, read, written = EXPECTED[kernel](point.n)
            ratios["W"].append(point.flop / work)
            ratios["Q_r"].append(point.read / read)
            ratios["Q_w"].append(point.written / written)
            ratios["Q"].append(point.moved / (read + written))
        worst[kernel] = {key: max(values) for key, values in ratios.items()}
        middle[kernel] = {key: median(values) for key, values in ratios.items()}
        rows.append([kernel, *(f"{middle[kernel][key]:.3f} / {worst[kernel][key]:.3f}" for key in ratios)])
    lab.table(["kernel", "W median / max", "Q_r", "Q_w", "Q"], rows)
    lab.finding("the flop that are counted are those of theory ([O]: 1.00 to 1.19 of them).",
                all(abs(worst[kernel]["W"] - 1) < 0.05 for kernel in worst),
                "at most " + ", ".join(f"{kernel} {worst[kernel]['W']:.3f}" for kernel in worst) +
                "; what is above 1 is OpenBLAS's own (sums of partial results, scaling), counted exactly.")
    lab.finding("daxpy and dgemv move what they must ([O]: Q 1.00 to 1.05 of it).",
                all(abs(worst[kernel]["Q"] - 1) < 0.06 for kernel in ("daxpy", "dgemv")),
                f"{worst['daxpy']['Q']:.3f} and {worst['dgemv']['Q']:.3f} at most.")
    lab.finding("Q_w of dgemv is far off, which hardly shows in Q ([O]: 1.06 to 1.97 in the median, up to 2.96).",
                middle["dgemv"]["Q_w"] > 1.2 and worst["dgemv"]["Q"] < 1.06,
                f"{middle['dgemv']['Q_w']:.2f}, up to {worst['dgemv']['Q_w']:.2f}. In [O] it is said to be an error of measurement; "
                "here nothing is measured, and it is memory of its own that the library writes beside y.")
    lab.finding("dgemm moves what it must ([O]: Q 1.01 to 1.21 in the median, up to 1.40).",
                middle["dgemm"]["Q"] < 1.25 and worst["dgemm"]["Q"] < 1.45,
                f"{middle['dgemm']['Q']:.2f} in the median, {worst['dgemm']['Q']:.2f} at most, for the smallest n.",
                why="The library copies blocks of both matrices into memory of its own. Here a cold call finds that memory cold, too; with "
                "[O]'s method, data that take turns, it stays in the caches, as they say themselves (III.A).")


def figure_2(lab, cold):
    lab.say("## Figure 2 (a), (c), (d): different kernels, sequential, cold caches")
    options = ("--count-left", "--per-cycle")
    for kind, what in (("roofline", "(a)"), ("read", "(c) read-only"), ("write", "(d) write-only")):
        lab.plot(kind, files(cold, "cold"), f"figure-2-{kind}", *options, caption=f"Figure 2 {what}")
    last = {kernel: points[-1] for kernel, points in cold.items()}
    lab.finding("daxpy is at I = 1/12, dgemv near 1/4.",
                abs(last["daxpy"].intensity * 12 - 1) < 0.03 and abs(last["dgemv"].intensity * 4 - 1) < 0.05,
                f"{last['daxpy'].intensity:.4f} and {last['dgemv'].intensity:.4f}.")
    lab.finding("the intensity of the FFT is between those of dgemv and dgemm.",
                last["dgemv"].intensity < last["fftw"].intensity < last["dgemm"].intensity,
                f"{last['dgemv'].intensity:.3f} < {last['fftw'].intensity:.2f} < {last['dgemm'].intensity:.1f}.")
    ridge_read = lab.peak() / lab.memory_bandwidth()
    read, write = (last["dgemv"].flop / getattr(last["dgemv"], which) for which in ("read", "written"))
    lab.finding("dgemv is memory bound by what it reads and compute bound by what it writes.",
                read < ridge_read < write, f"I_r {read:.3f}, I_w {write:.0f}, ridge {ridge_read:.2f} flop per byte.")
    shares = [point.gflops * 1e9 / (lab.memory_bandwidth() * point.flop / point.read) for point in cold["dgemv"]
              if point.time_s]
    if shares:
        lab.finding("dgemv comes near the read roof, P = I_r β_r ([O]: 90 %).", 2 / 3 < max(shares) < 1.3,
                    f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of it.", exact=False)
    timed = [point for point in cold["dgemm"] if point.time_s]
    if timed:
        best = max(timed, key=lambda point: point.gflops)
        peak, isa = lab.peak_of_width(best)
        lab.finding("dgemm is compute bound and reaches most of the peak ([O]: 95 %).", best.gflops * 1e9 > 0.7 * peak,
                    f"{100e9 * best.gflops / peak:.0f} % of what FMA of the vectors that it uses ({isa}) reach, "
                    f"{100e9 * best.gflops / lab.peak():.0f} % of the widest.", exact=False)


def figure_2_parallel(lab, cold):
    lab.say("## Figure 2 (b): the same with two threads",
            "[O] has six cores, here there are two hardware threads. Only what several cores do to the kernels is looked at.")
    program = lab.program("libraries", libraries=BLAS)
    values = {kernel: values[-2:] for kernel, values in sizes(lab).items()}
    work = 100 if lab.fast else 400
    both = {kernel: lab.sweep(f"{kernel}-parallel", {"n": values[kernel]},
                              [program, kernel, "{n}", f"-{work}"], "--caches=cold", repeats=7, threads=2)
            for kernel in values}
    lab.plot("roofline", [f"{kernel}-parallel" for kernel in both], "figure-2-parallel", "--count-left", "--per-cycle",
             caption="Figure 2 (b)")
    one, two = (points[-1] for points in (cold["dgemm"], both["dgemm"]))
    lab.finding("dgemm has a slightly lower I in parallel.", 0.7 < two.intensity / one.intensity < 1,
                f"{two.intensity:.2f} where it has {one.intensity:.2f} on one thread (n = {int(one.n)}).",
                why="Both threads work on the same copies of blocks, and the last cache, which they share, holds them.")
    pairs = {kernel: (cold[kernel][-1], both[kernel][-1]) for kernel in both}
    if all(point.time_s for pair in pairs.values() for point in pair):
        gain = {kernel: one.time_s / two.time_s for kernel, (one, two) in pairs.items()}
        lab.finding("dgemm gains nearly as much as there are cores, daxpy and dgemv only what bandwidth gains.",
                    gain["dgemm"] > 1.5 and max(gain["daxpy"], gain["dgemv"]) < gain["dgemm"],
                    ", ".join(f"{kernel} {value:.2f} times" for kernel, value in gain.items()) + " with two threads.", exact=False,
                    why="Others use the second processor, too.")


def figure_3(lab, cold, warm):
    lab.say("## Figure 3: warm caches",
            "Each call finds what the same call has left in the (simulated) caches. What moves no byte at memory stands at the right edge.")
    lab.plot("roofline", files(warm, "warm"), "figure-3", "--per-cycle", caption="Figure 3")
    rows = []
    for kernel, points in warm.items():
        rows.append([kernel, f"{cold[kernel][0].intensity:.3g}",
                     *(f"{int(point.n)}: {point.intensity_in_call:.3g}" for point in (points[0], points[-1]))])
    lab.table(["kernel", "I cold, smallest n", "warm, smallest n", "warm, largest n"], rows)
    lab.finding("for sizes that fit into the caches I = ∞; [O] measures something very large.",
                all(points[0].moved_in_call == 0 for points in warm.values()), "no byte moves at memory, of any of the kernels.")
    # the last cache of a server may be larger than any data here
    large, program = {}, lab.program("libraries", libraries=BLAS)
    for kernel, n in (("daxpy", 1000000), ("dgemv", 1500)):
        points = [lab.sweep(f"{kernel}-large-{state}", {"n": [n]}, [program, kernel, "{n}"], *caches, repeats=1)[0]
                  for state, caches in (("warm", STEINMANN_WARM), ("cold", STEINMANN_COLD))]
        large[f"{kernel} n = {n}"] = tuple(point.intensity for point in points)
    lab.finding("for large sizes the code behaves as with cold caches.",
                all(abs(a / b - 1) < 0.1 for a, b in large.values()),
                "; ".join(f"{kernel}: {a:.4f} and {b:.4f}" for kernel, (a, b) in large.items()) +
                f", warm and cold, with what is left in the caches, of {STEINMANN_CACHE}.")


def figure_4(lab):
    lab.say("## Figure 4: optimizations of dgemm",
            "The triple loop, six loops with blocks of 50, the same with scalar replacement ([T]), and OpenBLAS. The last cache of this machine holds "
            "matrices that take hours to multiply in a traced triple loop, so that intensities are those of caches as [T]'s machine has "
            f"them ({STEINMANN_CACHE}); times would be another machine's. The roofline is this machine's, with its own caches.")
    own, theirs = shared.products(lab)
    shared.timed_products(lab)
    lab.plot("intensity", shared.PRODUCTS, "figure-4-intensity", "--count-left",
             caption="Intensity of products of matrices, last cache 2 MB")
    lab.plot("roofline", shared.TIMED_PRODUCTS, "figure-4-roofline", "--count-left", "--per-cycle", caption="Figure 4, sequential")
    triple, six = by(own, k="triple"), by(own, k="six")
    lab.table(["n", "n/16", "triple loop", "six loops", "OpenBLAS"],
              [[int(a.n), f"{a.n / 16:.1f}", *(f"{point.intensity:.2f}" for point in (a, b, c))]
               for a, b, c in zip(triple, six, theirs)])
    small = by(triple, n=100)[0]
    lab.finding("as long as all fits, I ≈ n/16 ([O]: 6.1 at n = 100).", abs(small.intensity - 6.25) < 0.1,
                f"{small.intensity:.2f} at n = 100, where 2n³/32n² is 6.25.")
    if lab.fast:
        return
    lab.finding("the triple loop's I falls to 1/4 where B does not fit.", 0.2 < triple[-1].intensity < 0.3,
                f"{triple[-1].intensity:.3f} at n = {int(triple[-1].n)}.")
    lab.finding("blocking moves it to the right, I = O(N_B).", six[-1].intensity > 10 * triple[-1].intensity,
                f"{six[-1].intensity:.1f} at n = {int(six[-1].n)}: {six[-1].intensity / triple[-1].intensity:.0f} times; "
                "2n³ over the bound 8n³/N_B is 12.5.")


def figure_5(lab, transforms):
    lab.say("## Figure 5: Fourier transforms, measured flop and pseudo-flop",
            "`fft_recurrence` computes its factors as it goes, as the routine of Numerical Recipes does; `fft_table` has "
            "them in a table; FFTW stands for SPIRAL's and MKL's transforms. Pseudo-flop are 5 n log2 n.")
    for state, part in (("cold", "a"), ("warm", "b")):
        names = shared.TRANSFORMS[state]
        left = ("--count-left",) if state == "cold" else ()
        lab.plot("roofline", names, f"figure-5-{state}", "--per-cycle", *left, caption=f"Figure 5 ({part}), {state}")
        lab.plot("roofline", names, f"figure-5-{state}-pseudo", "--per-cycle", "--work-formula=5*n*log2(n)", *left,
                 caption=f"Figure 5 ({chr(ord(part) + 2)}), {state}, pseudo-flop")
    own, theirs = transforms["cold"]
    recurrence, table = by(own, k="fft_recurrence"), by(own, k="fft_table")

    def ratio(point):
        return point.flop / (5 * point.n * math.log2(point.n))

    lab.say("Counted flop over 5 n log2 n:")
    lab.table(["n", "recurrence", "table", "FFTW"],
              [[int(a.n), *(f"{ratio(point):.4f}" for point in (a, b, c))] for a, b, c in zip(recurrence, table, theirs)])
    lab.finding("pseudo-flop move the code that computes its factors down and to the left, and optimized code up and to the right.",
                all(ratio(point) > 1 for point in recurrence) and all(ratio(point) < 1 for point in theirs),
                f"of those counted they are {1 / ratio(recurrence[0]):.2f} to {1 / ratio(recurrence[-1]):.2f} with the recurrence, "
                f"{1 / ratio(theirs[0]):.2f} to {1 / ratio(theirs[-1]):.2f} of FFTW; code with a table of factors does just as many.")
    own, theirs = transforms["warm"]
    slow, quick = by(own, k="fft_recurrence")[-1], theirs[-1]
    if slow.time_s and quick.time_s:
        lab.finding("the code of the recurrence is far behind for large n, for its poor locality.", slow.time_s > 3 * quick.time_s,
                    f"{slow.time_s / quick.time_s:.1f} times FFTW's time at n = {int(slow.n)}.", exact=False)


def experiments(lab):
    lab.say("# Ofenbeck et al. 2014: Applying the Roofline Model")
    cold, warm, transforms = libraries(lab)
    table_4(lab, cold)
    figure_2(lab, cold)
    figure_2_parallel(lab, cold)
    figure_3(lab, cold, warm)
    figure_4(lab)
    figure_5(lab, transforms)
    lab.say("## Not reproduced",
            "- Figure 1, a sketch of the model without measurements.\n"
            "- Six and sixteen cores, and the parallel part of figure 4: two hardware threads are here, shared with others.\n"
            "- The three platforms of table III, and Windows: this is another machine.\n"
            "- MKL, ATLAS and SPIRAL's generated code: OpenBLAS and FFTW of Debian stand for them.\n"
            "- daxpy of 10⁷ to 6·10⁷ elements (table IV): its ratios do not depend on n, and shorter vectors are traced sooner.")
