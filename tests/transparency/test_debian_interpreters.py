"""Interpreters and virtual machines, with and without code made at run time."""

import pytest

from debian import Scripts

SUITE = "transparency/debian"

script = Scripts()

PYTHON = r"""
import sys, json, re, hashlib, collections, zlib
words = collections.Counter(re.findall(r"[a-z]+", json.dumps({str(i): "w%d" % (i % 97) for i in range(3000)})))
print(words.most_common(3), hashlib.sha256(repr(sorted(words.items())).encode()).hexdigest())
print(zlib.crc32(bytes(range(256)) * 100), sum(x * 0.5 for x in range(100000)))
print("to stderr", file=sys.stderr)
try:
    [][1]
except IndexError as error:
    print(error)
sys.exit(7)
"""
# Threads, processes by fork and by spawn, children, an event loop, callbacks from C.
PYTHON_WORKERS = r"""
import asyncio, ctypes, hashlib, multiprocessing, subprocess, sys, threading

def work(n):
    return hashlib.sha1(str(n).encode() * 1000).hexdigest()

async def serve():
    async def answer(reader, writer):
        writer.write((await reader.readline()).upper())
        writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async def ask(i):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"hello %d\n" % i)
        answer = await reader.read()
        writer.close()
        return answer
    return await asyncio.gather(*[ask(i) for i in range(20)])

if __name__ == "__main__":
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
    print([subprocess.run(command, shell=True).returncode for command in ("exit 3", "kill -9 $$")])
    sys.exit(8)
"""
PERL = r"""
my %h; $h{$_ % 1000} .= chr(65 + $_ % 26) for 1 .. 100000; my $n = 0;
for (sort { $a <=> $b } keys %h) { $n += length($h{$_}) * 1.5 if $h{$_} =~ /AB?[K-Z]/ }
printf "%s %.3f %s\n", scalar(keys %h), $n, join ",", map { sprintf "%x", $_ ** 2 } 1 .. 20;
local $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; select undef, undef, undef, 3;
$| = 1; print `echo from a child`; warn "to stderr\n"; exit 9;
"""
# Fibers, threads, stack overflow caught on the alternate signal stack, a signal, a child.
RUBY = r"""
def r(n) = r(n + 1)
begin; r(0); rescue SystemStackError; puts "deep"; end
f = Fiber.new { 3.times { |i| Fiber.yield i }; :end }; 4.times { p f.resume }
p 5.times.map { |i| Thread.new { sleep 0.01; i * 2 } }.map(&:value); puts `echo child`
trap("USR1") { puts "usr1" }; Process.kill("USR1", $$); sleep 0.05; at_exit { puts "bye" }
GC.stress = false; a = (1..30000).map { |i| i.to_s.reverse }; GC.start; puts a.sort.first(3).inspect; exit 7
"""
LUA = r"""
local t = {} for i = 1, 50000 do t[i] = i * 1.5 end table.sort(t, function(a, b) return a > b end)
local co = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(i) end end)
local s = 0 for i = 1, 1000 do s = s + co() end print(t[1], s, pcall(error, "x")) os.exit(4)
"""
# Code made at run time, and calls back from C into it.
LUAJIT = r"""
local t = {} for i = 1, 1000000 do t[i % 1000 + 1] = (t[i % 1000 + 1] or 0) + i * 1.5 end
local ffi = require "ffi" ffi.cdef "void qsort(void *, size_t, size_t, int (*)(const int *, const int *));"
local a = ffi.new("int[100]") for i = 0, 99 do a[i] = i * 7919 % 101 end
ffi.C.qsort(a, 100, 4, function(x, y) return x[0] - y[0] end) print(t[7], #t, a[0], a[99])
"""
TCL = r"""
proc f n {if {$n < 2} {return $n}; expr {[f [expr $n - 1]] + [f [expr $n - 2]]}}
puts [f 18]
puts [exec echo a | cat]
exit 2
"""
GUILE = r"""
(display (call/cc (lambda (k) (dynamic-wind (lambda () (display "in")) (lambda () (k 5)) (lambda () (display "out"))))))
(exit 3)
"""
PHP = r"""<?php
$a = []; for ($i = 0; $i < 100000; $i++) $a[$i % 1000] = ($a[$i % 1000] ?? 0) + sqrt($i); sort($a);
echo count($a), md5(serialize(array_map("intval", $a))), preg_replace("/(a+)b/", '$1', "caaab");
echo shell_exec("echo s"); exit(5);
"""
NODE = r"""
let a = []; for (let i = 0; i < 100000; i++) a.push(Math.sin(i) * i); a.sort((x, y) => x - y);
const crypto = require("crypto"), zlib = require("zlib");
console.log(a[0], a.length, crypto.createHash("sha1").update(String(a)).digest("hex"));
console.log(zlib.gunzipSync(zlib.gzipSync("x".repeat(1e5))).length);
function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } console.log(f(24));
console.log(require("child_process").execSync("echo child").toString());
setTimeout(() => process.exit(6), 20);
"""
JAVA = r"""
import java.util.*;
import java.util.stream.*;
public class A {
    static int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
    public static void main(String[] arguments) throws Exception {
        Map<String, Integer> map = new TreeMap<>();
        for (int i = 0; i < 100000; i++) map.merge("k" + i % 100, i, Integer::sum);
        System.out.println(map.get("k7") + " " + f(24));
        System.out.println(IntStream.range(0, 100000).parallel().mapToLong(i -> (long) i * i).sum());
        try { Object none = null; none.hashCode(); } catch (NullPointerException e) { System.out.println("null"); }
        Thread[] threads = new Thread[4]; int[] sums = new int[4];
        for (int i = 0; i < 4; i++) { int k = i; threads[i] = new Thread(() -> sums[k] = f(15 + k));
threads[i].start(); }
        for (Thread thread : threads) thread.join();
        System.out.println(Arrays.toString(sums)); System.exit(3);
    }
}
"""
OCTAVE = r"""
a = reshape(mod((1:10000) * 7, 13), 100, 100); [q, r] = qr(a + eye(100)); printf("%.6f %.6f\n", abs(r(1, 1)), norm(a));
s = svd(a); printf("%.4f ", s(1:3)); x = fminsearch(@(x) (x(1) - 1) ^ 2 + (x(2) + 2) ^ 2, [0 0]); printf("%.2f\n", x);
try, error("caught"), catch e, disp(e.message), end, disp(regexprep("aab", "a+", "x")), exit(3)
"""
R = r"""
x <- (1:2000 * 7919) %% 1009; m <- matrix(x[1:900], 30); print(summary(lm(x ~ seq_along(x)))$coefficients)
print(round(svd(m)$d[1:5], 4)); print(table(cut(x, 5))); print(tryCatch(stop("caught"), error = conditionMessage))
print(optim(c(-1.2, 1), function(p) (1 - p[1])^2 + 100 * (p[2] - p[1]^2)^2)$counts); quit(status = 4)
"""
PROLOG = r"""
queens(N, Q) :- numlist(1, N, L), permutation(L, Q), safe(Q).
safe([]). safe([H|T]) :- apart(H, T, 1), safe(T).
apart(_, [], _). apart(H, [X|T], D) :- H - X =\= D, X - H =\= D, D1 is D + 1, apart(H, T, D1).
:- queens(6, Q), print(Q), nl, X is 2 ** 200, print(X), nl, catch(atom_length(_, _), error(E, _),
(print(caught), nl)), halt(3).
"""
LISP = r"""
(defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (print (f 22)) (print (expt 3 200))
(print (handler-case (car 5) (error () :caught))) (print (handler-case (/ 1 0) (division-by-zero () :zero)))
(gc :full t) (print (length (loop for i below 100000 collect (list i)))) (terpri)
(finish-output) (exit :code 5 :abort t)
"""
ERLANG = r"""
F = fun F(0) -> 0; F(N) -> N + F(N - 1) end, S = self(),
[spawn(fun() -> S ! {I, F(I * 100)} end) || I <- lists:seq(1, 100)],
io:format("~p~n", [lists:sum([receive {I, V} -> V end || I <- lists:seq(1, 100)])]), halt(4).
"""


def interpreter(name, code, command, status=0, **options):
    script(name, f"cat >$IN/code <<'END'\n{code}\nEND\n{command}", status=status, **options)


interpreter("python3", PYTHON, "python3 -B $IN/code", 7, slow=False, env={"PYTHONHASHSEED": "0"})
# Spawn starts a tracker of resources that outlives the program by a moment, holding its standard error open.
interpreter("python_workers", PYTHON_WORKERS, "cp $IN/code w.py; python3 -B w.py fork spawn", 8, need=["python3"],
            slow=False, shows="[3, -9]")
interpreter("perl", PERL, "perl $IN/code", 9, slow=False, shows="alarm\nfrom a child\n")
interpreter("ruby", RUBY, "ruby $IN/code", 7, shows="deep")
interpreter("lua", LUA, "lua $IN/code", 4, shows="75000.0\t500500", slow=False)
interpreter("luajit", LUAJIT, "luajit $IN/code; luajit -joff $IN/code", slow=False)
interpreter("tclsh", TCL, "tclsh $IN/code", 2, slow=False)
interpreter("guile", GUILE, "guile --no-auto-compile -s $IN/code", 3, shows="inout5")
interpreter("php", PHP, "php $IN/code", 5)
interpreter("node", NODE, "node $IN/code", 6, shows="46368\nchild")
interpreter("java", JAVA, "cp $IN/code A.java; java -XX:-UsePerfData A.java", 3, shows="46368\n333328333350000\nnull")
interpreter("java_interpreted", JAVA, "cp $IN/code A.java; java -Xint -XX:-UsePerfData A.java", 3, need=["java"])
interpreter("octave", OCTAVE, "octave-cli --norc --quiet $IN/code", 3, need=["octave-cli"], shows="caught")
interpreter("R", R, "Rscript --vanilla $IN/code", 4, need=["/usr/lib/R/bin/exec/R", "Rscript"], shows="caught")
interpreter("swipl", PROLOG, "swipl -q $IN/code", 3, shows="caught")
interpreter("sbcl", LISP, "sbcl --script $IN/code", 5, shows=":CAUGHT \n:ZERO")
interpreter("erl", ERLANG, "erl -noshell -eval \"$(cat $IN/code)\"", 4, need=["erl"], shows="1692002500")
script("gforth", "gforth -e ': f dup 2 < if else dup 1- recurse swap 2 - recurse + then ; 22 f . 1 s>d d. bye'",
       shows="17711")
script("gawk", "gawk '{ for (i = 1; i <= NF; i++) n[$i]++ } END { PROCINFO[\"sorted_in\"] = \"@val_num_desc\";"
       " for (w in n) if (k++ < 5) print n[w] | \"sort -n\"; close(\"sort -n\"); exit 3 }' $IN/text", status=3)
script("mawk", "mawk '{ for (i = 1; i <= NF; i++) s += length($i) * 1.5 } END { print s; exit 3 }' $IN/text", status=3)
script("dash", "dash -c 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; trap \"echo bye\" EXIT; (kill -TERM $$)"
       " & wait;"
       " echo no' || echo $?; dash -c 'seq 10 | while read x; do echo $x; done; exit 4'", status=4, slow=False)
script("bash", r"""
f() { local n=$1; ((n < 2)) && { echo $n; return; }; echo $(($(f $((n - 1))) + $(f $((n - 2))))); }
f 7; declare -A a; for i in {1..3000}; do a[$((i % 50))]+=$i; done; echo ${#a[@]} ${a[7]}
trap 'echo usr1' USR1; kill -USR1 $$; coproc { tr a-z A-Z; }; echo text >&${COPROC[1]}; exec {w}>&${COPROC[1]}- {w}>&-
cat <&${COPROC[0]}; diff <(seq 5) <(seq 6) || echo ${PIPESTATUS[0]}; ulimit -n 40
exec python3 -c "$(echo 'print(1.5)')"
""", ["bash", "python3"])
script("zsh", "zsh -fc 'zmodload zsh/mathfunc; touch x y; typeset -A a; for i in {1..5000}; do a[$((i % 50))]=$i;"
       " done; print ${(onk)a}; print ${(s:,:)${:-a,b}}"
       " $((sqrt(2.))) *(N); exit 4' 2>&1", status=4)
script("bc", "echo 'scale=60; 4*a(1); e(1); define f(n) { if (n < 2) return n; return f(n-1) + f(n-2) }; f(16)' | bc"
       " -l")
script("dc", "echo '2 4000 ^ p 3 500 ^ 7 ~ p p 40 k 2 v p' | dc")
script("sed", "sed -E 's/([a-z]+) ([a-z]+)/\\2 \\1/g; /the/d; y/abc/xyz/; $!N; P; D' $IN/text | sha256sum", slow=False)
script("m4", r"""
cat >f.m4 <<'END'
define(`f', `ifelse($1, 0, 1, `eval($1 * f(decr($1)))')')dnl
f(12) esyscmd(`echo child') len(`abc') translit(`cab', `a-c', `x-z') undefine(`f')f(3)
END
m4 f.m4; seq 3000 | sed 's/.*/define(m&,&)m&/' | m4 | sha256sum""", shows="479001600 child")
script("jq", "jq -n -c '[range(20000) | . * 1.5] | [length, add, (map(sqrt) | add | floor)]';"
       " seq 5000 | jq -s 'group_by(. % 7) | map(add)' -c; echo '{' | jq . || echo $?", slow=False)


@pytest.mark.parametrize("case", script)
def test_script(t, case):
    case.check(t)
