"""What rfprof takes for itself while it traces a program of 10,000 functions, keeps its code, and reports."""

import json
import os
import statistics
import subprocess
import time

import pytest

from harness import functions, need_command

FUNCTIONS = 10000
SECONDS = 8
MOST_MB = 160  # at any time
TRACED_MB = 130  # in the middle of the traced run
GROWTH_MB = 8  # from its middle to its end
FUNCTION = """\t.type function_{i}, @function
function_{i}:
\tmovl $10, %ecx
\tleaq data(%rip), %rdx
1:\tleal {i}(%rcx), %eax
\tmovsd (%rdx,%rcx,8), %xmm0
\ttestl $1, %eax
\tje 2f
\taddsd {at}(%rdx), %xmm0
\ttestl $2, %eax
\tjne 3f
\tmovsd %xmm0, {at}(%rdx)
\tjmp 3f
2:\ttestl $4, %eax
\tje 3f
\tmulsd %xmm0, %xmm0
\tmovsd %xmm0, 8(%rdx,%rcx,8)
3:\tdecl %ecx
\tjne 1b
\tret
\t.size function_{i}, . - function_{i}
"""
MAIN = """
#include <time.h>
void all(void);
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main(void)
{
	for (double begin = now(); now() - begin < %d;)
		all();
	return 0;
}
"""


def program(t):
    """Functions with a loop of three ways each, which all run."""
    source, main, path = (os.path.join(t.work, name) for name in ("all.s", "main.c", "many"))
    with open(source, "w") as file:
        file.write("\t.text\n" + "".join(FUNCTION.format(i=i, at=8 * (i % 400)) for i in range(FUNCTIONS)))
        file.write("\t.globl all\n\t.type all, @function\nall:\n")
        file.write("".join(f"\tcall function_{i}\n" for i in range(FUNCTIONS)))
        file.write("\tret\n\t.size all, . - all\n\t.bss\n\t.balign 64\ndata:\t.zero 8192\n"
                   '\t.section .note.GNU-stack,"",@progbits\n')
    with open(main, "w") as file:
        file.write(MAIN % SECONDS)
    subprocess.run([need_command("/usr/bin/gcc"), "-O1", main, source, "-o", path], check=True)
    time.sleep(2.1)  # nothing is kept of a program that has just changed
    return path


def megabytes(pid):
    """Of one process, all that is resident, its most so far, and what of it is shared; None when it is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            rows = dict(line.split(":", 1) for line in file)
        return [int(rows[key].split()[0]) / 1024 for key in ("VmRSS", "VmHWM", "RssShmem")]
    except (OSError, KeyError):
        return None


def watch(t, command, *options):
    """All samples of rfprof itself."""
    process = subprocess.Popen([t.rfprof_path, *options, "--quiet", "--json", "report.json", *command], cwd=t.work, env=t.environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    samples = []
    try:
        while process.poll() is None:
            sample = megabytes(process.pid)
            samples += [sample] if sample else []
            time.sleep(0.02)
    finally:
        process.kill()
    assert process.returncode == 0
    return samples


@pytest.mark.slow
def test_memory_of_a_traced_program_of_10000_functions(t):
    command = [program(t)]
    t.profile(["/bin/true"])  # reads the roofs
    samples = watch(t, command)
    most = max(sample[1] for sample in samples)
    traced = [sample[0] for sample in samples if sample[2] > 0.5]  # it shares memory with a program
    middle, late = (traced[int(part * len(traced)):int((part + 0.2) * len(traced))] for part in (0.5, 0.7))
    figures = f"{most:.0f} MB at the most, {statistics.median(middle):.0f} and then {statistics.median(late):.0f} traced"
    print(figures)
    with open(os.path.join(t.work, "report.json")) as file:
        report = json.load(file)
    names = {row["name"] for row in functions(report)}
    assert all(f"function_{i}" in names for i in range(FUNCTIONS))
    assert most <= MOST_MB, figures
    assert statistics.median(late) <= TRACED_MB, figures
    assert statistics.median(late) - statistics.median(middle) <= GROWTH_MB, figures


@pytest.mark.parametrize("options", [(), ("--run=count",)], ids=["twice", "counted"])
def test_processes_that_are_gone_take_no_memory(t, options):
    t.profile(["/bin/true"])  # reads the roofs
    path = t.program(os.path.join(os.path.dirname(__file__), "programs", "wide_code.c"), ("-O1",))
    most = {}
    for n in (4, 40):
        loop = f"for i in $(seq {n}); do {path} 1 > /dev/null; done"
        samples = watch(t, ["/bin/sh", "-c", loop], "--work=count", "--traffic=none", "--no-cache", *options)
        most[n] = max(sample[1] for sample in samples)
    print(most)
    assert most[40] - most[4] <= 40, most
