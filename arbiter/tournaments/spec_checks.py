"""What the parts of a specification must not say together."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from arbiter.errors import parameter_invalid, with_article
from arbiter.games import registry
from arbiter.tournaments import formats
from arbiter.tournaments.league_rules import LeagueRules
from arbiter.tournaments.schedule import SeriesRules
from arbiter.tournaments.spec import LEAGUES, OpeningOrder, Openings, Spec, TieBreak

_invalid: Final = partial(parameter_invalid, of="a tournament")

BOOK_NAME: Final = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9._+-]{0,99}", re.ASCII)
OF_BOOKS: Final = ("book_first", "book_plies", "book_to_comment", "book_hash", "book_size")
WITHOUT_BOOK: Final = Openings()
MOST_OF_AUTHOR: Final = 10  #: maximum bots of one author


def check(spec: Spec) -> None:
    """Raise Refusal PARAMETER_INVALID for parts of a specification that contradict each other."""
    options = spec.options
    wrong = formats.of(spec).invalid_option(options)
    if wrong is not None:
        raise _invalid(wrong.value, f"options.{wrong.field}", wrong.allowed)
    _check_tie_breaks(spec)
    if options.double and options.third_place:
        raise _invalid("true", "options.third_place", "false in a double elimination, which has a third place anyway")
    if spec.openings.plies and not spec.openings.seed:
        raise _invalid("", "openings.seed", "a text that the random plies are drawn from")
    _check_book(spec)
    _check_groups(spec)
    if spec.series != SeriesRules() and not spec.schedule.every:
        raise _invalid("a table of a series", "series", "left out where there is no schedule.every")
    _check_league(spec)
    if spec.openings.order is OpeningOrder.RANDOM and not (
        (spec.openings.lines or spec.openings.book) and spec.openings.seed
    ):
        if spec.openings.lines or spec.openings.book:
            raise _invalid("", "openings.seed", "a text by which the lines are shuffled")
        raise _invalid("random", "openings.order", "sequential where no lines are given; plies are random anyway")
    if spec.openings.plies and spec.openings.lines:
        raise _invalid(str(spec.openings.plies), "openings.plies", "0 where lines are given")
    for game in spec.openings.lines:
        if game not in spec.games:
            raise _invalid(game, "openings.lines", "the name of one of the tournament's games")


def _check_tie_breaks(spec: Spec) -> None:
    """Raise Refusal PARAMETER_INVALID for a tie-break of players where teams are ranked, or the other way round."""
    known = formats.of(spec).known_tie_breaks
    for tie_break in spec.tie_breaks:
        if tie_break not in known:
            allowed = f"where {'teams' if spec.boards else 'players'} are ranked, one of "
            raise _invalid(tie_break, "tie_breaks", allowed + ", ".join(each for each in TieBreak if each in known))


def _check_groups(spec: Spec) -> None:
    """Raise Refusal PARAMETER_INVALID for authors that contradict each other, and for options that need others."""
    groups = spec.groups
    authors: dict[str, str] = {}
    for author, bots in groups.authors.items():
        place = f"groups.authors.{author}"
        if not 2 <= len(bots) <= MOST_OF_AUTHOR:
            raise _invalid(f"{len(bots)} players", place, f"2 to {MOST_OF_AUTHOR} players")
        if author in groups.categories:
            raise _invalid(author, place, "a name that no category has")
        for bot in bots:
            if bot in authors:
                raise _invalid(bot, place, f"each player once: {authors[bot]} has it too")
            authors[bot] = author
    for name in ("apart", "one_prize"):
        if getattr(groups, name) and not authors:
            raise _invalid("true", f"groups.{name}", "false without groups.authors")
    if groups.apart and not formats.of(spec).keeps_apart:
        raise _invalid("true", "groups.apart", f"false in {with_article(spec.format.value.replace('_', ' '))}")


def _check_league(spec: Spec) -> None:
    """Raise Refusal PARAMETER_INVALID for a league that can't be played, and for rules of one without divisions."""
    league, names = spec.league, spec.league.divisions
    if not names:
        if league != LeagueRules():
            raise _invalid("rules of a league", "league", "left out where there are no league.divisions")
        return
    if len(names) < 2 or len(set(names)) < len(names):
        raise _invalid(", ".join(names), "league.divisions", "two or more different names")
    if 2 * league.move > league.size:
        raise _invalid(str(league.move), "league.move", f"at most half of league.size, {league.size // 2}")
    if spec.format not in LEAGUES:
        raise _invalid(spec.format.value, "format", f"{' or '.join(LEAGUES)} in a league")
    if spec.boards:
        raise _invalid(str(spec.boards), "options.boards", "0 in a league, which is one of players")
    if spec.entry.capacity:
        raise _invalid(str(spec.entry.capacity), "entry.capacity", "left out in a league, which has league.size")
    if not spec.season.division and not spec.schedule.every:
        raise _invalid("a league", "schedule.every", "when its seasons begin")


def check_drawn_start(spec: Spec) -> None:
    """Raise Refusal PARAMETER_INVALID if start positions are to be drawn by lot without a seed."""
    if (game := drawn_start(spec)) and not spec.openings.seed:
        raise _invalid("", "openings.seed", f"a text that the start positions of {game} are drawn from")


def drawn_start(spec: Spec) -> str:
    """Return the first game whose start position is drawn by lot, '' if there is none."""
    openings = spec.openings
    drawn = (game for game in spec.games if registry.game(game).starts() and game not in openings.lines)
    return "" if openings.book else next(drawn, "")


def _check_book(spec: Spec) -> None:
    """Raise Refusal PARAMETER_INVALID for a book beside other openings or for several games, or parts of no book."""
    openings = spec.openings
    if not openings.book:
        for name in OF_BOOKS:
            value = getattr(openings, name)
            if value != getattr(WITHOUT_BOOK, name):
                raise _invalid(str(value).lower(), f"openings.{name}", "left out where no openings.book is given")
        return
    if not BOOK_NAME.fullmatch(openings.book):
        allowed = "the name of a file: letters, digits, `.`, `_`, `+` and `-`, and none of `.` at the beginning"
        raise _invalid(openings.book, "openings.book", allowed)
    if openings.plies or openings.lines:
        raise _invalid(openings.book, "openings.book", "left out where plies or lines are given")
    if len(spec.games) != 1:
        raise _invalid(openings.book, "openings.book", "a tournament of one game")
    if openings.book_to_comment and (openings.book_plies or not openings.book.lower().endswith(".pgn")):
        raise _invalid("true", "openings.book_to_comment", "left out with book_plies, and where the book is no PGN")
    if openings.book_hash and not re.fullmatch("[0-9a-f]{64}", openings.book_hash):
        raise _invalid(openings.book_hash, "openings.book_hash", "64 hexadecimal digits in lower case")
