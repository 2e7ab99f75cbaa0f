"""Machines that are made up: rfprof and what it watches see other caches and fewer processors, or a libc that may use
less of the processor.  Kernels run on the real ones, so that rates stay those of this machine.

Caches are told by hwloc's XML (HWLOC_XMLFILE, and HWLOC_THISSYSTEM so that threads are bound all the same).
"""

import os

KIB, MIB = 1 << 10, 1 << 20


class Cache:
    def __init__(self, level, size, ways, shared=False):
        self.level, self.size, self.ways = level, size, ways
        self.shared = shared  # by all processors, else each core has its own


class Machine:
    """`caches`: outermost first, None for those of this machine; `threads`: of each core; `hwcaps`: features of the
    processor that libc may not use."""

    def __init__(self, caches=None, one_cpu=False, threads=1, hwcaps=()):
        self.caches, self.one_cpu, self.threads, self.hwcaps = caches, one_cpu, threads, hwcaps

    def cpus(self):
        usable = sorted(os.sched_getaffinity(0))
        return usable[:1] if self.one_cpu else usable

    def environment(self, directory):
        """Variables, after writing what they name into the directory."""
        variables = {}
        if self.caches:
            variables = {"HWLOC_XMLFILE": os.path.join(directory, "topology.xml"), "HWLOC_THISSYSTEM": "1"}
            written = f"{variables['HWLOC_XMLFILE']}.{os.getpid()}"
            with open(written, "w", encoding="ascii") as file:
                file.write(topology(self.caches, self.cpus(), self.threads))
            os.replace(written, variables["HWLOC_XMLFILE"])
        if self.hwcaps:
            variables["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=" + ",".join("-" + name for name in self.hwcaps)
        return variables


def bits(numbers):
    """As hwloc writes a set: 32 bits a word, most significant first."""
    words = max(numbers) // 32 + 1
    return ",".join(f"{sum(1 << n % 32 for n in numbers if n // 32 == word):#010x}" for word in reversed(range(words)))


def element(kind, cpus, inside, **attributes):
    cpuset = bits(cpus)
    words = {"type": kind, "cpuset": cpuset, "complete_cpuset": cpuset, "nodeset": "0x1", "complete_nodeset": "0x1",
             **attributes}
    told = " ".join(f'{name}="{value}"' for name, value in words.items())
    return f"<object {told}>{inside}</object>"


def core(number, cpus):
    return element("Core", cpus, "".join(element("PU", [cpu], "", os_index=cpu) for cpu in cpus), os_index=number)


def caches_over(caches, cores):
    """The object of the outermost cache over the cores, or one for each of them; below the last the cores themselves."""
    if not caches:
        return "".join(core(number, cpus) for number, cpus in cores)
    first, rest = caches[0], caches[1:]
    return "".join(
        element(f"L{first.level}Cache", [cpu for _, cpus in group for cpu in cpus], caches_over(rest, group),
                cache_size=first.size, depth=first.level, cache_linesize=64, cache_associativity=first.ways,
                cache_type=1 if first.level == 1 else 0)
        for group in ([cores] if first.shared else [[one] for one in cores]))


def topology(caches, cpus, threads):
    cores = list(enumerate(cpus[at:at + threads] for at in range(0, len(cpus), threads)))
    node = element("NUMANode", cpus, "", os_index=0, local_memory=8 << 30)
    package = element("Package", cpus, caches_over(caches, cores), os_index=0)
    sets = {"os_index": 0, "allowed_cpuset": bits(cpus), "allowed_nodeset": "0x1"}
    return ('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">'
            + element("Machine", cpus, node + package, **sets) + "</topology>\n")


MACHINES = {
    "this": Machine(),
    "small": Machine([Cache(3, 8 * MIB, 16, shared=True), Cache(2, 256 * KIB, 4), Cache(1, 32 * KIB, 8)]),
    "middle": Machine([Cache(3, 32 * MIB, 16, shared=True), Cache(2, MIB, 16), Cache(1, 48 * KIB, 12)]),
    "large": Machine([Cache(3, 105 * MIB, 15, shared=True), Cache(2, 2 * MIB, 16), Cache(1, 48 * KIB, 12)]),
    "two_levels": Machine([Cache(2, 2 * MIB, 16, shared=True), Cache(1, 32 * KIB, 8)]),
    "own_last_levels": Machine([Cache(3, 16 * MIB, 16), Cache(2, 512 * KIB, 8), Cache(1, 32 * KIB, 8)]),
    "one_core": Machine([Cache(3, 24 * MIB, 12), Cache(2, MIB, 8), Cache(1, 32 * KIB, 8)], threads=2),
    "one_cpu": Machine(one_cpu=True),
    "old_libc": Machine(hwcaps=("AVX512F", "AVX512VL", "AVX2", "AVX", "FMA", "ERMS", "FSRM", "BMI2")),
}
