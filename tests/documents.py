"""The code blocks of the documents, for the tests that run them; `code_blocks.toml` lists which test runs which."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A block of a page: its language, or '', and its text."""

    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page in order; the page is named by its path in the tree."""
    found = _FENCED.findall((ROOT / page).read_text(encoding="utf-8"))
    return [Block(language, dedent(text)) for _, language, text in found]


def block(page: str, has: str) -> str:
    """Return the text of the one block of a page that contains these words, or that equals them."""
    return blocks(page)[place(page, has)].text


def place(page: str, has: str) -> int:
    """Return the number, from 0, of the one block of a page that contains these words, or that equals them."""
    texts = [each.text for each in blocks(page)]
    found = [n for n, text in enumerate(texts) if text.strip() == has] or [n for n, t in enumerate(texts) if has in t]
    assert len(found) == 1, f"{len(found)} blocks of {page} have {has!r}"
    return found[0]


def commands(text: str) -> list[str]:
    """Return the commands of a block, without comments."""
    return [command for line in text.splitlines() if (command := line.partition("  #")[0].strip())]


def install(folder: Path, entry_points: str, modules: Iterable[tuple[str, str]]) -> None:
    """Install a package of modules (path, code) in a folder, with the entry points of a pyproject.toml."""
    for path, code in modules:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(code)
    groups = tomllib.loads(entry_points)["project"]["entry-points"]
    lines = [
        line for group, names in groups.items() for line in (f"[{group}]", *(f"{n} = {o}" for n, o in names.items()))
    ]
    info = folder / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(lines))
