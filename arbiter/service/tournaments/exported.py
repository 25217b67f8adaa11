"""A tournament as a file: its log, its standings with ratings, and the arbiter's signature, a line each.

The lines are those of the tournament's log, then one that continues the chain with the final standings, then the
signature of that line; the last two only once the tournament has ended. `protos/TOURNAMENT.md` describes the format;
`arbiter.service.tournaments.tournament_verification` checks a file together with the transcripts of its matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from arbiter.event_json.canonical import Json, digest, encode
from arbiter.matches.signing import Form, Signature, Statement
from arbiter.service.matches.transcripts import Signer
from arbiter.service.record.tournament_log import Chain, StoredLog
from arbiter.service.tournaments.own_ratings import Rater, own_ratings
from arbiter.tournaments.standings import Table, standings
from arbiter.tournaments.tournament import Tournament

FORM: Final = Form("tournament_signature", b"arbiter tournament v1\n", "tournament", "lines")
STANDINGS: Final = "tournament_standings"


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
    if table.teams is not None:
        teams: list[Json] = [
            {**row._asdict(), "values": list(row.values), "players": list(row.players)} for row in table.teams.rows
        ]
        values = {**values, "team_tie_breaks": [each.value for each in table.teams.tie_breaks], "teams": teams}
    return encode(dict(values))


#: fields that older files do not have
_IF_ANY: Final = ("left_early", "disqualified", "awarded", "prize_place", "team")


def _row(values: Mapping[str, Any]) -> dict[str, Json]:
    """Return a row as JSON. Ratings are in thousandths of an Elo point: a canonical text has whole numbers only."""
    row = {name: value for name, value in values.items() if value is not None and (value or name not in _IF_ANY)}
    row["values"], row["faults"] = list(values["values"]), dict(values["faults"]._asdict())
    rating = values["rating"]
    if rating is not None:
        thousandths = {name: round(1_000 * getattr(rating, name)) for name in ("elo", "low", "high")}
        row["rating"] = {**thousandths, "provisional": rating.provisional, "group": rating.group}
    return row


def ending(tournament: Tournament, chain: Chain, signer: Signer, table: Table) -> bytes:
    """Return the last two lines of a tournament that has ended: its final standings, and the signature.

    chain: the end of its log.
    """
    assert tournament.end is not None
    ended_at = tournament.end.at
    last = standings_line(tournament.id, chain.revision, chain.digest, table)
    key = next(key for key in signer.public_keys() if key.valid_at(ended_at))
    statement = Statement(tournament.id, chain.revision + 1, digest(last), key.key_id, form=FORM)
    signature = Signature(statement, signer.sign(key.key_id, statement.message()))
    return b"".join(line + b"\n" for line in (last, signature.line()))


async def exported(log: StoredLog, bodies: Sequence[bytes], signer: Signer, rater: Rater) -> bytes:
    """Return the file of a tournament that has ended. bodies: the records of its log. Raises what the rater raises."""
    table = await final_table(log.tournament, rater)
    return b"".join(body + b"\n" for body in bodies) + ending(log.tournament, log.chain, signer, table)
