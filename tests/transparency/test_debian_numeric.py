"""Numerical programs and libraries, OpenMP and MPI: the same figures to the last bit, and plausible work."""

import os

import pytest

from debian import PATH, PROGRAMS, Scripts, find, same_counted
from harness import named, need_file

SUITE = "transparency/debian"

script = Scripts()

LIBRARIES = "/usr/lib/x86_64-linux-gnu"

NUMPY = """
import numpy
a = numpy.arange(160000, dtype=float).reshape(400, 400) / 1000
b = a @ a.T
print(b.sum(), numpy.linalg.norm(b), numpy.fft.fft(a[0])[:3], numpy.sort(a.ravel())[::-1][:5])
print(numpy.linalg.solve(a[:50, :50] + numpy.eye(50), a[0, :50])[:5], numpy.linalg.eigvalsh(b[:60, :60])[-3:])
print(numpy.float32(a[:9, :9]).sum(), numpy.random.default_rng(5).normal(size=1000).mean(), (a > 3).sum())
"""


def flop(report, word=""):
    return sum(row["flop"] for row in report["functions"] if word in os.path.basename(row["module"]))


def counted_and_timed(t, name, command, env=None):
    """Counted alone, and counted as the second of two runs; returns the reports."""
    native, once = same_counted(t, name, command, command[:1], env=env)
    assert native.status == 0, str(native)
    return {"--once": once, "both runs": t.profile(command, env=env).json}


@pytest.mark.parametrize("threads, n", [
    *named({"openblas_1_thread": (1, 600), "openblas_2_threads": (2, 600)}),
    pytest.param(2, 2000, id="openblas_large", marks=pytest.mark.slow)])
def test_openblas(t, threads, n):
    need_file(os.path.join(LIBRARIES, "libopenblas.so.0"))
    need_file("/usr/include/x86_64-linux-gnu/cblas.h")
    program = t.program("dgemm_blas.c", libraries=["-lopenblas"])
    reports = counted_and_timed(t, f"dgemm {n}", [program, str(n)], {"OPENBLAS_NUM_THREADS": str(threads)})
    for how, report in reports.items():
        # C ← A·B + C: 2n³, and n² to add the product to C and scale it.
        work = flop(report, "openblas")
        assert abs(work / (2 * n**3) - 1) < 0.01, f"{how}: {work} flop, 2n³ = {2 * n**3}"


def test_fftw(t):
    need_file("/usr/include/fftw3.h")
    program = t.program("fft_fftw.c", libraries=["-lfftw3", "-lm"])
    calls, n, log_n = 100, 4096, 12
    for report in counted_and_timed(t, "fftw", [program, str(n)]).values():
        # 5 n log2 n is the textbook radix-2 count, which split radix and FFTW's codelets stay below;
        # 2 n log2 n is below every known algorithm's (n log2 n complex additions alone).
        work = flop(report, "libfftw3")
        assert 2 * calls * n * log_n < work < 5 * calls * n * log_n, f"{work} flop"


def test_numpy(t):
    command = [find("python3"), "-c", NUMPY]
    find("/usr/lib/python3/dist-packages/numpy")
    for report in counted_and_timed(t, "numpy", command).values():
        # A symmetric product may be computed by half; the rest is small against 400³.
        assert flop(report) > 400**3, f"{flop(report)} flop"


script("pari", r"""gp -q -f <<<'print(factor(2^101-1)); print(nextprime(10^60)); \p 200
print(zeta(3)); print(ellan(ellinit([0,-1,1,-10,-20]),30)); print(matdet(matrix(40,40,i,j,1/(i+j)))==0)
print(polroots(x^5-x-1)[1])'""",
       ["gp"])
script("maxima", "maxima --very-quiet --batch-string='display2d:false$ integrate(exp(-x^2)*x^3,x,0,inf);"
       " factor(x^12-1);"
       " solve(x^3-2*x+1,x); bfloat(%pi),fpprec:60; taylor(sin(tan(x)),x,0,9);'", ["/usr/bin/maxima"])
script("glpk", r"""
cat >m.mod <<'END'
set I := 1..12; param w{i in I} := (i * 37) mod 23 + 3; param v{i in I} := (i * 53) mod 29 + 2;
var x{I} binary; maximize value: sum{i in I} v[i] * x[i]; s.t. c: sum{i in I} w[i] * x[i] <= 60;
solve; display value, x; end;
END
glpsol -m m.mod | grep -v -i -e time -e memory
printf 'max: 3x+2y;\nc1: x+y<=4;\nc2: x+3y<=6;\nx<=3;\nint y;\n' | lp_solve -S4 | grep -v -i time""",
       ["glpsol", "lp_solve"], shows="value.val = ")
script("units", "units -t '3 miles/hour' m/s; units -t -v 'tempF(100)' tempC; units -t '1|3 cup' ml; units -t"
       " 6furlongs/fortnight parsec/year;"
       " units -t furlong kg || echo $?")
script("gsl", r"""
cat >a.c <<'END'
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sf.h>
#include <stdio.h>
static double f(double x, void *p) { (void)p; return log(x) / sqrt(x); }
int main(void)
{
	gsl_integration_workspace *w = gsl_integration_workspace_alloc(1000);
	gsl_function function = {f, 0};
	double result, error;
	gsl_integration_qags(&function, 0, 1, 0, 1e-7, 1000, w, &result, &error);
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_matrix *m = gsl_matrix_alloc(20, 20);
	for (int i = 0; i < 20; i++)
		for (int j = 0; j <= i; j++) {
			double x = gsl_rng_uniform(rng);
			gsl_matrix_set(m, i, j, x);
			gsl_matrix_set(m, j, i, x);
		}
	gsl_vector *values = gsl_vector_alloc(20);
	gsl_eigen_symm(m, values, gsl_eigen_symm_alloc(20));
	printf("%.17g %.17g %.17g %.17g\n", result, error, gsl_sf_bessel_J0(5.0), gsl_vector_max(values));
	gsl_integration_workspace_free(w);
	return 0;
}
END
gcc -O2 a.c -lgsl -lgslcblas -lm -o a; ./a; gsl-histogram 0 100 10 <<<$'3\n14\n15\n92\n65\n35'
gsl-randist 7 5 gaussian 1.5""",
       ["gsl-histogram", "gcc", "/usr/include/gsl/gsl_sf.h"])
script("fftw_wisdom", "fftw-wisdom -e -n cif64 rof100 | sed -n 1,1p | tr -d 0-9; fftw-wisdom -V | sed -n 1,1p",
       ["fftw-wisdom"])
script("hdf5", "cd $IN; awk 'BEGIN { for (i = 0; i < 2000; i++) print i * 0.25 }' >n; printf 'PATH a/b\\nINPUT-CLASS"
       " TEXTFP\\nRANK 2\\n"
       "DIMENSION-SIZES 40 50\\nOUTPUT-CLASS FP\\nOUTPUT-SIZE 64\\nCHUNKED-DIMENSION-SIZES 10 10\\nCOMPRESSION-PARAM"
       " 6\\n' >c; h5import n -c c"
       " -o a.h5; h5dump a.h5 | sha256sum; h5repack -f SHUF -f GZIP=3 a.h5 b.h5; h5diff -v a.h5 b.h5; h5ls -r b.h5",
       ["h5dump", "h5import", "h5repack"])
script("netcdf", "printf 'netcdf a {\\ndimensions: x = 50 ;\\nvariables: double v(x) ;\\ndata: v = %s ;\\n}\\n'"
       " \"$(seq -s, 50)\" >a.cdl; ncgen -k nc3 -o"
       " a.nc a.cdl; ncdump a.nc; ncgen -k nc4 -o $IN/b.nc a.cdl; nccopy -k nc3 $IN/b.nc - >/dev/null || true;"
       " ncdump -h $IN/b.nc", ["ncgen", "ncdump"])
script("ngspice", "printf 'rc\\nv1 1 0 pulse(0 5 0 1n 1n 1u 2u)\\nr1 1 2 1k\\nc1 2 0 1n\\nd1 2 3 d\\nr2 3 0"
       " 10k\\n.model d d\\n.tran 20n 4u\\n.print tran"
       " v(2) v(3)\\n.end\\n' >c.cir; ngspice -b c.cir 2>/dev/null | grep -E '^[0-9]+\\s' | sha256sum")


@pytest.mark.parametrize("case", script)
def test_script(t, case):
    case.check(t)


@pytest.mark.parametrize("source", [
    *named({"openmp_reduction": "openmp_reduction.c", "openmp_tasks": "openmp_tasks.c"}),
    pytest.param("openmp_nested.c", id="openmp_nested", marks=pytest.mark.slow)])
def test_openmp(t, source):
    program = t.program(os.path.join(PROGRAMS, source), ("-fopenmp",), ["-lm"])
    for wait in ("active", "passive"):
        env = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": wait, "OMP_MAX_ACTIVE_LEVELS": "2", "OMP_DYNAMIC": "false"}
        same_counted(t, f"{source} {wait}", [program], [program], env=env)


@pytest.mark.slow
def test_openmp_with_clang(t):
    """LLVM's OpenMP library instead of GNU's."""
    clang = find("clang")
    for kind in ("reduction", "tasks", "nested"):
        program = os.path.join(t.directory, kind)
        built = t.run([clang, "-O2", "-fopenmp", os.path.join(PROGRAMS, f"openmp_{kind}.c"), "-o", program, "-lm"])
        if built.status:
            pytest.skip("LLVM's OpenMP is not installed (package libomp-dev)")
        same_counted(t, f"clang openmp {kind}", [program], [program], env={"OMP_NUM_THREADS": "2"})


@pytest.mark.slow
@pytest.mark.parametrize("source, processes", named({
    "mpi_2": ("mpi_heat.c", 2), "mpi_4": ("mpi_heat.c", 4), "mpi_collectives": ("mpi_collectives.c", 3)}))
def test_mpi(t, source, processes):
    program = os.path.join(t.directory, "program")
    built = t.run([find("mpicc"), "-O2", os.path.join(PROGRAMS, source), "-o", program, "-lm"], env={"PATH": PATH})
    assert built.status == 0, str(built)
    command = [find("mpirun"), "--allow-run-as-root", "--oversubscribe", "-np", str(processes), program]
    env = {"PATH": PATH, "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_plm_rsh_agent": "",
           "OMPI_MCA_hwloc_base_binding_policy": "none", "TMPDIR": t.directory}
    same_counted(t, f"{source} {processes}", command, [command[0], program], env=env)
