"""Compilers, assemblers, linkers and the tools that drive them: vfork and exec, huge programs, many files."""

import pytest

from debian import Scripts

SUITE = "transparency/debian"

script = Scripts()

C = r"""
cat >a.c <<'END'
#include <math.h>
#include <stdio.h>
struct point { double x, y; };
static double length(const struct point *p, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += sqrt(p[i].x * p[i].x + p[i].y * p[i].y);
	return sum;
}
int main(void)
{
	struct point p[50];
	for (int i = 0; i < 50; i++)
		p[i] = (struct point){i * 0.5, i * 0.25};
	printf("%.10g\n", length(p, 50));
	return 0;
}
END
"""
CPP = r"""
cat >b.cpp <<'END'
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
END
"""
ASSEMBLY = r"""
cat >s.s <<'END'
	.globl _start
	.text
_start:
	mov $1, %eax
	mov $1, %edi
	lea text(%rip), %rsi
	mov $6, %edx
	syscall
	mov $60, %eax
	mov $7, %edi
	syscall
	.data
text:	.ascii "hello\n"
END
"""

script("gcc", C + "gcc -O2 -g -ffast-math -c a.c -o a.o; gcc -O3 a.c -lm -o a; ./a; ! gcc -c none.c")
script("gcc_lto", C + "gcc -O2 -flto=2 -frandom-seed=1 a.c -lm -o a; ./a; objdump -d a | wc -l", ["gcc", "objdump"])
script("g++", CPP + "g++ -O2 -std=c++17 b.cpp -o b; ./b", slow=False)
script("clang", C + "clang -O2 -c a.c -o a.o && clang a.o -lm -o a && ./a; clang -S -emit-llvm -O1 a.c -o - | tail"
       " -n 20")
script("as_and_ld", ASSEMBLY + "as s.s -o s.o; ld s.o -o s; strip s; readelf -hlS s; ./s || echo $?", ["as", "ld"],
       shows="hello\n7\n", slow=False)
script("nasm", "printf 'bits 64\\nsection .text\\nglobal f\\nf: mov eax, [rdi+4*rsi]\\n%%rep 500\\nadd eax,"
       " 3\\n%%endrep\\nret\\n'"
       " >a.asm; nasm -f elf64 a.asm; nasm -f bin a.asm -l a.lst; head -n 9 a.lst")
script("tcc", C + "tcc -c a.c -o a.o; tcc a.c -lm -o a; ./a; tcc -lm -run a.c")
script("gfortran", r"""
cat >a.f90 <<'END'
program sums
  implicit none
  real(8) :: a(200, 200), b(200, 200)
  integer :: i
  a = reshape([(mod(i * 7, 13) * 0.5d0, i = 1, 40000)], [200, 200])
  b = matmul(a, transpose(a))
  print '(2f20.6)', sum(b), maxval(b)
  write (*, *) dot_product(a(:, 1), b(:, 2))
end program
END
gfortran -O3 -fcheck=all a.f90 -o a; ./a""")
script("fpc", r"""
cat >a.pas <<'END'
program a;
{$mode objfpc}
uses sysutils;
var i: integer; s: double; t: array of string;
begin
  s := 0;
  setlength(t, 100);
  for i := 0 to 99 do begin s := s + sqrt(i); t[i] := format('%d:%.3f', [i, s]); end;
  writeln(t[99]);
  try
    raise exception.create('raised');
  except on e: exception do writeln(e.message);
  end;
  halt(3);
end.
END
fpc -O2 -l- a.pas | tail -n 3 | sed 's/, [0-9.]* sec//'; rm -f a.o; ./a || echo $?""", shows="raised\n3")
script("rustc", r"""
cat >a.rs <<'END'
use std::{collections::BTreeMap, panic, thread};
fn main() {
    let sums: Vec<f64> = (0..4).map(|k| thread::spawn(move || (1..2000).map(|i| (i * k) as f64 / 3.0).sum()))
        .map(|t: thread::JoinHandle<f64>| t.join().unwrap()).collect();
    let map: BTreeMap<_, _> = sums.iter().enumerate().map(|(i, s)| (format!("{}", i * 7 % 4), s)).collect();
    println!("{:?}", map);
    println!("{}", panic::catch_unwind(|| { let v: Vec<i32> = vec![]; v[map_len()] }).is_err());
    std::process::exit(5)
}
fn map_len() -> usize { std::env::args().count() }
END
rustc -O -C codegen-units=2 a.rs -o a; ./a || echo $?; rm a""", shows="true\n5")
script("go", r"""
cat >a.go <<'END'
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sort"
	"sync"
)

func main() {
	sums := make([]string, 40)
	var wait sync.WaitGroup
	for i := range sums {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			defer func() { _ = recover() }()
			sums[i] = fmt.Sprintf("%x", sha256.Sum256(make([]byte, i*1000)))[:8]
			var none []int
			_ = none[i]
		}(i)
	}
	wait.Wait()
	sort.Strings(sums)
	fmt.Println(sums[:3], len(sums))
	os.Exit(6)
}
END
export GOCACHE=$IN/cache GOPATH=$IN/go GOFLAGS=-trimpath GO111MODULE=off
go build -p 2 -o a a.go; ./a || echo $?""", shows="40\n6")
script("ocaml", r"""
cat >a.ml <<'END'
exception Found of int
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let () =
  Printf.printf "%d\n" (fib 20);
  (try List.iter (fun x -> if x * x > 500 then raise (Found x)) (List.init 100 Fun.id) with Found x -> print_int x);
  let h = Hashtbl.create 10 in
  for i = 0 to 9999 do Hashtbl.replace h (i mod 100) (float i) done;
  Printf.printf " %g\n" (Hashtbl.fold (fun _ v s -> v +. s) h 0.); exit 4
END
ocamlc a.ml -o b; ./b || echo $?; ocamlopt -O3 a.ml -o a 2>&1; ./a || echo $?; ocaml a.ml || echo $?; rm -f a a.o b""",
       ["ocamlrun", "ocaml", "ocamlc", "ocamlopt"], shows="23 994950")
script("bison_and_flex", r"""
cat >s.l <<'END'
%option noyywrap
%%
[0-9]+ return 1;
[a-z]+ return 2;
.|\n   ;
%%
int main(void) { int n[3] = {0}, k; while ((k = yylex())) n[k]++; printf("%d %d\n", n[1], n[2]); return 0; }
END
cat >g.y <<'END'
%token NUMBER
%left '+' '-'
%left '*' '/'
%%
list: | list sum '\n';
sum: NUMBER | sum '+' sum | sum '-' sum | sum '*' sum | sum '/' sum | '(' sum ')';
%%
END
bison -v -o g.c g.y; flex -o s.c s.l; gcc -O1 s.c -o s; ./s <$IN/text""", ["bison", "flex", "gcc"])
script("make", r"""
printf 'all: a b c d\n%%:\n\t@echo $@ | tr a-d A-D > $@.out; sleep 0.02\n' >Makefile; make -s -j2; cat *.out""",
       slow=False)
script("cmake_and_ninja", C + CPP + r"""
printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C CXX)\nadd_executable(a a.c)\ntarget_link_libraries(a m)
add_executable(b b.cpp)\n' >CMakeLists.txt
cmake -G Ninja -B build . | grep -v -e ABI -e 'done (' ; ninja -C build -j 2 | tail -n 1; build/a; build/b
rm -rf build""",
       ["cmake", "ninja", "gcc"])
script("binutils", "nm -D /usr/bin/bash | wc -l; objdump -d /bin/true | sha256sum; readelf -aW /bin/true | sha256sum;"
       "strings -n 8 /usr/bin/bash | sort -u | sha256sum; objcopy --strip-all /bin/true t; size t; ar rcD l.a t;"
       " ranlib -D l.a",
       ["objdump", "nm", "readelf"])
script("verilator", r"""
printf 'module m(input clk, output reg [7:0] q);\nalways @(posedge clk) q <= q + 3;\nendmodule\n' >m.v
verilator_bin --cc m.v --Mdir o 2>&1; ls o | sort; cat o/Vm.cpp | sha256sum; rm -r o""", ["verilator_bin"])


@pytest.mark.parametrize("case", script)
def test_script(t, case):
    case.check(t)
