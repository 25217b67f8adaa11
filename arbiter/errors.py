"""Refusals: every way in which the arbiter says no, by name.

A refusal is an answer, not an accident. Callers act on `Refusal.reason` and `Refusal.facts`; the message is for
people and may change at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Self

LONGEST_SHOWN: Final = 60  #: characters of a text from outside that a refusal repeats


Kinds = Mapping[str, type]
"""Facts by name, each with its type."""


class Reason(StrEnum):
    """The closed list of refusal reasons.

    Each has the name of its status code (`google.rpc.Code`), a sentence for programmers, its facts, and those that it
    has only sometimes, by when. The comments of `refusal.proto` say the same, and a test compares them.
    """

    code: str
    meaning: str
    always: Kinds
    sometimes: Mapping[str, Kinds]
    known: Kinds  #: all of its facts

    def __new__(
        cls,
        name: str,
        code: str,
        meaning: str = "",
        always: Kinds = MappingProxyType({}),
        sometimes: Mapping[str, Kinds] = MappingProxyType({}),
    ) -> Self:
        """Return a member."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.code, member.meaning, member.always, member.sometimes = code, meaning, always, sometimes
        member.known = {**always, **{fact: kind for more in sometimes.values() for fact, kind in more.items()}}
        return member

    MOVE_MALFORMED = (
        "MOVE_MALFORMED",
        "INVALID_ARGUMENT",
        "The text is not a move of this game.",
        {"move": str, "game": str},
        {"in a match": {"strikes_left": int}, "in a line of play": {"ply": int}},
    )
    MOVE_ILLEGAL = (
        "MOVE_ILLEGAL",
        "FAILED_PRECONDITION",
        "The rules forbid the move here.",
        {"move": str, "position": str},
        {"in a match": {"ply": int, "strikes_left": int}, "in a line of play": {"ply": int}},
    )
    NOT_YOUR_TURN = (
        "NOT_YOUR_TURN",
        "FAILED_PRECONDITION",
        "The other seat is to move.",
        {"seat": int, "turn": int},
    )
    PLY_MISMATCH = (
        "PLY_MISMATCH",
        "ABORTED",
        "The match is at another ply than the request names.",
        {"expected": int, "actual": int},
    )
    MATCH_NOT_ACTIVE = (
        "MATCH_NOT_ACTIVE",
        "FAILED_PRECONDITION",
        "The match has not started or has ended.",
        {"phase": str, "outcome": str},
    )
    SEAT_NOT_YOURS = ("SEAT_NOT_YOURS", "PERMISSION_DENIED", "The caller does not have that seat.", {"seat": str})
    SCOPE_MISSING = ("SCOPE_MISSING", "PERMISSION_DENIED", "The token does not have the scope.", {"scope": str})
    TOKEN_INVALID = ("TOKEN_INVALID", "UNAUTHENTICATED", "No token, an unknown one, or a revoked one.")
    MATCH_NOT_FOUND = ("MATCH_NOT_FOUND", "NOT_FOUND", "", {"id": str})
    PLAYER_NOT_FOUND = ("PLAYER_NOT_FOUND", "NOT_FOUND", "", {"id": str})
    TOKEN_NOT_FOUND = (
        "TOKEN_NOT_FOUND",
        "NOT_FOUND",
        "The id is empty if what was given can't be the id of a token: a secret, given by mistake, is not repeated.",
        {"id": str},
    )
    CHALLENGE_NOT_FOUND = (
        "CHALLENGE_NOT_FOUND",
        "NOT_FOUND",
        "There is no such challenge or seek, or it is no longer open.",
        {"id": str},
    )
    TOURNAMENT_NOT_FOUND = ("TOURNAMENT_NOT_FOUND", "NOT_FOUND", "", {"id": str})
    TOURNAMENT_CLOSED = (
        "TOURNAMENT_CLOSED",
        "FAILED_PRECONDITION",
        "The tournament does not accept this now, or not from this player.",
        {"phase": str, "why": str},
    )
    TOURNAMENT_CHANGED = (
        "TOURNAMENT_CHANGED",
        "ABORTED",
        "What the request is about has changed since its revision: read the tournament again, then decide.",
        {"revision": int, "why": str},
    )
    RATINGS_CHANGED = (
        "RATINGS_CHANGED",
        "ABORTED",
        "There is a newer ruling on ratings than the request's revision: read the rulings again, then decide.",
        {"revision": int, "why": str},
    )
    REQUEST_ID_REUSED = (
        "REQUEST_ID_REUSED",
        "INVALID_ARGUMENT",
        "Another request has used the request id before.",
        {"request_id": str},
    )
    POSITION_MALFORMED = (
        "POSITION_MALFORMED",
        "INVALID_ARGUMENT",
        "The text is not a position of this game.",
        {"what": str, "where": str, "allowed": str},
    )
    GAME_UNKNOWN = ("GAME_UNKNOWN", "INVALID_ARGUMENT", "", {"what": str, "allowed": str})
    PARAMETER_INVALID = (
        "PARAMETER_INVALID",
        "INVALID_ARGUMENT",
        "A parameter of a game or a time control.",
        {"what": str, "where": str, "allowed": str},
    )
    ARGUMENT_INVALID = (
        "ARGUMENT_INVALID",
        "INVALID_ARGUMENT",
        "A field of the request.",
        {"what": str, "where": str, "allowed": str},
    )
    DRAW_NOT_AVAILABLE = (
        "DRAW_NOT_AVAILABLE",
        "FAILED_PRECONDITION",
        "There is no draw to offer, to answer or to claim.",
        {"why": str},
    )
    PLAYER_EXISTS = ("PLAYER_EXISTS", "ALREADY_EXISTS", "The name is taken.", {"id": str})
    PLAYER_SUSPENDED = ("PLAYER_SUSPENDED", "PERMISSION_DENIED", "The player is suspended.", {"id": str})
    REGISTRATION_CLOSED = (
        "REGISTRATION_CLOSED",
        "PERMISSION_DENIED",
        "Registration is by invitation or closed.",
        {"mode": str},
    )
    SESSION_SUPERSEDED = (
        "SESSION_SUPERSEDED",
        "ABORTED",
        "A newer Play stream of this player took over. resume_from is empty: a new stream gets everything.",
        {"resume_from": str},
    )
    SESSION_SILENT = (
        "SESSION_SILENT",
        "ABORTED",
        "Nothing arrived on the stream for too long: connect again.",
        {"limit": str},
    )
    READER_TOO_SLOW = (
        "READER_TOO_SLOW",
        "ABORTED",
        "The reader is too far behind, so its stream ends. resume_from is the revision or token to resume after; it is "
        "empty if a new call returns everything again (Play, LegalMoves).",
        {"resume_from": str},
    )
    RATE_LIMITED = ("RATE_LIMITED", "RESOURCE_EXHAUSTED", "", {"limit": str, "retry_after_ms": int})
    BUDGET_SPENT = (
        "BUDGET_SPENT",
        "RESOURCE_EXHAUSTED",
        "The answer takes more work than a request may cost.",
        {"limit": str, "retry_after_ms": int},
    )
    MESSAGE_TOO_LARGE = ("MESSAGE_TOO_LARGE", "RESOURCE_EXHAUSTED", "", {"what": str, "limit": str})
    VERSION_UNSUPPORTED = ("VERSION_UNSUPPORTED", "FAILED_PRECONDITION", "", {"supported": str})
    DRAINING = ("DRAINING", "UNAVAILABLE", "The server is stopping.", {"retry_after_ms": int})
    STORE_UNAVAILABLE = (
        "STORE_UNAVAILABLE",
        "UNAVAILABLE",
        "The database accepts no writes, or can't be read.",
        {"retry_after_ms": int},
    )
    RECORD_DAMAGED = (
        "RECORD_DAMAGED",
        "DATA_LOSS",
        "A record that the request needs is damaged in the server's store, or was changed there without the server's "
        "keys.",
        {"why": str},
        {"for a single record": {"id": str, "revision": str}},
    )

    @property
    def explained(self) -> str:
        """The reason as the protocol explains it: code, meaning, facts."""
        more = [f"; {when} also {', '.join(each)}" for when, each in self.sometimes.items()]
        facts = "".join((", ".join(self.always), *more))
        return " ".join(filter(None, (f"{self.code}.", self.meaning, f"Facts: {facts}." if facts else "")))


class Refusal(Exception):
    """The arbiter says no: a named reason, a sentence for people and the facts for programs.

    The sentence says what was wrong, where, and what to do. Facts are texts by name, as `Reason` lists them: others, or
    ones of another type, are a TypeError here (a number may stand for a text). `said` is for a refusal that came from
    elsewhere.
    """

    def __init__(self, reason: Reason, message: str, **facts: str | int) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.facts: dict[str, str] = {name: str(value) for name, value in facts.items()}
        _check(reason, facts)

    @classmethod
    def said(cls, reason: Reason, message: str, facts: Mapping[str, str]) -> Refusal:
        """Return a refusal from a record, another process or another server, whose facts may be of another version."""
        refusal = Refusal.__new__(cls)
        Exception.__init__(refusal, message)
        refusal.reason, refusal.message, refusal.facts = reason, message, dict(facts)
        return refusal

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with all parts: refusals travel back from worker processes."""
        return (_rebuild, (self.reason.value, self.message, self.facts))

    def __str__(self) -> str:
        return f"{self.reason.value} {self.message}"


def _check(reason: Reason, facts: Mapping[str, str | int]) -> None:
    """Raise TypeError for facts that the reason does not have."""
    known = reason.known
    if not reason.always.keys() <= facts.keys() <= known.keys():
        raise TypeError(f"{reason} has the facts {', '.join(known)}, not {', '.join(facts)}")
    for name, value in facts.items():
        if known[name] is int and not isinstance(value, int):
            raise TypeError(f"the fact {name} of {reason} is a number, not {value!r}")


def _rebuild(reason: str, message: str, facts: dict[str, str]) -> Refusal:
    return Refusal.said(Reason[reason], message, facts)


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


class RulesFailed(Exception):
    """The rules of a plug-in did not do what they must: they raised an error, answered nonsense, hung or died."""

    def __init__(self, game: str, why: str) -> None:
        super().__init__(f"the rules of {shortened(game)} failed: {why}")
        self.game = game
        self.why = why


def failure_of(error: Exception) -> str:
    """Return what a caller is told of an error that is no refusal: where it lies, if that is a plug-in."""
    said = str(error) if isinstance(error, RulesFailed) else "the arbiter failed on this call"
    return f"{said}; the server's log has the details"


class RulesAwaited(Exception):
    """Rules in a process of their own have not answered yet, and the caller can't wait. The same call will do later.

    then: has a function called once there is an answer, in any thread, and at once if there is one already.
    """

    def __init__(self, game: str, then: Callable[[Callable[[], object]], object]) -> None:
        super().__init__(f"the rules of {shortened(game)} have not answered yet")
        self.then = then

    def refusal(self) -> Refusal:
        """Return the refusal for a request that is to be sent again."""
        message = f"{self}: send the same request again in a while"
        return Refusal(Reason.RATE_LIMITED, message, limit="rules", retry_after_ms=1_000)
