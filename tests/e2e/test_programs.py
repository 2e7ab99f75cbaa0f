"""More programs from Debian, of kinds that break binary translators: other interpreters, thread pools,
static binaries, programs that start many others, and runs in tight or odd surroundings."""

import os

from harness import Skip, case, need_command

SOURCE_C = """
#include <math.h>
struct point { double x, y; };
double length(const struct point *p, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += sqrt(p[i].x * p[i].x + p[i].y * p[i].y);
	return sum;
}
"""

SOURCE_CPP = """
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>
int main()
{
	std::map<std::string, std::vector<int>> buckets;
	for (int i = 0; i < 100; i++)
		buckets[std::to_string(i % 7)].push_back(i * 31 % 17);
	for (auto &[name, values] : buckets) {
		std::sort(values.rbegin(), values.rend());
		std::cout << name << values[0];
	}
}
"""


def lines(count):
    return b"".join(b"%d line of text %d\n" % (i, i * 7919 % 1000) for i in range(count))


def succeeds(t, command, status=0, **options):
    native = t.same(command, **options)
    assert native.status == status, str(native)
    return native


@case("e2e/programs")
def compilers(t):
    """The driver, the compiler proper, the assembler: each a child started by vfork and exec."""
    def sources(where):
        for name, text in (("a.c", SOURCE_C), ("b.cpp", SOURCE_CPP)):
            with open(os.path.join(where, name), "w", encoding="utf-8") as file:
                file.write(text)
    succeeds(t, [need_command("/usr/bin/gcc"), "-O2", "-c", "a.c"], prepare=sources)
    succeeds(t, [need_command("/usr/bin/g++"), "-O1", "b.cpp", "-o", "b"], prepare=sources)
    assert succeeds(t, ["/usr/bin/gcc", "-c", "none.c"], status=1).stderr


@case("e2e/programs")
def make_in_parallel(t):
    need_command("/usr/bin/make")
    rules = "all: a b c d\n%:\n\t@echo $@ | tr a-d A-D > $@.out; sleep 0.02\n"

    def makefile(where):
        with open(os.path.join(where, "Makefile"), "w", encoding="utf-8") as file:
            file.write(rules)
    succeeds(t, ["/usr/bin/make", "-s", "-j2"], prepare=makefile)


@case("e2e/programs")
def compressors_with_threads(t):
    data = lines(60000)
    for command in (["/usr/bin/xz", "-2", "-T2", "--block-size=300000", "-c"], ["/usr/bin/bzip2", "-c"],
                    ["/usr/bin/zstd", "-T2", "-q", "-c"], ["/usr/bin/sort", "--parallel=2", "-k5n"]):
        if os.access(command[0], os.X_OK):
            succeeds(t, command, stdin=data)


@case("e2e/programs")
def lua(t):
    code = ("local t = {} for i = 1, 50000 do t[i] = i * 1.5 end table.sort(t, function(a, b) return a > b end)"
            "local co = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(i) end end)"
            "local s = 0 for i = 1, 1000 do s = s + co() end print(t[1], s, pcall(error, 'x')) os.exit(4)")
    assert b"75000.0\t500500" in succeeds(t, [need_command("/usr/bin/lua"), "-e", code], status=4).stdout


@case("e2e/programs")
def luajit(t):
    """Code made at run time, and calls back from C into it."""
    code = ("local t = {} for i = 1, 1000000 do t[i % 1000 + 1] = (t[i % 1000 + 1] or 0) + i * 1.5 end "
            "local ffi = require 'ffi' ffi.cdef 'void qsort(void *, size_t, size_t, int (*)(const int *, const int *));'"
            "local a = ffi.new('int[100]') for i = 0, 99 do a[i] = i * 7919 % 101 end "
            "ffi.C.qsort(a, 100, 4, function(x, y) return x[0] - y[0] end) print(t[7], #t, a[0], a[99])")
    succeeds(t, [need_command("/usr/bin/luajit"), "-e", code])


@case("e2e/programs")
def tcl(t):
    script = (b"proc f n {if {$n < 2} {return $n}; expr {[f [expr $n - 1]] + [f [expr $n - 2]]}}\n"
              b"puts [f 18]\nputs [exec echo a | cat]\nexit 2\n")
    succeeds(t, [need_command("/usr/bin/tclsh")], status=2, stdin=script)


@case("e2e/programs")
def ruby(t):
    """Fibers, threads, stack overflow caught on the alternate signal stack, a signal, a child."""
    code = ("def r(n) = r(n + 1); begin; r(0); rescue SystemStackError; puts 'deep'; end;"
            "f = Fiber.new { 3.times { |i| Fiber.yield i }; :end }; 4.times { p f.resume };"
            "p 5.times.map { |i| Thread.new { sleep 0.01; i * 2 } }.map(&:value); puts `echo child`;"
            "trap('USR1') { puts 'usr1' }; Process.kill('USR1', $$); sleep 0.05; at_exit { puts 'bye' }; exit 7")
    assert b"deep" in succeeds(t, [need_command("/usr/bin/ruby"), "-e", code], status=7).stdout


@case("e2e/programs")
def guile(t):
    code = ("(display (call/cc (lambda (k) (dynamic-wind (lambda () (display \"in\")) (lambda () (k 5))"
            " (lambda () (display \"out\")))))) (exit 3)")
    native = succeeds(t, [need_command("/usr/bin/guile"), "--no-auto-compile", "-c", code], status=3)
    assert native.stdout == b"inout5", str(native)


@case("e2e/programs")
def php(t):
    code = ("$a = []; for ($i = 0; $i < 100000; $i++) $a[$i % 1000] = ($a[$i % 1000] ?? 0) + sqrt($i); sort($a);"
            "echo count($a), md5(serialize(array_map('intval', $a))), preg_replace('/(a+)b/', '$1', 'caaab');"
            "echo shell_exec('echo s'); exit(5);")
    succeeds(t, [need_command("/usr/bin/php"), "-r", code], status=5)


@case("e2e/programs")
def node(t):
    code = ("let a = []; for (let i = 0; i < 100000; i++) a.push(Math.sin(i) * i); a.sort((x, y) => x - y);"
            "console.log(a[0], a.length); setTimeout(() => process.exit(6), 20)")
    succeeds(t, [need_command("/usr/bin/node"), "-e", code], status=6)


@case("e2e/programs")
def python_workers(t):
    """Threads, processes by fork and by spawn, children, an event loop, callbacks from C."""
    script = """
import asyncio, ctypes, hashlib, multiprocessing, subprocess, sys, threading

def work(n):
    return hashlib.sha1(str(n).encode() * 1000).hexdigest()

async def serve():
    async def answer(reader, writer):
        writer.write((await reader.readline()).upper())
        writer.close()
    server = await asyncio.start_server(answer, '127.0.0.1', 0)
    async def ask(i):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b'hello %d\\n' % i)
        answer = await reader.read()
        writer.close()
        return answer
    return await asyncio.gather(*[ask(i) for i in range(20)])

if __name__ == '__main__':
    results = [None] * 200
    def fill(start):
        for i in range(start, 200, 8):
            results[i] = work(i)
    threads = [threading.Thread(target=fill, args=(i,)) for i in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    for way in sys.argv[1:]:
        with multiprocessing.get_context(way).Pool(2) as pool:
            assert pool.map(work, range(200)) == results, way
    compare = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.POINTER(ctypes.c_int)] * 2)
    numbers = (ctypes.c_int * 300)(*[i * 7919 % 301 for i in range(300)])
    ctypes.CDLL(None).qsort(numbers, 300, 4, compare(lambda x, y: x[0] - y[0]))
    print(results[-1], list(numbers) == sorted(numbers), asyncio.run(serve())[19])
    print([subprocess.run(command, shell=True).returncode for command in ('exit 3', 'kill -9 $$')])
    sys.exit(8)
"""

    def prepare(where):
        with open(os.path.join(where, "workers.py"), "w", encoding="utf-8") as file:
            file.write(script)
    python = need_command("/usr/bin/python3")
    native = succeeds(t, [python, "-B", "workers.py", "fork"], status=8, prepare=prepare)
    assert b"[3, -9]" in native.stdout, str(native)
    # spawn starts a tracker of resources that outlives the program by a moment
    succeeds(t, [python, "-B", "workers.py", "spawn"], status=8, prepare=prepare, modes=("",))


@case("e2e/programs")
def git(t):
    need_command("/usr/bin/git")
    code = ("git init -q . 2>/dev/null; for i in 1 2 3; do echo $i > f$i; git add f$i; git commit -qm $i; done;"
            "git clone -q . copy; git -C copy log --format=%H-%s; git gc -q; git fsck; rm -rf .git copy/.git")
    who = {f"GIT_{role}_{what}": "a@b" if what == "EMAIL" else "a" for role in ("AUTHOR", "COMMITTER")
           for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    succeeds(t, ["/bin/bash", "-c", code], env=who | dates)


@case("e2e/programs")
def openssl(t):
    need_command("/usr/bin/openssl")
    for command in (["dgst", "-sha512"], ["dgst", "-sha3-256"],
                    ["enc", "-aes-256-cbc", "-pbkdf2", "-S", "0011223344556677", "-k", "x"]):
        succeeds(t, ["/usr/bin/openssl", *command], stdin=lines(20000))


@case("e2e/programs")
def static_program(t):
    """No dynamic loader, and a link whose name says what the program is."""
    busybox = need_command("/bin/busybox")
    with open(busybox, "rb") as file:
        if b"/lib64/ld-linux" in file.read(4096):
            raise Skip("busybox is not static (package busybox-static)")
    succeeds(t, [busybox, "sh", "-c", "busybox seq 20000 | busybox sort -rn | busybox sha256sum; exit 9"], status=9)
    os.symlink(busybox, os.path.join(t.directory, "basename"))
    native = succeeds(t, [os.path.join(t.directory, "basename"), "/a/b"])
    assert native.stdout == b"b\n", str(native)


@case("e2e/programs")
def stressors(t):
    """One child that does one thing to the kernel, over and over; each checks itself."""
    need_command("/usr/bin/stress-ng")
    for name, count in (("cpu", 20), ("matrix", 20), ("vecmath", 20), ("fork", 100), ("vfork", 100), ("pthread", 100),
                        ("signal", 5000), ("sigsegv", 500), ("sigfpe", 200), ("context", 500), ("funccall", 20),
                        ("futex", 1000), ("exec", 20), ("dynlib", 20), ("nop", 50)):
        command = ["/usr/bin/stress-ng", "-q", "--verify", "-t", "20", "--temp-path", ".", f"--{name}", "1",
                   f"--{name}-ops", str(count)]
        succeeds(t, command)


@case("e2e/programs")
def few_descriptors(t):
    """A limit on open files is the program's own: rfprof's descriptors do not use it up."""
    code = ("import os, sys\nfds = []\ntry:\n    while True: fds.append(os.open('/dev/null', os.O_RDONLY))\n"
            "except OSError: print(len(fds))\nos.closerange(3, 64)\nprint(sum(x * 0.5 for x in range(50000)))")
    need_command("/usr/bin/python3")
    succeeds(t, ["/bin/sh", "-c", "ulimit -n 40; exec /usr/bin/python3 -c \"$0\"", code])


@case("e2e/programs")
def watched_twice(t):
    """rfprof can be run by rfprof; the inner one's program still does what it does natively."""
    inner = [t.rfprof_path, "-q", "--no-save", "/bin/sh", "-c", "echo out; echo err >&2; exit 6"]
    result = t.rfprof("-q", "--no-save", *inner)
    assert (result.status, result.stdout, result.stderr) == (6, b"out\n", b"err\n"), str(result)
