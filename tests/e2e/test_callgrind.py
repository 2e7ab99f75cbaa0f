"""Instruction counts per function against callgrind's, on programs whose path does not depend on CPUID."""

import os
import re

import pytest

from harness import functions, named, need_command, text

TOLERANCE = 0.001


def exclusive_costs(path, module):
    """Instructions by function in one object file, from callgrind's output (no compressed names).

    The line after `calls=` is the callee's inclusive cost.  Recursion shows as NAME'2: the same
    function.  See the Callgrind format specification in valgrind's manual."""
    costs, name, in_module, skip = {}, None, False, False
    for line in text(path).splitlines():
        if line.startswith("ob="):
            in_module = os.path.basename(line[3:]) == module
        elif line.startswith("fn="):
            name = re.sub(r"'\d+$", "", line[3:])
        elif line.startswith("calls="):
            skip = True
        elif re.match(r"[-+*\d]", line):
            if not skip and in_module:
                costs[name] = costs.get(name, 0) + int(line.split()[1])
            skip = False
    return costs


@pytest.mark.parametrize("source, expected", named({
    "interpreter": ("interpreter.c", ["run", "push", "pop", "apply"]),
    "sorting": ("sorting.c", ["next_random", "quick_sort", "merge", "merge_sort", "insert", "checksum", "main"]),
}))
def test_counts_are_callgrinds(t, source, expected):
    valgrind = need_command("/usr/bin/valgrind")
    program = t.program(source)
    module = os.path.basename(program)
    output = os.path.join(t.directory, "callgrind.out")
    native = t.run([valgrind, "-q", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
                    "--callgrind-out-file=" + output, program], timeout=300)
    assert native.status == 0, str(native)
    costs = exclusive_costs(output, module)
    result = t.profile([program])
    assert result.stdout == native.stdout, str(result)
    wrong = []
    for name in expected:
        assert costs.get(name, 0) > 10000, f"callgrind has not seen {name}: {costs}"
        rows = functions(result.json, name, module)
        counted = sum(row["instructions"] for row in rows)
        if abs(counted - costs[name]) > TOLERANCE * costs[name]:
            wrong.append(f"{name}: {counted}, callgrind {costs[name]}")
    assert not wrong, "\n".join(wrong)
    # All of the module together, stubs and start-up code too.
    counted = sum(row["instructions"] for row in functions(result.json, module=module))
    total = sum(costs.values())
    assert abs(counted - total) <= TOLERANCE * total, f"module: {counted}, callgrind {total}"
