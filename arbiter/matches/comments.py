"""A bot's comment on its move: its evaluation, its main line and its search, encrypted until the match has ended.

The `moved` event carries the comment encrypted. So it is stored, hashed and streamed like everything else, but opponent
and observers cannot read it. The `ended` event discloses the key. Until then only the arbiter knows the key; it derives
the key from its signing key whenever it needs it (`arbiter.service.matches.comment_keys`).

A comment's text is the canonical JSON of an object with `evaluation`, `line` and the fields of `Searched`. Each may be
missing. Spaces pad it to a multiple of 64 bytes, so that its length reveals little. It is encrypted by exclusive or
with the output of SHAKE256 (FIPS 202) over the key's 32 bytes, a line feed and the ply in decimal digits. The record
holds the result as hexadecimal digits. No two comments of a match have the same ply.

A comment never makes a move fail: too long or malformed parts are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import shake_256
from typing import Final, NamedTuple

from arbiter.event_json.canonical import Json, MalformedRecordError, NotCanonicalError, decode, encode_plain
from arbiter.event_json.fields import Fields
from arbiter.event_json.numbers import LARGEST_INTEGER

MOST_EVALUATION: Final = 1_000  #: permille: the mover is sure to win; 0: sure to lose
MOST_MOVES: Final = 32  #: maximum moves of a stored line
MOST_CHARACTERS: Final = 500  #: maximum characters of all moves of a line together
KEY_BYTES: Final = 32
BLOCK_BYTES: Final = 64
KEPT: Final = 4_096  #: comments that are known: rules about the last ones ask after each move, the end for all of them

_MOVE: Final = re.compile(r"[!-Z\\^-z|~]+")  # printable ASCII without blanks, brackets and braces
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})+")


class Searched(NamedTuple):
    """What an engine says of the search that found its move; None: it does not say.

    centipawns: its score. mate: moves until it mates, negative if it is mated. depth: in plies. nodes: positions that
    it has looked at. time_ms: how long it has searched.
    """

    centipawns: int | None = None
    mate: int | None = None
    depth: int | None = None
    nodes: int | None = None
    time_ms: int | None = None


UNSAID: Final = Searched()
SIGNED: Final = ("centipawns", "mate")  #: numbers that may be negative


class Comment(NamedTuple):
    """A bot's comment on its move.

    evaluation: the score that the mover expects, in permille (0 lost, 500 even, 1000 won), or None.
    line: the moves that it expects from this one on, its own move first; may be empty.
    """

    evaluation: int | None = None
    line: tuple[str, ...] = ()
    search: Searched = UNSAID


_KNOWN: Final[dict[tuple[str, bytes, int], Comment]] = {}
"""Comments by their encrypted text, key and ply, as `seal` and `unseal` have come to know them."""


def fitting(evaluation: int | None, line: Iterable[str], search: Searched = UNSAID) -> Comment | None:
    """Return the valid part of a comment, or None if nothing is left.

    An evaluation outside 0 to 1000 is dropped, and so is a number of the search that JSON readers may not represent
    exactly, or that must not be negative. A line is cut before the first move that is not a plain word, or that would
    exceed 32 moves or 500 characters.
    """
    kept: list[str] = []
    characters = 0
    for move in line:
        characters += len(move)
        if len(kept) == MOST_MOVES or characters > MOST_CHARACTERS or not _MOVE.fullmatch(move):
            break
        kept.append(move)
    score = evaluation if evaluation is not None and 0 <= evaluation <= MOST_EVALUATION else None
    numbers = search if search is UNSAID else Searched(*map(_number, search, Searched._fields))
    comment = Comment(score, tuple(kept), numbers)
    return comment if comment != Comment() else None


def seal(comment: Comment, key: bytes, ply: int) -> str:
    """Encrypt a comment on the move at a ply; return it as the record holds it."""
    sealed = _sealed(comment, key, ply)
    _keep(comment, key, ply, sealed)
    return sealed


def _keep(comment: Comment, key: bytes, ply: int, sealed: str) -> None:
    if len(_KNOWN) >= KEPT:
        _KNOWN.clear()
    _KNOWN[sealed, key, ply] = comment


def _sealed(comment: Comment, key: bytes, ply: int) -> str:
    values: dict[str, Json] = {}
    if comment.evaluation is not None:
        values["evaluation"] = comment.evaluation
    if comment.line:
        values["line"] = comment.line
    if comment.search is not UNSAID:
        values.update((name, value) for name, value in comment.search._asdict().items() if value is not None)
    text = encode_plain(values)
    return _crossed(text + b" " * (-len(text) % BLOCK_BYTES), key, ply).hex()


def unseal(sealed: str, key: bytes, ply: int) -> Comment:
    """Decrypt a comment of the record. Raises MalformedRecordError if the key does not fit."""
    known = _KNOWN.get((sealed, key, ply))
    if known is not None:
        return known
    if not _HEX.fullmatch(sealed):
        raise MalformedRecordError("comment: expected hexadecimal digits")
    text = _crossed(bytes.fromhex(sealed), key, ply)
    try:
        fields = Fields(decode(text), "comment")
    except NotCanonicalError:
        raise MalformedRecordError("comment: the key does not open it") from None
    line = fields.sequence("line") if "line" in fields else []
    search = Searched(*map(fields.optional_integer, Searched._fields))
    comment = fitting(fields.optional_integer("evaluation"), (str(move) for move in line), search)
    if comment is None or _sealed(comment, key, ply) != sealed:
        raise MalformedRecordError("comment: not in the form in which comments are sealed")
    _keep(comment, key, ply, sealed)
    return comment


def key_of(text: str) -> bytes:
    """Return the key that the end of a match discloses. Raises MalformedRecordError if it is malformed."""
    if len(text) != 2 * KEY_BYTES or not _HEX.fullmatch(text):
        raise MalformedRecordError(f"key: expected {2 * KEY_BYTES} hexadecimal digits")
    return bytes.fromhex(text)


def opened(comments: Iterable[tuple[int, str]], key: bytes) -> dict[int, Comment]:
    """Decrypt comments, given as ply and encrypted text; return them by ply.

    Raises MalformedRecordError as `unseal` does.
    """
    return {ply: unseal(sealed, key, ply) for ply, sealed in comments}


def _number(value: int | None, name: str) -> int | None:
    least = -LARGEST_INTEGER if name in SIGNED else 0
    return value if value is not None and least <= value <= LARGEST_INTEGER else None


def _crossed(text: bytes, key: bytes, ply: int) -> bytes:
    stream = shake_256(key + b"\n%d" % ply).digest(len(text))
    return (int.from_bytes(text) ^ int.from_bytes(stream)).to_bytes(len(text))
