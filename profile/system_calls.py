"""Writes the names of x86-64 system calls by number, as the headers of the compiler's system have them.

Called by meson: system_calls.py OUTPUT COMPILER...
"""

import re
import subprocess
import sys

output, *compiler = sys.argv[1:]
macros = subprocess.run([*compiler, "-E", "-dM", "-include", "asm/unistd_64.h", "-x", "c", "/dev/null"],
                        check=True, capture_output=True, text=True).stdout
calls = sorted((int(number), name) for name, number in re.findall(r"#define __NR_(\w+) (\d+)\n", macros))
assert len(calls) > 300, "the headers name no system calls"
with open(output, "w", encoding="utf-8") as file:
    file.write("/* Made by system_calls.py. */\nstatic const char *const system_call_names[] = {\n")
    for number, name in calls:
        file.write(f'\t[{number}] = "{name}",\n')
    file.write("};\n")
