"""A tournament as a file: its log, its standings with ratings, and the arbiter's signature, a line each.

The lines are those of the tournament's log, then one that continues the chain with the final standings, then the
signature of that line. `protos/TOURNAMENT.md` describes the format; `arbiter.service.tournaments.verification` checks a
file together with the transcripts of its matches.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from arbiter.matches.canonical import Json, MalformedRecordError, NotCanonicalError, decode, digest, encode
from arbiter.matches.fields import Fields
from arbiter.matches.signing import ALGORITHM, CheckSignature, Signature
from arbiter.service.matches.transcripts import Signer
from arbiter.service.record.tournaments import StoredLog
from arbiter.service.tournaments.own_ratings import Rater, own_ratings
from arbiter.tournaments.standings import Table, standings
from arbiter.tournaments.tournament import Tournament

DOMAIN: Final = b"arbiter tournament v1\n"
STANDINGS: Final = "tournament_standings"
SIGNATURE: Final = "tournament_signature"

_HEX: Final = re.compile(r"(?:[0-9a-f]{2})*", re.ASCII)


class Statement(NamedTuple):
    """What a signature certifies: a tournament's lines before it, by their number and the hash of the last one."""

    tournament: str
    lines: int
    head: str
    key: str
    algorithm: str = ALGORITHM

    def message(self) -> bytes:
        """Return the bytes that are signed."""
        return DOMAIN + encode(self.json())

    def json(self) -> dict[str, Json]:
        """Return the fields of the signature's line, except `signature`."""
        return {**self._asdict(), "kind": SIGNATURE}


class SignatureLine(NamedTuple):
    """A statement with its signature."""

    statement: Statement
    signature: bytes

    def line(self) -> bytes:
        """Return the line, without a line feed."""
        return encode({**self.statement.json(), "signature": self.signature.hex()})

    def problem(self, check: CheckSignature, ended_at: int) -> str:
        """Return what is wrong with the signature of a tournament that ended at an instant, '' if it is valid."""
        return check(cast("Signature", self), ended_at).replace("the match ended", "the tournament ended")


def read_signature(line: bytes) -> SignatureLine:
    """Return the signature of a line, which has exactly its fields. Raises MalformedRecordError."""
    try:
        fields = Fields(decode(line), SIGNATURE)
    except NotCanonicalError as error:
        raise MalformedRecordError(f"not a signature: {error}") from None
    digits = fields.text("signature")
    if not _HEX.fullmatch(digits):
        raise MalformedRecordError(f"{SIGNATURE}.signature: expected lower-case hexadecimal digits in pairs")
    statement = Statement(
        fields.text("tournament"),
        fields.integer("lines"),
        fields.text("head"),
        fields.text("key"),
        fields.text("algorithm"),
    )
    found = SignatureLine(statement, bytes.fromhex(digits))
    if found.line() != line:
        raise MalformedRecordError(f"{SIGNATURE}: there are other fields, or the bytes are not in canonical form")
    return found


async def final_table(tournament: Tournament, rater: Rater) -> Table:
    """Return the final standings with the ratings by the tournament's own games. Raises what the rater raises."""
    return standings(tournament, await own_ratings(tournament, rater))


def standings_line(tournament: str, revision: int, previous: str, table: Table) -> bytes:
    """Return the line of the standings that follows `revision` lines, the last of which has the hash `previous`."""
    rows: list[Json] = [_row(row._asdict()) for row in table.rows]
    values: Mapping[str, Json] = {
        "kind": STANDINGS,
        "tournament": tournament,
        "revision": revision + 1,
        "previous": previous,
        "tie_breaks": [each.value for each in table.tie_breaks],
        "rows": rows,
    }
    return encode(dict(values))


def _row(values: Mapping[str, Any]) -> dict[str, Json]:
    """Return a row as JSON. Ratings are in thousandths of an Elo point: a canonical text has whole numbers only."""
    row = {name: value for name, value in values.items() if value is not None and (value or name != "left_early")}
    row["values"], row["faults"] = list(values["values"]), dict(values["faults"]._asdict())
    rating = values["rating"]
    if rating is not None:
        thousandths = {name: round(1_000 * getattr(rating, name)) for name in ("elo", "low", "high")}
        row["rating"] = {**thousandths, "provisional": rating.provisional, "group": rating.group}
    return row


async def exported(log: StoredLog, bodies: Sequence[bytes], signer: Signer, rater: Rater) -> bytes:
    """Return the file of a tournament that has ended. bodies: the records of its log. Raises what the rater raises."""
    tournament, chain = log.tournament, log.chain
    assert tournament.end is not None
    ended_at = tournament.end.at
    last = standings_line(tournament.id, chain.revision, chain.digest, await final_table(tournament, rater))
    key = next(key for key in signer.public_keys() if key.valid_at(ended_at))
    statement = Statement(tournament.id, chain.revision + 1, digest(last), key.key_id)
    signature = SignatureLine(statement, signer.sign(key.key_id, statement.message()))
    return b"".join(line + b"\n" for line in (*bodies, last, signature.line()))
