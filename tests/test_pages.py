"""The pages: their links lead somewhere, and a reader gets through each of them."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.documents import ROOT

LISTED = subprocess.run(
    ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split()
LINK = re.compile(r"\]\(([^)\s]+)\)")
MOST_WORDS = 2_000


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LISTED)
def test_every_link_leads_to_a_file_and_its_heading(page: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    wrong = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = ROOT / page if not place else (ROOT / page).parent / place
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


@pytest.mark.parametrize("page", LISTED)
def test_rows_stand_in_tables(page: str) -> None:
    """A blank line within a table makes a paragraph of the rest."""
    tokens = MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text(encoding="utf-8"))
    paragraphs = [inner.content for outer, inner in pairwise(tokens) if outer.type == "paragraph_open"]
    assert [text for text in paragraphs if text.startswith("|")] == []


def test_no_page_is_longer_than_a_sitting() -> None:
    pages = {page for page in LISTED if page.startswith("deploy/") or page == "CONTRIBUTING.md"}
    long = {
        page: words for page in pages if (words := len(re.findall(r"\S*\w\S*", (ROOT / page).read_text()))) > MOST_WORDS
    }
    assert long == {}
