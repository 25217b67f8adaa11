"""Refusals: every way in which the arbiter says no, by name.

A refusal is an answer, not an accident. Callers act on `Refusal.reason` and `Refusal.facts`; the message is for
people and may change at any time. The table from reasons to gRPC status codes is in `arbiter.wire.refusals`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

LONGEST_SHOWN: Final = 60  #: characters of a text from outside that a refusal repeats


class Reason(StrEnum):
    """The closed list of refusal reasons, with the facts that each carries."""

    #: not a move text of this game. Facts: move, game; in a match also strikes_left; in a line of play also ply
    MOVE_MALFORMED = "MOVE_MALFORMED"
    #: against the rules here. Facts: move, position; in a match also ply, strikes_left; in a line of play also ply
    MOVE_ILLEGAL = "MOVE_ILLEGAL"
    NOT_YOUR_TURN = "NOT_YOUR_TURN"  #: the other seat is to move. Facts: seat, turn
    PLY_MISMATCH = "PLY_MISMATCH"  #: the match is at another ply. Facts: expected, actual
    MATCH_NOT_ACTIVE = "MATCH_NOT_ACTIVE"  #: not started yet, or ended. Facts: phase, outcome
    SEAT_NOT_YOURS = "SEAT_NOT_YOURS"  #: the caller holds no seat there. Facts: seat
    SCOPE_MISSING = "SCOPE_MISSING"  #: the token does not allow this. Facts: scope
    TOKEN_INVALID = "TOKEN_INVALID"  #: no token, an unknown one or a revoked one
    MATCH_NOT_FOUND = "MATCH_NOT_FOUND"  #: Facts: id
    PLAYER_NOT_FOUND = "PLAYER_NOT_FOUND"  #: Facts: id
    TOKEN_NOT_FOUND = "TOKEN_NOT_FOUND"  #: Facts: id
    CHALLENGE_NOT_FOUND = "CHALLENGE_NOT_FOUND"  #: no such challenge or seek, or no longer open. Facts: id
    TOURNAMENT_NOT_FOUND = "TOURNAMENT_NOT_FOUND"  #: Facts: id
    TOURNAMENT_CLOSED = "TOURNAMENT_CLOSED"  #: it does not take this now, or not from this player. Facts: phase, why
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"  #: another request has used the id before. Facts: request_id
    POSITION_MALFORMED = "POSITION_MALFORMED"  #: Facts: what, where, allowed
    GAME_UNKNOWN = "GAME_UNKNOWN"  #: Facts: what, allowed
    PARAMETER_INVALID = "PARAMETER_INVALID"  #: Facts: what, where, allowed
    ARGUMENT_INVALID = "ARGUMENT_INVALID"  #: a field of a request. Facts: what, where, allowed
    DRAW_NOT_AVAILABLE = "DRAW_NOT_AVAILABLE"  #: no offer, no claim, or not in this game. Facts: why
    PLAYER_EXISTS = "PLAYER_EXISTS"  #: the name is taken. Facts: id
    PLAYER_SUSPENDED = "PLAYER_SUSPENDED"  #: Facts: id
    REGISTRATION_CLOSED = "REGISTRATION_CLOSED"  #: Facts: mode (invitation or closed)
    SESSION_SUPERSEDED = "SESSION_SUPERSEDED"  #: a newer Play stream took over. Facts: resume_from ('')
    SESSION_SILENT = "SESSION_SILENT"  #: nothing was heard on the stream for too long. Facts: limit
    #: events wait longer than they are kept. Facts: resume_from (a revision or token; '' where a new call says it all)
    READER_TOO_SLOW = "READER_TOO_SLOW"
    RATE_LIMITED = "RATE_LIMITED"  #: Facts: limit, retry_after_ms
    BUDGET_SPENT = "BUDGET_SPENT"  #: the answer takes more than its budget. Facts: limit, retry_after_ms
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"  #: Facts: limit, what
    VERSION_UNSUPPORTED = "VERSION_UNSUPPORTED"  #: Facts: supported
    DRAINING = "DRAINING"  #: the server is stopping. Facts: retry_after_ms
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"  #: the database does not take writes. Facts: retry_after_ms
    #: what the request needs is stored, and is not what was written. Facts: why; for one record also id, revision
    RECORD_DAMAGED = "RECORD_DAMAGED"


class Refusal(Exception):
    """The arbiter says no: a named reason, a sentence for people and the facts for programs.

    The sentence says what was wrong, where, and what to do. Facts are texts by name, as listed at `Reason`.
    """

    def __init__(self, reason: Reason, message: str, **facts: object) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.facts: dict[str, str] = {name: str(value) for name, value in facts.items()}

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with all parts: refusals travel back from worker processes."""
        return (_rebuild, (self.reason.value, self.message, self.facts))

    def __str__(self) -> str:
        return f"{self.reason.value} {self.message}"


def _rebuild(reason: str, message: str, facts: dict[str, str]) -> Refusal:
    return Refusal(Reason(reason), message, **facts)


def shortened(text: str, most: int = LONGEST_SHOWN) -> str:
    """Return a text, or its beginning and an ellipsis if it has more than `most` characters.

    The ellipsis counts as three characters: messages in records have been cut like that from the first day.
    """
    return text if len(text) <= most else text[: most - 3] + "…"


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article, by its first letter: `a fish`, `an eel`."""
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"


def argument_invalid(what: object, where: str, allowed: str, of: str = "") -> Refusal:
    """Return the refusal ARGUMENT_INVALID: what stood in a request's field, which field, what may stand there.

    of: what the field belongs to, for people: "a rating".
    """
    return _not_allowed(Reason.ARGUMENT_INVALID, what, where, allowed, of)


def parameter_invalid(what: object, where: str, allowed: str, of: str = "") -> Refusal:
    """Return the refusal PARAMETER_INVALID: what a parameter was set to, which parameter, what may stand there.

    of: what the parameter belongs to, for people: "a tournament".
    """
    return _not_allowed(Reason.PARAMETER_INVALID, what, where, allowed, of)


def _not_allowed(reason: Reason, what: object, where: str, allowed: str, of: str) -> Refusal:
    text = shortened(str(what))
    place = f"{where} of {of}" if of else where
    plain = text.encode(errors="backslashreplace").decode()  # lone surrogates have no place in a record
    wrong = f"{text!r} is not allowed in {place}" if text else f"{place} is missing or empty"
    return Refusal(reason, f"{wrong}: expected {allowed}", what=plain, where=where, allowed=allowed)


def limit_reached(message: str, limit: int, retry_after_ms: int = 0) -> Refusal:
    """Return the refusal RATE_LIMITED: what there is too much of, how much is allowed, and when to try again.

    retry_after_ms: 0 where trying again is of no use before something has ended.
    """
    return Refusal(Reason.RATE_LIMITED, message, limit=limit, retry_after_ms=retry_after_ms)


class OperatorError(Exception):
    """A mistake of the person who runs a command: one clear line for the terminal, and a non-zero exit."""
