"""What a bot says with its move: its evaluation and its main line, sealed until the match has ended.

The `moved` event carries the comment sealed, so that it is stored, hashed and streamed like everything else and yet
says nothing to opponent and observers; the `ended` event discloses the key. Until then only the arbiter knows the key,
which is made anew from its signing key whenever it is needed (`arbiter.service.comment_keys`).

A comment's text is the canonical JSON of an object with `evaluation` and `line`, either of which may be missing, filled
up with spaces to a multiple of 64 bytes, so that its length says little. Sealed it is the exclusive or of that text
with the output of SHAKE256 (FIPS 202) over the key's 32 bytes, a line feed and the ply in decimal digits; in the record
it stands as hexadecimal digits. No two comments of a match have the same ply.

A comment never makes a move fail: what is too long or malformed is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import shake_256
from typing import Final, NamedTuple

from arbiter.matches.canonical import Json, NotCanonicalError, decode, encode
from arbiter.matches.fields import Fields, MalformedRecordError

MOST_EVALUATION: Final = 1_000  #: permille: the mover is sure to win; 0: sure to lose
MOST_MOVES: Final = 32  #: moves of a line that are kept
MOST_CHARACTERS: Final = 500  #: of all moves of a line together
KEY_BYTES: Final = 32
BLOCK_BYTES: Final = 64

_MOVE: Final = re.compile(r"[!-Z\\^-z|~]+")  # printable ASCII without blanks, brackets and braces
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})+")


class Comment(NamedTuple):
    """What a bot says with its move.

    evaluation: the score that the mover expects, in permille (0 lost, 500 even, 1000 won), or None.
    line: the moves that it expects from this one on, its own move first; may be empty.
    """

    evaluation: int | None = None
    line: tuple[str, ...] = ()


def fitting(evaluation: int | None, line: Iterable[str]) -> Comment | None:
    """Return what can be kept of a comment, or None if that is nothing.

    An evaluation beyond 0 to 1000 is left out, a line is cut before the first move that is no plain word, or with which
    it would have more than 32 moves or 500 characters.
    """
    kept: list[str] = []
    characters = 0
    for move in line:
        characters += len(move)
        if len(kept) == MOST_MOVES or characters > MOST_CHARACTERS or not _MOVE.fullmatch(move):
            break
        kept.append(move)
    score = evaluation if evaluation is not None and 0 <= evaluation <= MOST_EVALUATION else None
    return Comment(score, tuple(kept)) if score is not None or kept else None


def seal(comment: Comment, key: bytes, ply: int) -> str:
    """Return a comment on the move at a ply as the record holds it."""
    values: dict[str, Json] = {}
    if comment.evaluation is not None:
        values["evaluation"] = comment.evaluation
    if comment.line:
        values["line"] = comment.line
    text = encode(values)
    return _crossed(text + b" " * (-len(text) % BLOCK_BYTES), key, ply).hex()


def unseal(sealed: str, key: bytes, ply: int) -> Comment:
    """Return a comment of the record. Raises MalformedRecordError if the key does not open it."""
    if not _HEX.fullmatch(sealed):
        raise MalformedRecordError("comment: expected hexadecimal digits")
    text = _crossed(bytes.fromhex(sealed), key, ply)
    try:
        fields = Fields(decode(text), "comment")
    except NotCanonicalError:
        raise MalformedRecordError("comment: the key does not open it") from None
    line = fields.sequence("line") if "line" in fields else []
    comment = fitting(fields.optional_integer("evaluation"), (str(move) for move in line))
    if comment is None or seal(comment, key, ply) != sealed:
        raise MalformedRecordError("comment: not in the form in which comments are sealed")
    return comment


def key_of(text: str) -> bytes:
    """Return the key that the end of a match discloses. Raises MalformedRecordError."""
    if len(text) != 2 * KEY_BYTES or not _HEX.fullmatch(text):
        raise MalformedRecordError(f"key: expected {2 * KEY_BYTES} hexadecimal digits")
    return bytes.fromhex(text)


def opened(comments: Iterable[tuple[int, str]], key: bytes) -> dict[int, Comment]:
    """Return comments by ply, given as ply and sealed text. Raises MalformedRecordError as `unseal` does."""
    return {ply: unseal(sealed, key, ply) for ply, sealed in comments}


def _crossed(text: bytes, key: bytes, ply: int) -> bytes:
    stream = shake_256(key + b"\n%d" % ply).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, stream, strict=True))
