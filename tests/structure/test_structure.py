"""The house rules that a program can check: what the folders see of each other, how large things are, and that
nothing lies about that nobody uses."""

import collections
import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

import graph

MOST_MODULES = 20  # of a folder: a .c with its header
MOST_LINES = 600  # of a file
MOST_FUNCTION_LINES = 60
MOST_IN_CIRCLE = 4  # files of one folder that lead back to each other

@pytest.fixture(scope="module")
def between_folders(build):
    return graph.between_folders(build)


def sources():
    return [file for file in graph.files() if file.endswith((".c", ".S"))]


# ---- arrows ----

def test_every_folder_with_sources_is_a_module():
    listed = subprocess.run(["git", "ls-files", "*.c", "*.S"], cwd=graph.TOP, capture_output=True, text=True,
                            check=True).stdout.split()
    folders = {os.path.dirname(file) for file in listed if not file.startswith("tests/")}
    assert folders == set(graph.folders())


def test_no_arrow_upward(between_folders):
    place = {folder: i for i, folder in enumerate(graph.folders())}
    upward = [f"{a} → {b} ({what})" for (low, high), arrows in between_folders.items()
              for a, b, what in arrows if place.get(high, -1) > place[low]]
    assert not upward, "\n".join(upward)


def test_no_circle_between_folders(between_folders):
    assert not graph.circles(between_folders)


def test_tracer_and_report_do_not_see_each_other(between_folders):
    wings = {(low.split("/")[0], high.split("/")[0]) for low, high in between_folders}
    assert not wings & {("tracer", "report"), ("report", "tracer")}


def test_no_large_circle_of_files(build):
    large = [circle for folder in graph.folders() for circle in graph.circles(graph.within_folder(build, folder))
             if len(circle) > MOST_IN_CIRCLE]
    assert not large, "\n".join(map(" ".join, large))


def test_circles_are_found():
    assert graph.circles([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")]) == [["a", "b", "c"]]
    assert sorted(graph.circles([("a", "b"), ("b", "a"), ("x", "y"), ("y", "x"), ("a", "x")])) == \
        [["a", "b"], ["x", "y"]]


def compiler_of(build, file):
    """The words of the command that compiles a file, without its input and output, and its directory."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as stream:
        for entry in json.load(stream):
            if os.path.normpath(os.path.join(entry["directory"], entry["file"])) == os.path.join(graph.TOP, file):
                words = shlex.split(entry["command"])
                return words[:words.index("-MD")], entry["directory"]
    raise AssertionError(f"nobody compiles {file}")


@pytest.mark.parametrize("file, header, allowed", [
    ("tracer/translate/translate.c", "insn/decode.h", True),
    ("tracer/translate/translate.c", "tracer/traffic/drain.h", False),
    ("tracer/translate/translate.c", "report/model/model.h", False),
    ("report/model/model.c", "profile/profile.h", True),
    ("report/model/model.c", "report/svg/svg.h", False),
    ("report/model/model.c", "tracer/translate/translate.h", False),
    ("base/error.c", "profile/profile.h", False),
])
def test_a_wrong_include_does_not_compile(build, file, header, allowed):
    words, directory = compiler_of(build, file)
    done = subprocess.run(words + ["-fsyntax-only", "-x", "c", "-"], input=f'#include "{header}"\n', cwd=directory,
                          capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == allowed, done.stderr
    assert allowed or "No such file or directory" in done.stderr


@pytest.mark.parametrize("folder", graph.folders())
def test_headers_stand_alone(build, folder):
    """Each compiles by itself, and sees what its folder sees."""
    headers = [os.path.join(graph.TOP, file) for file in graph.files()
               if os.path.dirname(file) == folder and file.endswith(".h")]
    code = [file for file in sources() if os.path.dirname(file) == folder and file.endswith(".c")]
    if not headers or not code:
        pytest.skip(f"{folder} has no header, or nothing but assembly")
    words, directory = compiler_of(build, code[0])
    done = subprocess.run(words + ["-fsyntax-only", "-x", "c", *headers],
                          cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- sizes ----

def test_no_crowded_folder():
    modules = collections.Counter(os.path.dirname(name) for name in {graph.module_of(file) for file in sources()})
    assert not {folder: n for folder, n in modules.items() if n > MOST_MODULES}


def test_no_long_file():
    lines = {file: graph.text_of(file).count("\n") for file in sources()}
    assert not {file: n for file, n in lines.items() if n > MOST_LINES}


def function_lines(text):
    """(name, lines) of each function: the layout puts its name, its braces and nothing else at the margin."""
    head, first = None, 0
    for number, line in enumerate(text.split("\n")):
        start = re.match(r"[A-Za-z_][^(]*?(\w+)\(", line)
        if start:
            head, first = start[1], number
        if line == "}" and head:
            yield head, number - first + 1
            head = None


def test_no_long_function():
    long = [f"{file}: {name} {lines}" for file in sources() if file.endswith(".c")
            for name, lines in function_lines(graph.text_of(file)) if lines > MOST_FUNCTION_LINES]
    assert not long, "\n".join(long)


def test_functions_are_measured():
    text = "static int one(int a,\n\t\tint b)\n{\n\treturn a;\n}\n\nstruct s {\n\tint a;\n};\nvoid two(void)\n{\n}\n"
    assert list(function_lines(text)) == [("one", 5), ("two", 3)]


# ---- files ----

def test_every_file_says_what_it_is_for():
    silent = [file for file in graph.files() if not graph.text_of(file).startswith("/*")]
    assert not silent, "\n".join(silent)


def headers_of(file):
    """A file's own header, and those of the files whose names it goes on: sampler_perf.c is a part of sampler."""
    folder, words = os.path.dirname(file), os.path.basename(graph.module_of(file)).split("_")
    names = [os.path.join(folder, "_".join(words[:n])) + ".h" for n in range(len(words), 0, -1)]
    return [name for name in names if name in graph.files()]


def tables_of(headers):
    """The tables of which headers make declarations."""
    return [table for file, table in graph.includes() if file in headers and table.endswith(".def")]


def test_a_function_is_declared_in_the_header_of_its_file(build):
    """Names that macros put together in assembly are declared by macros, too, and the C library has its own headers."""
    elsewhere = []
    for user, owner, names in graph.calls(build):
        headers = headers_of(owner)
        declared = "\n".join(map(graph.text_of, headers + tables_of(headers)))
        elsewhere += [f"{owner}: {name}" for name in names
                      if not re.search(rf"\b{name}\b", declared) and not name.startswith("__")
                      and graph.module_of(user) != graph.module_of(owner)
                      and not (owner.endswith(".S") and "##" in declared)]
    assert not elsewhere, "\n".join(sorted(set(elsewhere)))


def test_no_header_serves_many():
    assert not [file for file in graph.files() if re.search(r"_(parts|internal)\.h$", file)]


def is_for_tests(name):
    """Whether the comment above its declaration says so."""
    comments = [comment for file in graph.files() if file.endswith(".h")
                for comment, declaration in re.findall(r"/\*((?:(?!\*/).)*)\*/\n([^;{]*;)", graph.text_of(file), re.DOTALL)
                if re.search(rf"\b{name}\(", declaration)]
    return any(re.search(r"\bFor\s+(?:\*\s+)?tests\b", comment) for comment in comments)


def test_nothing_is_left_that_nobody_calls(build):
    """A function that its own file and the tests use is a seam; one that only tests use says so, or is dead."""
    all_headers = [file for file in graph.files() if file.endswith(".h")]
    code, headers = ("\n".join(map(graph.text_of, files))
                     for files in ([file for file in graph.files() if file.endswith((".c", ".S", ".def"))],
                                   all_headers + tables_of(all_headers)))
    in_code, in_headers = (collections.Counter(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))
                           for text in (code, headers))
    dead = [f"{source}: {name}" for source, (defined, _) in graph.objects(build).items() for name in defined
            if in_code[name] == 1 and in_headers[name] <= 1 and name != "main" and not name.startswith("__")
            and not source.startswith("preload/") and not is_for_tests(name)]
    assert not dead, "\n".join(sorted(dead))


def words_of(text):
    """How often each word stands in code, without its comments."""
    return collections.Counter(re.findall(r"\w+", re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)))


def serves_its_file_alone(name, source, product, tested):
    """Whether all that others have of it is its declaration: no other file calls it, no inline function, no test."""
    return sum(words[name] for file, words in product.items() if file != source) == 1 and not tested[name]


def test_a_header_declares_what_others_use(build):
    """A function that nothing but its own file uses is static, unless tests have it as their seam.  Other files may use it
    by a name that a macro puts together, or, in an assertion, only in builds for tests."""
    wanted = {name for _, _, names in graph.calls(build) for name in names}
    product = {file: words_of(graph.text_of(file)) for file in graph.files()}
    tested = collections.Counter()
    for path in pathlib.Path(graph.TOP, "tests").rglob("*.[ch]"):
        tested += words_of(path.read_text(encoding="utf-8"))
    lonely = [f"{source}: {name}" for source, (defined, _) in graph.objects(build).items() for name in defined - wanted
              if not source.startswith("preload/") and serves_its_file_alone(name, source, product, tested)]
    assert not lonely, "\n".join(sorted(lonely))


def test_what_serves_its_file_alone_is_found():
    product = {"a.c": words_of("f g h"), "a.h": words_of("f(); g(); h(); /* h */ inline i() { h(); }"), "b.c": words_of("g // f")}
    tested = words_of("t")
    assert [name for name in "fgh" if serves_its_file_alone(name, "a.c", product, tested)] == ["f"]
    assert not serves_its_file_alone("f", "a.c", product, words_of("f"))


def test_layout():
    listed = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=graph.TOP, capture_output=True, text=True,
                            check=True).stdout.split()
    done = subprocess.run(["clang-format", "--dry-run", "-Werror"] + listed, cwd=graph.TOP, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
