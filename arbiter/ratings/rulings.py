"""Rulings on ratings: which rated games count, as the operator decides it, and the log of these decisions.

Nothing is edited: a match stays rated in its record, and a ruling is an event of a log of its own, with who, when and
why. The log is canonical JSON, each line with the hash of the line before, as that of a match. It names every match
that a ruling is about. So the ratings follow from the transcripts and this log alone, whoever computes them:

| decision | its games |
| --- | --- |
| `unrated` | do not count for ratings |
| `rated` | count again |
| `taken_back` | are as if ruling number `ruling` had not been made |

Of the rulings on a game that were not taken back, the newest counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, Final

from arbiter.errors import Reason, Refusal, argument_invalid
from arbiter.event_json.canonical import MalformedRecordError, NotCanonicalError, decode, digest, encode
from arbiter.event_json.codec import Codec, Sparse
from arbiter.event_json.fields import Fields
from arbiter.plain_text import check_plain

FORMAT: Final = 1  #: the version of the log's format, in every line
FIRST_PREVIOUS: Final = "0" * 64  #: the hash before the first line
LONGEST_NOTE: Final = 500  #: characters
MOST_PLAYERS: Final = 100  #: names in one ruling
_invalid: Final = partial(argument_invalid, of="a ruling on ratings")


class Kind(StrEnum):
    """The only kind of line."""

    RULING = "rating_ruling"


class Decision(StrEnum):
    """What is decided about games; see the table above."""

    UNRATED = "unrated"
    RATED = "rated"
    TAKEN_BACK = "taken_back"


@dataclass(frozen=True, slots=True)
class Selection:
    """The games that a ruling is asked for: all rated games that have ended and meet every condition that is given.

    players: of one player: its games; of several: the games between any two of them. label: of a tournament or an
    experiment. game: a variant. since, until: the games that ended in this time, UTC epoch milliseconds, `until` not
    included; 0 for no bound. matches: these alone, without any other condition.
    """

    players: Sparse[tuple[str, ...]] = ()
    label: Sparse[str] = ""
    game: Sparse[str] = ""
    since: Sparse[int] = 0
    until: Sparse[int] = 0
    matches: Sparse[tuple[str, ...]] = ()


NO_GAMES: Final = Selection()


@dataclass(frozen=True, slots=True)
class Command:
    """What a caller asks for. ruling: the number of the ruling to take back.

    revision: the number of the last ruling that the caller has seen; None if a newer one does not matter.
    """

    caller: str
    request: str
    decision: Decision
    selection: Selection
    ruling: int
    note: str
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """A line of the log. at: UTC epoch milliseconds. matches: the ids of all its games, in order of their end.

    selection: what was asked for; its own `matches` are left out. ruling: the number of the ruling that is taken back.
    """

    kind: ClassVar[Kind] = Kind.RULING
    at: int
    caller: str
    request: str
    decision: Decision
    selection: Selection
    matches: Sparse[tuple[str, ...]] = ()
    ruling: Sparse[int] = 0
    note: Sparse[str] = ""


_CODEC: Final[Codec[Any]] = Codec((Ruling,), {}, FORMAT)


class Rulings:
    """The log as far as it has been read. head: the hash of its last line."""

    def __init__(self) -> None:
        self.all: list[Ruling] = []
        self.head = FIRST_PREVIOUS
        self._of_request: dict[tuple[str, str], int] = {}

    @property
    def revision(self) -> int:
        """The number of the last ruling, 0 without one."""
        return len(self.all)

    def line(self, ruling: Ruling) -> bytes:
        """Return the line of the next ruling."""
        values = _CODEC.write(ruling) | {"number": self.revision + 1, "previous": self.head}
        return encode(values)

    def follow(self, line: bytes) -> Ruling:
        """Add the next line, and return its ruling. Raises MalformedRecordError."""
        try:
            values = decode(line)
        except NotCanonicalError as error:
            raise MalformedRecordError(str(error)) from None
        if not isinstance(values, dict) or encode(values) != line:
            raise MalformedRecordError("it is not an object in canonical form")
        if (values.get("number"), values.get("previous")) != (self.revision + 1, self.head):
            raise MalformedRecordError(f"ruling {self.revision + 1} does not follow the one before")
        ruling: Ruling = _CODEC.read(Fields(values, "ruling"))
        if ruling.decision is Decision.TAKEN_BACK and not 0 < ruling.ruling <= self.revision:
            raise MalformedRecordError(f"ruling {self.revision + 1} takes back {ruling.ruling}, which does not exist")
        self.all.append(ruling)
        self.head = digest(line)
        self._of_request[ruling.caller, ruling.request] = self.revision
        return ruling

    def unrated(self, more: Iterable[Ruling] = ()) -> dict[str, int]:
        """Return the matches that do not count, each with the number of the ruling. more: rulings after the log."""
        rulings = [*self.all, *more]
        taken_back = {each.ruling for each in rulings if each.decision is Decision.TAKEN_BACK}
        found: dict[str, int] = {}
        for number, each in enumerate(rulings, 1):
            if number in taken_back:
                continue
            for match in each.matches:
                if each.decision is Decision.UNRATED:
                    found[match] = number
                else:
                    found.pop(match, None)
        return found

    def of_request(self, caller: str, request: str) -> Ruling | None:
        """Return the ruling that a request has made, if there is one."""
        number = self._of_request.get((caller, request), 0)
        return self.all[number - 1] if number else None

    def newest_on(self, selection: Selection) -> int:
        """Return the number of the newest ruling that made exactly these games unrated and was not taken back, or 0."""
        taken_back = {each.ruling for each in self.all if each.decision is Decision.TAKEN_BACK}
        wanted = (Decision.UNRATED, selection)
        numbers = (n for n, each in enumerate(self.all, 1) if (each.decision, each.selection) == wanted)
        return max((number for number in numbers if number not in taken_back), default=0)

    def changes(self, ruling: Ruling) -> dict[str, int]:
        """Return the matches that the next ruling changes, each with the ruling by which it is unrated, 0 by none."""
        before, after = self.unrated(), self.unrated((ruling,))
        both = before.keys() | after.keys()
        return {match: after.get(match, 0) for match in sorted(both) if after.get(match) != before.get(match)}

    def made(self, command: Command) -> int:
        """Return the number of the ruling that the same request has made, 0 for a new one.

        Raises Refusal REQUEST_ID_REUSED if the request was another one.
        """
        number = self._of_request.get((command.caller, command.request), 0)
        if number and not _is_repeated(self.all[number - 1], command):
            raise Refusal(
                Reason.REQUEST_ID_REUSED,
                f"request id {command.request!r} was used by another ruling: choose a new one",
                request_id=command.request,
            )
        return number

    def check(self, command: Command) -> None:
        """Raise Refusal unless a new ruling may be made.

        ARGUMENT_INVALID, or RATINGS_CHANGED (facts revision, why) if there is a newer ruling than the caller has seen.
        """
        check_plain(command.note, "note", LONGEST_NOTE)
        if command.revision is not None and command.revision != self.revision:
            why = f"the last ruling is {self.revision}"
            raise Refusal(
                Reason.RATINGS_CHANGED,
                f"somebody has ruled on ratings since ruling {command.revision}: {why}; read them, then decide",
                revision=self.revision,
                why=why,
            )
        if command.decision is Decision.TAKEN_BACK:
            self._check_taken_back(command)
        else:
            _check_selection(command)

    def _check_taken_back(self, command: Command) -> None:
        if command.selection != NO_GAMES:
            raise _invalid("games", "selection", "nothing if a ruling is taken back: it is about the games of that one")
        gone = {each.ruling for each in self.all if each.decision is Decision.TAKEN_BACK}
        wanted = command.ruling
        known = 0 < wanted <= self.revision and wanted not in gone
        if not known or self.all[wanted - 1].decision is Decision.TAKEN_BACK:
            raise _invalid(wanted, "ruling", "the number of a ruling that was not taken back, and takes back no other")


def _check_selection(command: Command) -> None:
    wanted = command.selection
    if command.ruling:
        raise _invalid(command.ruling, "ruling", "nothing, unless a ruling is taken back")
    others = replace(wanted, matches=())
    if wanted.matches and others != NO_GAMES:
        raise _invalid("matches and more", "selection", "either matches, or conditions")
    if not (wanted.matches or wanted.players or wanted.label):
        raise _invalid("", "selection", "matches, players or a label: which games")
    if len(set(wanted.players)) != len(wanted.players) or len(wanted.players) > MOST_PLAYERS:
        raise _invalid(", ".join(wanted.players), "players", f"different players, {MOST_PLAYERS} at most")
    if wanted.since < 0 or wanted.until < 0 or (wanted.until and wanted.until <= wanted.since):
        raise _invalid(wanted.until, "until", "a time after `since`, both in milliseconds since 1970")


def _is_repeated(ruling: Ruling, command: Command) -> bool:
    asked = command.selection
    if asked.matches and sorted(asked.matches) != sorted(ruling.matches):
        return False
    same = (ruling.decision, ruling.ruling, ruling.note, ruling.selection)
    return same == (command.decision, command.ruling, command.note, replace(asked, matches=()))


def ruled(command: Command, at: int, matches: Sequence[str]) -> Ruling:
    """Return the ruling that a command makes on some matches."""
    selection = replace(command.selection, matches=())
    given = (command.caller, command.request, command.decision, selection)
    return Ruling(at, *given, tuple(matches), command.ruling, command.note)


def in_words(number: int, ruling: Ruling) -> str:
    """Return why a match does not count, as people read it: `unrated by ruling 3 of ann: two accounts`."""
    return f"unrated by ruling {number} of {ruling.caller}{f': {ruling.note}' if ruling.note else ''}"


def selected(selection: Selection) -> str:
    """Return which games were asked for, as people read it, without the times: `games of eve, label cup`."""
    players = selection.players
    parts = [f"games {'of' if len(players) == 1 else 'between'} {', '.join(players)}"] if players else []
    parts += [f"label {selection.label}"] if selection.label else []
    return ", ".join((*parts, selection.game) if selection.game else parts)
