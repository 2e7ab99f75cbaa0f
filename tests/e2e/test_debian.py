"""Programs that nobody here wrote, as Debian installs them: the same output and exit status."""

import os
import random

from harness import Skip, case, need_command, need_file

LIBRARIES = "/usr/lib/x86_64-linux-gnu"


def flop_in(report, word):
    return sum(row["flop"] for row in report["functions"] if word in os.path.basename(row["module"]))


def dgemm(t, threads, n=600):
    need_file(os.path.join(LIBRARIES, "libopenblas.so.0"))
    need_file("/usr/include/x86_64-linux-gnu/cblas.h")
    program = t.program("dgemm_blas.c", libraries=["-lopenblas"])
    env = {"OPENBLAS_NUM_THREADS": str(threads)}
    native = t.same([program, str(n)], env=env)
    assert native.status == 0, str(native)
    for option in ["--no-save", "--once"]:
        report = t.profile([program, str(n)], option, env=env).json
        flop = flop_in(report, "openblas")
        # C ← A·B + C: 2n³, and n² to add the product to C and scale it.
        assert abs(flop / (2 * n**3) - 1) < 0.01, f"{option}: {flop} flop, 2n³ = {2 * n**3}"


@case("e2e/debian")
def openblas_1_thread(t):
    dgemm(t, 1)


@case("e2e/debian")
def openblas_2_threads(t):
    dgemm(t, 2)


@case("e2e/debian", slow=True)
def openblas_large(t):
    dgemm(t, 2, 2000)


@case("e2e/debian")
def fftw(t):
    need_file("/usr/include/fftw3.h")
    program = t.program("fft_fftw.c", libraries=["-lfftw3", "-lm"])
    native = t.same([program, "4096"])
    assert native.status == 0, str(native)
    flop = flop_in(t.profile([program, "4096"]).json, "libfftw3")
    calls, n, log_n = 100, 4096, 12
    # 5 n log2 n is the textbook radix-2 count, which split radix and FFTW's codelets stay below;
    # 2 n log2 n is below every known algorithm's (n log2 n complex additions alone).
    assert 2 * calls * n * log_n < flop < 5 * calls * n * log_n, f"{flop} flop"


@case("e2e/debian")
def python(t):
    need_command("/usr/bin/python3")
    code = """
import sys, json, re, hashlib, collections, zlib
words = collections.Counter(re.findall(r'[a-z]+', json.dumps({str(i): 'w%d' % (i % 97) for i in range(3000)})))
print(words.most_common(3), hashlib.sha256(repr(sorted(words.items())).encode()).hexdigest())
print(zlib.crc32(bytes(range(256)) * 100), sum(x * 0.5 for x in range(100000)))
print('to stderr', file=sys.stderr)
try:
    [][1]
except IndexError as error:
    print(error)
sys.exit(7)
"""
    native = t.same(["/usr/bin/python3", "-c", code], env={"PYTHONHASHSEED": "0"})
    assert native.status == 7, str(native)


@case("e2e/debian")
def python_numpy(t):
    need_command("/usr/bin/python3")
    code = """
import numpy
a = numpy.arange(160000, dtype=float).reshape(400, 400) / 1000
b = a @ a.T
print(b.sum(), numpy.linalg.norm(b), numpy.fft.fft(a[0])[:3], numpy.sort(a.ravel())[::-1][:5])
print(numpy.linalg.solve(a[:50, :50] + numpy.eye(50), a[0, :50])[:5])
"""
    native = t.same(["/usr/bin/python3", "-c", code])
    if b"No module named" in native.stderr:
        raise Skip("no python3-numpy")
    assert native.status == 0, str(native)
    flop = sum(row["flop"] for row in t.profile(["/usr/bin/python3", "-c", code]).json["functions"])
    # A symmetric product may be computed by half; the rest is small against 400³.
    assert flop > 400**3, f"{flop} flop"


def some_text(size):
    """Compressible bytes, the same in every run."""
    source = random.Random(1)
    words = [bytes(source.choices(b"abcdefghijklmnop", k=source.randint(1, 9))) for _ in range(500)]
    return b" ".join(source.choices(words, k=size // 6))


@case("e2e/debian")
def gzip(t):
    data = some_text(1500000)
    packed = t.same([need_command("/usr/bin/gzip"), "-9", "-n", "-c"], stdin=data)
    assert packed.status == 0 and len(packed.stdout) < len(data), str(packed)
    unpacked = t.same(["/usr/bin/gzip", "-d", "-c"], stdin=packed.stdout)
    assert unpacked.stdout == data, "not the original text"
    broken = t.same(["/usr/bin/gzip", "-d", "-c"], stdin=b"not gzip")
    assert broken.status == 1, str(broken)


@case("e2e/debian")
def perl(t):
    code = ('my %h; $h{$_ % 1000} .= chr(65 + $_ % 26) for 1 .. 200000; my $n = 0;'
            'for (sort { $a <=> $b } keys %h) { $n += length($h{$_}) * 1.5 if $h{$_} =~ /AB?[K-Z]/ }'
            'printf "%s %.3f %s\\n", scalar(keys %h), $n, join ",", map { sprintf "%x", $_ ** 2 } 1 .. 20;'
            'local $SIG{ALRM} = sub { print "alarm\\n" }; alarm 1; select undef, undef, undef, 3;'
            'print `echo from a child`; warn "to stderr\\n"; exit 9;')
    native = t.same([need_command("/usr/bin/perl"), "-e", code])
    assert native.status == 9 and b"alarm\nfrom a child\n" in native.stdout, str(native)


@case("e2e/debian")
def sqlite3(t):
    sql = """
CREATE TABLE t (id INTEGER PRIMARY KEY, x REAL, name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
INSERT INTO t SELECT i, (i * 7919) % 1000 / 8.0, 'name' || (i % 100) FROM n;
CREATE INDEX names ON t (name);
SELECT name, count(*), round(avg(x), 6), max(x) FROM t GROUP BY name ORDER BY 3 DESC LIMIT 5;
SELECT sum(a.x * b.x) FROM t a JOIN t b ON a.id = b.id + 1;
PRAGMA integrity_check;
SELECT no_such_column FROM t;
"""
    native = t.same([need_command("/usr/bin/sqlite3"), "-batch", "-bail"], stdin=sql.encode())
    assert native.status == 1 and b"name" in native.stdout and b"ok" in native.stdout, str(native)


@case("e2e/debian")
def gnuplot(t):
    """A plot as text: the picture is the output."""
    script = ("set terminal dumb 100 40; set samples 400; set isosamples 30;"
              "plot [0:10] sin(x) * exp(-x / 5), besj0(x); print sum [i=1:1000] 1. / i ** 2")
    native = t.same([need_command("/usr/bin/gnuplot"), "-e", script])
    assert native.status == 0 and len(native.stdout) > 2000, str(native)


@case("e2e/debian")
def shell_tools(t):
    """A pipeline of small programs, each watched as a child of the watched shell."""
    native = t.same(["/bin/bash", "-c",
                     "seq 20000 | awk '{ s += $1 * 1.5 } END { print s }'; printf '%s\\n' c a b | sort | tr abc xyz;"
                     "echo 'scale=20; 4*a(1)' | bc -l 2>/dev/null || echo no bc; false | true; echo ${PIPESTATUS[0]}"])
    assert native.status == 0, str(native)


@case("e2e/debian")
def xmllint_and_jq(t):
    document = b"<list>" + b"".join(b"<item n='%d'>text</item>" % i for i in range(3000)) + b"</list>"
    need_command("/usr/bin/xmllint")
    need_command("/usr/bin/jq")
    native = t.same(["/usr/bin/xmllint", "--xpath", "count(//item[@n mod 3 = 0])", "-"], stdin=document)
    assert native.stdout.strip() == b"1000", str(native)
    native = t.same(["/usr/bin/jq", "-c", "[range(2000) | . * 1.5] | [length, add, (map(sqrt) | add | floor)]"],
                    stdin=b"null")
    assert native.status == 0, str(native)
