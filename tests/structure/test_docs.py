"""What the documents name is there: files, functions, options and numbers."""

import os
import re
import subprocess

import pytest

import graph

DOCUMENTS = sorted(["README.md", "CONTRIBUTING.md", "NEWS.md", "SECURITY.md"] +
                   [os.path.join(folder, name) for folder in ("docs", os.path.join("docs", "reproduction"))
                    for name in os.listdir(os.path.join(graph.TOP, folder)) if name.endswith(".md")])


@pytest.fixture(scope="module")
def files():
    listed = subprocess.run(["git", "ls-files"], cwd=graph.TOP, capture_output=True, text=True, check=True)
    return set(listed.stdout.split("\n")) - {""}


@pytest.fixture(scope="module")
def words(files):
    """All words of the sources, the tests and the formats' descriptions, and the system calls."""
    with open("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", encoding="utf-8") as calls:
        found = set(re.findall(r"__NR_(\w+)", calls.read()))
    for file in files:
        if file.endswith((".c", ".h", ".S", ".def", ".py", ".js", ".json", ".build", ".cpp")) or file == "dev":
            found |= set(re.findall(r"\w+", graph.text_of(file)))
    return found


def quoted(text):
    """What stands between backticks, outside of blocks of code."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def is_there(path, files):
    """A file, a folder, a file without its ending, or a pattern of these."""
    pattern = re.escape(path.rstrip("/")).replace(r"\*", "[^/]*").replace("NAME", "[^/]*")
    return any(re.match(rf"{pattern}(\.\w+|/.*)?$", file) for file in files)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_are_there(document, files):
    tops = {file.split("/")[0] for file in files if "/" in file}
    missing = [path for path in quoted(graph.text_of(document))
               if re.fullmatch(r"[\w./*-]+", path) and path.split("/")[0] in tops and "/" in path
               and not is_there(path, files)]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document, files):
    folder = os.path.dirname(document)
    missing = [link for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", graph.text_of(document))
               if not is_there(os.path.normpath(os.path.join(folder, link)), files)]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_names_of_code_are_there(document, words):
    missing = [name for name in quoted(graph.text_of(document))
               if re.fullmatch(r"[A-Za-z]+(_[A-Za-z0-9]+)+(\(\))?", name) and name.rstrip("()") not in words]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_numbers_are_those_of_the_code(document, files):
    """`NAME = 512` in a document is a number that the code defines under that name."""
    code = "\n".join(graph.text_of(file) for file in files if file.endswith((".c", ".h")) and "tests/" not in file)
    wrong = []
    for name, value in re.findall(r"`([A-Z][A-Z0-9_]+) = ([\d,]+)`", graph.text_of(document)):
        defined = re.search(rf"^#define {name}\s+(.+?)(?:/\*.*)?$", code, re.MULTILINE)
        if not defined or eval(re.sub(r"(?<=\d)[ul]+", "", defined[1])) != int(value.replace(",", "")):
            wrong.append(f"{name} = {value}")
    assert not wrong, "\n".join(wrong)
