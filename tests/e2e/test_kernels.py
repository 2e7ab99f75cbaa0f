"""--kernel: what functions did with all that they call, on all threads that work for them (docs/kernels.md)."""

import itertools
import os

import pytest

import kernel_program
from browser import Browser
from harness import need_file

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTED = ("--work=count", "--traffic=none")
MEMBERS = ("flop", "load_bytes", "store_bytes", "instructions")


def kernels(t, command, names, *options, **others):
    """By name; and what is outside of all."""
    report = t.profile(command, f"--kernel={','.join(names)}", *options, **others).json
    rows = {row["name"]: row for row in report["kernels"]}
    assert list(rows) == list(names)
    rest = {member: sum(process[member] or 0 for process in report["processes"]) - sum(row[member] for row in rows.values())
            for member in MEMBERS}
    return rows, rest


def program_of(t, seed, program):
    path = os.path.join(t.directory, f"calls{seed}.cpp")
    with open(path, "w") as file:
        file.write(program.source)
    return t.program(path, ("-O2", "-w"), ("-pthread",))


@pytest.mark.parametrize("options", [COUNTED, (), ("--once",), ("--caches=warm",)], ids=["counted", "traced", "once", "warm"])
@pytest.mark.parametrize("first", [1, 1000, 2000, pytest.param(3000, marks=pytest.mark.slow)])
def test_random_calls(t, first, options):
    """Calls and flop, to the last one."""
    n = 20 if first == 3000 else 3
    for seed, program in itertools.islice(kernel_program.programs(first), n):
        rows, rest = kernels(t, [program_of(t, seed, program)], sorted(program.calls), *options)
        for name, row in rows.items():
            assert (row["calls"], row["flop"]) == (program.calls[name], program.flop[name]), f"{name}, seed {seed}"
        assert rest["flop"] == program.flop[None], f"seed {seed}"


def blas(t):
    need_file("/usr/include/x86_64-linux-gnu/cblas.h")
    return t.program(os.path.join(HERE, "programs", "dgemm_calls.c"), ("-O2",), ("-lopenblas",))


@pytest.mark.parametrize("threads", [1, 2])
def test_dgemm(t, threads):
    """2 n^3 flop, and what OpenBLAS has besides, which is a multiple of n^2."""
    n, calls = 256, 5
    program = blas(t)
    rows, rest = kernels(t, [program, str(n), str(calls)], ["cblas_dgemm"], *COUNTED,
                         env={"OPENBLAS_NUM_THREADS": str(threads)})
    row = rows["cblas_dgemm"]
    assert (row["calls"], row["threads"]) == (calls, threads)
    assert 0 <= row["flop"] / calls - 2 * n ** 3 <= 20 * n ** 2
    assert rest["flop"] <= 10 * n ** 2


def test_dgemm_threads_do_the_same_work(t):
    program = blas(t)
    flop = [kernels(t, [program, "256", "5"], ["cblas_dgemm"], *COUNTED, env={"OPENBLAS_NUM_THREADS": str(threads)})
            [0]["cblas_dgemm"]["flop"] for threads in (1, 2)]
    assert flop[0] == flop[1]


def test_fftw_execute(t):
    """Twice as many calls do twice the work, to the last flop."""
    need_file("/usr/include/fftw3.h")
    program = t.program(os.path.join(HERE, "programs", "fftw_calls.c"), ("-O2",), ("-lfftw3",))
    few, many = (kernels(t, [program, "1024", str(n)], ["fftw_execute"], *COUNTED)[0]["fftw_execute"] for n in (10, 20))
    assert (few["calls"], many["calls"]) == (10, 20)
    assert few["flop"] > 0 and many["flop"] == 2 * few["flop"]
    assert 0.5 < few["flop"] / 10 / (5 * 1024 * 10) < 1.2  # FFTW's own against 5 n log2 n


METHOD = """
struct Mesh { double v[100]; __attribute__((noinline, noipa)) void smooth(int times); };
void Mesh::smooth(int times) { for (int k = 0; k < times; k++) for (int i = 0; i < 100; i++) { v[i] += 1.0; asm volatile("" ::: "memory"); } }
int main() { static Mesh mesh; for (int i = 0; i < 50; i++) mesh.smooth(3); return 0; }
"""


@pytest.mark.parametrize("name", ["Mesh::smooth", "Mesh::smooth(int)", "_ZN4Mesh6smoothEi"])
def test_method(t, name):
    path = os.path.join(t.directory, "method.cpp")
    with open(path, "w") as file:
        file.write(METHOD)
    rows, _ = kernels(t, [t.program(path, ("-O1",))], [name], *COUNTED)
    assert (rows[name]["calls"], rows[name]["flop"]) == (50, 50 * 3 * 100)


def test_library_that_is_loaded_later(t):
    """And a name that there is not: the program runs on, and a note says so."""
    source = os.path.join(t.directory, "late.c")
    with open(source, "w") as file:
        file.write("double late(double x) { for (int i = 0; i < 10; i++) { x += 1.0; __asm__ volatile(\"\" : \"+x\"(x)); } return x; }\n")
    library = t.program(source, ("-O1", "-shared", "-fPIC"))
    main = os.path.join(t.directory, "loads.c")
    with open(main, "w") as file:
        file.write("#include <dlfcn.h>\nint main(int n, char **v) { double (*f)(double) = dlsym(dlopen(v[1], RTLD_NOW), \"late\");\n"
                   "for (int i = 0; i < 7; i++) f(1); return 0; }\n")
    report = t.profile([t.program(main, ("-O1",), ("-ldl",)), library], "--kernel=late,nobody", *COUNTED).json
    late, nobody = report["kernels"]
    assert (late["calls"], late["flop"]) == (7, 70)
    assert nobody["calls"] == 0 and nobody["per_call"] is None
    assert any("nobody" in note for note in report["run"]["notes"])


def test_many_calls(t):
    """A hundred thousand, each exact."""
    path = os.path.join(t.directory, "many.c")
    with open(path, "w") as file:
        file.write("volatile double x; __attribute__((noinline, noipa)) void one(void) { x += 1.0; }\n"
                   "int main(void) { for (int i = 0; i < 100000; i++) one(); return 0; }\n")
    rows, rest = kernels(t, [t.program(path, ("-O1",))], ["one"], *COUNTED)
    assert (rows["one"]["calls"], rows["one"]["flop"], rest["flop"]) == (100000, 100000, 0)


def test_traffic_of_a_kernel(t):
    """What moves is told of the kernel that moves it."""
    path = os.path.join(t.directory, "sweeps.c")
    with open(path, "w") as file:
        file.write("#include <stdlib.h>\n__attribute__((noinline, noipa)) double sweep(const double *a, long n)\n"
                   "{ double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }\n"
                   "__attribute__((noinline, noipa)) void big(const double *a, long n) { sweep(a, n); }\n"
                   "int main(void) { long n = 1 << 20; double *a = calloc(n, 8); for (long i = 0; i < n; i++) a[i] = 1;\n"
                   "for (int k = 0; k < 3; k++) big(a, n); sweep(a, n); return 0; }\n")
    rows, _ = kernels(t, [t.program(path, ("-O1",))], ["big"], "--cache=L1=32K:8,L2=256K:8,L3=1M:16", "--cache-sample=1")
    moved = 3 * 8 * (1 << 20)
    assert abs(rows["big"]["mem_read_bytes"] / moved - 1) < 0.02
    assert rows["big"]["load_bytes"] / moved < 1.01


def test_page(t):
    path = os.path.join(t.directory, "method.cpp")
    with open(path, "w") as file:
        file.write(METHOD)
    t.profile([t.program(path, ("-O1",))], "--kernel=Mesh::smooth,nothing", *COUNTED, f"--html={os.path.join(t.directory, 'page.html')}")
    with Browser(t.directory) as browser:
        browser.open(os.path.join(t.directory, "page.html"))
        browser.until("document.querySelectorAll('.kernels td').length > 0")
        cells = browser.value("[...document.querySelectorAll('.kernels td')].map(cell => cell.textContent)")
        assert cells[:3] == ["Mesh::smooth", "50", "1"] and cells[6] == "300"
        assert cells[10:12] == ["nothing", "0"]
        assert not browser.console


@pytest.mark.parametrize("list_", ["", "a,,b", "a,a"])
def test_refused(t, list_):
    result = t.rfprof(f"--kernel={list_}", "--no-save", "true")
    assert result.status != 0
    assert b"kernel" in result.stderr
