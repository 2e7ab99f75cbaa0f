"""Makes a C file of the page's assets: embed.py OUTPUT STYLE LIBRARY SCRIPT...

One constant for the style, one for the library, one for the other scripts as one script, and the
Content-Security-Policy under which these scripts, named by their hashes, and no others run.
"""

import base64
import hashlib
import sys


def c_string(data):
    """C string literals, a line each."""
    escaped = {ord("\n"): "\\n", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    lines = []
    for line in data.splitlines(keepends=True):
        for start in range(0, len(line), 2000):
            part = line[start:start + 2000]
            lines.append('\t"%s"' % "".join(escaped.get(byte) or (chr(byte) if 32 <= byte < 127 else "\\%03o" % byte)
                                            for byte in part))
    return "\n".join(lines) or '\t""'


def check(path, data):
    """What ends an element of HTML early must not stand in its text."""
    for end in (b"</script", b"</style", b"<!--"):
        if end in data.lower():
            sys.exit(f"{path}: {end.decode()} cannot stand in a page")


def main():
    output, *paths = sys.argv[1:]
    contents = []
    for path in paths:
        with open(path, "rb") as file:
            contents.append(file.read())
        check(path, contents[-1])
    style, library, script = contents[0], contents[1], b'"use strict";\n' + b"".join(contents[2:])
    hashes = " ".join("'sha256-%s'" % base64.b64encode(hashlib.sha256(part).digest()).decode()
                      for part in (library, script))
    policy = (f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
              "base-uri 'none'; form-action 'none'")
    with open(output, "w", encoding="ascii") as file:
        file.write("/* Made by report/html/embed.py. */\n#include \"report/html/html_assets.h\"\n")
        for name, data in (("style", style), ("library", library), ("script", script), ("policy", policy.encode())):
            file.write(f"\nconst char html_{name}[] =\n{c_string(data)};\n")


main()
