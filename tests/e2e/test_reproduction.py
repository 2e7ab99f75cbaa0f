"""tests/truth/run makes the pages of docs/reproduction. A fast subset of its experiments: what is counted or simulated has to
hold, times are only told. And of the pages that the repository has, whether they are whole."""

import os
import re

import pytest

from harness import SOURCE

PAPERS = ("ofenbeck", "steinmann", "winklehner", "gravelle", "hofmann")
PAGES = os.path.join(SOURCE, "docs", "reproduction")
FINDING = re.compile(r"^\*\*Finding\*\*: (.*?) \*\*(holds|does not hold here)\*\*( \((?:times|compiler)\))?: (.+)$", re.MULTILINE)


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def pictures_of(page):
    return {os.path.normpath(name) for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page)}


def check_summary(page):
    """What is said first is what is found below; a number stands with each finding."""
    found = FINDING.findall(page)
    assert len(found) == page.count("**Finding**") > 2
    held = [text for text, word, _, _ in found if word == "holds"]
    assert f"{len(held)} of {len(found)} findings hold" in page
    head = page[:page.index("\n## ")]
    assert re.findall(r"^- (.*)$", head, re.MULTILINE) == [text for text, word, _, _ in found if word != "holds"]
    assert all(re.search(r"\d|exactly|no byte|keeps to the source", measured) for _, _, _, measured in found)


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_findings(t, paper):
    out = os.path.join(t.directory, "out")
    run = os.path.join(SOURCE, "tests", "truth", "run")
    result = t.run([run, paper, "--fast", "--build", t.build_directory, "--out", out], timeout=900)
    assert result.status == 0, str(result)
    page = text_of(out, paper + ".md")
    check_summary(page)
    for picture in pictures_of(page):
        assert text_of(out, picture).rstrip().endswith("</svg>")


@pytest.mark.parametrize("paper", PAPERS)
def test_pages_are_whole(paper):
    """Each picture is there, and no other; what is not reproduced has reasons; nothing of the place where it was made."""
    page = text_of(PAGES, paper + ".md")
    assert f"`tests/truth/run {paper}`" in page
    check_summary(page)
    left_out = page[page.index("\n## Not reproduced"):].split("\n\n")[1].splitlines()
    assert left_out and all(re.match(r"- .{20}", line) for line in left_out)
    assert pictures_of(page) == {os.path.join(paper, name) for name in os.listdir(os.path.join(PAGES, paper))}
    for text in (page, *(text_of(PAGES, picture) for picture in pictures_of(page))):
        assert not re.search(r"(?<!\w)/(home|root|work|tmp|usr|build)/", text) and os.uname().nodename not in text.split()


def test_index():
    """All pages are linked from the index, and the index from where one begins to read."""
    index = text_of(PAGES, "README.md")
    assert set(re.findall(r"\]\((\w+)\.md\)", index)) == set(PAPERS)
    assert {name for name in os.listdir(PAGES) if name.endswith(".md")} == {"README.md", *(paper + ".md" for paper in PAPERS)}
    for name in ("README.md", "NEWS.md"):
        assert "(docs/reproduction/README.md)" in text_of(SOURCE, name)
    assert "(reproduction/README.md)" in text_of(SOURCE, "docs", "accuracy.md")
