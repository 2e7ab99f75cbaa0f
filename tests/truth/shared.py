"""Sweeps that several papers have; who asks first measures, the others find the results kept."""

from lab import BLAS, STEINMANN_COLD

LOOPS = ("triple", "six", "scalar")
PRODUCTS = ["shared/products", "shared/products-openblas"]
TIMED_PRODUCTS = ["shared/timed-products", "shared/timed-products-openblas"]
TRANSFORMS = {"cold": ["shared/fft-cold", "shared/fftw-cold"], "warm": ["shared/fft-warm", "shared/fftw-warm"]}


def products(lab):
    """Loops and OpenBLAS's dgemm, cold, in caches of [T]'s machine; no times."""
    program, library = lab.program("matrix"), lab.program("libraries", libraries=BLAS)
    values = [100, 200] if lab.fast else [50, 100, 200, 300, 400, 500, 650]
    own, theirs = PRODUCTS
    return (lab.sweep(own, {"n": values, "k": LOOPS}, [program, "{k}", "{n}"], *STEINMANN_COLD, repeats=1),
            lab.sweep(theirs, {"n": values}, [library, "dgemm", "{n}"], *STEINMANN_COLD, repeats=1))


def timed_products(lab):
    """The same with this machine's caches, and times."""
    program, library = lab.program("matrix"), lab.program("libraries", libraries=BLAS)
    values = [100, 200] if lab.fast else [100, 200, 400]
    own, theirs = TIMED_PRODUCTS
    return (lab.sweep(own, {"n": values, "k": LOOPS}, [program, "{k}", "{n}", "-200"], "--caches=cold"),
            lab.sweep(theirs, {"n": values}, [library, "dgemm", "{n}", "-1000"], "--caches=cold"))


def transforms(lab):
    """Transforms of this project's own and FFTW's by state of the caches, which are flushed at each call in the cold case."""
    program, library = lab.program("transforms"), lab.program("libraries", libraries=BLAS)
    values = [1024, 4096] if lab.fast else [2 ** k for k in range(8, 21, 3)]
    work = "-20" if lab.fast else "-200"
    found = {}
    for state in ("cold", "warm"):
        own, theirs = TRANSFORMS[state]
        tail = ["{n}", work]
        found[state] = (lab.sweep(own, {"n": values, "k": ["fft_recurrence", "fft_table"]}, [program, "{k}", *tail],
                                  f"--caches={state}"),
                        lab.sweep(theirs, {"n": values}, [library, "fftw", *tail], f"--caches={state}"))
    return found
