#!/usr/bin/python3
"""The graph of the product's source files: who includes whom, and who calls whom.

    tests/structure/graph.py BUILD [--dot | --files FOLDER]

prints the arrows between folders (--dot: for Graphviz), or those between the files of one folder.  A
folder is a module: one library, or the program itself in cli/.  Its place is the one in which meson.build
visits it, from below.  Calls are read from the symbol tables of the objects in BUILD with nm.
"""

import argparse
import collections
import functools
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = (".c", ".h", ".S", ".def")


@functools.cache
def folders():
    """The modules, from below, as meson.build visits them."""
    found = []

    def visit(folder):
        path = os.path.join(TOP, folder, "meson.build")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name in re.findall(r"^subdir\('(.*)'\)$", text, re.MULTILINE):
            if name != "tests":
                visit(os.path.normpath(os.path.join(folder, name)))
        if re.search(r"(static_library|shared_library|executable)\(", text):
            found.append(folder)

    visit(".")
    return found


@functools.cache
def files():
    """All source files of the modules, relative to the top folder."""
    return sorted(os.path.join(folder, name) for folder in folders()
                  for name in os.listdir(os.path.join(TOP, folder)) if name.endswith(CODE))


@functools.cache
def text_of(file):
    with open(os.path.join(TOP, file), encoding="utf-8") as stream:
        return stream.read()


def module_of(file):
    """A .c file and its header are one module: "report/svg/svg" for both of them."""
    return os.path.splitext(file)[0]


@functools.cache
def includes():
    """(file, included file) of all #include "…" lines."""
    return [(file, name) for file in files()
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text_of(file), re.MULTILINE)]


@functools.cache
def objects(build):
    """Source → (names that its object file defines for others, names that it wants of them)."""
    sources = {file for file in files() if file.endswith((".c", ".S"))}
    source_of = {}
    for directory, _, names in os.walk(build):
        folder = os.path.dirname(os.path.relpath(directory, build))
        source_of.update({os.path.join(directory, name): os.path.join(folder, name[:-2]) for name in names
                          if name.endswith(".o") and os.path.join(folder, name[:-2]) in sources})
    found = {source: (set(), set()) for source in source_of.values()}
    listing = subprocess.run(["nm", "--print-file-name", *source_of], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        if kind == "U":
            found[source_of[path]][1].add(name)
        elif kind in "TDBRCVW":
            found[source_of[path]][0].add(name)
    return found


@functools.cache
def calls(build):
    """(file, file that defines, symbols) for all that an object wants of another module's.

    The preloaded shim is a program of its own: names that it has in common with libc are not calls of it.
    """
    owner = {name: source for source, (defined, _) in objects(build).items()
             if os.path.dirname(source) != "preload" for name in defined}
    found = collections.defaultdict(set)
    for source, (_, wanted) in objects(build).items():
        for name in wanted:
            if owner.get(name, source) != source and os.path.dirname(source) != "preload":
                found[source, owner[name]].add(name)
    return [(source, target, sorted(names)) for (source, target), names in sorted(found.items())]


def arrows(build):
    """(from, to, what) between files: includes and calls."""
    return [(a, b, "#include") for a, b in includes()] + [(a, b, ", ".join(names)) for a, b, names in calls(build)]


def circles(edges):
    """The sets of nodes that can be reached from one another (Tarjan 1972), of two nodes or more."""
    graph = collections.defaultdict(set)
    for a, b in edges:
        if a != b:
            graph[a].add(b)
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in list(graph):
        if node not in number:
            visit(node)
    return found


def between_folders(build):
    found = collections.defaultdict(list)
    for a, b, what in arrows(build):
        if os.path.dirname(a) != os.path.dirname(b):
            found[os.path.dirname(a), os.path.dirname(b)].append((a, b, what))
    return found


def within_folder(build, folder):
    """Arrows between the files of one folder."""
    return sorted({(a, b) for a, b, _ in arrows(build) if os.path.dirname(a) == os.path.dirname(b) == folder})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--dot", action="store_true")
    parser.add_argument("--files", metavar="FOLDER")
    options = parser.parse_args()
    edges = within_folder(options.build, options.files) if options.files else sorted(between_folders(options.build))
    if options.dot:
        print("digraph rfprof {\n\trankdir=BT;")
        for a, b in edges:
            print(f'\t"{a}" -> "{b}";')
        print("}")
        return 0
    for a in sorted({a for a, _ in edges}):
        print(f"{a} → {', '.join(b for source, b in edges if source == a)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
