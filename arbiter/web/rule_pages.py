"""The rules of a game as a page shows them: the text as HTML, and figures of moves that the engine has played."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markupsafe import Markup

from arbiter.drawing.caption import sentence
from arbiter.games.contract import AnyGame
from arbiter.games.rule_sheet import cells, examples, positions
from arbiter.web.boards import figure, shown

_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable("table")
_HEADING: Final = re.compile(r"\A# [^\n]*\n")
_OURS: Final = re.compile(r"\bours\b")


class RuleFigure(NamedTuple):
    """A picture of a legal move, its notation, and its effect in words."""

    drawn: Markup
    move: str
    words: str


class RulesPage(NamedTuple):
    """The rules of a game: its text, '' if it has none; its notation; and a figure of each kind of move."""

    text: Markup
    cells: Markup
    positions: Markup
    figures: Sequence[RuleFigure]


@lru_cache(maxsize=32)
def rules_page(game: AnyGame, text: str) -> RulesPage:
    """Return the rules of a game whose text is given as Markdown. Takes up to a second; the result is cached."""
    figures = []
    for example in examples(game):
        position = shown(game, example.after, example.steps, example.before)
        figures.append(RuleFigure(figure(game, position, example.move), example.move, sentence(example.words)))
    return RulesPage(html(_HEADING.sub("", text)), html(cells(game)), html(positions(game)), figures)


def inline(text: str) -> Markup:
    """Return a sentence of Markdown as HTML."""
    return Markup(_MARKDOWN.renderInline(text))


def html(text: str) -> Markup:
    """Return Markdown as HTML. HTML in the Markdown is escaped, and house rulings are marked."""
    written = _OURS.sub('<em class="ours">ours</em>', _MARKDOWN.render(text))
    wide = written.replace("<pre>", '<pre tabindex="0">').replace(
        "<table>", '<div class="scroll" tabindex="0"><table class="list">'
    )
    return Markup(wide.replace("</table>", "</table></div>"))
